//! Finds the services that a status check asks about, and answers it.

use super::{
    observed::{Name, Observed, is_name_like, names_in, unknown},
    phrases::{Phrases, is_denied},
    token::{Kind, Tokens},
    vocabulary::Term,
};
use crate::assessment::{Reason, shown_name};

/// A text with more questions is no quick check.
const MOST_QUESTIONS: usize = 40;

/// Names beyond this number are not looked up.
const MOST_NAMES: usize = 100;

/// The services that a simple status check asks about; `None` if the text is no such check.
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
    let mut asking: Vec<(usize, usize)> = Vec::new();
    let states = || phrases.all(Term::Up).chain(phrases.all(Term::Down)).chain(phrases.all(Term::Status));
    let has_question = states().any(|hit| tokens.is_question(hit.start));
    for hit in states() {
        let (start, end) = tokens.sentence(hit.start);
        if asking.len() >= MOST_QUESTIONS {
            break;
        }
        let is_short_status = hit.term == Term::Status && end - start <= 4;
        if !tokens.is_question(hit.start) && !is_short_status && (has_question || !phrases.has(Term::QuickCheck)) {
            continue;
        }
        if let Some(names) = names_around(tokens, start, end, hit.start, hit.end, hit.term) {
            asked.get_or_insert_default().extend(names);
            asking.push((start, end));
        } else if !observed.named(tokens).is_empty() {
            asked.get_or_insert_default();
            asking.push((start, end));
        }
    }
    if asked.is_none() && is_list(tokens, phrases) && !observed.named(tokens).is_empty() {
        // "ROUTX and MANTIS", "Check ROUTX, MANTIS?"
        asked = Some(names_in(tokens, 0, tokens.len()));
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
    asked.extend(also_asked(tokens, observed, &asking, &original));
    asked.sort_by_key(|name| name.start);
    asked.dedup();
    Some(asked)
}

/// Whether a text consists of names alone, without a state or a request.
fn is_list(tokens: &Tokens<'_>, phrases: &Phrases) -> bool {
    const LONGEST: usize = 12;
    let says_more = [Term::Up, Term::Down, Term::Approve, Term::Fault, Term::Leave];
    tokens.len() <= LONGEST && !says_more.iter().any(|term| phrases.has(*term))
}

/// The further names of a question: "is A alive and B?", "Is A alive? And B?", "What about B?"
fn also_asked(
    tokens: &Tokens<'_>,
    observed: &Observed<'_>,
    asking: &[(usize, usize)],
    original: &impl Fn(usize, usize) -> String,
) -> Vec<Name> {
    let Some(first) = asking.first() else { return Vec::new() };
    let mut names = Vec::new();
    let mut at = first.0;
    while at < tokens.len() && names.len() < MOST_QUESTIONS {
        let (start, end) = tokens.sentence(at);
        at = end.max(at) + 1;
        let is_first = asking.contains(&(start, end));
        if !is_first && !tokens.is_question(start) {
            continue;
        }
        let goes_on = ["and", "or", "what", "how", "also"].contains(&tokens.word(start)) && end - start <= 6;
        for name in names_in(tokens, start, end) {
            let (Some(one), Some(last)) = (tokens.get(name.start), tokens.get(name.end - 1)) else { continue };
            let is_loud = is_name_like(tokens, name.start, &original(one.start, last.end));
            let before = name.start.checked_sub(1).filter(|before| *before > start);
            let is_added = is_first
                && before.is_some_and(|before| {
                    ["and", "or"].contains(&tokens.word(before)) || matches!(tokens.kind(before), Some(Kind::Sign('&')))
                })
                && name.end >= end;
            let is_talk = ["about", "how", "also", "too", "what", "well"].contains(&name.key.as_str());
            if !is_talk && (is_loud || is_added || !is_first && goes_on || observed.has(&name.key)) {
                names.push(name);
            }
        }
    }
    names
}

/// Names in capitals in the sentences that ask: the fallback if the grammar is unknown.
fn capitals(tokens: &Tokens<'_>, original: &impl Fn(usize, usize) -> String) -> Vec<Name> {
    let mut names = names_in(tokens, 0, tokens.len());
    names.retain(|name| {
        let (Some(first), Some(last)) = (tokens.get(name.start), tokens.get(name.end - 1)) else { return false };
        tokens.is_question(name.start) && is_name_like(tokens, name.start, &original(first.start, last.end))
    });
    names
}

fn asks_to_ship_unchecked(tokens: &Tokens<'_>, phrases: &Phrases) -> bool {
    let left: std::collections::HashSet<_> =
        phrases.all(Term::Leave).map(|leave| tokens.sentence(leave.start)).collect();
    phrases.all(Term::Approve).any(|approve| left.contains(&tokens.sentence(approve.start)))
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
    // "Quick check: ROUTX status": the names between the colon, or the start, and the state, within six tokens.
    let colon = (start..state_start).rev().find(|at| tokens.is_sign(*at, ':'));
    let from = colon.map_or(start, |colon| colon + 1);
    if term == Term::Status && state_start == from && tokens.is_sign(state_end, ':') {
        return Some(names_in(tokens, state_end + 1, end));
    }
    let is_short = state_start - from <= 6;
    let names = names_in(tokens, from, state_start);
    (is_short && !names.is_empty()).then_some(names)
}

/// Judges the services that a status check asks about.
pub(super) fn judge_asked(
    asked: &[Name],
    observed: &Observed<'_>,
    tokens: &Tokens<'_>,
    original: impl Fn(usize, usize) -> String,
) -> Vec<Reason> {
    let named = observed.named(tokens);
    let mut reasons: Vec<Reason> = Vec::new();
    let mut judged: Vec<String> = Vec::new();
    // If the question names services, only those count; other names in the text are ignored.
    let joined = joined_names(asked);
    let asked_and_observed: Vec<&String> =
        named.iter().filter(|key| asked.is_empty() || joined.iter().any(|(of, ..)| of == *key)).collect();
    for key in asked_and_observed {
        reasons.extend(observed.judge(key));
        judged.push(key.clone());
    }
    let covered = covered(asked, observed);
    for (name, is_covered) in asked.iter().zip(covered).take(MOST_NAMES) {
        if !is_covered && !judged.contains(&name.key) {
            let (start, end) = (tokens.get(name.start), tokens.get(name.end - 1));
            let shown = match (start, end) {
                (Some(start), Some(end)) => original(start.start, end.end),
                _ => name.key.clone(),
            };
            reasons.push(unknown(&shown_name(&shown)));
            judged.push(name.key.clone());
        }
    }
    if asked.len() > MOST_NAMES {
        reasons.push(unknown("all that are named"));
    }
    if reasons.is_empty() {
        reasons = observed.keys().iter().filter_map(|key| observed.judge(key)).collect();
    }
    if reasons.is_empty() {
        reasons.push(Reason::missing("No service status is given.", "the status of the service"));
    }
    reasons
}

/// The names, and adjacent names joined into one: each with the index of its first and last name.
fn joined_names(asked: &[Name]) -> Vec<(String, usize, usize)> {
    const LONGEST: usize = 4;
    let mut joined = Vec::new();
    for (first, name) in asked.iter().enumerate().take(MOST_NAMES) {
        let mut key = name.key.clone();
        joined.push((key.clone(), first, first));
        for (last, next) in asked.iter().enumerate().skip(first + 1).take(LONGEST) {
            key.push_str(&next.key);
            joined.push((key.clone(), first, last));
        }
    }
    joined
}

/// Marks the names that are observed, alone or as a whole word of a name of several words.
fn covered(asked: &[Name], observed: &Observed<'_>) -> Vec<bool> {
    let mut covered = vec![false; asked.len()];
    for (key, first, last) in joined_names(asked) {
        if observed.has(&key)
            && let Some(names) = covered.get_mut(first..=last)
        {
            names.fill(true);
        }
    }
    covered
}
