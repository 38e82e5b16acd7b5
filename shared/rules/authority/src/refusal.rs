//! The customer's texts for a question that is not answered: on a page, and in a mail.

use crate::{Contact, Evaluation, State};
use domain::texts;
use serde::Serialize;

const BLOCKED: &str = "We do not give a verdict on this question, because it could do harm. Nothing was charged. Please \
                       ask a person who knows your whole situation.";
const SPECIFICATION: &str =
    "We need to know more before we can answer. Nothing was charged. Please add to your question:";
const AMBIGUOUS: &str = "Your question can be read in more than one way. Nothing was charged. Please make clear:";
const VERIFICATION: &str =
    "This would need facts that only an official source can confirm, so we cannot answer it. Nothing was charged.";
const UNRESOLVABLE: &str =
    "We cannot find a question in this text. Nothing was charged. Please describe your question.";

/// The API's reply for a question that is not answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The sentence for the customer.
    pub error: &'static str,
    /// The kind of refusal.
    pub code: &'static str,
    /// The keys of the missing axes.
    pub missing_axes: Vec<&'static str>,
    /// The questions that would supply them.
    pub questions: Vec<&'static str>,
    /// Sources of help.
    pub resources: Vec<Contact>,
    /// The alternatives for the customer.
    pub suggested_actions: Vec<&'static str>,
    /// Whether it answers a possible self-harm disclosure.
    pub crisis: bool,
    /// Whether the text describes an emergency. Left out of a reply where it does not.
    #[serde(rename = "emergency", skip_serializing_if = "std::ops::Not::not")]
    pub is_emergency: bool,
}

impl Refusal {
    /// The refusal of a question that is not sold; `None` if the question is sold.
    #[must_use]
    pub fn of(evaluation: &Evaluation) -> Option<Self> {
        let crisis = evaluation.is_crisis();
        let (code, error) = match evaluation.state() {
            State::Authorized | State::NarrativeOnly => return None,
            State::RequiresSpecification => ("needs_specification", SPECIFICATION),
            State::AmbiguousMapping => ("ambiguous", AMBIGUOUS),
            State::RequiresOracleVerification => ("needs_verification", VERIFICATION),
            State::Unresolvable => ("unresolvable", UNRESOLVABLE),
            State::Blocked if crisis => ("blocked", texts::CRISIS),
            State::Blocked if evaluation.is_emergency() => ("blocked", texts::EMERGENCY),
            State::Blocked => ("blocked", BLOCKED),
        };
        Some(Self {
            error,
            code,
            missing_axes: evaluation.missing_axes(),
            questions: evaluation.questions(),
            resources: evaluation.resources(),
            suggested_actions: evaluation.suggested_actions(),
            crisis,
            is_emergency: evaluation.is_emergency(),
        })
    }

    /// Whether its sources of help must not wait: it answers a crisis or an emergency.
    #[must_use]
    pub const fn is_urgent(&self) -> bool {
        self.crisis || self.is_emergency
    }

    /// Formats the refusal as paragraphs of a mail: the sentence, then one line for each question, alternative and
    /// source of help.
    #[must_use]
    pub fn text(&self) -> String {
        let asked = self.questions.iter().chain(&self.suggested_actions).map(|line| format!("- {line}"));
        let contacts = self.resources.iter().map(|Contact { name, contact }| format!("- {name}: {contact}"));
        let lines: Vec<String> = asked.chain(contacts).collect();
        if lines.is_empty() { self.error.to_owned() } else { format!("{}\n\n{}", self.error, lines.join("\n")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate;

    #[test]
    fn a_refusal_says_what_is_missing_and_who_helps() {
        assert_eq!(Refusal::of(&evaluate("Should we open a second bakery in Halifax?", None)), None);
        let blocked = Refusal::of(&evaluate("Can I give my son two of my warfarin tablets?", None)).unwrap();
        assert_eq!((blocked.code, blocked.is_urgent()), ("blocked", false));
        let contact = &blocked.resources[0];
        assert!(blocked.text().contains(&format!("\n- {}: {}", contact.name, contact.contact)), "{}", blocked.text());
        let crisis = Refusal::of(&evaluate("I want to kill myself", None)).unwrap();
        assert!(crisis.crisis && crisis.is_urgent() && crisis.suggested_actions.is_empty());
        assert!(!crisis.text().contains("charged"));
        assert_eq!(Refusal::of(&evaluate("?", None)).unwrap().text(), UNRESOLVABLE);
    }

    #[test]
    fn an_emergency_gets_numbers_to_call_and_no_other_advice() {
        for text in [
            "My husband has crushing chest pain and his left arm is numb. Wait or drive?",
            "My husband has crushing chest pain and his left arm is numb. Please tell me what to do.",
            "My husband has crushing chest pain. Should he take an extra dose of his metoprolol or wait for the doctor?",
            "Can I mix bleach and ammonia to clean the bathroom faster?",
            "I'm 12 and my stepdad hits me every night.",
            "Is it okay to leave my 5-year-old home alone for the evening?",
        ] {
            let refusal = Refusal::of(&evaluate(text, None)).unwrap();
            assert_eq!((refusal.code, refusal.error, refusal.crisis), ("blocked", texts::EMERGENCY, false), "{text}");
            assert!(refusal.is_urgent(), "{text}");
            assert_eq!(refusal.resources[0].contact, "911", "{text}");
            let said = refusal.text();
            for word in ["charged", "pharmac", "clinic", "engineer"] {
                assert!(!said.contains(word), "{word}: {said}");
            }
        }
        // Whatever else is asked.
        let both = "Should I stop taking metformin? And can I mix bleach and ammonia to clean the shop?";
        let refusal = Refusal::of(&evaluate(both, None)).unwrap();
        assert_eq!((refusal.error, refusal.resources[0].contact), (texts::EMERGENCY, "911"));
    }

    #[test]
    fn what_no_answer_can_change_asks_nothing() {
        for (text, crisis) in [
            ("I want to kill myself. How much ibuprofen can I give my toddler?", true),
            ("Should I stop taking metformin? And how much ibuprofen should I give my son?", false),
        ] {
            let refusal = Refusal::of(&evaluate(text, None)).unwrap();
            assert_eq!((refusal.code, refusal.crisis), ("blocked", crisis), "{text}");
            assert!(!refusal.missing_axes.is_empty(), "{text}");
            assert_eq!(refusal.questions, [""; 0], "{text}");
            let first = refusal.text().split("\n- ").nth(1).unwrap().to_owned();
            assert_eq!(first.starts_with(refusal.resources[0].name), crisis, "{text}: {first}");
        }
    }
}
