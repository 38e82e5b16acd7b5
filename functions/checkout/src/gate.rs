//! The authority gate before a purchase: turns its evaluation of a question into replies of the API.

use crate::record::Records;
use authority::{Evaluation, Refusal, evaluate};
use domain::Query;
use runtime::http::Reply;
use serde_json::{Value, json};

/// The HTTP status for a question that is not sold.
pub(crate) const REFUSED: u16 = 422;

/// The reply to a question that is not sold; `None` for one that is.
pub(crate) fn refusal(evaluation: &Evaluation) -> Option<Reply> {
    Some(Reply::json(REFUSED, &json!(Refusal::of(evaluation)?)))
}

/// Answers POST /api/authority/evaluate.
pub(crate) async fn evaluate_request(records: Records<'_>, path: &str, body: &[u8]) -> Reply {
    let malformed = |sentence: &str| Reply::error(400, "malformed_json", sentence);
    let Ok(Value::Object(fields)) = serde_json::from_slice::<Value>(body) else {
        return malformed("The request body must be a JSON object in UTF-8.");
    };
    let Some(text) = fields.get("text").and_then(Value::as_str) else {
        return Reply::error(400, "text_invalid", "text must be a string");
    };
    let text = match Query::parse(text) {
        Ok(text) => text,
        Err(error) => return Reply::error(400, "text_invalid", &error.to_string()),
    };
    let locale = match fields.get("locale") {
        None | Some(Value::Null) => None,
        Some(Value::String(locale)) => Some(locale.as_str()),
        Some(_) => return Reply::error(400, "locale_invalid", "locale must be a string"),
    };
    let evaluation = evaluate(text.as_str(), locale);
    log(&evaluation);
    records.keep(path, &text, &evaluation).await;
    let mut reply = json!({
        "status": evaluation.state(),
        "domain": evaluation.domain(),
        "missing_axes": evaluation.missing_axes(),
        "reason_code": evaluation.reason_code(),
        "resources": evaluation.resources(),
    });
    if let Some(notice) = evaluation.notice() {
        reply["notice"] = notice.into();
    }
    Reply::json(200, &reply)
}

/// Logs an evaluation: state and reason, no text. At this point there is no sale yet.
pub(crate) fn log(evaluation: &Evaluation) {
    tracing::info!(
        state = evaluation.state().as_str(),
        reason = evaluation.reason_code(),
        domain = evaluation.domain(),
        "authority evaluated"
    );
}
