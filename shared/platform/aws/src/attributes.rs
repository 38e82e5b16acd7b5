//! Creates and reads items and their attributes, of any kind.

use aws_sdk_dynamodb::types::AttributeValue;
use domain::SessionId;
use std::collections::HashMap;

pub(crate) type Item = HashMap<String, AttributeValue>;

pub(crate) const SALE: &str = "SALE";
pub(crate) const VERDICT: &str = "VERDICT";
pub(crate) const SUBMISSION: &str = "SUBMISSION";

pub(crate) fn string(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

/// A number as an attribute.
pub(crate) fn numeral(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

pub(crate) fn item<const N: usize>(attributes: [(&str, AttributeValue); N]) -> Item {
    attributes.map(|(name, value)| (name.to_owned(), value)).into()
}

/// The partition of a session.
pub(crate) fn partition(session: &SessionId) -> AttributeValue {
    string(format!("SESSION#{}", session.as_str()))
}

pub(crate) fn key(session: &SessionId, sort: &str) -> Item {
    item([("pk", partition(session)), ("sk", string(sort))])
}

pub(crate) fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name).and_then(|value| value.as_s().ok()).map(String::as_str)
}

/// A whole number.
pub(crate) fn number(item: &Item, name: &str) -> Option<i64> {
    item.get(name).and_then(|value| value.as_n().ok()).and_then(|number| number.parse().ok())
}
