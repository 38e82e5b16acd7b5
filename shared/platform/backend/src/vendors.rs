//! Clients of Stripe, Gemini and Microsoft Graph. Each reads its secret at its first call.

use crate::{Backend, BackendError, SecretName, tokens::StoredTokens};
use aws::{SecretDocument, SnsAlerts};
use gemini::ModelList;
use runtime::System;
use std::{sync::Arc, time::Duration};

impl Backend {
    /// Stripe, with the key for customers' payments.
    ///
    /// # Errors
    /// [`BackendError`] when a variable is missing or malformed; likewise for all functions below.
    pub fn stripe(&self) -> Result<stripe::LazyClient, BackendError> {
        self.stripe_with(SecretName::Stripe)
    }

    /// Stripe, with the key of the checkout. Functions that sell have it as their only key ([`Self::stripe`]).
    ///
    /// # Errors
    /// As [`Self::stripe`].
    pub fn stripe_selling(&self) -> Result<stripe::LazyClient, BackendError> {
        self.stripe_with(SecretName::StripeCheckout)
    }

    /// Stripe, with the key for refunds.
    ///
    /// # Errors
    /// As [`Self::stripe`].
    pub fn stripe_refunding(&self) -> Result<stripe::LazyClient, BackendError> {
        self.stripe_with(SecretName::StripeRefund)
    }

    fn stripe_with(&self, key: SecretName) -> Result<stripe::LazyClient, BackendError> {
        let secret = Arc::new(self.secret(key)?);
        let system = Arc::new(System);
        Ok(stripe::LazyClient::new(self.stripe_url()?, self.site()?, secret, system.clone(), system))
    }

    /// Stripe's test mode, with the smoke test's own key.
    ///
    /// # Errors
    /// As [`Self::stripe`].
    pub fn stripe_test_mode(&self) -> Result<stripe::SmokeClient, BackendError> {
        let secret = Arc::new(self.secret(SecretName::StripeSmoke)?);
        let system = Arc::new(System);
        Ok(stripe::SmokeClient::new(self.stripe_url()?, self.site()?, secret, system.clone(), system))
    }

    fn stripe_url(&self) -> Result<String, BackendError> {
        Ok(self.environment.base_url("STRIPE_BASE_URL", stripe::BASE_URL)?)
    }

    /// Gemini, to ask for verdicts. A call takes at most `GEMINI_CALL_TIMEOUT_MS` (1 to 55,000, 45,000 when unset).
    ///
    /// # Errors
    /// As [`Self::stripe`].
    pub fn gemini(&self) -> Result<gemini::LazyClient, BackendError> {
        let millis = self.environment.bounded("GEMINI_CALL_TIMEOUT_MS", 45_000, 1u64, 55_000)?;
        self.gemini_within(Duration::from_millis(millis))
    }

    /// Gemini; no call takes longer than `timeout`.
    ///
    /// # Errors
    /// As [`Self::stripe`].
    pub fn gemini_within(&self, timeout: Duration) -> Result<gemini::LazyClient, BackendError> {
        let secret = Arc::new(self.secret(SecretName::Gemini)?);
        Ok(gemini::LazyClient::new(self.environment.base_url("GEMINI_BASE_URL", gemini::BASE_URL)?, timeout, secret))
    }

    /// The models to ask, in order.
    ///
    /// # Errors
    /// As [`Self::stripe`].
    pub fn models(&self) -> Result<ModelList, BackendError> {
        Ok(ModelList::parse(&self.required("GEMINI_MODEL")?)?)
    }

    /// The mailbox, whose replaced refresh tokens are stored in their secret (Email Retry, INV-07).
    ///
    /// # Errors
    /// As [`Self::stripe`].
    pub fn mailbox_storing_tokens(&self, alerts: SnsAlerts) -> Result<graph::LazyClient, BackendError> {
        self.mailbox_with(Arc::new(self.secret(SecretName::GraphToken)?), alerts)
    }

    /// The address of the mailbox's service.
    ///
    /// # Errors
    /// As [`Self::stripe`].
    pub fn graph_url(&self) -> Result<String, BackendError> {
        Ok(self.environment.base_url("GRAPH_BASE_URL", graph::GRAPH_URL)?)
    }

    /// The mailbox with a refresh token's secret that the caller uses too.
    ///
    /// # Errors
    /// As [`Self::stripe`].
    pub fn mailbox_with(
        &self,
        token: Arc<SecretDocument>,
        alerts: SnsAlerts,
    ) -> Result<graph::LazyClient, BackendError> {
        let tokens = Arc::new(StoredTokens { secret: Arc::clone(&token), alerts });
        self.mailbox_of(token, tokens)
    }

    /// The mailbox, for functions that use it rarely and may not write the token's secret: a refresh token that the login
    /// service replaces is used until the process ends. The functions that use the mailbox all day store their tokens.
    ///
    /// # Errors
    /// As [`Self::stripe`].
    pub fn mailbox(&self) -> Result<graph::LazyClient, BackendError> {
        self.mailbox_of(Arc::new(self.secret(SecretName::GraphToken)?), Arc::new(graph::NotKept))
    }

    fn mailbox_of(
        &self,
        token: Arc<SecretDocument>,
        tokens: Arc<dyn graph::RefreshTokenStore>,
    ) -> Result<graph::LazyClient, BackendError> {
        let graph_url = self.graph_url()?;
        let login_url = self.environment.base_url("LOGIN_BASE_URL", graph::LOGIN_URL)?;
        let sender = self.sender()?;
        let application = Arc::new(self.secret(SecretName::Graph)?);
        let credentials = graph::Credentials { application, token };
        Ok(graph::LazyClient::new(graph_url, login_url, sender, credentials, tokens, Arc::new(System)))
    }
}
