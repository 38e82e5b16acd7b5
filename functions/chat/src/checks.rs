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
    delivered(beginning).filter(|delivered| evaluation.forbidden_in(delivered).is_empty())
}

fn delivered(text: &str) -> Option<String> {
    gates::run(Gate::BeforeDelivery, [text]).delivered()?.into_iter().next()
}
