//! Makes one JSON call to a facilitator or a node.

use reqwest::{Client, Url, redirect::Policy};
use serde_json::Value;
use std::{fmt, time::Duration};

/// The longest reply: a facilitator's has some hundred bytes, a receipt of a large batch some hundred kB.
const LONGEST_REPLY: usize = 2 * 1024 * 1024;

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
}

impl Endpoint {
    /// An endpoint at this address; `None` for an invalid address.
    pub(crate) fn new(url: &str, timeout: Duration) -> Option<Self> {
        Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        let http = Client::builder().redirect(Policy::none()).pool_max_idle_per_host(0).build().ok()?;
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
        let request = request.body(body.to_string()).timeout(timeout.unwrap_or(self.timeout));
        let mut response = request.send().await.map_err(lost)?;
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
}

fn lost(error: reqwest::Error) -> CallError {
    CallError::Lost(error.without_url())
}
