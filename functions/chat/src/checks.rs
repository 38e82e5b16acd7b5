//! The checks that a text, or its beginning, passes before customers read it.

use authority::Evaluation;
use gates::Gate;

/// The authority gate's check of a reply as customers would read it: after the content filter. A reply that the filter
/// holds is not delivered, so it breaks nothing.
pub(crate) fn grammar(text: &str, evaluation: &Evaluation) -> Result<(), String> {
    let Some(delivered) = delivered(text) else { return Ok(()) };
    evaluation.check_reply(&delivered).map_err(|problem| problem.to_string())
}

/// The beginning of a reply as customers may read it; `None` if they may not. In a governed domain it is shown beside
/// the notice. Only the whole reply must have the domain's required phrase.
pub(crate) fn readable(beginning: &str, evaluation: &Evaluation) -> Option<String> {
    let keeps_grammar = |delivered: &String| {
        evaluation.forbidden_in(delivered).is_empty() && evaluation.quantities_in(delivered).is_empty()
    };
    delivered(beginning).filter(keeps_grammar)
}

fn delivered(text: &str) -> Option<String> {
    gates::run(Gate::BeforeDelivery, [text]).delivered()?.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_reply_shows_no_dose() {
        let question = "My daughter weighs 14 kg and is 3 years old. How much ibuprofen should I give her?";
        let evaluation = authority::evaluate(question, None);
        let begins = |text: &str| readable(text, &evaluation).is_some();
        assert!(begins("At a weight of 14 kg") && !begins("At a weight of 14 kg, 140 mg"));
    }
}
