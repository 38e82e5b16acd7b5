//! Which services a text asks about, what it says of them, and what was observed.

use super::{
    phrases::{Phrases, is_denied},
    token::{Kind, Tokens},
    vocabulary::{List, Term, is_word},
};
use crate::{
    assessment::{Reason, Verdict, shown_name},
    facts::{Facts, ServiceState},
};
use std::collections::BTreeMap;

/// A service as it is compared: letters and digits alone.
fn key(name: &str) -> String {
    let words = name.split(|of: char| !of.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut words: Vec<String> = words.map(str::to_lowercase).collect();
    if words.len() > 1 {
        words.retain(|word| !["port", "service", "server"].contains(&word.as_str()));
    }
    words.concat()
}

/// A run of tokens that touch and make a name: `smoke-test`, `api.internal`, `8891`.
fn name_run(tokens: &Tokens<'_>, start: usize) -> Option<usize> {
    let is_part = |at: usize| matches!(tokens.kind(at), Some(Kind::Word | Kind::Number | Kind::Malformed));
    if !is_part(start) {
        return None;
    }
    let mut end = start + 1;
    loop {
        if tokens.touches_next(end - 1) && is_part(end) {
            end += 1;
        } else if tokens.touches_next(end - 1)
            && matches!(tokens.kind(end), Some(Kind::Sign('-' | '_' | '/' | '@' | '.')))
            && tokens.touches_next(end)
            && is_part(end + 1)
        {
            end += 2;
        } else {
            return Some(end);
        }
    }
}

/// A name in the text: its key and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    key: String,
    start: usize,
    end: usize,
}

/// Everything in a range that may be the name of a service.
fn names_in(tokens: &Tokens<'_>, start: usize, end: usize) -> Vec<Name> {
    let mut names = Vec::new();
    let mut at = start;
    while at < end {
        let Some(behind) = name_run(tokens, at) else {
            at += 1;
            continue;
        };
        let is_single_filler = behind == at + 1 && is_word(List::NoName, tokens.word(at));
        if !is_single_filler && !Verdict::is_verdict_word(tokens.word(at)) {
            let text = (at..behind).map(|of| tokens.str(of)).collect::<Vec<_>>().join(" ");
            names.push(Name { key: key(&text), start: at, end: behind });
        }
        at = behind;
    }
    names
}

/// The observed services by key, each with its name.
pub(super) struct Observed<'a>(BTreeMap<String, (&'a str, ServiceState)>);

impl<'a> Observed<'a> {
    pub(super) fn of(facts: &'a Facts) -> Self {
        let mut observed: BTreeMap<String, (&str, ServiceState)> = BTreeMap::new();
        for (name, state) in &facts.services {
            let known = observed.entry(key(name)).or_insert((name, *state));
            // The same service twice: the worse observation counts.
            if *state == ServiceState::Dead || known.1 == ServiceState::Alive {
                *known = (name, *state);
            }
        }
        Self(observed)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The observed services that the text names: words in a row make a name too.
    pub(super) fn named(&self, tokens: &Tokens<'_>) -> Vec<String> {
        if self.is_empty() {
            return Vec::new();
        }
        let longest = self.0.values().map(|(name, _)| name.split_whitespace().count()).max().unwrap_or(1).min(6);
        let mut named = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let Some(first_end) = name_run(tokens, at) else {
                at += 1;
                continue;
            };
            let mut end = first_end;
            for _ in 0..longest {
                let joined = (at..end).map(|of| tokens.str(of)).collect::<Vec<_>>().join(" ");
                let joined = key(&joined);
                if self.0.contains_key(&joined) && !named.contains(&joined) {
                    named.push(joined);
                }
                match name_run(tokens, end) {
                    Some(next) => end = next,
                    None => break,
                }
            }
            at = first_end;
        }
        named
    }

    fn keys(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    /// What was observed of one service.
    fn judge(&self, name: &str) -> Option<Reason> {
        let (shown, state) = self.0.get(name)?;
        let shown = shown_name(shown);
        Some(match state {
            ServiceState::Alive => Reason::sound(format!("{shown} is alive.")),
            ServiceState::Dead => Reason::fault(format!("{shown} is dead.")),
            ServiceState::Unknown => unknown(&shown),
        })
    }

    /// The dead ones that the text does not name: what was asked about may depend on them.
    pub(super) fn dead_dependencies(&self, named: &[String]) -> Vec<Reason> {
        let others = self.0.iter().filter(|(key, (_, state))| *state == ServiceState::Dead && !named.contains(key));
        others
            .map(|(_, (name, _))| Reason::blocked(format!("{} is dead, a dependency is down.", shown_name(name))))
            .collect()
    }
}

fn unknown(name: &str) -> Reason {
    Reason::missing(format!("The status of {name} is not known."), format!("the status of {name}"))
}

/// What a simple status check asks about; `None` if the text is no such check.
pub(super) fn quick_question(
    tokens: &Tokens<'_>,
    phrases: &Phrases,
    observed: &Observed<'_>,
    original: impl Fn(usize, usize) -> String,
) -> Option<Vec<Name>> {
    if phrases.all(Term::Assess).any(|hit| !is_denied(tokens, hit)) || asks_to_ship_unchecked(tokens, phrases) {
        return None;
    }
    let mut asked: Option<Vec<Name>> = None;
    for hit in phrases.all(Term::Up).chain(phrases.all(Term::Down)).chain(phrases.all(Term::Status)) {
        let (start, end) = tokens.sentence(hit.start);
        let is_short_status = hit.term == Term::Status && end - start <= 4;
        if !tokens.is_question(hit.start) && !is_short_status && !phrases.has(Term::QuickCheck) {
            continue;
        }
        if let Some(names) = names_around(tokens, start, end, hit.start, hit.end, hit.term) {
            asked.get_or_insert_default().extend(names);
        } else if !observed.named(tokens).is_empty() {
            asked.get_or_insert_default();
        }
    }
    if asked.is_none() && tokens.len() <= 3 && !observed.named(tokens).is_empty() {
        // "ROUTX?", "Check ROUTX".
        asked = Some(Vec::new());
    }
    if asked.is_none() && phrases.has(Term::QuickCheck) {
        asked = Some(pinged(tokens, phrases));
    }
    let mut asked = asked?;
    if asked.is_empty() && observed.named(tokens).is_empty() {
        asked = capitals(tokens, &original);
    }
    asked.sort_by_key(|name| name.start);
    asked.dedup();
    Some(asked)
}

/// Names in capitals in the sentences that ask: what is left where the grammar is not known.
fn capitals(tokens: &Tokens<'_>, original: &impl Fn(usize, usize) -> String) -> Vec<Name> {
    let mut names = names_in(tokens, 0, tokens.len());
    names.retain(|name| {
        let (Some(first), Some(last)) = (tokens.get(name.start), tokens.get(name.end - 1)) else { return false };
        tokens.is_question(name.start) && is_name_like(tokens, name.start, &original(first.start, last.end))
    });
    names
}

fn asks_to_ship_unchecked(tokens: &Tokens<'_>, phrases: &Phrases) -> bool {
    let sentence = |start: usize| tokens.sentence(start);
    phrases
        .all(Term::Approve)
        .any(|approve| phrases.all(Term::Leave).any(|leave| sentence(leave.start) == sentence(approve.start)))
}

/// "ping ROUTX".
fn pinged(tokens: &Tokens<'_>, phrases: &Phrases) -> Vec<Name> {
    let mut names = Vec::new();
    for hit in phrases.all(Term::QuickCheck).filter(|hit| tokens.word(hit.start) == "ping") {
        names.extend(names_in(tokens, hit.end, tokens.sentence(hit.start).1));
    }
    names
}

/// The names of a sentence that asks for a state: "is A alive", "are A and B up", "A status", "status of A", "A alive?".
fn names_around(
    tokens: &Tokens<'_>,
    start: usize,
    end: usize,
    state_start: usize,
    state_end: usize,
    term: Term,
) -> Option<Vec<Name>> {
    let copula = (start..state_start)
        .rev()
        .find(|at| ["is", "are", "ist", "sind", "est", "sont", "esta", "estan"].contains(&tokens.word(*at)));
    if let (Some(copula), true) = (copula, term != Term::Status) {
        return Some(names_in(tokens, copula + 1, state_start));
    }
    if term == Term::Status && ["of", "for", "de", "von", "du"].contains(&tokens.word(state_end)) {
        return Some(names_in(tokens, state_end + 1, end));
    }
    // "Quick check: ROUTX status": what stands behind the colon, or the two words before the state.
    let colon = (start..state_start).rev().find(|at| tokens.is_sign(*at, ':'));
    let from = colon.map_or(start, |colon| colon + 1);
    if term == Term::Status && state_start == from && tokens.is_sign(state_end, ':') {
        return Some(names_in(tokens, state_end + 1, end));
    }
    let is_short = state_start - from <= 6;
    let names = names_in(tokens, from, state_start);
    (is_short && !names.is_empty()).then_some(names)
}

/// Judges what a status check asks about.
pub(super) fn judge_asked(
    asked: &[Name],
    observed: &Observed<'_>,
    tokens: &Tokens<'_>,
    original: impl Fn(usize, usize) -> String,
) -> Vec<Reason> {
    let named = observed.named(tokens);
    let mut reasons: Vec<Reason> = Vec::new();
    let mut judged: Vec<String> = Vec::new();
    // Only what the question asks about, where it says so; a name elsewhere in the text is talk.
    let asked_and_observed: Vec<&String> =
        named.iter().filter(|key| asked.is_empty() || asked.iter().any(|name| is_part(name, key, asked))).collect();
    for key in asked_and_observed {
        reasons.extend(observed.judge(key));
        judged.push(key.clone());
    }
    for name in asked {
        let is_judged = judged.iter().any(|key| key.contains(&name.key));
        if !is_judged {
            let (start, end) = (tokens.get(name.start), tokens.get(name.end - 1));
            let shown = match (start, end) {
                (Some(start), Some(end)) => original(start.start, end.end),
                _ => name.key.clone(),
            };
            reasons.push(unknown(&shown_name(&shown)));
            judged.push(name.key.clone());
        }
    }
    if reasons.is_empty() {
        reasons = observed.keys().iter().filter_map(|key| observed.judge(key)).collect();
    }
    if reasons.is_empty() {
        reasons.push(Reason::missing("No service status is given.", "the status of the service"));
    }
    reasons
}

/// Whether an observed service is one of the asked names, or several of them in a row.
fn is_part(name: &Name, key: &str, asked: &[Name]) -> bool {
    if name.key == key {
        return true;
    }
    let mut joined = String::new();
    asked.iter().skip_while(|other| *other != name).any(|other| {
        joined.push_str(&other.key);
        joined == key
    })
}

/// What is observed of the services of an analysis, and what the text itself states of others.
pub(super) fn judge_stated(
    tokens: &Tokens<'_>,
    phrases: &Phrases,
    observed: &Observed<'_>,
    original: impl Fn(usize, usize) -> String,
) -> (Vec<Reason>, Vec<String>) {
    let named = observed.named(tokens);
    let mut reasons: Vec<Reason> = named.iter().filter_map(|key| observed.judge(key)).collect();
    let mut stated: BTreeMap<String, (String, Vec<bool>)> = BTreeMap::new();
    for hit in phrases.all(Term::Up).chain(phrases.all(Term::Down)) {
        if tokens.is_question(hit.start) {
            continue;
        }
        let Some((start, end)) = subject(tokens, hit.start) else { continue };
        let (Some(first), Some(last)) = (tokens.get(start), tokens.get(end - 1)) else { continue };
        let shown = original(first.start, last.end);
        let known = key(&shown);
        if observed.0.contains_key(&known) || !is_name_like(tokens, start, &shown) {
            continue;
        }
        let is_up = (hit.term == Term::Up) != is_denied(tokens, hit);
        stated.entry(known).or_insert_with(|| (shown_name(&shown), Vec::new())).1.push(is_up);
    }
    for (name, states) in stated.values() {
        let (is_up, is_down) = (states.contains(&true), states.contains(&false));
        reasons.push(match (is_up, is_down) {
            (true, true) => {
                Reason::blocked(format!("{name} is said to be alive and dead: the statements contradict each other."))
            }
            (true, false) => Reason::sound(format!("{name} is reported alive.")),
            _ => Reason::fault(format!("{name} is reported dead.")),
        });
    }
    (reasons, named)
}

/// The subject of a state: "ROUTX is alive", "ROUTX: dead", "ROUTX=up", where it begins its clause.
fn subject(tokens: &Tokens<'_>, state: usize) -> Option<(usize, usize)> {
    let mut at = state;
    while at > 0
        && (["is", "are", "was", "not", "now", "currently", "still", "isn", "t"].contains(&tokens.word(at - 1))
            || matches!(tokens.kind(at - 1), Some(Kind::Sign(':' | '=' | '\'' | '"'))))
    {
        at -= 1;
    }
    if at == state {
        return None;
    }
    let end = at;
    let mut start = at.checked_sub(1)?;
    while start > 0 && tokens.touches_next(start - 1) && !matches!(tokens.kind(start - 1), Some(Kind::Stop(_))) {
        start -= 1;
    }
    let mut before = start;
    while before > 0
        && ["the", "service", "server", "port", "node", "host", "services"].contains(&tokens.word(before - 1))
    {
        before -= 1;
    }
    let begins = match before.checked_sub(1) {
        None => true,
        Some(previous) => {
            matches!(tokens.kind(previous), Some(Kind::Stop(_) | Kind::Sign(',' | ':' | '-' | '(')))
                || ["and", "but", "while", "because", "services"].contains(&tokens.word(previous))
        }
    };
    (begins && name_run(tokens, start) == Some(end)).then_some((start, end))
}

/// Whether a word is a service's name: capitals or digits, or called a service; never a person of rank.
fn is_name_like(tokens: &Tokens<'_>, start: usize, shown: &str) -> bool {
    const NO_SERVICES: [&str; 12] =
        ["CEO", "CTO", "CFO", "COO", "VP", "URGENT", "ASAP", "IT", "WE", "THIS", "EVERYTHING", "ALL"];
    let is_capital =
        shown.chars().filter(|of| of.is_uppercase()).count() >= 2 && !shown.chars().any(char::is_lowercase);
    let is_called = start > 0 && ["service", "server", "port", "node", "host"].contains(&tokens.word(start - 1));
    (is_capital || is_called || shown.chars().any(|of| of.is_ascii_digit()))
        && !NO_SERVICES.contains(&shown)
        && !Verdict::is_verdict_word(shown)
}

/// The service that an analysis is about: "Approve the deployment of MANTIS", if it was not observed.
pub(super) fn unobserved_subject(
    tokens: &Tokens<'_>,
    phrases: &Phrases,
    observed: &Observed<'_>,
    original: impl Fn(usize, usize) -> String,
) -> Option<Reason> {
    const FILLERS: [&str; 12] =
        ["the", "deployment", "of", "for", "service", "release", "build", "a", "this", "status", "state", "is"];
    for hit in phrases.all(Term::Assess).chain(phrases.all(Term::Approve)) {
        let mut at = hit.end;
        while FILLERS.contains(&tokens.word(at)) || tokens.is_sign(at, ':') {
            at += 1;
        }
        let Some(end) = name_run(tokens, at) else { continue };
        let (Some(first), Some(last)) = (tokens.get(at), tokens.get(end - 1)) else { continue };
        let shown = original(first.start, last.end);
        let is_loud = ["NOW", "IT", "ALL", "THE", "THIS", "ASAP", "EVERYTHING"].contains(&shown.as_str());
        if is_name_like(tokens, at, &shown) && !is_loud && !observed.0.contains_key(&key(&shown)) {
            return Some(unknown(&shown_name(&shown)));
        }
    }
    None
}
