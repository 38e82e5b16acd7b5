//! The postman of a process: [`deliver`] on AWS, Stripe and Graph, for both functions that carry mail.

use crate::deliver::{Attempt, MailOrder, Ports, Settings, deliver};
use async_trait::async_trait;
use audit::{AuditKeys, Journal};
use aws::{
    Connection, DynamoSales, Rotation, S3Archive, S3AuditLog, S3DeadLetters, S3Quarantine, SecretDocument, SnsAlerts,
};
use domain::{
    Alert, Channel, Secret,
    mail::MailSchedule,
    ports::{Alerts, Clock, SecretSource},
};
use runtime::{Environment, System, configuration::ConfigurationError, telemetry};
use std::{error::Error, sync::Arc, time::Duration};

/// One invocation may work on a mail this long: longer than the function's time-out (90 s), so that nobody takes
/// over from a living worker, and shorter than the queue's visibility time-out (540 s).
const LEASE: Duration = Duration::from_secs(120);

/// What delivers mail in one process.
pub struct Postman {
    sales: DynamoSales,
    log: S3AuditLog,
    archive: S3Archive,
    quarantine: S3Quarantine,
    dead_letters: S3DeadLetters,
    alerts: Arc<SnsAlerts>,
    payments: stripe::LazyClient,
    mailbox: graph::LazyClient,
    audit_keys: SecretDocument,
    settings: Settings,
}

/// Keeps rotated refresh tokens in the secret they came from (Email Retry, INV-07).
struct StoredTokens {
    secret: Arc<SecretDocument>,
    alerts: Arc<SnsAlerts>,
}

#[async_trait]
impl graph::RefreshTokenStore for StoredTokens {
    async fn rotated(&self, new: Secret) {
        match self.secret.rotate_field("refresh_token", &new).await {
            Ok(Rotation::Stored) => tracing::info!("a new refresh token is stored"),
            // The other one is as good: each is valid for 90 days, and so is the one both came from.
            Ok(Rotation::Overtaken) => tracing::info!("somebody else stored a newer refresh token"),
            Err(error) => {
                let now = System.now();
                let detail = telemetry::chain(&error);
                let line =
                    format!("[ORACLE-EMAIL] CRITICAL | {now} | TOKEN_STORE | - | refresh token not stored: {detail}");
                self.alerts.raise(Alert { channel: Channel::Critical, line }).await;
            }
        }
    }
}

impl Postman {
    /// Reads and validates the configuration.
    ///
    /// # Errors
    /// One that names the variable that is missing or malformed.
    pub fn from_environment(
        environment: &Environment,
        connection: &Connection,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let required = |name| environment.required(name);
        let secret = |name| Ok::<_, ConfigurationError>(SecretDocument::new(connection.clone(), required(name)?));
        let sender = environment.address("GRAPH_SENDER")?;
        let site = environment.base_url("SITE_URL", "")?;
        let schedule = environment.optional("EMAIL_RETRY_DELAYS").map_or_else(
            || Ok(MailSchedule::standard()),
            |delays| {
                MailSchedule::parse(&delays).map_err(|error| ConfigurationError::Malformed {
                    name: "EMAIL_RETRY_DELAYS",
                    expected: error.to_string(),
                })
            },
        )?;
        let system = Arc::new(System);
        let topics = (required("OPS_TOPIC_ARN")?, required("CRITICAL_TOPIC_ARN")?);
        let alerts = Arc::new(SnsAlerts::new(connection.clone(), topics.0, topics.1));
        let graph_secret = Arc::new(secret("GRAPH_SECRET_ID")?);
        let tokens = StoredTokens { secret: Arc::clone(&graph_secret), alerts: Arc::clone(&alerts) };
        Ok(Self {
            sales: DynamoSales::new(connection.clone(), required("TABLE_NAME")?, system.clone()),
            log: S3AuditLog::new(connection.clone(), required("AUDIT_BUCKET")?),
            archive: S3Archive::new(connection.clone(), required("ARCHIVE_BUCKET")?),
            quarantine: S3Quarantine::new(connection.clone(), required("QUARANTINE_BUCKET")?),
            dead_letters: S3DeadLetters::new(connection.clone(), required("ARCHIVE_BUCKET")?),
            alerts,
            payments: stripe::LazyClient::new(
                environment.base_url("STRIPE_BASE_URL", stripe::BASE_URL)?,
                site.clone(),
                Arc::new(secret("STRIPE_SECRET_ID")?),
                system.clone(),
                system.clone(),
            ),
            mailbox: graph::LazyClient::new(
                environment.base_url("GRAPH_BASE_URL", graph::GRAPH_URL)?,
                environment.base_url("LOGIN_BASE_URL", graph::LOGIN_URL)?,
                sender,
                graph_secret,
                Arc::new(tokens),
                system,
            ),
            audit_keys: secret("AUDIT_SECRET_ID")?,
            settings: Settings { site, lease: LEASE, schedule },
        })
    }

    /// Delivers one mail, or finds that somebody does or did.
    ///
    /// # Errors
    /// Whatever makes it necessary that the order comes again, as text for operators.
    pub async fn deliver(&self, order: &MailOrder) -> Result<Attempt, Box<dyn Error + Send + Sync>> {
        let audit_key = AuditKeys::parse(&self.audit_keys.document().await?)?.current()?;
        let journal = Journal { store: &self.sales, log: &self.log, alerts: self.alerts.as_ref(), clock: &System };
        let ports = Ports {
            journal,
            archive: &self.archive,
            quarantine: &self.quarantine,
            dead_letters: &self.dead_letters,
            payments: &self.payments,
            mailbox: &self.mailbox,
            audit_key: &audit_key,
        };
        // Behind a pointer: the compiler gives up on the layout of futures nested this deep.
        Ok(Box::pin(deliver(ports, &self.settings, order)).await?)
    }
}
