//! From the schedule to [`run`].

use crate::{Ports, Settings, run};
use audit::Journal;
use aws::{Connection, DynamoSales, S3AuditLog, SecretDocument, SnsAlerts, SqsQueue};
use domain::{
    Metric,
    open_work::Work,
    ports::{Clock, OpenSales, StorageError},
};
use runtime::{Environment, System, configuration::ConfigurationError, telemetry};
use std::{error::Error, sync::Arc, time::Duration};

/// Sales of one kind that one run looks at; the rest is for the next run.
const MOST: usize = 200;

/// Pages of one list that are counted.
const COUNTED_PAGES: u32 = 20;

/// The time for one kind: all kinds together, and the last call of each, end before the function's time-out.
const SHARE: Duration = Duration::from_secs(20);

/// The deadlines function of one process.
pub struct Function {
    sales: DynamoSales,
    log: S3AuditLog,
    alerts: SnsAlerts,
    stripe: stripe::LazyClient,
    orders: SqsQueue,
    notices: SqsQueue,
    mails: SqsQueue,
    retries: SqsQueue,
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
        let queue = |url| SqsQueue::new(connection.clone(), url);
        let system = Arc::new(System);
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
            orders: queue(required("ORDERS_QUEUE_URL")?),
            notices: queue(required("NOTICES_QUEUE_URL")?),
            mails: queue(required("EMAIL_QUEUE_URL")?),
            retries: queue(required("EMAIL_RETRY_QUEUE_URL")?),
            settings: Settings { refund_held: switch(&required("QUARANTINE_AUTO_REFUND")?)?, most: MOST, share: SHARE },
        })
    }

    /// Looks at what is due once.
    ///
    /// # Errors
    /// When anything that is due could not be dealt with, so that the function's alarm shows it. The next run tries
    /// again.
    pub async fn handle(&self) -> Result<(), lambda_runtime::Error> {
        let ports = Ports {
            journal: Journal { store: &self.sales, log: &self.log, alerts: &self.alerts, clock: &System },
            open: &self.sales,
            payments: &self.stripe,
            ledger: &self.stripe,
            orders: &self.orders,
            notices: &self.notices,
            mails: &self.mails,
            retries: &self.retries,
        };
        let report = run(ports, self.settings).await;
        tracing::info!(due = report.due, failed = report.failed, left = report.left, "deadlines");
        match waiting(&self.sales).await {
            Ok(count) => telemetry::measure(Metric::WaitingForHumans.of(count), System.now()),
            Err(error) => tracing::warn!(%error, "what waits for humans is not counted"),
        }
        if report.failed == 0 {
            Ok(())
        } else {
            Err(format!("{} of the due could not be dealt with", report.failed).into())
        }
    }
}

/// How many sales wait for a human, for the dashboard; of one kind, no more than so many pages are counted.
async fn waiting(open: &dyn OpenSales) -> Result<u64, StorageError> {
    let mut count = 0;
    for work in Work::FOR_HUMANS {
        let mut from: Option<String> = None;
        for _ in 0..COUNTED_PAGES {
            let page = open.open(work, None, from.as_deref()).await?;
            count += page.sessions.len() as u64;
            from = page.next;
            if from.is_none() {
                break;
            }
        }
    }
    Ok(count)
}

/// Reads the switch of the refund by policy: whoever mistypes it must not find out by a refund, or by none.
fn switch(text: &str) -> Result<bool, ConfigurationError> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(ConfigurationError::Malformed { name: "QUARANTINE_AUTO_REFUND", expected: "on or off".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_switch_is_on_or_off_and_nothing_else() {
        assert_eq!((switch("on"), switch("off")), (Ok(true), Ok(false)));
        for text in ["", "On", "true", "1", "off "] {
            assert!(switch(text).is_err(), "{text:?}");
        }
    }
}
