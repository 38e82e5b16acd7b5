//! The Gemini client behind [`Model`].

use crate::{
    events::Events,
    model_list::ModelName,
    profile::{InvalidProfiles, Profiles},
    reply::{self, Streamed},
    request,
};
use async_trait::async_trait;
use domain::{
    Secret,
    ports::{Listener, Model, ModelError, ModelReply, Prompt},
};
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use std::time::Duration;
use tokio::time::Instant;

/// The address of the real Gemini.
pub const BASE_URL: &str = "https://generativelanguage.googleapis.com";

/// The default time-out of a call (Gemini Timeout, invariant 1).
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(45);

const API_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");

/// A model has stalled if its last text is older than a quarter of the call's time.
const STALLED: u32 = 4;

/// The longest reply: a verdict has a few kB.
const MAX_REPLY_BYTES: usize = 1024 * 1024;

/// The settings of a client.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address of the API, without `/v1beta`.
    pub base_url: String,
    /// The API key.
    pub key: Secret,
    /// The time-out of one call, from the connection to the last byte of the reply.
    pub timeout: Duration,
}

/// Why a client cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The base URL is not an http or https URL.
    #[error("GEMINI_BASE_URL is not an http or https URL")]
    BaseUrl,
    /// The key is empty or has characters that a header cannot contain.
    #[error("the API key of Gemini is empty or malformed")]
    Key,
    /// The model profiles are broken.
    #[error(transparent)]
    Profiles(#[from] InvalidProfiles),
    /// The HTTP client cannot be built.
    #[error("the HTTP client cannot be built")]
    Http(#[source] reqwest::Error),
}

/// Gemini.
pub struct Client {
    http: reqwest::Client,
    base_url: String,
    key: HeaderValue,
    timeout: Duration,
    profiles: Profiles,
}

impl Client {
    /// A client that uses `http` with the connection settings of the caller.
    ///
    /// # Errors
    /// [`ConfigError`] names the invalid setting.
    pub fn new(config: Config, http: reqwest::ClientBuilder) -> Result<Self, ConfigError> {
        let base_url = domain::web_address(&config.base_url).ok_or(ConfigError::BaseUrl)?;
        let key = Some(config.key.expose()).filter(|key| !key.is_empty() && key.bytes().all(|b| b.is_ascii_graphic()));
        let mut key = key.and_then(|key| HeaderValue::from_str(key).ok()).ok_or(ConfigError::Key)?;
        key.set_sensitive(true);
        let http = http
            // Our own headers, including the key, would follow a redirect to any host.
            .redirect(reqwest::redirect::Policy::none())
            // A function sleeps for minutes between calls: by then a pooled connection is dead, and finding that out
            // would cost one of the three attempts.
            .pool_max_idle_per_host(0)
            .build()
            .map_err(ConfigError::Http)?;
        Ok(Self { http, base_url, key, timeout: config.timeout, profiles: Profiles::built_in()? })
    }

    /// Checks that the key is accepted and the model is served; this costs nothing (Gemini Timeout, GAP-02D).
    ///
    /// # Errors
    /// [`ModelError`], as for a question.
    pub async fn knows(&self, model: &str) -> Result<(), ModelError> {
        let name = ModelName::parse(model).ok_or(ModelError::UnknownModel)?;
        let url = format!("{}/v1beta/models/{}", self.base_url, name.as_str());
        let response = self.http.get(url).header(API_KEY, &self.key).timeout(self.timeout).send().await;
        let response = response.map_err(lost)?;
        let status = response.status();
        let body = read(response).await.map_err(lost)?.unwrap_or_default();
        if status.is_success() { Ok(()) } else { Err(reply::refusal(status.as_u16(), &body)) }
    }

    /// Sends the question to a method of the model. A reply with a status other than 2xx is an error.
    async fn send(&self, model: &ModelName, method: &str, prompt: &Prompt) -> Result<reqwest::Response, ModelError> {
        let model = model.as_str();
        let url = format!("{}/v1beta/models/{model}:{method}", self.base_url);
        let body = request::body(prompt, self.profiles.generation_config(model)).to_string();
        let request = self.http.post(url).header(API_KEY, &self.key).header(CONTENT_TYPE, "application/json");
        let response = request.body(body).timeout(self.timeout).send().await.map_err(lost)?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = read(response).await.map_err(lost)?;
        let error = reply::refusal(status.as_u16(), &body.unwrap_or_default());
        tracing::warn!(model, status = status.as_u16(), %error, "the call to Gemini was refused");
        Err(error)
    }

    /// Why a stream broke off. `long_at` is when its reply last grew, if the reply is long. A model that was still
    /// writing such a reply at the time-out does not fail: the reply is longer than our time.
    fn broken_off(&self, error: reqwest::Error, long_at: Option<Instant>) -> ModelError {
        let is_writing = long_at.is_some_and(|at| at.elapsed() < self.timeout / STALLED);
        match lost(error) {
            ModelError::Timeout if is_writing => ModelError::cut_by_time(),
            error => error,
        }
    }
}

#[async_trait]
impl Model for Client {
    async fn ask(&self, model: &str, prompt: &Prompt) -> Result<ModelReply, ModelError> {
        let name = ModelName::parse(model).ok_or(ModelError::UnknownModel)?;
        let body = read(self.send(&name, "generateContent", prompt).await?).await.map_err(lost)?;
        // The same question would get the same reply, so another attempt is useless.
        let body = body.ok_or_else(too_long)?;
        reply::parse(&body, name.as_str())
    }

    async fn stream(
        &self,
        model: &str,
        prompt: &Prompt,
        listener: &mut dyn Listener,
    ) -> Result<ModelReply, ModelError> {
        let name = ModelName::parse(model).ok_or(ModelError::UnknownModel)?;
        let mut response = self.send(&name, "streamGenerateContent?alt=sse", prompt).await?;
        let (mut events, mut streamed, mut length) = (Events::default(), Streamed::default(), 0);
        let mut long_at = None;
        while let Some(chunk) = response.chunk().await.map_err(|error| self.broken_off(error, long_at))? {
            length += chunk.len();
            if length > MAX_REPLY_BYTES {
                return Err(too_long());
            }
            for event in events.feed(&chunk) {
                if streamed.take(&event)? {
                    long_at = prompt.is_long(streamed.text()).then(Instant::now);
                    listener.hear(streamed.text()).await;
                }
            }
        }
        streamed.end(&events.rest(), name.as_str())
    }
}

fn too_long() -> ModelError {
    reply::no_verdict("REPLY_TOO_LONG")
}

fn lost(error: reqwest::Error) -> ModelError {
    if error.is_timeout() { ModelError::Timeout } else { ModelError::Network(Box::new(error.without_url())) }
}

/// The whole body, or `None` when it is longer than any valid reply.
async fn read(mut response: reqwest::Response) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > MAX_REPLY_BYTES {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}
