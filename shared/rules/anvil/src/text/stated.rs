//! Judges statements of an analysis about services.

use super::{
    observed::{Observed, is_name_like, key, name_run},
    phrases::{Hit, Phrases, is_denied},
    token::{Kind, Tokens},
    vocabulary::Term,
};
use crate::assessment::{Reason, Verdict, shown_name};
use std::collections::BTreeMap;

/// The known facts about the services that a text names.
pub(super) struct Stated {
    pub(super) reasons: Vec<Reason>,
    /// The observed services that it names.
    pub(super) named: Vec<String>,
    /// The other services whose state it claims.
    pub(super) claimed: Vec<String>,
}

/// The observations of the services in an analysis, and the text's own statements about others.
pub(super) fn judge_stated(
    tokens: &Tokens<'_>,
    phrases: &Phrases,
    observed: &Observed<'_>,
    original: impl Fn(usize, usize) -> String,
) -> Stated {
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
        if observed.has(&known) || !is_name_like(tokens, start, &shown) && !is_down_by_name(tokens, hit, (start, end)) {
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
    let claimed = stated.into_keys().collect();
    Stated { reasons, named, claimed }
}

/// The subject of a state, at the beginning of its clause: "ROUTX is alive", "ROUTX: dead", "ROUTX=up".
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

/// "routx is down": a lower-case name counts if the text says that it is dead, because that approves nothing. Excludes
/// words that are no service or that have a separate rule.
fn is_down_by_name(tokens: &Tokens<'_>, hit: Hit, (start, end): (usize, usize)) -> bool {
    const DEAD: [&str; 7] = ["dead", "down", "offline", "unreachable", "unresponsive", "crashed", "unhealthy"];
    const NO_SERVICES: [&str; 50] = [
        "sales",
        "revenue",
        "market",
        "markets",
        "morale",
        "everything",
        "everyone",
        "everybody",
        "nobody",
        "nothing",
        "we",
        "it",
        "he",
        "she",
        "they",
        "this",
        "that",
        "which",
        "what",
        "who",
        "i",
        "you",
        "business",
        "profit",
        "profits",
        "price",
        "prices",
        "team",
        "captain",
        "boss",
        "admiral",
        "love",
        "stock",
        "shares",
        "customers",
        "all",
        "one",
        "time",
        "dependency",
        "telemetry",
        "probe",
        "sensor",
        "exporter",
        "metrics",
        "monitoring",
        "collector",
        "runner",
        "harness",
        "smoke",
        "test",
    ];
    let word = tokens.word(start);
    hit.term == Term::Down
        && end == start + 1
        && DEAD.contains(&tokens.word(hit.start))
        && !word.is_empty()
        && !NO_SERVICES.contains(&word)
        && !Verdict::is_verdict_word(word)
}
