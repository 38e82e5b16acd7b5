//! The targets of the probe: every store, secret and vendor in the configuration.

use crate::{
    checks::{StripeKeys, check_audit_key, check_chat_key, check_signing_secret, has_refresh_token, mailbox_answers},
    circuits,
    handle::{DependencyProbe, Ports, RefreshToken},
    probe::Checks,
};
use async_trait::async_trait;
use aws::{DynamoSales, Reach, RetryPolicy, SecretDocument, SnsAlerts};
use backend::{Backend, Bucket, QueueName, SecretName, TollClients, Topic};
use doctor::{FAILED_CHECKS_NOTE, Vendors};
use domain::ports::{Clock, ModelError, Notes, SecretSource};
use gemini::ModelList;
use runtime::{Error, System};
use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

/// Two attempts at each target (a single failure is not reported), short enough that a probe of all targets ends within
/// the function's time-out even when none answers.
const RETRY_POLICY: RetryPolicy =
    RetryPolicy { timeout: Duration::from_secs(2), retries: 1, delay: Duration::from_millis(500) };

/// How long a vendor has to answer about a model.
const MODEL_TIMEOUT: Duration = Duration::from_secs(10);

/// The clients of one probe.
pub struct Targets {
    alerts: SnsAlerts,
    table: DynamoSales,
    reach: Reach,
    buckets: [(&'static str, String); 3],
    queues: [(&'static str, String); 5],
    topics: [(&'static str, String); 2],
    checkout_key: SecretDocument,
    refund_key: SecretDocument,
    signing_secrets: SecretDocument,
    audit_keys: SecretDocument,
    chat_key: SecretDocument,
    payments: stripe::LazyClient,
    selling: stripe::LazyClient,
    refunding: stripe::LazyClient,
    models: ModelList,
    gemini: gemini::LazyClient,
    mailbox: graph::LazyClient,
    refresh_token: Arc<SecretDocument>,
    site: String,
    toll: TollClients,
}

impl Targets {
    /// Builds the clients without calling anything.
    ///
    /// # Errors
    /// An error that names the missing or malformed variable.
    pub fn new(backend: &Backend) -> Result<Self, Error> {
        let alerts = backend.alerts()?;
        let quiet = backend.silent_with(RETRY_POLICY);
        let refresh_token = Arc::new(quiet.secret(SecretName::GraphToken)?);
        let mailbox = quiet.mailbox_with(Arc::clone(&refresh_token), alerts.clone())?;
        Ok(Self {
            alerts,
            table: quiet.sales()?,
            buckets: [
                ("audit bucket", quiet.bucket(Bucket::Audit)?),
                ("archive bucket", quiet.bucket(Bucket::Archive)?),
                ("quarantine bucket", quiet.bucket(Bucket::Quarantine)?),
            ],
            queues: [
                ("orders queue", quiet.queue_url(QueueName::Orders)?),
                ("email queue", quiet.queue_url(QueueName::Mails)?),
                ("notices queue", quiet.queue_url(QueueName::Notices)?),
                ("e-mail retry queue", quiet.queue_url(QueueName::MailRetries)?),
                ("payments queue", quiet.queue_url(QueueName::Payments)?),
            ],
            topics: [("ops topic", quiet.topic(Topic::Ops)?), ("critical topic", quiet.topic(Topic::Critical)?)],
            checkout_key: quiet.secret(SecretName::StripeCheckout)?,
            refund_key: quiet.secret(SecretName::StripeRefund)?,
            signing_secrets: quiet.secret(SecretName::StripeWebhook)?,
            audit_keys: quiet.secret(SecretName::Audit)?,
            chat_key: quiet.secret(SecretName::Chat)?,
            payments: quiet.stripe()?,
            selling: quiet.stripe_selling()?,
            refunding: quiet.stripe_refunding()?,
            models: quiet.models()?,
            gemini: quiet.gemini_within(MODEL_TIMEOUT)?,
            mailbox,
            refresh_token,
            site: quiet.site()?,
            toll: quiet.settlement_clients()?,
            reach: Reach::new(quiet.connection().clone()),
        })
    }

    /// The ports of the handler.
    #[must_use]
    pub const fn ports(&self) -> Ports<'_> {
        Ports { probe: self, notes: &self.table, alerts: &self.alerts, clock: &System, meter: &System }
    }

    async fn probe(&self) -> Checks {
        let mut checks = Checks::default();
        checks.look("table", async { Notes::load(&self.table, FAILED_CHECKS_NOTE).await.map(drop) }).await;
        for (name, bucket) in &self.buckets {
            checks.look(name, self.reach.bucket(bucket)).await;
        }
        for (name, url) in &self.queues {
            checks.look(name, self.reach.queue(url)).await;
        }
        for (name, arn) in &self.topics {
            checks.subscribers(name, self.reach.subscriptions(arn)).await;
        }
        let signing = async { Ok::<_, Error>(check_signing_secret(&self.signing_secrets.document().await?)?) };
        checks.look("webhook secret", signing).await;
        let keys = async { check_audit_key(&self.audit_keys.document().await?) };
        checks.look("audit key", keys).await;
        let key = async { Ok::<_, Error>(check_chat_key(&self.chat_key.document().await?)?) };
        checks.look("chat key", key).await;
        let (checkout, refund) = (&self.checkout_key, &self.refund_key);
        let (reading, selling, refunding) = (&self.payments, &self.selling, &self.refunding);
        checks.stripe(StripeKeys { reading, checkout, selling, refund, refunding }).await;
        checks.look("Gemini", self.some_model()).await;
        checks.look("mailbox", mailbox_answers(&self.mailbox)).await;
        checks.take(doctor::examine(self.accounts(&self.models.names().collect::<Vec<_>>())).await);
        let toll = &self.toll;
        let needed = doctor::needs_toll(toll.pay_to.is_some(), &self.table).await;
        checks.toll(needed, doctor::toll(&toll.facilitator, &toll.node, toll.network)).await;
        checks
    }

    fn accounts<'a>(&'a self, models: &'a [&'a str]) -> Vendors<'a> {
        let Self { site, payments, selling, refunding, gemini, mailbox, .. } = self;
        Vendors { site, stripe: payments, selling, refunding, gemini, models, mailbox }
    }

    /// Checks that the key is accepted and at least one model of the list is served. Asking about a model costs
    /// nothing.
    async fn some_model(&self) -> Result<(), ModelError> {
        let mut outcome = Err(ModelError::UnknownModel);
        for model in self.models.names() {
            outcome = self.gemini.knows(model).await;
            if !matches!(outcome, Err(ModelError::UnknownModel)) {
                break;
            }
            tracing::warn!(model, "this model is not served (any more)");
        }
        outcome
    }
}

#[async_trait]
impl DependencyProbe for Targets {
    async fn checks(&self) -> Checks {
        // Boxed: the nested futures of the clients are too deep for the compiler.
        let probe: Pin<Box<dyn Future<Output = Checks> + Send + '_>> = Box::pin(self.probe());
        probe.await
    }

    async fn refresh_token(&self) -> RefreshToken {
        // A secret that was emptied, for an application permission, has a version too.
        match self.refresh_token.document().await {
            Err(_) => RefreshToken::Unknown,
            Ok(document) if !has_refresh_token(&document) => RefreshToken::Missing,
            Ok(_) => self.refresh_token.written_at().map_or(RefreshToken::Unknown, RefreshToken::WrittenAt),
        }
    }

    async fn open_circuit(&self) -> Option<bool> {
        let needs_toll = doctor::needs_toll(self.toll.pay_to.is_some(), &self.table).await;
        let models: Vec<&str> = self.models.names().collect();
        circuits::open_circuit(&self.table, &models, circuits::callers(&needs_toll), System.now()).await
    }
}
