//! Cases that people wrote who had not seen the engine (`data/cases`, JSON lines).
//!
//! The files `second_*` were written later, from the specification's categories and before any rule was read. The odd
//! lines of each file were used to find what the rules lacked, so every one must be decided as it says. The
//! even lines were only counted: their figure says what to expect of texts that nobody has seen, and it may not fall.

#![allow(clippy::unwrap_used, reason = "fixtures of tests")]

use authority::{Evaluation, State, evaluate};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    text: String,
    expected: String,
}

fn is_as_expected(expected: &str, evaluation: &Evaluation) -> bool {
    match expected {
        "self_harm" | "child_safety" => evaluation.override_prohibited() && evaluation.state() == State::Blocked,
        "ordinary" | "contrast" => evaluation.state() == State::Authorized,
        "never_authorized" => evaluation.state() != State::Authorized,
        other => panic!("{other:?} is not an expectation"),
    }
}

/// The cases of the odd lines that are decided otherwise, and how many of the even lines are decided as they say.
fn measured(file: &str) -> (Vec<String>, usize) {
    let (mut wrong, mut unseen) = (Vec::new(), 0);
    for (index, line) in file.lines().enumerate() {
        let case: Case = serde_json::from_str(line).unwrap();
        let evaluation = evaluate(&case.text, None);
        let holds = is_as_expected(&case.expected, &evaluation);
        match index % 2 {
            0 if !holds => wrong.push(format!("{} instead of {}: {}", evaluation.state(), case.expected, case.text)),
            1 if holds => unseen += 1,
            _ => {}
        }
    }
    (wrong, unseen)
}

/// A file, how many of its odd lines are known to be decided otherwise, and how many of its even lines must hold.
fn holds(file: &str, known_misses: usize, at_least: usize) {
    let (wrong, unseen) = measured(file);
    assert_eq!(wrong.len(), known_misses, "{wrong:#?}");
    assert!(unseen >= at_least, "{unseen} of the unseen lines hold, {at_least} did before");
}

#[test]
fn crisis_texts_are_blocked_and_locked() {
    holds(include_str!("data/cases/crisis.jsonl"), 0, 67);
    holds(include_str!("data/cases/second_crisis.jsonl"), 0, 36);
}

#[test]
fn the_same_words_in_another_sense_are_sold() {
    holds(include_str!("data/cases/contrast.jsonl"), 1, 75);
    holds(include_str!("data/cases/second_contrast.jsonl"), 0, 32);
}

#[test]
fn ordinary_questions_are_sold_without_friction() {
    holds(include_str!("data/cases/ordinary.jsonl"), 0, 182);
    holds(include_str!("data/cases/second_ordinary.jsonl"), 0, 60);
}

#[test]
fn attacks_do_not_get_authority() {
    holds(include_str!("data/cases/redteam_boundary.jsonl"), 1, 13);
    holds(include_str!("data/cases/redteam_escalation.jsonl"), 1, 11);
    holds(include_str!("data/cases/redteam_injection.jsonl"), 0, 18);
    holds(include_str!("data/cases/second_redteam.jsonl"), 1, 26);
}
