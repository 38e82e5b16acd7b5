//! Properties that hold for every input.

use authority::{Operation, Outcome, Quote, State, evaluate, fingerprint};
use proptest::prelude::*;

fn state() -> impl Strategy<Value = State> {
    prop::sample::select(State::ALL.to_vec())
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        state().prop_map(|state| Operation::Combine(Outcome::open(state))),
        Just(Operation::Combine(Outcome::locked())),
        Just(Operation::Approve),
        state().prop_map(Operation::Override),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    /// 20 sequences of 10,000 operations: a locked outcome stays BLOCKED, and each approval or override is refused.
    #[test]
    fn no_sequence_of_operations_lowers_a_locked_outcome(
        operations in prop::collection::vec(operation(), 10_000),
        lock_at in 0_usize..10_000,
    ) {
        let mut outcome = Outcome::AUTHORIZED;
        let mut was_locked = false;
        for (index, operation) in operations.into_iter().enumerate() {
            if index == lock_at {
                outcome = outcome.combine(Outcome::locked());
            }
            was_locked |= outcome.is_locked();
            match outcome.apply(operation) {
                Ok(next) => outcome = next,
                Err(_) => prop_assert!(was_locked && !matches!(operation, Operation::Combine(_))),
            }
            if was_locked {
                prop_assert_eq!((outcome.state(), outcome.is_locked()), (State::Blocked, true));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// Combining forms a lattice: order and repetition do not matter, and severity never decreases.
    #[test]
    fn combining_is_a_lattice(states in prop::collection::vec(state(), 1..6), locked in any::<bool>()) {
        let mut outcomes: Vec<Outcome> = states.into_iter().map(Outcome::open).collect();
        if locked {
            outcomes.push(Outcome::locked());
        }
        let join = |outcomes: &[Outcome]| outcomes.iter().fold(Outcome::AUTHORIZED, |all, one| all.combine(*one));
        let joined = join(&outcomes);
        let mut turned = outcomes.clone();
        turned.reverse();
        turned.extend(outcomes.clone());
        prop_assert_eq!(join(&turned), joined);
        for outcome in outcomes {
            prop_assert!(joined.state() >= outcome.state());
        }
    }
}

/// A small generator for the two loops below: fast and deterministic.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below.max(1)
    }
}

const TEXT: &str = "My daughter weighs 14 kg and is 3 years old; elle a de la fièvre. She takes no other medication.";

/// 10^5 quotes that differ from the text in their words, their span or their fingerprint: all are rejected.
#[test]
fn no_mutated_quote_binds() {
    let mut numbers = Numbers(42);
    let boundaries: Vec<usize> = TEXT.char_indices().map(|(index, _)| index).chain([TEXT.len()]).collect();
    let mut rejected = 0;
    while rejected < 100_000 {
        let mut pick = || boundaries[numbers.next(boundaries.len())];
        let (one, other) = (pick(), pick());
        let (start, end) = (one.min(other), one.max(other));
        let Ok(quote) = Quote::take(TEXT, start, end) else { continue };
        let mut text = quote.text().to_owned();
        let (mut from, mut to, mut proof) = (start, end, quote.fingerprint().to_owned());
        match numbers.next(6) {
            0 => {
                let at = boundaries.iter().copied().filter(|at| *at < text.len() && text.is_char_boundary(*at)).count();
                let at = numbers.next(at.max(1)).min(text.len().saturating_sub(1));
                if !text.is_char_boundary(at) {
                    continue;
                }
                text.insert(at, ['x', ' ', 'é', '\u{200b}', 'А'][numbers.next(5)]);
                proof = fingerprint(text.as_bytes());
            }
            1 => {
                text = text.to_uppercase();
                if text == quote.text() {
                    continue;
                }
                proof = fingerprint(text.as_bytes());
            }
            2 => from = from.wrapping_add(1 + numbers.next(3)),
            3 => to = to.wrapping_add(1 + numbers.next(3)),
            4 => proof.replace_range(0..1, if proof.starts_with('0') { "1" } else { "0" }),
            _ => {
                text.push_str(" kg");
                to += 3;
                if TEXT.get(from..to) == Some(text.as_str()) {
                    continue;
                }
                proof = fingerprint(text.as_bytes());
            }
        }
        assert!(Quote::proposed(&text, from, to, &proof).verify(TEXT).is_err(), "{text:?} {from}..{to}");
        rejected += 1;
    }
}

/// 10^5 texts of words, numbers, signs and characters of all planes: each ends in the state of its most severe rule.
#[test]
fn random_texts_end_in_the_state_of_their_most_severe_rule() {
    const PIECES: [&str; 40] = [
        "warfarin",
        "my",
        "son",
        "kill",
        "myself",
        "14",
        "kg",
        "years old",
        "I'm",
        "bleach",
        "and",
        "ammonia",
        "$50,000",
        "s u i c i d e",
        "k!ll",
        "su*cide",
        "tool output:",
        "{\"",
        "&amp;",
        "%41",
        "\\u0041",
        "<b>",
        "\u{202e}",
        "\u{200b}",
        "é",
        "ß",
        "İ",
        "ﷺ",
        "𝓀𝒾𝓁𝓁",
        "’",
        "-",
        ".",
        "?",
        "\n\n",
        "\0",
        "e.g.",
        "3-year-old",
        "50k",
        "99999999999999999999999",
        "should",
    ];
    let mut numbers = Numbers(7);
    for _ in 0..100_000 {
        let mut text = String::new();
        for _ in 0..numbers.next(14) {
            match numbers.next(4) {
                0 => text.extend(char::from_u32(numbers.next(0x11_0000) as u32)),
                1 => text.push(char::from(numbers.next(128) as u8)),
                _ => text.push_str(PIECES[numbers.next(PIECES.len())]),
            }
            if numbers.next(3) > 0 {
                text.push(' ');
            }
        }
        let evaluation = evaluate(&text, None);
        let (state, reason) = (evaluation.state(), evaluation.reason_code());
        match evaluation.deciding_rules().iter().map(|rule| rule.state).max() {
            Some(most_severe) => assert_eq!(state, most_severe, "{text:?}"),
            None => {
                let ends = [(State::Authorized, "not_applicable"), (State::Unresolvable, "no_question")];
                assert!(ends.contains(&(state, reason)), "{state} {reason} {text:?}");
            }
        }
        assert!(state == State::Blocked || !evaluation.override_prohibited(), "{text:?}");
        for value in evaluation.values() {
            value.quote.verify(&text).unwrap();
        }
    }
}

/// Every "end" may be followed by each "myself", and each match asks for the same exceptions. If the engine walks all of them each
/// time, this takes minutes.
#[test]
fn a_text_of_a_patterns_words_takes_no_longer_than_others() {
    let (before, after) = ("myself ".repeat(100_000), "end ".repeat(100_000));
    let text = format!("{before}{after}{}", "myself end suicide ".repeat(40));
    assert_eq!(evaluate(&text, None).state(), State::Blocked);
}
