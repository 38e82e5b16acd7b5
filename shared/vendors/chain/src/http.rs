//! Makes one JSON call to a facilitator or a node.

use reqwest::{
    Client, RequestBuilder, Response, Url,
    redirect::{Action, Attempt, Policy},
};
use serde_json::Value;
use std::{fmt, time::Duration};

/// The longest reply: a facilitator's has some hundred bytes, a receipt of a large batch some hundred kB.
const LONGEST_REPLY: usize = 2 * 1024 * 1024;

/// The number of redirects in a row that are followed.
const MOST_REDIRECTS: usize = 2;

/// The characters of a redirect's path that an error shows.
const LONGEST_PATH: usize = 200;

/// An address to call. Providers put their keys into the address of a node, so it is never printed.
pub(crate) struct Endpoint {
    http: Client,
    url: String,
    timeout: Duration,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Endpoint(…)")
    }
}

/// Why a call has no reply.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// No complete reply arrived.
    #[error("no reply")]
    Lost(#[source] reqwest::Error),
    /// The reply is longer than any valid one.
    #[error("the reply is too long")]
    TooLong,
    /// The reply is not JSON.
    #[error("the reply is no JSON (status {0})")]
    NotJson(u16),
    /// The reply is a redirect that is not followed. It is named without its query.
    #[error("the reply is a redirect to {host}{path} (status {status})")]
    Redirected {
        /// The status.
        status: u16,
        /// The host that it leads to.
        host: String,
        /// The path there; of a node it may contain a key.
        path: String,
    },
}

impl Endpoint {
    /// An endpoint at this address; `None` for an invalid address.
    pub(crate) fn new(url: &str, timeout: Duration) -> Option<Self> {
        Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        // A referer would show another host the address, and with it a key.
        let http = Client::builder().redirect(Policy::custom(redirect)).referer(false).pool_max_idle_per_host(0);
        let http = http.build().ok()?;
        Some(Self { http, url: url.trim_end_matches('/').to_owned(), timeout })
    }

    /// Posts a document, and returns the status and the document of the reply.
    pub(crate) async fn post(
        &self,
        path: &str,
        body: &Value,
        timeout: Option<Duration>,
    ) -> Result<(u16, Value), CallError> {
        let request = self.http.post(format!("{}{path}", self.url)).header("content-type", "application/json");
        reply(request.body(body.to_string()).timeout(timeout.unwrap_or(self.timeout))).await
    }

    /// Gets a document, and returns the status and the document of the reply.
    pub(crate) async fn get(&self, path: &str) -> Result<(u16, Value), CallError> {
        reply(self.http.get(format!("{}{path}", self.url)).timeout(self.timeout)).await
    }
}

async fn reply(request: RequestBuilder) -> Result<(u16, Value), CallError> {
    let mut response = request.send().await.map_err(lost)?;
    if let Some(error) = redirected(&response) {
        return Err(error);
    }
    let status = response.status().as_u16();
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(lost)? {
        if bytes.len() + chunk.len() > LONGEST_REPLY {
            return Err(CallError::TooLong);
        }
        bytes.extend_from_slice(&chunk);
    }
    let document = serde_json::from_slice(&bytes).map_err(|_| CallError::NotJson(status))?;
    Ok((status, document))
}

fn redirect(attempt: Attempt<'_>) -> Action {
    let (status, scheme) = (attempt.status().as_u16(), attempt.url().scheme());
    if is_followed(status, scheme, attempt.previous().len()) { attempt.follow() } else { attempt.stop() }
}

/// Whether the redirect with this number in a row (from 1) is followed: if it leads to https, and keeps the method and
/// the body. The signed payment in the body is not secret.
fn is_followed(status: u16, scheme: &str, number: usize) -> bool {
    matches!(status, 307 | 308) && scheme == "https" && number <= MOST_REDIRECTS
}

/// The error for a redirect that was not followed.
fn redirected(response: &Response) -> Option<CallError> {
    let status = response.status();
    let location = response.headers().get("location").filter(|_| status.is_redirection())?;
    let target = response.url().join(location.to_str().ok()?).ok()?;
    let path = target.path().chars().take(LONGEST_PATH).collect();
    Some(CallError::Redirected { status: status.as_u16(), host: target.host_str()?.to_owned(), path })
}

fn lost(error: reqwest::Error) -> CallError {
    CallError::Lost(error.without_url())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use test_server::{Request, with_server};

    #[test]
    fn two_redirects_to_https_that_keep_the_body_are_followed() {
        for status in [307, 308] {
            assert!(is_followed(status, "https", 1) && is_followed(status, "https", 2));
            assert!(!is_followed(status, "https", 3) && !is_followed(status, "http", 1));
        }
        for status in [301, 302, 303] {
            assert!(!is_followed(status, "https", 1), "{status}: it makes a GET of a POST");
        }
    }

    #[tokio::test]
    async fn a_redirect_that_is_not_followed_is_named_without_its_query() {
        for (status, location, leads_to) in [
            (308, "http://www.x402.example/facilitator/verify?key=1", "www.x402.example/facilitator/verify"),
            (302, "https://www.x402.example/v2", "www.x402.example/v2"),
            (301, "/v2/verify", "127.0.0.1/v2/verify"),
        ] {
            let headers = format!("location: {location}\r\n");
            let answer = |_: &Request| test_server::reply(status, &headers, "Redirecting...");
            let call = async |url: String| {
                let endpoint = Endpoint::new(&url, Duration::from_secs(5)).unwrap();
                endpoint.post("/verify", &json!({}), None).await.unwrap_err().to_string()
            };
            let error = with_server(answer, call).await;
            assert_eq!(error, format!("the reply is a redirect to {leads_to} (status {status})"));
        }
    }
}
