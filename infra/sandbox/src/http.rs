//! Requests and replies as plain data, so that each vendor is a plain function from one to the other.

use hyper::body::Bytes;
use hyper::{HeaderMap, Method};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A request whose body has been read whole.
pub(crate) struct Request {
    pub(crate) method: Method,
    /// As sent, still percent-encoded.
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Request {
    /// The path's segments, percent-decoded, without the leading slash.
    pub(crate) fn segments(&self) -> Vec<String> {
        self.path
            .trim_matches('/')
            .split('/')
            .filter(|segment| !segment.is_empty())
            .map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned())
            .collect()
    }

    /// A header's value, or "" where it is absent or not text.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
    }

    /// The media type of the body without its parameters, in lower case.
    pub(crate) fn media_type(&self) -> String {
        let value = self.header("content-type");
        value.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
    }

    pub(crate) fn query_value(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn bearer(&self) -> Option<&str> {
        let (scheme, token) = self.header("authorization").split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| !token.is_empty())
    }

    /// The body for a record: JSON as JSON, a form as an object, anything else as text.
    pub(crate) fn body_value(&self) -> Value {
        if self.body.is_empty() {
            return Value::Null;
        }
        if self.media_type() == "application/x-www-form-urlencoded" {
            let fields: Map<String, Value> =
                parse_form(&self.body).into_iter().map(|(key, value)| (key, Value::String(value))).collect();
            return Value::Object(fields);
        }
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&self.body).into_owned()))
    }
}

/// The fields of an `application/x-www-form-urlencoded` text, in order.
pub(crate) fn parse_form(text: &[u8]) -> Vec<(String, String)> {
    form_urlencoded::parse(text).into_owned().collect()
}

#[derive(Clone)]
pub(crate) enum Body {
    Empty,
    Json(Value),
    Text(String),
    Html(String),
    /// Server-sent events.
    Events(Events),
}

/// Events, and how they are sent.
#[derive(Clone, Default)]
pub(crate) struct Events {
    pub(crate) events: Vec<Value>,
    pub(crate) pace: Pace,
}

/// How events are sent.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Pace {
    /// The time between two events.
    pub(crate) delay_ms: u64,
    /// After this many events the stream waits for the next `POST /control/release`.
    pub(crate) hold_after: Option<usize>,
    /// After this many events the connection is closed.
    pub(crate) break_after: Option<usize>,
    /// After this many events nothing is sent any more.
    pub(crate) hang_after: Option<usize>,
    /// After this many events, also after all, an error with status 503 ends the stream. It is no event.
    pub(crate) error_after: Option<usize>,
}

/// A reply that has not been written yet.
#[derive(Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Body,
}

impl Reply {
    pub(crate) fn empty(status: u16) -> Self {
        Self::new(status, Body::Empty)
    }

    pub(crate) fn json(status: u16, value: Value) -> Self {
        Self::new(status, Body::Json(value))
    }

    pub(crate) fn html(status: u16, text: String) -> Self {
        Self::new(status, Body::Html(text))
    }

    pub(crate) fn new(status: u16, body: Body) -> Self {
        Self { status, headers: Vec::new(), body }
    }

    pub(crate) fn with_header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn body_value(&self) -> Value {
        match &self.body {
            Body::Empty => Value::Null,
            Body::Json(value) => value.clone(),
            Body::Text(text) | Body::Html(text) => Value::String(text.clone()),
            Body::Events(Events { events, .. }) => Value::Array(events.clone()),
        }
    }
}
