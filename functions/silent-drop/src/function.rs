//! From queue events to [`announce`] and back.

use crate::{Notice, Ports, announce};
use audit::{AuditKeys, Journal};
use aws::{Connection, DynamoSales, S3AuditLog, SecretDocument, SnsAlerts, SqsQueue};
use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use domain::{message::Message, ports::SecretSource};
use runtime::{
    Environment, Handled, System, configuration::ConfigurationError, each_message, queue::Delivery, telemetry,
};
use std::{error::Error, sync::Arc};

/// The silent-drop function of one process.
pub struct Function {
    sales: DynamoSales,
    log: S3AuditLog,
    mails: SqsQueue,
    alerts: SnsAlerts,
    payments: stripe::LazyClient,
    audit_keys: SecretDocument,
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
        let system = Arc::new(System);
        Ok(Self {
            sales: DynamoSales::new(connection.clone(), required("TABLE_NAME")?, system.clone()),
            log: S3AuditLog::new(connection.clone(), required("AUDIT_BUCKET")?),
            mails: SqsQueue::new(connection.clone(), required("EMAIL_QUEUE_URL")?),
            alerts: SnsAlerts::new(connection.clone(), required("OPS_TOPIC_ARN")?, required("CRITICAL_TOPIC_ARN")?),
            payments: stripe::LazyClient::new(
                environment.base_url("STRIPE_BASE_URL", stripe::BASE_URL)?,
                environment.base_url("SITE_URL", "")?,
                Arc::new(secret("STRIPE_SECRET_ID")?),
                system.clone(),
                system,
            ),
            audit_keys: secret("AUDIT_SECRET_ID")?,
        })
    }

    /// Handles one batch.
    pub async fn handle(&self, batch: SqsEvent) -> SqsBatchResponse {
        each_message(batch, |delivery| self.one(delivery)).await
    }

    async fn one(&self, delivery: Delivery) -> Handled {
        let Message::Notice { session_id, received_at, .. } = delivery.message else {
            tracing::error!("only notices belong into the notices queue");
            return Handled::Later;
        };
        let notice = Notice { session_id, received_at };
        self.announce(&notice).await.unwrap_or_else(|error| {
            let error = telemetry::chain(error.as_ref());
            tracing::error!(session = notice.session_id.prefix(), error, "[SILENT-DROP] notice kept for later");
            Handled::Later
        })
    }

    async fn announce(&self, notice: &Notice) -> Result<Handled, Box<dyn Error + Send + Sync>> {
        let audit_key = AuditKeys::parse(&self.audit_keys.document().await?)?.current()?;
        let journal = Journal { store: &self.sales, log: &self.log, alerts: &self.alerts, clock: &System };
        let ports = Ports { journal, payments: &self.payments, mails: &self.mails, audit_key: &audit_key };
        Ok(announce(ports, notice).await?)
    }
}
