//! From queue events to [`apply`] and back.

use crate::{Changed, Ports, apply};
use audit::Journal;
use aws::{Connection, DynamoSales, S3AuditLog, SecretDocument, SnsAlerts};
use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use domain::message::Message;
use runtime::{Environment, Handled, System, each_message, queue::Delivery, telemetry};
use std::{error::Error, sync::Arc};

/// The payment-events function of one process.
pub struct Function {
    sales: DynamoSales,
    log: S3AuditLog,
    alerts: SnsAlerts,
    stripe: stripe::LazyClient,
}

impl Function {
    /// Reads and validates the configuration.
    ///
    /// # Errors
    /// One that names the variable that is missing or malformed.
    pub fn from_environment(environment: &Environment) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let connection = Connection::from_environment(|name| environment.optional(name))?;
        let required = |name| environment.required(name);
        let system = Arc::new(System);
        Ok(Self {
            sales: DynamoSales::new(connection.clone(), required("TABLE_NAME")?, system.clone()),
            log: S3AuditLog::new(connection.clone(), required("AUDIT_BUCKET")?),
            alerts: SnsAlerts::new(connection.clone(), required("OPS_TOPIC_ARN")?, required("CRITICAL_TOPIC_ARN")?),
            stripe: stripe::LazyClient::new(
                environment.base_url("STRIPE_BASE_URL", stripe::BASE_URL)?,
                environment.base_url("SITE_URL", "")?,
                Arc::new(SecretDocument::new(connection, required("STRIPE_SECRET_ID")?)),
                system.clone(),
                system,
            ),
        })
    }

    /// Handles one batch.
    pub async fn handle(&self, batch: SqsEvent) -> SqsBatchResponse {
        each_message(batch, |delivery| self.one(delivery)).await
    }

    async fn one(&self, delivery: Delivery) -> Handled {
        let Message::PaymentChanged { payment, change, received_at, .. } = delivery.message else {
            tracing::error!("only changes of payments belong into the payments queue");
            return Handled::Later;
        };
        let journal = Journal { store: &self.sales, log: &self.log, alerts: &self.alerts, clock: &System };
        let ports = Ports { journal, ledger: &self.stripe };
        match apply(ports, &Changed { payment, change, received_at }).await {
            Ok(()) => Handled::Done,
            Err(error) => {
                tracing::error!(?change, error = telemetry::chain(&error), "change of a payment kept for later");
                Handled::Later
            }
        }
    }
}
