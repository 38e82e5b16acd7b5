//! Stripe with its key read at the first call, so that a starting function reads nothing that it may not need. A
//! refused key is read again, and so is one that cannot see a session because of its mode (live or test), so that its
//! successor works without a restart.

use crate::{PaymentLink, Portal, WebhookEndpoint, maker::Maker, renewing::RenewingClient};
use async_trait::async_trait;
use domain::{
    CheckoutSession, RenewableSecret, Secret, SessionId, Timestamp,
    money::PaymentId,
    ports::{
        CompletedSessions, CreatedCheckoutSession, Ledger, NewCheckoutSession, NewRefund, Pause, PaymentError,
        PaymentRefunds, PaymentReports, Payments, Randomness, ReportsSince,
    },
    renewable::NotMade,
};
use serde::Deserialize;
use std::{sync::Arc, time::Duration};

/// The stored form of the key.
#[derive(Deserialize)]
struct Document {
    secret_key: Secret,
}

/// A Stripe client that is built at its first use.
pub struct LazyClient {
    pub(crate) client: RenewingClient,
}

fn read_key(document: &Secret) -> Result<Secret, NotMade> {
    let Document { secret_key } =
        serde_json::from_str(document.expose()).map_err(|_| "the Stripe secret has no secret_key")?;
    Ok(secret_key)
}

impl LazyClient {
    /// A client whose key is in `secret`: a document `{"secret_key": …}`.
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

    /// As [`crate::Client::live_mode`]. Reads the key, and makes no call to Stripe.
    ///
    /// # Errors
    /// [`PaymentError::Unavailable`] when the key cannot be read.
    pub async fn live_mode(&self) -> Result<Option<bool>, PaymentError> {
        Ok(self.client.get().await?.live_mode())
    }

    /// As [`crate::Client::webhook_endpoints`].
    ///
    /// # Errors
    /// As there.
    pub async fn webhook_endpoints(&self) -> Result<Vec<WebhookEndpoint>, PaymentError> {
        self.client.get().await?.webhook_endpoints().await
    }

    /// As [`crate::Client::payment_links`].
    ///
    /// # Errors
    /// As there.
    pub async fn payment_links(&self) -> Result<Vec<PaymentLink>, PaymentError> {
        self.client.get().await?.payment_links().await
    }

    /// As [`crate::Client::portal_settings`].
    ///
    /// # Errors
    /// As there.
    pub async fn portal_settings(&self) -> Result<Option<Portal>, PaymentError> {
        self.client.get().await?.portal_settings().await
    }
}

#[async_trait]
impl Payments for LazyClient {
    async fn is_of_other_mode(&self, id: &SessionId) -> bool {
        // The call that follows reports an unreadable key.
        self.client.get_for(id).await.is_ok_and(|client| client.is_id_of_other_mode(id))
    }

    async fn session(&self, id: &SessionId) -> Result<CheckoutSession, PaymentError> {
        self.client.get_for(id).await?;
        self.client.call(|client| async move { client.session(id).await }).await
    }

    async fn create_session(&self, new: &NewCheckoutSession) -> Result<CreatedCheckoutSession, PaymentError> {
        self.client.call(|client| async move { client.create_session(new).await }).await
    }

    async fn promotion_code(&self, code: &str) -> Result<Option<String>, PaymentError> {
        self.client.call(|client| async move { client.promotion_code(code).await }).await
    }
}

#[async_trait]
impl Ledger for LazyClient {
    async fn refund(&self, payment: &PaymentId, idempotency_key: &str) -> Result<NewRefund, PaymentError> {
        self.client.call(|client| async move { client.refund(payment, idempotency_key).await }).await
    }

    async fn refunds(&self, payment: &PaymentId) -> Result<PaymentRefunds, PaymentError> {
        self.client.call(|client| async move { client.refunds(payment).await }).await
    }

    async fn session_of(&self, payment: &PaymentId) -> Result<Option<CheckoutSession>, PaymentError> {
        self.client.call(|client| async move { client.session_of(payment).await }).await
    }

    async fn completed_since(&self, since: Timestamp, from: Option<&str>) -> Result<CompletedSessions, PaymentError> {
        self.client.call(|client| async move { client.completed_since(since, from).await }).await
    }

    async fn reports_since(
        &self,
        since: ReportsSince,
        now: Timestamp,
        from: Option<&str>,
    ) -> Result<PaymentReports, PaymentError> {
        self.client.call(|client| async move { client.reports_since(since, now, from).await }).await
    }

    async fn slowest_method(&self) -> Result<Duration, PaymentError> {
        self.client.call(|client| async move { client.slowest_method().await }).await
    }
}
