//! The checks that the beginning of a reply passes before customers read it.

use authority::Evaluation;
use gates::Gate;

/// The beginning of a reply as customers may read it; `None` if they may not. In a governed domain it is shown beside
/// the notice. Only the whole reply must have the domain's required phrase.
pub(crate) fn readable(beginning: &str, evaluation: &Evaluation) -> Option<String> {
    let keeps_grammar = |delivered: &String| {
        evaluation.forbidden_in(delivered).is_empty() && evaluation.quantities_in(delivered).is_empty()
    };
    gates::run(Gate::BeforeDelivery, [beginning]).delivered()?.into_iter().next().filter(keeps_grammar)
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
