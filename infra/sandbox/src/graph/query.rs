//! The query options of the mail calls: $filter, $select, $expand, $top, $skip, $orderby, $count.
//! The file has more than 300 lines because each option is parsed by a short function into one private structure, which
//! also filters, sorts and selects.

use serde_json::{Map, Value, json};

use super::{draft::extended_property, error::GraphError};
use crate::http::Request;

/// The options of lists, without $expand: Graph documents the expansion of extended properties for a single message
/// only.
const LIST_OPTIONS: [&str; 6] = ["$filter", "$select", "$top", "$skip", "$orderby", "$count"];
const DEFAULT_PAGE: usize = 10;
const LARGEST_PAGE: usize = 1_000;

/// The properties of a message; the flag is whether filters and sort orders may use it.
const PROPERTIES: [(&str, bool); 31] = [
    ("id", false),
    ("createdDateTime", true),
    ("lastModifiedDateTime", true),
    ("changeKey", false),
    ("categories", false),
    ("receivedDateTime", true),
    ("sentDateTime", true),
    ("hasAttachments", true),
    ("internetMessageId", true),
    ("internetMessageHeaders", false),
    ("subject", true),
    ("bodyPreview", false),
    ("importance", true),
    ("conversationId", true),
    ("conversationIndex", false),
    ("isDeliveryReceiptRequested", false),
    ("isReadReceiptRequested", false),
    ("isRead", true),
    ("isDraft", true),
    ("body", false),
    ("uniqueBody", false),
    ("sender", false),
    ("from", false),
    ("toRecipients", false),
    ("ccRecipients", false),
    ("bccRecipients", false),
    ("replyTo", false),
    ("flag", false),
    ("inferenceClassification", true),
    ("parentFolderId", false),
    ("webLink", false),
];

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

#[derive(Debug, PartialEq)]
struct Condition {
    property: &'static str,
    operator: Operator,
    value: Value,
}

pub(crate) struct Options {
    conditions: Vec<Condition>,
    /// The extended property that a message must have, with its value.
    having: Option<(String, String)>,
    select: Option<Vec<&'static str>>,
    /// The extended property to return.
    expand: Option<String>,
    top: usize,
    skip: usize,
    order_by: &'static str,
    ascending: bool,
    count: bool,
}

pub(crate) struct Page {
    pub(crate) items: Vec<Value>,
    pub(crate) count: Option<usize>,
    pub(crate) next_skip: Option<usize>,
}

impl Options {
    /// The options of a single message.
    pub(crate) fn of_item(request: &Request) -> Result<Self, GraphError> {
        Self::parse(request, &["$select", "$expand"])
    }

    pub(crate) fn of_list(request: &Request) -> Result<Self, GraphError> {
        Self::parse(request, &LIST_OPTIONS)
    }

    fn parse(request: &Request, allowed: &[&str]) -> Result<Self, GraphError> {
        if let Some((unknown, _)) = request.query.iter().find(|(name, _)| !allowed.contains(&name.as_str())) {
            return Err(GraphError::bad(format!(
                "The query specified in the URI is not valid. The query parameter '{unknown}' is not supported."
            )));
        }
        let number = |name: &str, default: usize, range: std::ops::RangeInclusive<usize>| {
            let Some(text) = request.query_value(name) else {
                return Ok(default);
            };
            let value = text.parse().ok().filter(|value| range.contains(value));
            value.ok_or_else(|| {
                GraphError::bad(format!(
                    "Invalid value '{text}' for {name} query option found. The {name} query option requires an integer between {} and {}.",
                    range.start(),
                    range.end()
                ))
            })
        };
        let filter = request.query_value("$filter");
        let having = filter.and_then(parse_having).transpose()?;
        let filter = filter.filter(|_| having.is_none());
        let conditions = filter.map_or(Ok(Vec::new()), parse_filter)?;
        let select = request
            .query_value("$select")
            .map(|names| {
                let names = names.split(',').map(|name| property(name.trim()));
                names.map(|found| found.map(|(name, _)| name)).collect::<Result<Vec<_>, _>>()
            })
            .transpose()?;
        let (order_by, ascending) = order(request.query_value("$orderby"), &conditions)?;
        Ok(Self {
            conditions,
            having,
            select,
            expand: request.query_value("$expand").map(parse_expand).transpose()?,
            top: number("$top", DEFAULT_PAGE, 1..=LARGEST_PAGE)?,
            skip: number("$skip", 0, 0..=usize::MAX)?,
            order_by,
            ascending,
            count: request.query_value("$count") == Some("true"),
        })
    }

    /// The selected properties of a message, always with its id, and the expanded one.
    pub(crate) fn select(&self, message: &Value) -> Value {
        let mut selected = self.selected(message);
        if let Some(expanded) = self.expand.as_ref().and_then(|id| expanded(message, id)) {
            selected["singleValueExtendedProperties"] = json!([expanded]);
        }
        selected
    }

    fn selected(&self, message: &Value) -> Value {
        let Some(names) = &self.select else {
            return super::store::shown(message);
        };
        let mut selected = Map::new();
        selected.insert("@odata.etag".to_owned(), super::store::etag(message));
        selected.insert("id".to_owned(), message["id"].clone());
        for name in names {
            if let Some(value) = message.get(name) {
                selected.insert((*name).to_owned(), value.clone());
            }
        }
        Value::Object(selected)
    }

    pub(crate) fn page(&self, messages: Vec<&Value>) -> Page {
        let mut found: Vec<&Value> = messages
            .into_iter()
            .filter(|message| self.conditions.iter().all(|condition| condition.holds(message)))
            .filter(|message| {
                self.having.as_ref().is_none_or(|(id, value)| {
                    expanded(message, id).is_some_and(|property| property["value"] == value.as_str())
                })
            })
            .collect();
        // Messages are stored oldest first, and a stable sort keeps that order among equals.
        found.sort_by(|a, b| text_of(&a[self.order_by]).cmp(&text_of(&b[self.order_by])));
        if !self.ascending {
            found.reverse();
        }
        let end = found.len().min(self.skip.saturating_add(self.top));
        let start = self.skip.min(found.len());
        Page {
            items: found[start..end].iter().map(|message| self.select(message)).collect(),
            count: self.count.then_some(found.len()),
            next_skip: (end < found.len()).then_some(end),
        }
    }
}

/// One extended property of a message in Graph's form: with the GUID in lower case.
fn expanded(message: &Value, id: &str) -> Option<Value> {
    let mut properties = message["singleValueExtendedProperties"].as_array()?.iter();
    let is_meant = |property: &&Value| {
        property["id"].as_str().is_some_and(|found| extended_property(found).is_ok_and(|found| found == id))
    };
    properties.find(is_meant).map(|property| json!({"id": id, "value": property["value"]}))
}

/// `singleValueExtendedProperties($filter=id eq '…')`: the only expansion, and only of one property.
fn parse_expand(text: &str) -> Result<String, GraphError> {
    let id =
        text.strip_prefix("singleValueExtendedProperties($filter=id eq '").and_then(|rest| rest.strip_suffix("')"));
    extended_property(id.ok_or_else(|| GraphError::bad(format!("Parsing OData Select and Expand failed: '{text}'.")))?)
}

/// `singleValueExtendedProperties/any(ep:ep/id eq '…' and ep/value eq '…')`: the only filter by a collection.
fn parse_having(text: &str) -> Option<Result<(String, String), GraphError>> {
    let start = "singleValueExtendedProperties/any(";
    let inside =
        text.get(..start.len()).filter(|head| head.eq_ignore_ascii_case(start)).map(|_| &text[start.len()..])?;
    let invalid = || GraphError::bad(format!("Invalid filter clause: syntax error in '{text}'."));
    let parse = || {
        let (variable, condition) = inside.strip_suffix(')')?.split_once(':')?;
        let found = tokens(condition)?;
        let [id, eq, id_value, and, value, eq_too, text] = found.as_slice() else { return None };
        let named = |token: &str, property: &str| token == format!("{}/{property}", variable.trim());
        let words = eq == "eq" && eq_too == "eq" && and == "and" && named(id, "id") && named(value, "value");
        words.then(|| Some((literal("id", id_value)?, literal("value", text)?))).flatten()
    };
    let Some((Value::String(id), Value::String(value))) = parse() else { return Some(Err(invalid())) };
    Some(extended_property(&id).map(|id| (id, value)))
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn property(name: &str) -> Result<(&'static str, bool), GraphError> {
    PROPERTIES.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).ok_or_else(|| {
        GraphError::bad(format!("Could not find a property named '{name}' on type 'microsoft.graph.message'."))
    })
}

fn order(text: Option<&str>, conditions: &[Condition]) -> Result<(&'static str, bool), GraphError> {
    let Some(text) = text else {
        return Ok(("receivedDateTime", false));
    };
    let mut words = text.split_whitespace();
    let (name, sortable) = property(words.next().unwrap_or(""))?;
    let ascending = match (words.next(), words.next()) {
        (None | Some("asc"), None) => true,
        (Some("desc"), None) => false,
        _ => return Err(GraphError::bad(format!("Syntax error in $orderby '{text}'."))),
    };
    // Graph's rule: the sort field must also be the first filter.
    let filtered = conditions.first().is_none_or(|first| first.property == name);
    if !sortable || !filtered {
        let message = "The restriction or sort order is too complex for this operation.";
        return Err(GraphError::new(400, "InefficientFilter", message));
    }
    Ok((name, ascending))
}

/// Comparisons joined by `and`.
fn parse_filter(text: &str) -> Result<Vec<Condition>, GraphError> {
    let invalid = || GraphError::bad(format!("Invalid filter clause: syntax error in '{text}'."));
    let tokens = tokens(text).ok_or_else(invalid)?;
    tokens
        .chunks(4)
        .enumerate()
        .map(|(index, chunk)| {
            let (name, operator, value) = match chunk {
                [name, operator, value] => (name, operator, value),
                [name, operator, value, and] if and.eq_ignore_ascii_case("and") && tokens.len() > index * 4 + 4 => {
                    (name, operator, value)
                }
                _ => return Err(invalid()),
            };
            let (property, filterable) = property(name)?;
            if !filterable {
                let message = format!("The property '{property}' does not support filtering.");
                return Err(GraphError::new(400, "ErrorInvalidProperty", message));
            }
            let operator = match operator.to_ascii_lowercase().as_str() {
                "eq" => Operator::Equal,
                "ne" => Operator::NotEqual,
                "gt" => Operator::Greater,
                "ge" => Operator::GreaterOrEqual,
                "lt" => Operator::Less,
                "le" => Operator::LessOrEqual,
                _ => return Err(invalid()),
            };
            let value = literal(property, value).ok_or_else(invalid)?;
            Ok(Condition { property, operator, value })
        })
        .collect()
}

/// Words and quoted texts; a quote inside a text is doubled.
fn tokens(text: &str) -> Option<Vec<String>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = if let Some(inner) = rest.strip_prefix('\'') {
            1 + closing_quote(inner)? + 1
        } else {
            rest.find(char::is_whitespace).unwrap_or(rest.len())
        };
        tokens.push(rest[..end].to_owned());
        rest = rest[end..].trim_start();
    }
    (!tokens.is_empty()).then_some(tokens)
}

fn closing_quote(inner: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + inner[from..].find('\'')?;
        if !inner[at + 1..].starts_with('\'') {
            return Some(at);
        }
        from = at + 2;
    }
}

/// A boolean for `is…` and `has…`, an unquoted time for `…DateTime`, a quoted text for the rest.
fn literal(property: &str, token: &str) -> Option<Value> {
    let quoted = token.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    if property.starts_with("is") || property.starts_with("has") {
        return token.parse().ok().map(Value::Bool);
    }
    if property.ends_with("DateTime") {
        return token.parse::<jiff::Timestamp>().ok().map(|at| json!(super::store::time(at)));
    }
    quoted.map(|text| json!(text.replace("''", "'")))
}

impl Condition {
    fn holds(&self, message: &Value) -> bool {
        let found = &message[self.property];
        let order = text_of(found).cmp(&text_of(&self.value));
        match self.operator {
            Operator::Equal => *found == self.value,
            Operator::NotEqual => *found != self.value,
            Operator::Greater => order.is_gt(),
            Operator::GreaterOrEqual => order.is_ge(),
            Operator::Less => order.is_lt(),
            Operator::LessOrEqual => order.is_le(),
        }
    }
}

/// The address of the next page: the same call with another $skip.
pub(crate) fn next_link(public_url: &str, request: &Request, skip: usize) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in &request.query {
        if name != "$skip" {
            query.append_pair(name, value);
        }
    }
    query.append_pair("$skip", &skip.to_string());
    format!("{public_url}{}?{}", request.path, query.finish())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Operator, parse_filter};

    #[test]
    fn filters_are_read() {
        let conditions = parse_filter(
            "isRead eq false and internetMessageId eq '<o''brien and co@x>' and receivedDateTime ge 2026-01-02T03:04:05Z",
        )
        .unwrap();
        assert_eq!(conditions.len(), 3);
        assert_eq!(conditions[0].value, json!(false));
        assert_eq!(conditions[1].value, json!("<o'brien and co@x>"));
        assert_eq!(conditions[2].operator, Operator::GreaterOrEqual);
        assert_eq!(conditions[2].value, json!("2026-01-02T03:04:05Z"));
    }

    #[test]
    fn broken_filters_are_refused() {
        for filter in [
            "",
            "isRead",
            "isRead eq",
            "isRead eq maybe",
            "isRead eq false and",
            "isRead eq false or isDraft eq true",
            "subject eq 'open",
            "subject eq bare",
            "colour eq 'red'",
            "body eq 'x'",
            "receivedDateTime ge '2026-01-02T03:04:05Z'",
        ] {
            assert!(parse_filter(filter).is_err(), "{filter}");
        }
    }
}
