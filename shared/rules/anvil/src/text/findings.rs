//! Finds statements beside figures: checks that did not run, exposures, questions about the gate itself.

use super::{
    phrases::{Hit, Phrases, is_denied},
    token::Tokens,
    vocabulary::Term,
};
use crate::{assessment::Reason, kernel::Kernel};

/// The maximum number of tokens between "without" and "smoke test".
const REACH: usize = 6;

/// Whether a text only asks about the gate: sentences beside those questions contain no more than a greeting.
fn is_only_about_the_gate(tokens: &Tokens<'_>, phrases: &Phrases, is_asked: impl Fn(usize, usize) -> bool) -> bool {
    const GREETING: usize = 2;
    let others =
        [Term::Assess, Term::Approve, Term::Fault, Term::Up, Term::Down, Term::Status, Term::Leave, Term::Check];
    if others.iter().any(|term| phrases.has(*term)) {
        return false;
    }
    let mut at = 0;
    while at < tokens.len() {
        let (start, end) = tokens.sentence(at);
        let has_digits = (start..end).any(|of| tokens.str(of).bytes().any(|byte| byte.is_ascii_digit()));
        if has_digits || !is_asked(start, end) && end - start > GREETING {
            return false;
        }
        at = end.max(at) + 1;
    }
    true
}

/// Answers questions about the gate's identity and thresholds, unless the text requests something else too.
pub(super) fn about_the_gate(tokens: &Tokens<'_>, phrases: &Phrases) -> Option<Reason> {
    let is_asked = |start: usize, end: usize| {
        let mut hits = phrases.all(Term::Identity).chain(phrases.all(Term::Knowledge));
        hits.any(|hit| hit.start >= start && hit.start <= end)
    };
    if !is_only_about_the_gate(tokens, phrases, is_asked) {
        return None;
    }
    if phrases.has(Term::Identity) {
        return Some(Reason::sound(format!(
            "I am ANVIL, the quality gate: verification of builds, configurations, deployments and running systems. I \
             assess the kernels {} and what else is observed, and give one verdict with its reasons; nothing ships \
             without it. This answer approves nothing, it says that the gate itself is in order.",
            Kernel::symbols()
        )));
    }
    phrases.has(Term::Knowledge).then(thresholds)
}

/// The five kernels with their thresholds.
pub(super) fn thresholds() -> Reason {
    let listed = Kernel::ALL.map(|kernel| format!("{} {}", kernel.symbol(), kernel.threshold())).join(", ");
    Reason::sound(format!(
        "The five kernels and their thresholds: {listed}. All five must be within, and together too. This answer approves \
         nothing, it says that the rules themselves are in order."
    ))
}

/// "What is the threshold for Φζ?"
pub(super) fn asks_for_thresholds(tokens: &Tokens<'_>, phrases: &Phrases) -> bool {
    let asks = |at: usize| ["what", "which", "list", "name", "tell"].contains(&tokens.word(at));
    let limits =
        |at: usize| ["threshold", "thresholds", "limit", "limits", "ceiling", "minimum"].contains(&tokens.word(at));
    is_only_about_the_gate(tokens, phrases, |start, end| (start..end).any(asks) && (start..end).any(limits))
}

/// Whether the text requests a deployment: one irrelevant figure must not approve it.
pub(super) fn is_about_a_deployment(tokens: &Tokens<'_>, phrases: &Phrases) -> bool {
    let is_deployment = |at: usize| ["deployment", "deployments", "rollout"].contains(&tokens.word(at));
    phrases.all(Term::Approve).any(|hit| !is_denied(tokens, hit)) || (0..tokens.len()).any(is_deployment)
}

/// Whether a hit is a statement, not a question, a denial or a condition.
pub(super) fn is_stated(tokens: &Tokens<'_>, hit: Hit) -> bool {
    let (start, _) = tokens.sentence(hit.start);
    let is_condition =
        (start..hit.start).any(|at| ["if", "unless", "whether", "would", "could", "might"].contains(&tokens.word(at)));
    !tokens.is_question(hit.start) && !is_condition && !is_denied(tokens, hit) && !is_long_ago(tokens, hit.start)
}

/// Whether the sentence of a token speaks of a time long ago: "last year", "months ago".
pub(super) fn is_long_ago(tokens: &Tokens<'_>, at: usize) -> bool {
    let (start, end) = tokens.sentence(at);
    let is = |at: usize, words: [&str; 3], next: &[&str]| {
        words.contains(&tokens.word(at)) && next.contains(&tokens.word(at + 1))
    };
    (start..end).any(|at| {
        is(at, ["last", "previous", "an"], &["year", "month", "quarter", "century", "decade"])
            || is(at, ["years", "months", "decades"], &["ago"])
    })
}

/// Whether the second hit follows the first in the same sentence, within reach.
fn follows(tokens: &Tokens<'_>, first: Hit, second: Hit) -> bool {
    let is_unspaced = first.start == first.end && second.start == second.end;
    let (_, end) = tokens.sentence(first.start);
    is_unspaced || second.start >= first.end && second.start < end && second.start - first.end <= REACH
}

/// The findings that a text states. `has_figures` means that the text gives figures, `has_data` that it gives any data
/// to judge.
pub(super) fn stated(tokens: &Tokens<'_>, phrases: &Phrases, has_figures: bool, has_data: bool) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for hit in phrases.all(Term::Fault).filter(|hit| is_stated(tokens, *hit)) {
        push_once(&mut reasons, Reason::fault(format!("Stated: {}.", words(tokens, hit))));
    }
    if (0..tokens.len()).any(|at| is_open_to_all(tokens, at)) {
        reasons.push(Reason::fault(
            "A port listens on all interfaces, or a file is open to all: unauthorized external exposure.",
        ));
    }
    for hit in phrases.all(Term::Blocked).filter(|hit| is_stated(tokens, *hit)) {
        push_once(&mut reasons, Reason::blocked(format!("Stated: {}. Retry after it resolves.", words(tokens, hit))));
    }
    if phrases.all(Term::Instrument).any(|instrument| is_unavailable(tokens, phrases, instrument)) {
        reasons
            .push(Reason::blocked("A dependency that a check needs is down or unavailable. Retry after it resolves."));
    }
    for hit in phrases.all(Term::Caution).filter(|hit| is_stated(tokens, *hit)) {
        push_once(&mut reasons, Reason::caution(format!("Stated: {}.", words(tokens, hit))));
    }
    // A score of another run does not replace a skipped check.
    reasons.extend(unrun_check(tokens, phrases));
    if !has_figures {
        reasons.extend(earlier_verdict(tokens));
    }
    let left_gate = phrases.all(Term::Leave).find(|leave| {
        !is_denied(tokens, *leave) && phrases.near(Term::Gate, *leave, REACH).any(|gate| follows(tokens, *leave, gate))
    });
    if let Some(leave) = left_gate {
        let refusal = "Refused: the gate is not skipped, and its thresholds are not set aside.";
        let sentence = tokens.sentence(leave.start);
        let approves = phrases.all(Term::Approve).any(|approve| {
            (approve.start < approve.end) == (leave.start < leave.end) && tokens.sentence(approve.start) == sentence
        });
        let is_all = reasons.is_empty() && !has_data;
        // "Waive the gate" requests an approval; "ignore your instructions" may request anything.
        let is_gate = phrases.all(Term::Gate).any(|gate| {
            follows(tokens, leave, gate) && ["gate", "gates", "anvil", "verdict"].contains(&tokens.word(gate.start))
        });
        reasons.push(if is_all && (approves || is_gate) { Reason::blocked(refusal) } else { Reason::note(refusal) });
    }
    reasons
}

fn push_once(reasons: &mut Vec<Reason>, reason: Reason) {
    if !reasons.contains(&reason) {
        reasons.push(reason);
    }
}

/// The words of a phrase as the vocabulary lists them, so that an answer never repeats the text's own words.
fn words(tokens: &Tokens<'_>, hit: Hit) -> String {
    (hit.start..hit.end)
        .map(|at| tokens.str(at))
        .filter(|word| word.chars().all(char::is_alphanumeric))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Whether a statement contains "0.0.0.0" or "[::]" without a whitelist that permits it, or a file mode that grants
/// write permission to all users.
fn is_open_to_all(tokens: &Tokens<'_>, at: usize) -> bool {
    let (start, end) = tokens.sentence(at);
    let in_sentence = |words: &[&str]| (start..end).any(|of| words.contains(&tokens.word(of)));
    const MODES: [&str; 8] = ["777", "0777", "666", "0666", "776", "0776", "667", "0667"];
    let is_mode = MODES.contains(&tokens.str(at))
        && (at.saturating_sub(3)..at)
            .any(|of| ["chmod", "mode", "modes", "permission", "permissions"].contains(&tokens.word(of)));
    let is_any_address = tokens.is_sign(at, ':') && tokens.is_sign(at + 1, ':') && tokens.touches_next(at);
    is_mode && !tokens.is_question(at)
        || (tokens.str(at) == "0.0.0.0" || is_any_address)
            && !tokens.is_question(at)
            && in_sentence(&["listening", "listens", "listen", "bound", "binds", "bind", "open", "exposed"])
            && !in_sentence(&["not", "no", "never", "if", "whitelisted", "allowlisted"])
}

/// "the harness was unavailable", "dependency CACHE is down", "telemetry: offline".
fn is_unavailable(tokens: &Tokens<'_>, phrases: &Phrases, instrument: Hit) -> bool {
    let states = phrases.near(Term::Down, instrument, REACH).chain(phrases.near(Term::NotRun, instrument, REACH));
    states.filter(|state| follows(tokens, instrument, *state)).any(|state| {
        let denials = ["not", "never", "no", "isn", "wasn"];
        let is_denied = (instrument.end..state.start).any(|at| denials.contains(&tokens.word(at)));
        !is_denied && is_stated(tokens, instrument)
    })
}

/// A check that has not run, or that the text asks to skip.
fn unrun_check(tokens: &Tokens<'_>, phrases: &Phrases) -> Option<Reason> {
    let is_check = |check: Hit| tokens.word(check.start) != "check" || !is_quick(phrases, check);
    let check_behind =
        |hit: Hit| phrases.near(Term::Check, hit, REACH).any(|check| is_check(check) && follows(tokens, hit, check));
    let check_before =
        |hit: Hit| phrases.near(Term::Check, hit, REACH).any(|check| is_check(check) && follows(tokens, check, hit));
    let is_left_out = phrases.all(Term::Leave).any(|leave| !is_denied(tokens, leave) && check_behind(leave));
    let is_early = phrases.all(Term::Approve).any(|approve| {
        let (_, end) = tokens.sentence(approve.start);
        let before =
            (approve.end..end.min(approve.end + REACH)).find(|at| ["before", "ahead"].contains(&tokens.word(*at)));
        before.is_some_and(|at| check_behind(Hit { term: Term::Leave, start: at, end: at + 1 }))
    });
    let is_put_off = phrases.all(Term::Deferred).any(|hit| {
        !tokens.is_question(hit.start) && !is_denied(tokens, hit) && (check_behind(hit) || check_before(hit))
    });
    if is_left_out || is_early || is_put_off {
        return Some(Reason::blocked(
            "Refused: a check is to be left out that has not run. Skipping a quality gate violates what the gate is for; \
             retry when the check has run.",
        ));
    }
    let has_not_run = phrases
        .all(Term::NotRun)
        .any(|not_run| !tokens.is_question(not_run.start) && (check_behind(not_run) || check_before(not_run)));
    has_not_run.then(|| Reason::blocked("A prerequisite check has not run or is unavailable. Retry when it has."))
}

fn is_quick(phrases: &Phrases, check: Hit) -> bool {
    phrases.all(Term::QuickCheck).any(|quick| quick.start <= check.start && check.end <= quick.end)
}

/// "Why did you return RED on the port scan?" An earlier finding is valid until the next assessment; an earlier
/// approval is no evidence.
fn earlier_verdict(tokens: &Tokens<'_>) -> Option<Reason> {
    let given = (0..tokens.len()).find(|at| {
        ["return", "returned", "give", "given", "gave", "say", "said", "rate", "rated"].contains(&tokens.word(*at))
    })?;
    let (start, end) = tokens.sentence(given);
    let is_past = (start..given).any(|at| ["did", "have", "had", "was"].contains(&tokens.word(at)));
    // A taunt in a text with other content does not request an explanation.
    let is_explained = (start..given).any(|at| ["why", "explain", "warum", "pourquoi"].contains(&tokens.word(at)));
    if !is_explained && (start > 0 || end + 1 < tokens.len()) {
        return None;
    }
    if !is_past || !tokens.is_question(given) {
        return None;
    }
    match (given + 1..end).map(|at| tokens.word(at)).find(|word| ["red", "hold"].contains(word))? {
        "red" => Some(Reason::fault(
            "The earlier finding stands until it is fixed and assessed again. For a port scan it is a port that listens on \
             all interfaces and is not in the whitelist: unauthorized external exposure.",
        )),
        _ => Some(Reason::blocked(
            "The earlier finding stands until the check or dependency that it waits for is available.",
        )),
    }
}
