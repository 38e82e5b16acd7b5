//! Stripe with its key fetched at the first call: a function that starts asks for nothing it may not need.

use crate::{Client, Config};
use async_trait::async_trait;
use domain::{
    CheckoutSession, Secret, SessionId, Timestamp,
    money::PaymentId,
    ports::{
        CreatedCheckoutSession, Ledger, NewCheckoutSession, PaidSessions, Pause, PaymentError, Payments, Randomness,
        RefundStatus, SecretSource,
    },
};
use serde::Deserialize;
use std::sync::{Arc, OnceLock};

/// The stored form of the key.
#[derive(Deserialize)]
struct Document {
    secret_key: Secret,
}

/// Stripe, made at its first use.
pub struct LazyClient {
    base_url: String,
    site: String,
    secret: Arc<dyn SecretSource>,
    pause: Arc<dyn Pause>,
    randomness: Arc<dyn Randomness>,
    client: OnceLock<Client>,
}

impl LazyClient {
    /// A client whose key is in `secret`: a document `{"secret_key": …}`.
    #[must_use]
    pub fn new(
        base_url: String,
        site: String,
        secret: Arc<dyn SecretSource>,
        pause: Arc<dyn Pause>,
        randomness: Arc<dyn Randomness>,
    ) -> Self {
        Self { base_url, site, secret, pause, randomness, client: OnceLock::new() }
    }

    async fn client(&self) -> Result<&Client, PaymentError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let document = self.secret.document().await.map_err(|error| PaymentError::Unavailable(Box::new(error)))?;
        let Document { secret_key } = serde_json::from_str(document.expose())
            .map_err(|_| PaymentError::Unavailable("the Stripe secret has no secret_key".into()))?;
        let config = Config::new(&self.base_url, secret_key, &self.site);
        let http = reqwest::Client::builder();
        let client = Client::new(config, http, Arc::clone(&self.pause), Arc::clone(&self.randomness))
            .map_err(|error| PaymentError::Unavailable(Box::new(error)))?;
        Ok(self.client.get_or_init(|| client))
    }
}

#[async_trait]
impl Payments for LazyClient {
    async fn session(&self, id: &SessionId) -> Result<CheckoutSession, PaymentError> {
        self.client().await?.session(id).await
    }

    async fn create_session(&self, new: &NewCheckoutSession) -> Result<CreatedCheckoutSession, PaymentError> {
        self.client().await?.create_session(new).await
    }

    async fn promotion_code(&self, code: &str) -> Result<Option<String>, PaymentError> {
        self.client().await?.promotion_code(code).await
    }
}

#[async_trait]
impl Ledger for LazyClient {
    async fn refund(&self, payment: &PaymentId, idempotency_key: &str) -> Result<RefundStatus, PaymentError> {
        self.client().await?.refund(payment, idempotency_key).await
    }

    async fn session_of(&self, payment: &PaymentId) -> Result<Option<CheckoutSession>, PaymentError> {
        self.client().await?.session_of(payment).await
    }

    async fn paid_since(&self, since: Timestamp, from: Option<&str>) -> Result<PaidSessions, PaymentError> {
        self.client().await?.paid_since(since, from).await
    }
}
