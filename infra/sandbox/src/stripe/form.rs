//! Stripe's parameters: form-encoded with nested names such as `line_items[0][price_data][currency]`.

use hyper::Method;
use serde_json::{Map, Value};

use super::error::StripeError;
use crate::http::{Request, parse_form};

const METADATA_KEYS: usize = 50;
const METADATA_KEY_CHARACTERS: usize = 40;
const METADATA_VALUE_CHARACTERS: usize = 500;

/// Parameters by name; if a name is repeated, the last value counts.
pub(crate) struct Form {
    fields: Vec<(String, String)>,
}

impl Form {
    /// Parses the query of a GET or the body of a POST.
    pub(crate) fn of(request: &Request) -> Result<Self, StripeError> {
        if request.method != Method::POST {
            return Ok(Self { fields: request.query.clone() });
        }
        let encoded = request.media_type() == "application/x-www-form-urlencoded";
        if !encoded && !request.body.is_empty() {
            return Err(StripeError::invalid(
                "Invalid request (check that your POST content type is application/x-www-form-urlencoded). \
                 If you have any questions, we can help at https://support.stripe.com/.",
            ));
        }
        Ok(Self { fields: parse_form(&request.body) })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let last = self.fields.iter().rev().find(|(key, _)| key == name);
        last.map(|(_, value)| value.as_str())
    }

    /// A parameter that must be present and not empty.
    pub(crate) fn required(&self, name: &str) -> Result<&str, StripeError> {
        match self.get(name) {
            None => Err(StripeError::required(name)),
            Some("") => Err(StripeError::param(
                "parameter_invalid_empty",
                name,
                format!(
                    "You passed an empty string for '{name}'. We assume empty values are an attempt to unset \
                     a parameter; however '{name}' cannot be unset. You should remove '{name}' from your \
                     request or supply a non-empty value."
                ),
            )),
            Some(value) => Ok(value),
        }
    }

    pub(crate) fn integer(&self, name: &str) -> Result<Option<i64>, StripeError> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        text.parse()
            .map(Some)
            .map_err(|_| StripeError::param("parameter_invalid_integer", name, format!("Invalid integer: {text}")))
    }

    pub(crate) fn boolean(&self, name: &str) -> Result<Option<bool>, StripeError> {
        match self.get(name) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(other) => Err(StripeError::param(None, name, format!("Invalid boolean: {other}"))),
        }
    }

    /// Refuses every parameter that matches none of `patterns`: segments joined by dots, `#` for an index (or nothing,
    /// as in `expand[]`), `@` for any key.
    pub(crate) fn allow(&self, patterns: &[&str]) -> Result<(), StripeError> {
        for (name, _) in &self.fields {
            let fits = split(name).is_some_and(|segments| patterns.iter().any(|pattern| fits(pattern, &segments)));
            if !fits {
                let message = format!("Received unknown parameter: {name}");
                return Err(StripeError::param("parameter_unknown", name.clone(), message));
            }
        }
        Ok(())
    }

    /// The number of consecutive indices, from 0, with which `name[…]` is given.
    pub(crate) fn count(&self, name: &str) -> usize {
        (0..)
            .take_while(|index| {
                let prefix = format!("{name}[{index}]");
                self.fields.iter().any(|(key, _)| key.starts_with(&prefix))
            })
            .count()
    }

    /// Whether `expand[]` contains this value.
    pub(crate) fn expands(&self, what: &str) -> bool {
        self.fields.iter().any(|(key, value)| key.starts_with("expand[") && value == what)
    }

    /// The pairs under `name[…]`, within Stripe's limits. An empty value means removal and is left out.
    pub(crate) fn metadata(&self, name: &str) -> Result<Map<String, Value>, StripeError> {
        let prefix = format!("{name}[");
        let mut pairs = Map::new();
        for (field, value) in &self.fields {
            let Some(rest) = field.strip_prefix(&prefix) else {
                continue;
            };
            let key = rest.strip_suffix(']').unwrap_or(rest);
            if key.is_empty() || key.contains(['[', ']']) {
                let message = "Metadata keys cannot be empty or contain square brackets ([ and ]).";
                return Err(StripeError::param(None, field.clone(), message));
            }
            if key.chars().count() > METADATA_KEY_CHARACTERS {
                let message = format!(
                    "Metadata keys can have up to {METADATA_KEY_CHARACTERS} characters, but you passed in a key that is {} characters. Invalid key: {key}",
                    key.chars().count()
                );
                return Err(StripeError::param(None, name, message));
            }
            if value.chars().count() > METADATA_VALUE_CHARACTERS {
                let message = format!(
                    "Metadata values can have up to {METADATA_VALUE_CHARACTERS} characters, but you passed in a value that is {} characters.",
                    value.chars().count()
                );
                return Err(StripeError::param(None, field.clone(), message));
            }
            if !value.is_empty() {
                pairs.insert(key.to_owned(), Value::String(value.clone()));
            }
        }
        if pairs.len() > METADATA_KEYS {
            let message = format!("Metadata can have up to {METADATA_KEYS} keys, but you passed in {}.", pairs.len());
            return Err(StripeError::param(None, name, message));
        }
        Ok(pairs)
    }
}

/// The segments of `a[b][0]`; `None` if the brackets do not match.
fn split(name: &str) -> Option<Vec<&str>> {
    let (head, rest) = name.find('[').map_or((name, ""), |at| name.split_at(at));
    let mut segments = vec![head];
    if !rest.is_empty() {
        let inner = rest.strip_prefix('[')?.strip_suffix(']')?;
        segments.extend(inner.split("]["));
    }
    (!head.is_empty()).then_some(segments)
}

fn fits(pattern: &str, segments: &[&str]) -> bool {
    let expected: Vec<&str> = pattern.split('.').collect();
    // A key with brackets is left to the metadata's own check.
    if expected.last() == Some(&"@") {
        let fixed = expected.len() - 1;
        return segments.len() > fixed && segments[..fixed] == expected[..fixed];
    }
    expected.len() == segments.len()
        && expected.iter().zip(segments).all(|(expected, segment)| {
            if *expected == "#" { segment.bytes().all(|byte| byte.is_ascii_digit()) } else { expected == segment }
        })
}

#[cfg(test)]
mod tests {
    use super::{fits, split};

    #[test]
    fn names_are_split_into_segments() {
        assert_eq!(split("mode"), Some(vec!["mode"]));
        assert_eq!(split("a[0][b]"), Some(vec!["a", "0", "b"]));
        assert_eq!(split("expand[]"), Some(vec!["expand", ""]));
        assert_eq!(split("a[0"), None);
        assert_eq!(split("[0]"), None);
    }

    #[test]
    fn patterns_fit_indices_and_keys() {
        assert!(fits("line_items.#.quantity", &["line_items", "12", "quantity"]));
        assert!(!fits("line_items.#.quantity", &["line_items", "x", "quantity"]));
        assert!(fits("metadata.@", &["metadata", "anything"]));
        assert!(!fits("metadata.@", &["metadata"]));
        assert!(fits("expand.#", &["expand", ""]));
    }
}
