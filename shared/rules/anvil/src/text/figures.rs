//! Finds the figures of a forge and of a smoke test.

use super::{
    leftover::Used,
    numbers::{broken_end, is_decimal, is_loose, value_at},
    readings::changed,
    token::{Kind, Tokens},
};
use crate::{
    forge::{ForgeFigures, SmokeScore},
    measure::Measure,
};

/// What a text says about figures.
#[derive(Default)]
pub(super) struct Found {
    pub(super) figures: ForgeFigures,
    /// A figure is given that cannot be one, such as a smoke score of 6/5 or a loss of "0.3 * 10".
    pub(super) has_unusable: bool,
    /// A smoke score is given in words that do not say plainly that it is the result.
    pub(super) is_unclear: bool,
    /// Where the losses stand.
    pub(super) losses_at: Vec<usize>,
}

const NUMBER_WORDS: [&str; 11] =
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/// Losses that are none of a forge's.
const OTHER_LOSSES: [&str; 7] = ["packet", "data", "weight", "signal", "revenue", "no", "power"];

/// Tokens between "smoke" and its score, at most.
const REACH: usize = 8;

/// Finds the figures, and notes which numbers it has used.
pub(super) fn find(tokens: &Tokens<'_>, used: &mut Used) -> Found {
    let mut found = Found::default();
    for at in 0..tokens.len() {
        match tokens.word(at) {
            "loss" | "verlust" | "perte" | "perdida" => loss(tokens, at, &mut found, used),
            "smoke" | "smoketest" | "smoketests" => scores(tokens, at, &mut found, used),
            "pair" | "pairs" | "paare" | "paires" => found.figures.pairs.extend(pairs(tokens, at, used)),
            "corpus" => found.figures.pairs.extend(corpus_size(tokens, at, used)),
            _ => {}
        }
    }
    found.figures.pairs.dedup();
    found
}

fn loss(tokens: &Tokens<'_>, at: usize, found: &mut Found, used: &mut Used) {
    if at > 0 && OTHER_LOSSES.contains(&tokens.word(at - 1)) {
        return;
    }
    let connectors = ["is", "of", "at", "was", "now", "final", "equals", "ended", "ends", "value", "est", "ist", "de", "von", "from"];
    let skip = |from: usize| {
        let mut behind = from;
        while behind < from + 5
            && (matches!(tokens.kind(behind), Some(Kind::Sign('=' | ':' | '|' | '~' | '≈' | '"' | '\'')))
                || connectors.contains(&tokens.word(behind)))
        {
            behind += 1;
        }
        behind
    };
    let mut from = skip(at + 1);
    let Some((mut value, mut next)) = value_at(tokens, from) else {
        let before = at.checked_sub(1).and_then(|before| Some((before, tokens.decimal(before)?)));
        if let Some((before, value)) = before {
            used.mark(before, at);
            found.losses_at.push(at);
            found.figures.loss.push(value);
        }
        return;
    };
    // "A loss of 5 customers", "loss of 1.5 million": a count of something else.
    const SCALES: [&str; 12] =
        ["million", "millions", "billion", "thousand", "hundred", "dollars", "euros", "euro", "dollar", "usd", "eur", "k"];
    let is_count = !is_decimal(tokens, from) && !is_loose(tokens, from) && !tokens.word(next).is_empty();
    if is_count && !["smoke", "and", "after", "with", "at", "but", "on"].contains(&tokens.word(next)) || SCALES.contains(&tokens.word(next)) {
        used.mark(from, next);
        return;
    }
    found.losses_at.push(at);
    while let Some((latest, (latest_from, end))) = changed(tokens, next, (at, from))
        .map(skip)
        .and_then(|of| value_at(tokens, of).map(|(value, end)| (value, (of, end))))
    {
        (value, from, next) = (latest, latest_from, end);
    }
    if let Some(end) = broken_end(tokens, next, None) {
        found.has_unusable = true;
        used.mark(at, end);
        return;
    }
    used.mark(at, next);
    found.figures.loss.push(value);
}

/// A whole number in digits or as a word.
fn count(tokens: &Tokens<'_>, at: usize) -> Option<u64> {
    let in_words = || NUMBER_WORDS.iter().position(|word| *word == tokens.word(at)).map(|count| count as u64);
    tokens.count(at).or_else(in_words)
}

/// "2/5", "2 of 5", "2 out of 5" at this token: both numbers, and the token behind.
fn ratio(tokens: &Tokens<'_>, at: usize) -> Option<(u64, u64, usize)> {
    let passed = count(tokens, at)?;
    let of = match tokens.kind(at + 1)? {
        Kind::Sign('/') => at + 2,
        Kind::Sign('%') => return Some((passed, 100, at + 2)),
        Kind::Word if tokens.word(at + 1) == "out" && tokens.word(at + 2) == "of" => at + 3,
        Kind::Word if ["of", "von", "sur", "de", "from"].contains(&tokens.word(at + 1)) => at + 2,
        _ => return None,
    };
    let of = of + usize::from(tokens.word(of) == "the");
    Some((passed, count(tokens, of)?, of + 1))
}

/// Every score of a sentence that belongs to the word "smoke". One counts as passed only in words that say so.
fn scores(tokens: &Tokens<'_>, at: usize, found: &mut Found, used: &mut Used) {
    let (start, end) = tokens.sentence(at);
    let ends_there = |of: usize| ["loss", "pairs", "corpus", "smoke"].contains(&tokens.word(of));
    let behind_end = (at + 1..end.min(at + 1 + 3 * REACH)).find(|of| ends_there(*of)).unwrap_or(end.min(at + 1 + 3 * REACH));
    let mut ratios: Vec<(usize, u64, u64, usize)> = Vec::new();
    let mut of = at + 1;
    while of < behind_end {
        match ratio(tokens, of) {
            Some((passed, all, next)) => {
                // A first score far from its word belongs to something else.
                if ratios.is_empty() && of > at + REACH {
                    break;
                }
                ratios.push((of, passed, all, next));
                of = next;
            }
            None => of += 1,
        }
    }
    if ratios.is_empty() {
        let before = (start.max(at.saturating_sub(REACH))..at).rev();
        let found = before.filter_map(|of| ratio(tokens, of).map(|(passed, all, next)| (of, passed, all, next)));
        ratios.extend(found.into_iter().find(|(.., next)| *next <= at && at - next < 3 && !used.is_used(*next - 1)));
    }
    for (from, passed, all, next) in ratios {
        let clause = clause(tokens, (start, end), at.min(from), next.max(at + 1));
        let tone = tone(tokens, clause, (from, next));
        let score = if tone == Tone::Failures { all.checked_sub(passed) } else { Some(passed) };
        let is_broken = broken_end(tokens, next, None).is_some();
        match score.and_then(|passed| SmokeScore::new(passed, all)).filter(|_| !is_broken) {
            // "Smoke is coming out of my ears 24/7."
            None if tone == Tone::Unclear => continue,
            None => found.has_unusable = true,
            Some(score) => {
                found.is_unclear |= tone == Tone::Unclear && score.is_full();
                found.figures.smoke.push(score);
            }
        }
        used.mark(from, next);
    }
}

/// The part of a sentence around a score that no comma and no "and" ends.
fn clause(tokens: &Tokens<'_>, (start, end): (usize, usize), from: usize, to: usize) -> (usize, usize) {
    let ends = |at: usize| {
        matches!(tokens.kind(at), Some(Kind::Sign(',' | '|' | '(' | ')' | '"')))
            || ["and", "but", "loss", "while", "pairs", "corpus"].contains(&tokens.word(at))
    };
    let first = (start..from).rev().find(|at| ends(*at)).map_or(start, |at| at + 1);
    (first, (to..end).find(|at| ends(*at)).unwrap_or(end))
}

/// What the words around a score say of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tone {
    Passes,
    Failures,
    Unclear,
}

/// Words among which a score is a result.
const PLAIN: [&str; 40] = [
    "smoke", "smoketest", "smoketests", "test", "tests", "testing", "score", "scored", "scores", "result", "results", "suite", "run", "is",
    "was", "are", "were", "at", "of", "the", "a", "with", "all", "it", "pass", "passed", "passes", "passing", "green", "ok", "complete",
    "completed", "assess", "deployment", "forge", "final", "out", "from", "in", "now",
];

const FAILING: [&str; 30] = [
    "fail", "fails", "failed", "failing", "failure", "failures", "error", "errors", "errored", "crash", "crashed", "crashes",
    "crashing", "red", "broken", "broke", "wrong", "down", "dead", "rejected", "unsuccessful", "aborted", "missed", "lost",
    "flaky", "unstable", "burned", "exploded", "panicked", "bad",
];

const PASSING: [&str; 8] = ["pass", "passed", "passes", "passing", "succeed", "succeeded", "green", "ok"];

fn tone(tokens: &Tokens<'_>, (from, to): (usize, usize), score: (usize, usize)) -> Tone {
    let outside = || (from..to).filter(|at| *at < score.0 || *at >= score.1);
    let is = |list: &[&str]| outside().any(|at| list.contains(&tokens.str(at)));
    let denies = is(&["no", "none", "0", "zero", "nothing", "not", "never", "neither", "didn", "wasn", "weren", "doesn", "without"]);
    match (is(&FAILING), denies, is(&PASSING)) {
        (true, false, _) | (false, true, true) => return Tone::Failures,
        (true, true, _) => return Tone::Passes,
        _ => {}
    }
    // What stands before the word "smoke" introduces it; what stands behind must be plain.
    let plain_from = outside().find(|at| tokens.word(*at).starts_with("smoke")).unwrap_or(from).min(score.0);
    let doubtful = ["last", "previous", "previously", "old", "earlier", "yesterday", "expected", "expect", "target", "planned", "if", "should", "would", "could", "used", "claim", "claims", "supposedly", "want", "need", "needs"];
    let is_plain = (plain_from..to)
        .filter(|at| *at < score.0 || *at >= score.1)
        .all(|at| tokens.word(at).is_empty() || PLAIN.contains(&tokens.word(at)));
    if is_plain && !is(&doubtful) { Tone::Passes } else { Tone::Unclear }
}

/// "141 pairs", "100-pair", "pairs: 141"; not "10 pairs of shoes".
fn pairs(tokens: &Tokens<'_>, at: usize, used: &mut Used) -> Option<u64> {
    if tokens.word(at + 1) == "of" && !is_of_a_corpus(tokens.word(at + 2)) {
        return None;
    }
    let before = at.checked_sub(1)?;
    let before = if tokens.is_sign(before, '-') { before.checked_sub(1)? } else { before };
    let behind = at + 1 + usize::from(matches!(tokens.kind(at + 1), Some(Kind::Sign(':' | '='))));
    if let Some(count) = tokens.count(before) {
        used.mark(before, at);
        return Some(count);
    }
    used.mark(at, behind + 1);
    if behind > at + 1 { tokens.count(behind) } else { None }
}

fn is_of_a_corpus(word: &str) -> bool {
    ["questions", "question", "prompts", "examples", "data", "training", "text", "sentences", "answers", "the"].contains(&word)
}

/// "corpus of 141", "corpus: 141"; not "the corpus of 5 lawyers".
fn corpus_size(tokens: &Tokens<'_>, at: usize, used: &mut Used) -> Option<u64> {
    let is_linked = matches!(tokens.kind(at + 1), Some(Kind::Sign(':' | '='))) || tokens.word(at + 1) == "of";
    let noun = tokens.word(at + 3);
    let is_size = noun.is_empty() || ["pair", "pairs", "and", "examples", "entries", "samples", "with", "loss", "smoke"].contains(&noun);
    let count = if is_linked && is_size { tokens.count(at + 2) } else { None };
    if count.is_some() {
        used.mark(at, at + 3);
    }
    count
}
