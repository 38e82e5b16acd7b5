//! Finds the components that an analysis is about.

use super::{
    observed::{Observed, is_name_like, key, name_run, unknown},
    phrases::Phrases,
    stated::Stated,
    token::{Kind, Tokens},
    vocabulary::Term,
};
use crate::assessment::{Reason, shown_name};

/// Words that may separate a request from its subject.
const FILLERS: [&str; 20] = [
    "the",
    "deployment",
    "of",
    "for",
    "service",
    "release",
    "build",
    "a",
    "an",
    "this",
    "status",
    "state",
    "is",
    "are",
    "our",
    "my",
    "your",
    "whole",
    "entire",
    "health",
];

/// Words after a request that name no component: the whole system, or the form of the answer.
const GENERAL: [&str; 62] = [
    "system",
    "systems",
    "stack",
    "everything",
    "all",
    "services",
    "it",
    "them",
    "both",
    "together",
    "combined",
    "and",
    "with",
    "whether",
    "if",
    "how",
    "why",
    "now",
    "please",
    "in",
    "on",
    "reasons",
    "step",
    "detail",
    "situation",
    "setup",
    "platform",
    "environment",
    "infrastructure",
    "here",
    "overall",
    "did",
    "does",
    "do",
    "was",
    "were",
    "has",
    "have",
    "can",
    "should",
    "would",
    "will",
    "you",
    "we",
    "i",
    "that",
    "what",
    "immediately",
    "quickly",
    "urgently",
    "asap",
    "or",
    "to",
    "as",
    "at",
    "by",
    "from",
    "again",
    "first",
    "then",
    "kernels",
    "component",
];

/// The components of an analysis that were not observed: "Assess A and B", "Assess the database".
pub(super) fn unobserved(
    tokens: &Tokens<'_>,
    phrases: &Phrases,
    observed: &Observed<'_>,
    stated: &Stated,
    original: impl Fn(usize, usize) -> String,
) -> Vec<Reason> {
    const MOST: usize = 20;
    let is_known = |name: &str| observed.has(name) || stated.claimed.iter().any(|claimed| claimed == name);
    let has_states = !observed.is_empty() || !stated.claimed.is_empty();
    let mut unknown_names: Vec<String> = Vec::new();
    for hit in phrases.all(Term::Assess).chain(phrases.all(Term::Approve)).take(MOST) {
        let (_, sentence_end) = tokens.sentence(hit.start);
        let mut at = hit.end;
        loop {
            while FILLERS.contains(&tokens.word(at)) || matches!(tokens.kind(at), Some(Kind::Sign(':' | '"'))) {
                at += 1;
            }
            let Some(end) = name_run(tokens, at).filter(|_| !GENERAL.contains(&tokens.word(at))) else { break };
            let shown = |end: usize| match (tokens.get(at), tokens.get(end - 1)) {
                (Some(first), Some(last)) => original(first.start, last.end),
                _ => String::new(),
            };
            let mut ends = vec![end];
            while let Some(next) = name_run(tokens, *ends.last().unwrap_or(&end)).filter(|_| ends.len() < 4) {
                ends.push(next);
            }
            let known = ends.iter().rev().find(|end| is_known(&key(&shown(**end))));
            let is_loud = ["NOW", "IT", "ALL", "THE", "THIS", "ASAP", "EVERYTHING"].contains(&shown(end).as_str());
            match known {
                Some(known) => at = *known,
                None if !is_loud && (has_states || is_name_like(tokens, at, &shown(end))) => {
                    unknown_names.push(shown(end));
                    at = end;
                }
                None => break,
            }
            let is_list = matches!(tokens.kind(at), Some(Kind::Sign(',' | '&' | '/')));
            if !is_list && !["and", "or"].contains(&tokens.word(at)) || at >= sentence_end {
                break;
            }
            at += 1;
            at += usize::from(is_list && tokens.word(at) == "and");
            let is_name =
                |at: usize| tokens.get(at).is_some_and(|of| is_name_like(tokens, at, &original(of.start, of.end)));
            if !is_known(&key(tokens.str(at))) && !is_name(at) && !FILLERS.contains(&tokens.word(at)) {
                break;
            }
        }
        // Any other name in capitals in the sentence is part of the assessed subject.
        for at in hit.end..sentence_end {
            let Some(token) = tokens.get(at).filter(|token| token.kind == Kind::Word) else { continue };
            let shown = original(token.start, token.end);
            let is_capital = shown.chars().all(|of| of.is_uppercase() || of.is_ascii_digit());
            let is_part = is_capital && is_name_like(tokens, at, &shown) && name_run(tokens, at) == Some(at + 1);
            let is_behind_hyphen = at > 0 && tokens.touches_next(at - 1) && tokens.is_sign(at - 1, '-');
            if has_states && is_part && !is_behind_hyphen && !is_known(&key(&shown)) {
                unknown_names.push(shown);
            }
        }
    }
    unknown_names.truncate(MOST);
    unknown_names.dedup();
    unknown_names.iter().map(|name| unknown(&shown_name(name))).collect()
}
