//! Stripe with its key read at the first call, so that a starting function reads nothing that it may not need. A
//! refused key is read again, so that a rotated one works without a restart.

use crate::{Client, PaymentLink, Portal, WebhookEndpoint, maker::Maker, reply::is_unauthorized};
use async_trait::async_trait;
use domain::{
    CheckoutSession, MadeFromSecret, RenewableSecret, Secret, SessionId, Timestamp,
    money::PaymentId,
    ports::{
        CompletedSessions, CreatedCheckoutSession, Ledger, MadeRefund, NewCheckoutSession, NewRefund, Pause,
        PaymentError, PaymentReports, Payments, Randomness, ReportsSince,
    },
    renewable::{Made, NotMade},
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
    maker: Maker,
    client: MadeFromSecret<Client>,
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
        Self { maker: Maker { base_url, site, pause, randomness }, client: MadeFromSecret::new(secret) }
    }

    fn make(&self, document: &Secret) -> Result<Client, NotMade> {
        let Document { secret_key } =
            serde_json::from_str(document.expose()).map_err(|_| "the Stripe secret has no secret_key")?;
        self.maker.make(secret_key)
    }

    /// As [`Client::webhook_endpoints`].
    ///
    /// # Errors
    /// As there.
    pub async fn webhook_endpoints(&self) -> Result<Vec<WebhookEndpoint>, PaymentError> {
        self.client().await?.webhook_endpoints().await
    }

    /// As [`Client::payment_links`].
    ///
    /// # Errors
    /// As there.
    pub async fn payment_links(&self) -> Result<Vec<PaymentLink>, PaymentError> {
        self.client().await?.payment_links().await
    }

    /// As [`Client::portal_settings`].
    ///
    /// # Errors
    /// As there.
    pub async fn portal_settings(&self) -> Result<Option<Portal>, PaymentError> {
        self.client().await?.portal_settings().await
    }

    pub(crate) async fn client(&self) -> Result<Made<Client>, PaymentError> {
        self.client.get(|document| self.make(document)).await.map_err(PaymentError::Unavailable)
    }

    /// Another client, if Stripe refused this one's key and there is another key. The refused call had no effect.
    pub(crate) async fn other_than(&self, client: &Made<Client>, error: Option<&PaymentError>) -> Option<Made<Client>> {
        if !error.is_some_and(is_unauthorized) {
            return None;
        }
        self.client.other_than(client, |document| self.make(document)).await
    }
}

#[async_trait]
impl Payments for LazyClient {
    async fn is_of_other_mode(&self, id: &SessionId) -> bool {
        // The call that follows reports an unreadable key.
        match self.client().await {
            Ok(client) => client.is_of_other_mode(id).await,
            Err(_) => false,
        }
    }

    async fn session(&self, id: &SessionId) -> Result<CheckoutSession, PaymentError> {
        let client = self.client().await?;
        let outcome = client.session(id).await;
        match self.other_than(&client, outcome.as_ref().err()).await {
            Some(client) => client.session(id).await,
            None => outcome,
        }
    }

    async fn create_session(&self, new: &NewCheckoutSession) -> Result<CreatedCheckoutSession, PaymentError> {
        let client = self.client().await?;
        let outcome = client.create_session(new).await;
        match self.other_than(&client, outcome.as_ref().err()).await {
            Some(client) => client.create_session(new).await,
            None => outcome,
        }
    }

    async fn promotion_code(&self, code: &str) -> Result<Option<String>, PaymentError> {
        let client = self.client().await?;
        let outcome = client.promotion_code(code).await;
        match self.other_than(&client, outcome.as_ref().err()).await {
            Some(client) => client.promotion_code(code).await,
            None => outcome,
        }
    }
}

#[async_trait]
impl Ledger for LazyClient {
    async fn refund(&self, payment: &PaymentId, idempotency_key: &str) -> Result<NewRefund, PaymentError> {
        let client = self.client().await?;
        let outcome = client.refund(payment, idempotency_key).await;
        match self.other_than(&client, outcome.as_ref().err()).await {
            Some(client) => client.refund(payment, idempotency_key).await,
            None => outcome,
        }
    }

    async fn refunds(&self, payment: &PaymentId) -> Result<Vec<MadeRefund>, PaymentError> {
        let client = self.client().await?;
        let outcome = client.refunds(payment).await;
        match self.other_than(&client, outcome.as_ref().err()).await {
            Some(client) => client.refunds(payment).await,
            None => outcome,
        }
    }

    async fn session_of(&self, payment: &PaymentId) -> Result<Option<CheckoutSession>, PaymentError> {
        let client = self.client().await?;
        let outcome = client.session_of(payment).await;
        match self.other_than(&client, outcome.as_ref().err()).await {
            Some(client) => client.session_of(payment).await,
            None => outcome,
        }
    }

    async fn completed_since(&self, since: Timestamp, from: Option<&str>) -> Result<CompletedSessions, PaymentError> {
        let client = self.client().await?;
        let outcome = client.completed_since(since, from).await;
        match self.other_than(&client, outcome.as_ref().err()).await {
            Some(client) => client.completed_since(since, from).await,
            None => outcome,
        }
    }

    async fn reports_since(
        &self,
        since: ReportsSince,
        now: Timestamp,
        from: Option<&str>,
    ) -> Result<PaymentReports, PaymentError> {
        let client = self.client().await?;
        let outcome = client.reports_since(since, now, from).await;
        match self.other_than(&client, outcome.as_ref().err()).await {
            Some(client) => client.reports_since(since, now, from).await,
            None => outcome,
        }
    }

    async fn slowest_method(&self) -> Result<Duration, PaymentError> {
        let client = self.client().await?;
        let outcome = client.slowest_method().await;
        match self.other_than(&client, outcome.as_ref().err()).await {
            Some(client) => client.slowest_method().await,
            None => outcome,
        }
    }
}
