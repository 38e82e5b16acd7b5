//! Gemini with its key read at the first call, so that a starting function reads nothing that it may not need. A
//! refused key is read again, so that a rotated one works without a restart (Gemini Timeout, failure mode 6); so is the
//! key of a refused account, because an operator may set the key of another one.

use crate::{Client, Config};
use async_trait::async_trait;
use domain::{
    MadeFromSecret, RenewableSecret, Secret,
    ports::{Listener, Model, ModelError, ModelReply, Prompt},
    renewable::{Made, NotMade},
};
use serde::Deserialize;
use std::{sync::Arc, time::Duration};

/// The stored form of the key.
#[derive(Deserialize)]
struct Document {
    api_key: Secret,
}

/// A Gemini client that is built at its first use.
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

    /// Checks that the key is accepted and the model is served; this costs nothing.
    ///
    /// # Errors
    /// [`ModelError`], as for a question.
    pub async fn knows(&self, model: &str) -> Result<(), ModelError> {
        self.client().await?.knows(model).await
    }

    fn make(&self, document: &Secret) -> Result<Client, NotMade> {
        let Document { api_key } =
            serde_json::from_str(document.expose()).map_err(|_| "the Gemini secret has no api_key")?;
        let config = Config { base_url: self.base_url.clone(), key: api_key, timeout: self.timeout };
        Ok(Client::new(config, reqwest::Client::builder())?)
    }

    /// The client with the key as it was read last.
    async fn client(&self) -> Result<Made<Client>, ModelError> {
        self.client.get(|document| self.make(document)).await.map_err(ModelError::NotReady)
    }

    /// A client with another key, if this outcome is a refusal of the key or its account and the secret has another one.
    async fn renewed(&self, client: &Made<Client>, outcome: &Result<ModelReply, ModelError>) -> Option<Made<Client>> {
        let is_refused = matches!(outcome, Err(ModelError::Unauthorized(_) | ModelError::Account(_)));
        if is_refused { self.client.other_than(client, |document| self.make(document)).await } else { None }
    }
}

#[async_trait]
impl Model for LazyClient {
    async fn ask(&self, model: &str, prompt: &Prompt) -> Result<ModelReply, ModelError> {
        let client = self.client().await?;
        let outcome = client.ask(model, prompt).await;
        match self.renewed(&client, &outcome).await {
            Some(client) => client.ask(model, prompt).await,
            None => outcome,
        }
    }

    async fn stream(
        &self,
        model: &str,
        prompt: &Prompt,
        listener: &mut dyn Listener,
    ) -> Result<ModelReply, ModelError> {
        let client = self.client().await?;
        let outcome = client.stream(model, prompt, listener).await;
        match self.renewed(&client, &outcome).await {
            Some(client) => client.stream(model, prompt, listener).await,
            None => outcome,
        }
    }
}
