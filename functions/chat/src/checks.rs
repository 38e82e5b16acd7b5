//! The checks that a text, or its beginning, passes before customers read it.

use authority::Evaluation;
use gates::Gate;

/// The authority gate's check of a text with its notice.
pub(crate) fn grammar(text: &str, evaluation: &Evaluation) -> Result<(), String> {
    let spoken = [Some(text), evaluation.notice()].into_iter().flatten().collect::<Vec<_>>().join("\n");
    evaluation.check_reply(&spoken).map_err(|problem| problem.to_string())
}

/// The beginning of a reply as customers may read it; `None` if they may not. It passes the same checks as a whole
/// reply: in a governed domain, nothing is readable before the text or its notice has the domain's required phrase.
pub(crate) fn readable(beginning: &str, evaluation: &Evaluation) -> Option<String> {
    grammar(beginning, evaluation).ok()?;
    gates::run(Gate::BeforeDelivery, [beginning]).delivered()?.into_iter().next()
}
