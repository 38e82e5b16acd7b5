//! Stripe's test mode, for the smoke test: it has its own key, which must be a key of the test mode.

use crate::{maker::Maker, renewing::RenewingClient};
use async_trait::async_trait;
use domain::{
    RenewableSecret, Secret, SessionId,
    ports::{Pause, PaymentError, Randomness},
    renewable::NotMade,
    smoke::{self, Facts, SmokeSessions},
};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// The stored secrets of the smoke test. Both are missing or empty if no smoke test is set up.
#[derive(Clone, Deserialize)]
pub struct SmokeSecret {
    /// The secret key of the test mode.
    #[serde(default = "blank")]
    pub secret_key: Secret,
    /// The secret that signs the smoke test's own event. Stripe need not have it.
    #[serde(default = "blank")]
    pub signing_secret: Secret,
}

fn blank() -> Secret {
    Secret::new("")
}

/// The document is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the smoke test's secret is not a document with secret_key and signing_secret")]
pub struct InvalidSmokeSecret;

impl SmokeSecret {
    /// Parses the stored document.
    ///
    /// # Errors
    /// [`InvalidSmokeSecret`].
    pub fn parse(document: &Secret) -> Result<Self, InvalidSmokeSecret> {
        let trimmed = |secret: Secret| Secret::new(secret.expose().trim());
        let Self { secret_key, signing_secret } =
            serde_json::from_str(document.expose()).map_err(|_| InvalidSmokeSecret)?;
        Ok(Self { secret_key: trimmed(secret_key), signing_secret: trimmed(signing_secret) })
    }
}

/// A created session.
#[derive(Clone, Debug)]
pub struct Created {
    /// Its id.
    pub id: SessionId,
    /// The session, as Stripe returned it.
    pub object: Value,
}

/// A client for Stripe's test mode that is built at its first use.
pub struct SmokeClient {
    client: RenewingClient,
}

fn read_key(document: &Secret) -> Result<Secret, NotMade> {
    let SmokeSecret { secret_key, .. } = SmokeSecret::parse(document)?;
    if !smoke::is_test_key(secret_key.expose()) {
        return Err("the smoke test's Stripe key is not a secret key of the test mode".into());
    }
    Ok(secret_key)
}

impl SmokeClient {
    /// A client whose key is in `secret`, a [`SmokeSecret`] document. With a key of another mode, nothing is ever
    /// called.
    #[must_use]
    pub fn new(
        base_url: String,
        site: String,
        secret: Arc<dyn RenewableSecret>,
        pause: Arc<dyn Pause>,
        randomness: Arc<dyn Randomness>,
    ) -> Self {
        Self { client: RenewingClient::new(Maker { base_url, site, pause, randomness }, secret, read_key) }
    }

    /// Creates the smoke test's session; everything in it is fixed.
    ///
    /// # Errors
    /// [`PaymentError`], including when the key does not belong to the test mode.
    pub async fn create(&self, idempotency_key: &str) -> Result<Created, PaymentError> {
        let (id, object) = self.client.call(|client| async move { client.create_smoke(idempotency_key).await }).await?;
        Ok(Created { id, object })
    }
}

#[async_trait]
impl SmokeSessions for SmokeClient {
    async fn facts(&self, id: &SessionId) -> Result<Facts, PaymentError> {
        if !id.is_test_mode() {
            return Err(PaymentError::NotFound);
        }
        let (session, reply) = self.client.call(|client| async move { client.retrieve(id).await }).await?;
        Ok(Facts { session, livemode: reply["livemode"].as_bool() })
    }
}
