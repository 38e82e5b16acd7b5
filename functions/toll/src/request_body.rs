//! Parses the body of a request.

use domain::{Query, toll::Offer};
use serde_json::Value;

/// The largest accepted body in bytes. 20,000 characters fit, even with the longest escape for each.
pub(crate) const MAX_BODY_BYTES: usize = 256 * 1024;

/// A parsed body.
pub(crate) struct QuestionBody {
    pub(crate) query: Query,
    /// A language tag that selects the sources of help of a refusal.
    pub(crate) locale: Option<String>,
}

/// Parses a body, or returns the code and sentence of the error reply.
pub(crate) fn parse(body: &[u8], offer: Offer) -> Result<QuestionBody, (&'static str, String)> {
    let malformed = |sentence: &str| ("malformed_json", sentence.to_owned());
    let value: Value =
        serde_json::from_slice(body).map_err(|_| malformed("The request body must be a JSON document in UTF-8."))?;
    let Value::Object(fields) = value else { return Err(malformed("The request body must be a JSON object.")) };
    let text = match fields.get("query") {
        Some(Value::String(text)) => text.as_str(),
        None | Some(Value::Null) => "",
        Some(_) => return Err(("query_invalid", "query must be a string".to_owned())),
    };
    let query = Query::parse(text).map_err(|error| ("query_invalid", error.to_string()))?;
    if query.as_str().chars().count() > offer.longest() {
        let sentence = format!("query has more than {} characters, the most for {}", offer.longest(), offer.path());
        return Err(("query_invalid", sentence));
    }
    let locale = match fields.get("locale") {
        Some(Value::String(locale)) => Some(locale.clone()),
        None | Some(Value::Null) => None,
        Some(_) => return Err(("locale_invalid", "locale must be a string".to_owned())),
    };
    Ok(QuestionBody { query, locale })
}
