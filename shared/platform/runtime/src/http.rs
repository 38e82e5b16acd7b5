//! HTTP replies as every function gives them.

use lambda_http::{Body, Response, http::StatusCode};
use serde_json::Value;

/// A reply under construction.
#[derive(Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Reply {
    /// JSON with a status.
    #[must_use]
    pub fn json(status: u16, body: &Value) -> Self {
        Self { status, headers: vec![("content-type", "application/json".to_owned())], body: body.to_string() }
    }

    /// JSON that is already text.
    #[must_use]
    pub fn json_text(status: u16, body: String) -> Self {
        Self { status, headers: vec![("content-type", "application/json".to_owned())], body }
    }

    /// `{"error", "code"}`.
    #[must_use]
    pub fn error(status: u16, code: &str, sentence: &str) -> Self {
        Self::json(status, &serde_json::json!({ "error": sentence, "code": code }))
    }

    /// A page.
    #[must_use]
    pub fn html(status: u16, body: &str, content_security_policy: &str) -> Self {
        let headers = vec![
            ("content-type", "text/html; charset=utf-8".to_owned()),
            ("content-security-policy", content_security_policy.to_owned()),
        ];
        Self { status, headers, body: body.to_owned() }
    }

    /// Go there instead. `location` must be made of safe characters.
    #[must_use]
    pub fn redirect(location: String) -> Self {
        Self { status: 303, headers: vec![("location", location)], body: String::new() }
    }

    /// A further header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The status code.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The first value of a header, as set above (without the ones every reply gets).
    #[must_use]
    pub fn header_value(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str())
    }

    /// As the runtime wants it. Nothing is stored on the way, no address of a page leaks to another site: a
    /// session id in a URL is what entitles to read its verdict.
    #[must_use]
    pub fn into_response(self) -> Response<Body> {
        let mut response = Response::builder()
            .status(StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR))
            .header("cache-control", "no-store")
            .header("referrer-policy", "no-referrer")
            .header("x-content-type-options", "nosniff")
            .header("x-frame-options", "DENY")
            .header("cross-origin-opener-policy", "same-origin")
            .header("cross-origin-resource-policy", "same-origin")
            .header("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=()")
            .header("strict-transport-security", "max-age=63072000; includeSubDomains");
        for (name, value) in self.headers {
            response = response.header(name, value);
        }
        response.body(Body::Text(self.body)).unwrap_or_else(|_| {
            let mut broken = Response::new(Body::Empty);
            *broken.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            broken
        })
    }
}
