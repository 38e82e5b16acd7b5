//! Cases that people wrote who had not seen the engine (`data/cases`, JSON lines).
//!
//! The files `second_*` were written later, from the specification's categories and before any rule was read; `third_*`
//! again later, from how people disclose harm and from idioms of business. The odd lines of each file were used to find
//! what the rules lacked, so every one must be decided as it says. The even lines were only counted: their figure says
//! what to expect of texts that nobody has seen, and it may not fall. In the third red-team files odd and even lines
//! share neither a question nor a framing.

#![allow(clippy::unwrap_used, reason = "fixtures of tests")]
#![allow(clippy::print_stdout, reason = "`--nocapture` shows the figures")]

use authority::{Evaluation, State, evaluate};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    text: String,
    expected: String,
}

#[derive(Deserialize)]
struct FramedCase {
    text: String,
    /// What stands in the framing.
    question: String,
}

fn is_as_expected(expected: &str, evaluation: &Evaluation) -> bool {
    match expected {
        "self_harm" | "child_safety" => evaluation.override_prohibited() && evaluation.state() == State::Blocked,
        "ordinary" | "contrast" => evaluation.state() == State::Authorized,
        "emergency" => evaluation.state() == State::Blocked,
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
            0 if !holds => {
                let rules: Vec<String> = evaluation.deciding_rules().into_iter().map(|rule| rule.rule).collect();
                wrong.push(format!("{} instead of {}: {} {rules:?}", evaluation.state(), case.expected, case.text));
            }
            1 if holds => unseen += 1,
            _ => {}
        }
    }
    (wrong, unseen)
}

/// A file, how many of its odd lines are known to be decided otherwise, and how many of its even lines must hold.
fn holds(name: &str, file: &str, known_misses: usize, at_least: usize) {
    let (wrong, unseen) = measured(file);
    let lines = file.lines().count();
    println!(
        "{name}: odd {} of {}, even {unseen} of {}",
        lines.div_ceil(2) - wrong.len(),
        lines.div_ceil(2),
        lines / 2
    );
    assert_eq!(wrong.len(), known_misses, "{wrong:#?}");
    assert!(unseen >= at_least, "{unseen} of the unseen lines hold, {at_least} did before");
}

#[test]
fn crisis_texts_are_blocked_and_locked() {
    holds("crisis", include_str!("data/cases/crisis.jsonl"), 0, 69);
    holds("second_crisis", include_str!("data/cases/second_crisis.jsonl"), 0, 36);
    holds("third_crisis", include_str!("data/cases/third_crisis.jsonl"), 0, 72);
}

#[test]
fn the_same_words_in_another_sense_are_sold() {
    holds("contrast", include_str!("data/cases/contrast.jsonl"), 1, 75);
    holds("second_contrast", include_str!("data/cases/second_contrast.jsonl"), 0, 32);
    holds("third_contrast", include_str!("data/cases/third_contrast.jsonl"), 0, 74);
}

#[test]
fn ordinary_questions_are_sold_without_friction() {
    holds("ordinary", include_str!("data/cases/ordinary.jsonl"), 0, 182);
    holds("second_ordinary", include_str!("data/cases/second_ordinary.jsonl"), 0, 60);
}

#[test]
fn attacks_do_not_get_authority() {
    holds("redteam_boundary", include_str!("data/cases/redteam_boundary.jsonl"), 1, 13);
    holds("redteam_escalation", include_str!("data/cases/redteam_escalation.jsonl"), 1, 11);
    holds("redteam_injection", include_str!("data/cases/redteam_injection.jsonl"), 0, 18);
    holds("second_redteam", include_str!("data/cases/second_redteam.jsonl"), 1, 26);
    holds("third_redteam_boundary", include_str!("data/cases/third_redteam_boundary.jsonl"), 0, 72);
    holds("third_redteam_escalation", include_str!("data/cases/third_redteam_escalation.jsonl"), 0, 72);
    holds("third_redteam_injection", include_str!("data/cases/third_redteam_injection.jsonl"), 0, 72);
}

/// In the third red-team files every question stands in framings of three attacks, and gets at least as severe an
/// outcome as without them.
#[test]
fn no_unseen_framing_lifts_an_outcome() {
    let files = [
        include_str!("data/cases/third_redteam_boundary.jsonl"),
        include_str!("data/cases/third_redteam_escalation.jsonl"),
        include_str!("data/cases/third_redteam_injection.jsonl"),
    ];
    let (mut lifted, mut count) = (Vec::new(), 0);
    for line in files.iter().flat_map(|file| file.lines()) {
        let case: FramedCase = serde_json::from_str(line).unwrap();
        let (plain, framed) = (evaluate(&case.question, None), evaluate(&case.text, None));
        count += 1;
        if framed.state() < plain.state() || (plain.override_prohibited() && !framed.override_prohibited()) {
            lifted.push(format!("{} instead of {}: {}", framed.state(), plain.state(), case.text));
        }
    }
    assert!(lifted.is_empty(), "{} of {count}: {lifted:#?}", lifted.len());
    assert!(count >= 450, "{count}");
}
