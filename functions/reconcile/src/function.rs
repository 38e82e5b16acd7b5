//! From the schedule to [`run`].

use crate::{Ports, Report, run};
use audit::Journal;
use aws::{Connection, DynamoSales, S3AuditLog, SecretDocument, SnsAlerts, SqsQueue};
use domain::{Metric, ports::Clock};
use runtime::{Environment, System, telemetry};
use std::{error::Error, sync::Arc, time::Duration};

/// The reconcile function of one process.
pub struct Function {
    sales: DynamoSales,
    log: S3AuditLog,
    alerts: SnsAlerts,
    stripe: stripe::LazyClient,
    orders: SqsQueue,
    notices: SqsQueue,
    look_back: Duration,
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
        // A session can be paid for a day after it was made, and slow methods take longer still.
        let days = environment.bounded("RECONCILE_DAYS", 3_u64, 2, 30)?;
        Ok(Self {
            sales: DynamoSales::new(connection.clone(), required("TABLE_NAME")?, system.clone()),
            log: S3AuditLog::new(connection.clone(), required("AUDIT_BUCKET")?),
            alerts: SnsAlerts::new(connection.clone(), required("OPS_TOPIC_ARN")?, required("CRITICAL_TOPIC_ARN")?),
            stripe: stripe::LazyClient::new(
                environment.base_url("STRIPE_BASE_URL", stripe::BASE_URL)?,
                environment.base_url("SITE_URL", "")?,
                Arc::new(SecretDocument::new(connection.clone(), required("STRIPE_SECRET_ID")?)),
                system.clone(),
                system,
            ),
            orders: SqsQueue::new(connection.clone(), required("ORDERS_QUEUE_URL")?),
            notices: SqsQueue::new(connection, required("NOTICES_QUEUE_URL")?),
            look_back: Duration::from_secs(days * 24 * 3600),
        })
    }

    /// Compares once.
    ///
    /// # Errors
    /// When the comparison is not complete, so that the function's alarm shows it.
    pub async fn handle(&self) -> Result<(), lambda_runtime::Error> {
        let ports = Ports {
            journal: Journal { store: &self.sales, log: &self.log, alerts: &self.alerts, clock: &System },
            ledger: &self.stripe,
            orders: &self.orders,
            notices: &self.notices,
        };
        let report = run(ports, self.look_back).await?;
        let Report { paid, missing, astray, overdue, amounts, failed } = report;
        tracing::info!(paid, missing, astray, overdue, amounts, failed, "reconciled");
        telemetry::measure(Metric::Reconciled.once(), System.now());
        if failed == 0 { Ok(()) } else { Err(format!("{failed} sales could not be compared").into()) }
    }
}
