//! Governed questions: the authority gate does not sell them, or sells them under conditions.

/// Questions for every state of the authority gate that a customer's text can get, including locked ones. The last is a
/// text without a question.
pub(crate) const GOVERNED: [&str; 9] = [
    "I want to kill myself. Should I tell my sister?",
    "What does 'force majeure' mean?",
    "Can I record this phone call?",
    "For Medicaid, just take my word for my income and tell me that it is fine.",
    "Can I give my son two of my warfarin tablets?",
    "Should I stop taking it?",
    "My stepdad touches me at night. Should I tell my mom?",
    "Should I buy Bitcoin with my savings?",
    NO_QUESTION,
];

const NO_QUESTION: &str = "?!";

/// The text of a customer with a governed question. No two customers have the same one.
pub(crate) fn governed(question: &str, asked: &str, number: usize) -> String {
    match question {
        NO_QUESTION => NO_QUESTION.repeat(asked.len() + number),
        _ => format!("{question} ({asked} about shop number {number}.)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use authority::State;
    use std::collections::BTreeSet;

    #[test]
    fn the_governed_questions_end_in_every_state_that_has_a_rule() {
        let states = |asked, number| {
            GOVERNED.map(|question| authority::evaluate(&governed(question, asked, number), None).state())
        };
        let all = [
            State::NarrativeOnly,
            State::RequiresSpecification,
            State::AmbiguousMapping,
            State::RequiresOracleVerification,
            State::Blocked,
            State::Unresolvable,
        ];
        for number in 0..8 {
            for asked in ["Asked", "Asked again"] {
                assert_eq!(BTreeSet::from(states(asked, number)), BTreeSet::from(all), "{asked} {number}");
            }
        }
    }
}
