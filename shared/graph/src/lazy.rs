//! The mailbox with its credentials fetched at the first call: a function that starts asks for nothing it may not
//! need.

use crate::{Client, Config, Grant, RefreshTokenStore, client::DEFAULT_TIMEOUT};
use async_trait::async_trait;
use domain::{
    EmailAddress, Secret,
    ports::{Clock, MailError, Mailbox, OutgoingMail, SecretSource},
    sale::Draft,
};
use serde::Deserialize;
use std::sync::{Arc, OnceLock};

/// The stored form of the credentials. With a refresh token a person has consented, without one an administrator
/// has consented for the application.
#[derive(Deserialize)]
struct Document {
    tenant_id: String,
    client_id: String,
    #[serde(default)]
    client_secret: Option<Secret>,
    #[serde(default)]
    refresh_token: Option<Secret>,
}

/// The mailbox, made at its first use.
pub struct LazyClient {
    graph_url: String,
    login_url: String,
    sender: EmailAddress,
    secret: Arc<dyn SecretSource>,
    tokens: Arc<dyn RefreshTokenStore>,
    clock: Arc<dyn Clock>,
    client: OnceLock<Client>,
}

impl LazyClient {
    /// A client whose credentials are in `secret`: a document with `tenant_id`, `client_id`, and `refresh_token`
    /// or `client_secret` or both.
    #[must_use]
    pub fn new(
        graph_url: String,
        login_url: String,
        sender: EmailAddress,
        secret: Arc<dyn SecretSource>,
        tokens: Arc<dyn RefreshTokenStore>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { graph_url, login_url, sender, secret, tokens, clock, client: OnceLock::new() }
    }

    /// Nothing was sent yet when this fails, so trying again later is safe.
    async fn client(&self) -> Result<&Client, MailError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let document = self.secret.document().await.map_err(|error| {
            tracing::error!(%error, "the mailbox's credentials could not be read");
            MailError::Unavailable(0)
        })?;
        let stored: Document = serde_json::from_str(document.expose()).map_err(|_| {
            tracing::error!("the mailbox's secret has no tenant_id or client_id");
            MailError::Unavailable(0)
        })?;
        let grant = match (stored.refresh_token.filter(|token| !token.expose().is_empty()), stored.client_secret) {
            (Some(refresh_token), client_secret) => {
                Grant::RefreshToken { refresh_token, client_secret, store: Arc::clone(&self.tokens) }
            }
            (None, client_secret) => {
                Grant::ClientCredentials { client_secret: client_secret.unwrap_or_else(|| Secret::new("")) }
            }
        };
        let config = Config {
            graph_url: self.graph_url.clone(),
            login_url: self.login_url.clone(),
            tenant: stored.tenant_id,
            client_id: stored.client_id,
            grant,
            sender: self.sender.clone(),
            timeout: DEFAULT_TIMEOUT,
        };
        let client = Client::new(config, reqwest::Client::builder(), Arc::clone(&self.clock)).map_err(|error| {
            tracing::error!(%error, "the mailbox is misconfigured");
            MailError::Unavailable(0)
        })?;
        Ok(self.client.get_or_init(|| client))
    }
}

#[async_trait]
impl Mailbox for LazyClient {
    async fn create_draft(&self, mail: &OutgoingMail) -> Result<Draft, MailError> {
        self.client().await?.create_draft(mail).await
    }

    async fn send_draft(&self, draft: &Draft) -> Result<(), MailError> {
        self.client().await?.send_draft(draft).await
    }

    async fn draft_exists(&self, draft: &Draft) -> Result<bool, MailError> {
        self.client().await?.draft_exists(draft).await
    }

    async fn was_sent(&self, draft: &Draft) -> Result<bool, MailError> {
        self.client().await?.was_sent(draft).await
    }

    async fn discard_draft(&self, draft: &Draft) -> Result<(), MailError> {
        self.client().await?.discard_draft(draft).await
    }
}
