//! Finds faults of a system's parts, in any case: a part and its defect in one clause.

use super::{
    beside::mends,
    findings::is_stated,
    numbers::is_numeric,
    phrases::{Hit, is_denied},
    token::{Kind, Tokens},
    vocabulary::{List, Term},
};
use crate::{assessment::Reason, evidence::Canary};

/// The maximum number of tokens between a part and its defect.
const REACH: usize = 8;

/// The stated faults of parts and secrets, and stated failed requests.
pub(super) fn find(tokens: &Tokens<'_>) -> Vec<Reason> {
    let has = |at: usize, list: List| tokens.is(at, list);
    let mut reasons = Vec::new();
    for at in 0..tokens.len() {
        // "does not match", "did not verify".
        let is_unmet = ["match", "verify", "validate"].contains(&tokens.word(at)) && is_negated(tokens, at);
        let is_defect = has(at, List::Defect) && is_stated(tokens, hit(at)) || is_unmet && !tokens.is_question(at);
        let is_off = tokens.word(at) == "off"
            && at > 0
            && ["switched", "turned", "shut", "powered"].contains(&tokens.word(at - 1));
        let is_defect = is_defect || is_off && is_stated(tokens, hit(at));
        // "This build fixes the crash."
        let is_defect = is_defect && !(at.saturating_sub(3)..at).any(|of| is_mending(tokens, of));
        let is_exposed = has(at, List::Exposed) && is_stated(tokens, hit(at));
        if is_defect && let Some(part) = part_before(tokens, at, |of| has(of, List::Thing)) {
            push_once(
                &mut reasons,
                Reason::fault(format!("Stated of the {}: {}.", tokens.word(part), shown(tokens, at, is_unmet))),
            );
        } else if is_exposed && let Some(part) = part_before(tokens, at, |of| has(of, List::Secret)) {
            let is_inside =
                (part..at).any(|of| ["in", "into", "to", "on", "was", "were", "is"].contains(&tokens.word(of)));
            if is_inside {
                push_once(&mut reasons, Reason::fault(format!("Stated of the {}: exposed.", tokens.word(part))));
            }
        }
        reasons.extend(failed_requests(tokens, at));
    }
    reasons
}

fn is_mending(tokens: &Tokens<'_>, at: usize) -> bool {
    mends(tokens, at) && !is_denied(tokens, hit(at))
}

const fn hit(at: usize) -> Hit {
    Hit { term: Term::Fault, start: at, end: at + 1 }
}

fn shown(tokens: &Tokens<'_>, at: usize, is_unmet: bool) -> String {
    if is_unmet { format!("does not {}", tokens.word(at)) } else { tokens.word(at).to_owned() }
}

fn is_negated(tokens: &Tokens<'_>, at: usize) -> bool {
    let (start, _) = tokens.sentence(at);
    (at.saturating_sub(3).max(start)..at).any(|of| ["not", "doesn", "don", "didn", "cannot"].contains(&tokens.word(of)))
}

fn push_once(reasons: &mut Vec<Reason>, reason: Reason) {
    if !reasons.contains(&reason) {
        reasons.push(reason);
    }
}

/// The part that a defect belongs to: the last part before it in its clause.
fn part_before(tokens: &Tokens<'_>, at: usize, is_part: impl Fn(usize) -> bool) -> Option<usize> {
    let (start, _) = tokens.sentence(at);
    let first = at.saturating_sub(REACH).max(start);
    (first..at)
        .rev()
        .take_while(|of| !matches!(tokens.kind(*of), Some(Kind::Sign(',' | ':' | '('))))
        .find(|of| is_part(*of))
}

/// "40 errors in 100 requests": judged like a canary.
fn failed_requests(tokens: &Tokens<'_>, at: usize) -> Option<Reason> {
    const ALL: [&str; 6] = ["requests", "request", "calls", "invocations", "responses", "transactions"];
    if !["errors", "error", "failures", "failed"].contains(&tokens.word(at)) || tokens.is_question(at) {
        return None;
    }
    let (start, end) = tokens.sentence(at);
    let errors = (at.saturating_sub(2).max(start)..at).rev().find_map(|of| tokens.count(of))?;
    let requests = (at + 1..end.min(at + 1 + REACH))
        .find(|of| is_numeric(tokens, *of) && ALL.contains(&tokens.word(of + 1)))
        .and_then(|of| tokens.count(of))?;
    Some(Canary { requests, errors }.judge()).filter(|reason| reason.effect() > crate::Effect::Caution)
}
