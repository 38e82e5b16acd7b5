//! The authority gate's evaluation of a paid question, because the question of a Payment Link did not come through
//! checkout.

use authority::{Evaluation, State};
use domain::{
    Sale, Timestamp,
    sale::{Declined, Helper, Purchase},
};

/// Returns `Ok` with the evaluation of a question that may be answered, because it is sold or because people approved
/// exactly this question, and `Err` with the evaluation of one that may not.
pub(super) fn answerable(
    evaluation: Evaluation,
    sale: &Sale,
    purchase: &Purchase,
    now: Timestamp,
) -> Result<Evaluation, Box<Evaluation>> {
    if evaluation.state().is_sold() {
        return Ok(evaluation);
    }
    if !sale.is_approved(&purchase.query_hash, evaluation.reason_code(), now) {
        return Err(Box::new(evaluation));
    }
    evaluation.clone().approved().ok_or_else(|| Box::new(evaluation))
}

/// The refusal as the sale stores it: codes, who may approve, and who helps. It contains no text of the customer.
pub(super) fn declined(evaluation: &Evaluation, now: Timestamp) -> Declined {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
    let questions = evaluation.questions();
    Declined {
        state: evaluation.state(),
        reason: evaluation.reason_code().to_owned(),
        domain: evaluation.domain().to_owned(),
        lock: evaluation.human_lock(),
        helpers: evaluation
            .resources()
            .iter()
            .map(|contact| Helper { name: contact.name.to_owned(), contact: contact.contact.to_owned() })
            .collect(),
        advice: match evaluation.state() {
            State::RequiresSpecification | State::AmbiguousMapping => owned(&questions),
            _ => owned(&evaluation.suggested_actions()),
        },
        is_crisis: evaluation.is_crisis(),
        is_emergency: evaluation.is_emergency(),
        at: now,
        approvals: Vec::new(),
        approved_at: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::texts;

    fn evaluated(question: &str) -> (Evaluation, Declined) {
        let evaluation = authority::evaluate(question, Some("en-CA"));
        let declined = declined(&evaluation, Timestamp::from_seconds(0));
        (evaluation, declined)
    }

    #[test]
    fn a_disclosure_of_self_harm_and_an_emergency_get_helpers_and_no_advice() {
        for (question, sentence) in [
            ("I want to kill myself tonight.", texts::CRISIS),
            ("Can I mix bleach and ammonia to clean the shop?", texts::EMERGENCY),
        ] {
            let (_, declined) = evaluated(question);
            assert_eq!((declined.sentence(), declined.is_crisis), (sentence, sentence == texts::CRISIS), "{question}");
            assert!(declined.helpers.iter().any(|helper| helper.contact == "911"), "{question}");
            assert_eq!(declined.advice, [""; 0], "{question}");
        }
    }

    #[test]
    fn another_question_gets_what_is_missing_or_what_to_do_instead() {
        let (evaluation, declined) = evaluated("How much ibuprofen should I give my son for his fever?");
        assert_eq!(evaluation.state(), State::RequiresSpecification);
        assert!(!declined.advice.is_empty());
        assert_eq!(declined.advice, evaluation.questions());
        let (evaluation, declined) = evaluated("Can I give my son two of my warfarin tablets?");
        assert_eq!(evaluation.state(), State::Blocked);
        assert_eq!(declined.advice, evaluation.suggested_actions());
    }
}
