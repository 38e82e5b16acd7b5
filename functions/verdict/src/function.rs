//! From queue events to [`fulfil`] and back.

use crate::{
    fulfil::{Order, Ports, Settings, fulfil},
    generate::{self, Policy},
};
use audit::{AuditKeys, Journal};
use aws::{
    Connection, DynamoSales, DynamoSubmissions, S3Archive, S3AuditLog, S3Quarantine, SecretDocument, SnsAlerts,
    SqsQueue,
};
use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use domain::{backoff::Backoff, breaker::BreakerPolicy, message::Message, ports::SecretSource};
use gemini::ModelList;
use runtime::{
    Environment, Handled, System, configuration::ConfigurationError, each_message, queue::Delivery, telemetry,
};
use std::{error::Error, sync::Arc, time::Duration};

/// One invocation may work on a sale this long: longer than the function's time-out (180 s), so that nobody
/// takes over from a living worker, and shorter than the queue's visibility time-out (1080 s), so that a dead
/// worker's message finds its claim ended.
const LEASE: Duration = Duration::from_secs(200);

/// No wait between attempts is longer (Gemini Timeout, invariant 3).
const BACKOFF_CAP: Duration = Duration::from_millis(8000);

/// The verdict function of one process.
pub struct Function {
    sales: DynamoSales,
    log: S3AuditLog,
    archive: S3Archive,
    quarantine: S3Quarantine,
    mails: SqsQueue,
    notices: SqsQueue,
    alerts: SnsAlerts,
    payments: stripe::LazyClient,
    smoke: stripe::SmokeClient,
    model: gemini::LazyClient,
    audit_keys: SecretDocument,
    settings: Settings,
}

impl Function {
    /// Reads and validates the configuration.
    ///
    /// # Errors
    /// One that names the variable that is missing or malformed.
    pub fn from_environment(environment: &Environment) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let connection = Connection::from_environment(|name| environment.optional(name))?;
        let required = |name| environment.required(name);
        let secret = |name| Ok::<_, ConfigurationError>(SecretDocument::new(connection.clone(), required(name)?));
        let millis = |name, default, most| environment.bounded(name, default, 1u64, most).map(Duration::from_millis);
        let backoff = Backoff {
            attempts: environment.bounded("GEMINI_MAX_RETRIES", 3, 1, 3)?,
            base: millis("GEMINI_BACKOFF_BASE_MS", 1000, 60_000)?,
            cap: BACKOFF_CAP,
        };
        let breaker = BreakerPolicy {
            failures: environment.bounded("GEMINI_CIRCUIT_OPEN_THRESHOLD", 5, 1, 1000)?,
            slow_successes: environment.bounded("GEMINI_SLOW_OPEN_THRESHOLD", 10, 1, 1000)?,
            slow: millis("GEMINI_SLOW_MS", 40_000, 55_000)?,
            open: millis("GEMINI_OPEN_DURATION_MS", 60_000, 3_600_000)?,
        };
        let models = ModelList::parse(&required("GEMINI_MODEL")?)?.names().map(str::to_owned).collect();
        let system = Arc::new(System);
        let site = environment.base_url("SITE_URL", "")?;
        let stripe_url = environment.base_url("STRIPE_BASE_URL", stripe::BASE_URL)?;
        Ok(Self {
            sales: DynamoSales::new(connection.clone(), required("TABLE_NAME")?, system.clone()),
            log: S3AuditLog::new(connection.clone(), required("AUDIT_BUCKET")?),
            archive: S3Archive::new(connection.clone(), required("ARCHIVE_BUCKET")?),
            quarantine: S3Quarantine::new(connection.clone(), required("QUARANTINE_BUCKET")?),
            mails: SqsQueue::new(connection.clone(), required("EMAIL_QUEUE_URL")?),
            notices: SqsQueue::new(connection.clone(), required("NOTICES_QUEUE_URL")?),
            alerts: SnsAlerts::new(connection.clone(), required("OPS_TOPIC_ARN")?, required("CRITICAL_TOPIC_ARN")?),
            smoke: stripe::SmokeClient::new(
                stripe_url.clone(),
                site.clone(),
                Arc::new(secret("STRIPE_SMOKE_SECRET_ID")?),
                system.clone(),
                system.clone(),
            ),
            payments: stripe::LazyClient::new(
                stripe_url,
                site,
                Arc::new(secret("STRIPE_SECRET_ID")?),
                system.clone(),
                system,
            ),
            model: gemini::LazyClient::new(
                environment.base_url("GEMINI_BASE_URL", gemini::BASE_URL)?,
                millis("GEMINI_CALL_TIMEOUT_MS", 45_000, 55_000)?,
                Arc::new(secret("GEMINI_SECRET_ID")?),
            ),
            audit_keys: secret("AUDIT_SECRET_ID")?,
            settings: Settings { policy: Policy { models, backoff, breaker }, lease: LEASE },
        })
    }

    /// Handles one batch.
    pub async fn handle(&self, batch: SqsEvent) -> SqsBatchResponse {
        each_message(batch, |delivery| self.one(delivery)).await
    }

    async fn one(&self, delivery: Delivery) -> Handled {
        let Message::Order { session_id, received_at, ordered_by, .. } = delivery.message else {
            tracing::error!("only orders belong into the orders queue");
            return Handled::Later;
        };
        let order = Order { session_id, received_at, ordered_by, message_id: delivery.message_id };
        match self.fulfil(&order).await {
            Ok(handled) => {
                tracing::info!(session = order.session_id.prefix(), ?handled, "order");
                handled
            }
            Err(error) => {
                let error = telemetry::chain(error.as_ref());
                tracing::error!(session = order.session_id.prefix(), error, "order kept for later");
                Handled::Later
            }
        }
    }

    async fn fulfil(&self, order: &Order) -> Result<Handled, Box<dyn Error + Send + Sync>> {
        let audit_key = AuditKeys::parse(&self.audit_keys.document().await?)?.current()?;
        let journal = Journal { store: &self.sales, log: &self.log, alerts: &self.alerts, clock: &System };
        let generate = generate::Ports {
            model: &self.model,
            breakers: &self.sales,
            alerts: &self.alerts,
            clock: &System,
            randomness: &System,
            pause: &System,
        };
        let ports = Ports {
            journal,
            generate,
            archive: &self.archive,
            quarantine: &self.quarantine,
            mails: &self.mails,
            notices: &self.notices,
            payments: &self.payments,
            smoke: &self.smoke,
            submissions: &DynamoSubmissions(&self.sales),
            audit_key: &audit_key,
        };
        Ok(fulfil(ports, &self.settings, order).await?)
    }
}
