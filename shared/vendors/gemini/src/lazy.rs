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
    client: MadeFromSecret<Client>,
}

impl LazyClient {
    /// A client whose key is in `secret`: a document `{"api_key": …}`.
    #[must_use]
    pub fn new(base_url: String, timeout: Duration, secret: Arc<dyn RenewableSecret>) -> Self {
        let make = move |document: &Secret| -> Result<Client, NotMade> {
            let Document { api_key } =
                serde_json::from_str(document.expose()).map_err(|_| "the Gemini secret has no api_key")?;
            let config = Config { base_url: base_url.clone(), key: api_key, timeout };
            Ok(Client::new(config, reqwest::Client::builder())?)
        };
        Self { client: MadeFromSecret::new(secret, make) }
    }

    /// Checks that the key is accepted and the model is served; this costs nothing.
    ///
    /// # Errors
    /// [`ModelError`], as for a question.
    pub async fn knows(&self, model: &str) -> Result<(), ModelError> {
        self.client().await?.knows(model).await
    }

    /// The client with the key as it was read last.
    async fn client(&self) -> Result<Made<Client>, ModelError> {
        self.client.get().await.map_err(ModelError::NotReady)
    }
}

/// Whether the key or its account is refused.
const fn is_refused(error: &ModelError) -> bool {
    matches!(error, ModelError::Unauthorized(_) | ModelError::Account(_))
}

#[async_trait]
impl Model for LazyClient {
    async fn ask(&self, model: &str, prompt: &Prompt) -> Result<ModelReply, ModelError> {
        let ask = |client: Made<Client>| async move { client.ask(model, prompt).await };
        self.client.call(self.client().await?, is_refused, ask).await
    }

    async fn stream(
        &self,
        model: &str,
        prompt: &Prompt,
        listener: &mut dyn Listener,
    ) -> Result<ModelReply, ModelError> {
        let client = self.client().await?;
        let outcome = client.stream(model, prompt, listener).await;
        if !outcome.as_ref().is_err_and(is_refused) {
            return outcome;
        }
        // Not by `call`, whose closure cannot lend the listener to each of its two futures.
        match self.client.other_than(&client).await {
            Some(client) => client.stream(model, prompt, listener).await,
            None => outcome,
        }
    }
}
