//! Gemini with its key fetched at the first call: a function that starts asks for nothing it may not need. A key that
//! is refused is looked up again, so that a rotated one works without a restart (Gemini Timeout, failure mode 6).

use crate::{Client, Config};
use async_trait::async_trait;
use domain::{
    MadeFromSecret, RenewableSecret, Secret,
    ports::{Model, ModelError, ModelReply, Prompt},
    renewable::NotMade,
};
use serde::Deserialize;
use std::{sync::Arc, time::Duration};

/// The stored form of the key.
#[derive(Deserialize)]
struct Document {
    api_key: Secret,
}

/// Gemini, made at its first use.
pub struct LazyClient {
    base_url: String,
    timeout: Duration,
    client: MadeFromSecret<Client>,
}

impl LazyClient {
    /// A client whose key is in `secret`: a document `{"api_key": …}`.
    #[must_use]
    pub fn new(base_url: String, timeout: Duration, secret: Arc<dyn RenewableSecret>) -> Self {
        Self { base_url, timeout, client: MadeFromSecret::new(secret) }
    }

    /// Whether the key is accepted and the model is served; it costs nothing to ask.
    ///
    /// # Errors
    /// [`ModelError`], as for a question.
    pub async fn knows(&self, model: &str) -> Result<(), ModelError> {
        let client = self.client.get(|document| self.make(document)).await.map_err(ModelError::NotReady)?;
        client.knows(model).await
    }

    fn make(&self, document: &Secret) -> Result<Client, NotMade> {
        let Document { api_key } =
            serde_json::from_str(document.expose()).map_err(|_| "the Gemini secret has no api_key")?;
        let config = Config { base_url: self.base_url.clone(), key: api_key, timeout: self.timeout };
        Ok(Client::new(config, reqwest::Client::builder())?)
    }
}

#[async_trait]
impl Model for LazyClient {
    async fn ask(&self, model: &str, prompt: &Prompt) -> Result<ModelReply, ModelError> {
        let make = |document: &Secret| self.make(document);
        let client = self.client.get(make).await.map_err(ModelError::NotReady)?;
        let outcome = client.ask(model, prompt).await;
        if !matches!(outcome, Err(ModelError::Unauthorized(_))) {
            return outcome;
        }
        match self.client.other_than(&client, make).await {
            Some(client) => client.ask(model, prompt).await,
            None => outcome,
        }
    }
}
