//! The HTTP requests and replies of every handler.

use lambda_http::{
    Body, RequestExt, Response,
    aws_lambda_events::apigw::ApiGatewayProxyRequestContext,
    http::StatusCode,
    request::{LambdaRequest, RequestContext},
};
use serde_json::Value;
use std::{collections::HashMap, net::IpAddr};

/// A request. Its path does not contain the name of the API's stage.
#[derive(Debug)]
pub struct Request {
    inner: lambda_http::Request,
    path: String,
}

impl Request {
    /// A GET request for a path, without a query.
    #[must_use]
    pub fn get(path: &str) -> Self {
        Self::new(path, lambda_http::Request::new(Body::Empty))
    }

    /// A POST request with a body.
    #[must_use]
    pub fn post(path: &str, body: impl Into<Vec<u8>>) -> Self {
        let mut inner = lambda_http::Request::new(Body::Binary(body.into()));
        *inner.method_mut() = lambda_http::http::Method::POST;
        Self::new(path, inner)
    }

    fn new(path: &str, inner: lambda_http::Request) -> Self {
        Self { inner, path: path.to_owned() }
    }

    /// A request of another method, without a body.
    #[must_use]
    pub fn delete(path: &str) -> Self {
        let mut inner = lambda_http::Request::new(Body::Empty);
        *inner.method_mut() = lambda_http::http::Method::DELETE;
        Self::new(path, inner)
    }

    /// The same request with a query parameter, the only one. For tests and simulations.
    #[must_use]
    pub fn with_query(self, name: &str, value: &str) -> Self {
        let query = HashMap::from([(name.to_owned(), vec![value.to_owned()])]);
        Self { inner: self.inner.with_query_string_parameters(query), ..self }
    }

    /// The same request with a body. For tests and simulations.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        *self.inner.body_mut() = Body::Binary(body.into());
        self
    }

    /// The same request from a client with this address. For requests inside a request, tests and simulations.
    #[must_use]
    pub fn with_address(self, address: &str) -> Self {
        let mut context = ApiGatewayProxyRequestContext::default();
        context.identity.source_ip = Some(address.to_owned());
        Self { inner: self.inner.with_request_context(RequestContext::ApiGatewayV1(context)), ..self }
    }

    /// The same request with a further header. For tests and simulations; an invalid value is left out.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(value) = value.parse() {
            self.inner.headers_mut().append(name, value);
        }
        self
    }

    /// Parses an event of API Gateway, as the Lambda runtime passes it to a function.
    ///
    /// # Errors
    /// When the text is not such an event.
    pub fn from_event(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(|event| Self::from_gateway(with_repeated_headers(event).into()))
    }

    /// Converts a request from API Gateway. Without a custom domain, the stage is the first segment of every path.
    pub(crate) fn from_gateway(inner: lambda_http::Request) -> Self {
        let stage = match inner.request_context_ref() {
            Some(RequestContext::ApiGatewayV1(context)) => context.stage.clone(),
            _ => None,
        };
        let path = inner.uri().path();
        let path = stage.and_then(|stage| path.strip_prefix(&format!("/{stage}"))).unwrap_or(path).to_owned();
        Self { inner, path }
    }

    /// The method, in capitals.
    #[must_use]
    pub fn method(&self) -> &str {
        self.inner.method().as_str()
    }

    /// The value of a cookie.
    #[must_use]
    pub fn cookie(&self, name: &str) -> Option<&str> {
        let headers = self.inner.headers().get_all("cookie");
        let pairs = headers.iter().filter_map(|header| header.to_str().ok()).flat_map(|header| header.split(';'));
        pairs.filter_map(|pair| pair.trim().split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// The network of the client: an IPv4 address, or the first 64 bits of an IPv6 address, which providers assign as
    /// one. API Gateway determines it, so clients cannot choose it.
    #[must_use]
    pub fn network(&self) -> Option<String> {
        let Some(RequestContext::ApiGatewayV1(context)) = self.inner.request_context_ref() else { return None };
        match context.identity.source_ip.as_ref()?.parse().ok()? {
            IpAddr::V4(address) => Some(address.to_string()),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Some(format!("{a:x}:{b:x}:{c:x}:{d:x}::"))
            }
        }
    }

    /// The path, without the stage.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The first value of a query parameter.
    #[must_use]
    pub fn query(&self, name: &str) -> Option<String> {
        self.inner.query_string_parameters_ref()?.first(name).map(str::to_owned)
    }

    /// The first value of a header; empty when it is not text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.inner.headers().get(name).map(|value| value.to_str().unwrap_or_default())
    }

    /// How many values of this header the client sent.
    #[must_use]
    pub fn header_count(&self, name: &str) -> usize {
        self.inner.headers().get_all(name).iter().count()
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        self.inner.body()
    }
}

/// The same event without the single value of each header that the client sent several times. API Gateway delivers all
/// values in one map and the last one in another, and the conversion into a request would replace all by the last.
pub(crate) fn with_repeated_headers(mut event: LambdaRequest) -> LambdaRequest {
    if let LambdaRequest::ApiGatewayV1(request) = &mut event {
        let lists = &request.multi_value_headers;
        for name in lists.keys().filter(|name| lists.get_all(*name).iter().count() > 1) {
            request.headers.remove(name);
        }
    }
    event
}

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

    /// Plain text.
    #[must_use]
    pub fn text(status: u16, body: String) -> Self {
        Self { status, headers: vec![("content-type", "text/plain; charset=utf-8".to_owned())], body }
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

    /// A redirect. `location` must consist of safe characters.
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

    /// The first value of a header that was set above (without the headers of every reply).
    #[must_use]
    pub fn header_value(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str())
    }

    /// The reply for the runtime. Its headers forbid storing it, and forbid sending the page's address to other sites:
    /// a session id in a URL entitles to read its verdict.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn delivered(stage: Option<&str>, path: &'static str) -> Request {
        let mut context = ApiGatewayProxyRequestContext::default();
        context.stage = stage.map(str::to_owned);
        let mut request = lambda_http::Request::new(Body::Text("body".to_owned()));
        *request.uri_mut() = lambda_http::http::Uri::from_static(path);
        Request::from_gateway(request.with_request_context(RequestContext::ApiGatewayV1(context)))
    }

    #[test]
    fn the_stage_is_no_part_of_the_path() {
        assert_eq!(delivered(Some("prod"), "/prod/api/verdict").path(), "/api/verdict");
        assert_eq!(delivered(Some("prod"), "/api/verdict").path(), "/api/verdict");
        assert_eq!(delivered(None, "/health").path(), "/health");
        assert_eq!(delivered(None, "/health").body(), b"body");
    }

    /// `headers` of the event has only the last value of each name.
    #[test]
    fn every_value_of_a_repeated_header_arrives() {
        let mut event: Value = serde_json::from_str(include_str!("../../../../events/toll.json")).unwrap();
        for (name, values) in [("X-Payment", ["a", "b"]), ("Cookie", ["chat_session=abc", "b=2"])] {
            event["headers"][name] = values[1].into();
            event["multiValueHeaders"][name] = values.to_vec().into();
        }
        let request = Request::from_event(&event.to_string()).unwrap();
        assert_eq!(["x-payment", "content-type", "y"].map(|name| request.header_count(name)), [2, 1, 0]);
        assert_eq!((request.cookie("chat_session"), request.cookie("b")), (Some("abc"), Some("2")));
        assert_eq!((request.path(), request.header("host")), ("/query", Some("oracle.example.com")));
        event["multiValueHeaders"] = Value::Null;
        assert_eq!(Request::from_event(&event.to_string()).unwrap().header("x-payment"), Some("b"));
    }

    #[test]
    fn cookies_and_networks_are_read() {
        let request = Request::delete("/").with_header("cookie", "a=1; chat_session=abc ;b=2");
        assert_eq!(
            (request.method(), request.cookie("chat_session"), request.cookie("c")),
            ("DELETE", Some("abc"), None)
        );
        let network = |address: &str| Request::get("/").with_address(address).network();
        assert_eq!(network("203.0.113.7").as_deref(), Some("203.0.113.7"));
        assert_eq!(network("2001:db8:1:2:3:4:5:6").as_deref(), Some("2001:db8:1:2::"));
        assert_eq!(network("nonsense"), None);
    }

    #[test]
    fn a_request_has_what_it_was_made_with() {
        let request = Request::get("/api/verdict").with_query("session_id", "cs_1").with_header("x-name", "value");
        assert_eq!(request.query("session_id").as_deref(), Some("cs_1"));
        assert_eq!(
            (request.query("other"), request.header("X-Name"), request.header("y")),
            (None, Some("value"), None)
        );
        assert_eq!([request.header_count("x-NAME"), request.header_count("y")], [1, 0]);
        assert_eq!(request.with_header("x-name", "value").header_count("x-name"), 2);
        assert_eq!(Request::post("/", "text").body(), b"text");
    }
}
