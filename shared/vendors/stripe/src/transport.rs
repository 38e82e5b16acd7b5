//! Makes one call of Stripe's API: its attempts, the waits between them, and their time limit.

use crate::reply::{self, CallError, Failure};
use domain::{
    backoff::Backoff,
    ports::{Pause, PaymentError, Randomness},
};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// The API version that this crate was written for. Without the header, the account's default version decides what a
/// call means.
pub const API_VERSION: &str = "2026-07-29.dahlia";
const VERSION: HeaderValue = HeaderValue::from_static(API_VERSION);
const STRIPE_VERSION: HeaderName = HeaderName::from_static("stripe-version");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The time-out of one attempt at a page, and of all its attempts and waits: Stripe takes seconds to assemble a hundred
/// sessions with long questions, and its own clients wait 80 s.
const PAGE_TIMEOUT: Duration = Duration::from_secs(30);
const PAGE_BUDGET: Duration = Duration::from_secs(90);

/// What a call is answered with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// One object, or a few.
    Object,
    /// A list of what operators have set up in the account.
    List,
    /// A page of a hundred objects of customers, for which only schedules and operators wait.
    Page,
}

impl Expected {
    /// The longest reply: a session with the longest question is under 200 kB.
    const fn most_bytes(self) -> usize {
        match self {
            Self::Object => 1024 * 1024,
            Self::List | Self::Page => 24 * 1024 * 1024,
        }
    }
}

pub(crate) enum Call<'a> {
    Get { path: String, query: &'a [(&'a str, &'a str)], expected: Expected },
    Post { path: &'a str, form: &'a [(String, String)], idempotency_key: HeaderValue },
}

impl Call<'_> {
    const fn expected(&self) -> Expected {
        match self {
            Self::Get { expected, .. } => *expected,
            Self::Post { .. } => Expected::Object,
        }
    }
}

pub(crate) struct Transport {
    pub(crate) http: reqwest::Client,
    pub(crate) base_url: String,
    pub(crate) authorization: HeaderValue,
    pub(crate) attempt_timeout: Duration,
    pub(crate) budget: Duration,
    pub(crate) backoff: Backoff,
    pub(crate) pause: Arc<dyn Pause>,
    pub(crate) randomness: Arc<dyn Randomness>,
}

impl Transport {
    /// Calls until there is a reply, another attempt is useless, or the time limit is reached. Every attempt has the
    /// same idempotency key, so that a lost reply does not lead to a second sale.
    pub(crate) async fn call(&self, call: &Call<'_>) -> Result<Value, PaymentError> {
        let budget = if call.expected() == Expected::Page { PAGE_BUDGET } else { self.budget };
        let attempts = tokio::time::timeout(budget, self.attempts(call)).await;
        attempts.unwrap_or_else(|_| Err(CallError::OutOfTime.into()))
    }

    async fn attempts(&self, call: &Call<'_>) -> Result<Value, PaymentError> {
        let mut attempt = 1;
        loop {
            let failure = match self.attempt(call).await {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            let reason = std::error::Error::source(&failure.error)
                .map_or_else(|| failure.error.to_string(), ToString::to_string);
            tracing::warn!(attempt, reason, "the call to Stripe failed");
            let wait = self.backoff.wait_after(attempt, self.randomness.fraction()).filter(|_| failure.retriable);
            let Some(wait) = wait else { return Err(failure.error) };
            self.pause.pause(wait).await;
            attempt += 1;
        }
    }

    async fn attempt(&self, call: &Call<'_>) -> Result<Value, Failure> {
        let lost = |error: reqwest::Error| Failure { error: connection(error).into(), retriable: true };
        let response = self.request(call).send().await.map_err(lost)?;
        let status = response.status();
        let should_retry = header(response.headers(), "stripe-should-retry");
        let replayed = header(response.headers(), "idempotent-replayed").as_deref() == Some("true");
        let Some(body) = read(response, call.expected().most_bytes()).await.map_err(lost)? else {
            return Err(Failure { error: CallError::TooLong.into(), retriable: false });
        };
        if !status.is_success() {
            return Err(reply::refusal(status.as_u16(), should_retry.as_deref(), replayed, &body));
        }
        serde_json::from_slice(&body)
            .map_err(|_| Failure { error: CallError::Unexpected("not JSON").into(), retriable: true })
    }

    fn request(&self, call: &Call<'_>) -> reqwest::RequestBuilder {
        let request = match call {
            Call::Get { path, query, .. } => self.http.get(format!("{}{path}", self.base_url)).query(query),
            Call::Post { path, form, idempotency_key } => {
                let request = self.http.post(format!("{}{path}", self.base_url)).form(form);
                request.header(IDEMPOTENCY_KEY, idempotency_key)
            }
        };
        let timeout = if call.expected() == Expected::Page { PAGE_TIMEOUT } else { self.attempt_timeout };
        request
            .header(reqwest::header::AUTHORIZATION, &self.authorization)
            .header(STRIPE_VERSION, VERSION)
            .timeout(timeout)
    }
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// Removes the address of the call, because it contains the session id or a customer's code.
fn connection(error: reqwest::Error) -> CallError {
    if error.is_timeout() { CallError::OutOfTime } else { CallError::Connection(error.without_url()) }
}

/// The whole body, or `None` when it is longer than any valid reply.
async fn read(mut response: reqwest::Response, most_bytes: usize) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > most_bytes {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}
