//! Gemini with its key fetched at the first call: a function that starts asks for nothing it may not need.

use crate::{Client, Config};
use async_trait::async_trait;
use domain::{
    Secret,
    ports::{Model, ModelError, ModelReply, Prompt, SecretSource},
};
use serde::Deserialize;
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

/// The stored form of the key.
#[derive(Deserialize)]
struct Document {
    api_key: Secret,
}

/// Gemini, made at its first use.
pub struct LazyClient {
    base_url: String,
    timeout: Duration,
    secret: Arc<dyn SecretSource>,
    client: OnceLock<Client>,
}

impl LazyClient {
    /// A client whose key is in `secret`: a document `{"api_key": …}`.
    #[must_use]
    pub fn new(base_url: String, timeout: Duration, secret: Arc<dyn SecretSource>) -> Self {
        Self { base_url, timeout, secret, client: OnceLock::new() }
    }

    async fn client(&self) -> Result<&Client, ModelError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let document = self.secret.document().await.map_err(|error| ModelError::NotReady(Box::new(error)))?;
        let Document { api_key } = serde_json::from_str(document.expose())
            .map_err(|_| ModelError::NotReady("the Gemini secret has no api_key".into()))?;
        let config = Config { base_url: self.base_url.clone(), key: api_key, timeout: self.timeout };
        let client =
            Client::new(config, reqwest::Client::builder()).map_err(|error| ModelError::NotReady(Box::new(error)))?;
        Ok(self.client.get_or_init(|| client))
    }
}

#[async_trait]
impl Model for LazyClient {
    async fn ask(&self, model: &str, prompt: &Prompt) -> Result<ModelReply, ModelError> {
        self.client().await?.ask(model, prompt).await
    }
}
