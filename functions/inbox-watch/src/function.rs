//! From the schedule to [`run`].

use crate::watch::{FUNCTION, Ports, Report, Settings, run};
use audit::{AuditKeys, FunctionJournal};
use aws::{Connection, DynamoSales, S3AuditLog, SecretDocument, SnsAlerts, SnsBroadcast};
use domain::{
    Metric,
    ports::{Clock, SecretSource},
};
use runtime::{Environment, System, telemetry};
use std::{error::Error, sync::Arc, time::Duration};

/// One run has the right to work this long: longer than the function's time-out (100 s), and shorter than the two
/// minutes to the next run.
const LEASE: Duration = Duration::from_secs(110);

/// No message is begun later than this in a run.
const BUDGET: Duration = Duration::from_secs(50);

/// No message has longer than this: the one that is begun last still ends before the time-out, and is counted.
const LIMIT: Duration = Duration::from_secs(40);

/// The inbox-watch function of one process.
pub struct Function {
    sales: DynamoSales,
    log: S3AuditLog,
    alerts: SnsAlerts,
    broadcast: SnsBroadcast,
    mailbox: graph::LazyClient,
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
        let own = environment.address("GRAPH_SENDER")?;
        let system = Arc::new(System);
        let ops = required("OPS_TOPIC_ARN")?;
        Ok(Self {
            sales: DynamoSales::new(connection.clone(), required("TABLE_NAME")?, system.clone()),
            log: S3AuditLog::new(connection.clone(), required("AUDIT_BUCKET")?),
            alerts: SnsAlerts::new(connection.clone(), ops.clone(), required("CRITICAL_TOPIC_ARN")?),
            broadcast: SnsBroadcast::new(connection.clone(), ops),
            mailbox: graph::LazyClient::new(
                environment.base_url("GRAPH_BASE_URL", graph::GRAPH_URL)?,
                environment.base_url("LOGIN_BASE_URL", graph::LOGIN_URL)?,
                own.clone(),
                Arc::new(SecretDocument::new(connection.clone(), required("GRAPH_SECRET_ID")?)),
                Arc::new(graph::NotKept),
                system,
            ),
            audit_keys: SecretDocument::new(connection, required("AUDIT_SECRET_ID")?),
            settings: Settings { own, lease: LEASE, budget: BUDGET, limit: LIMIT },
        })
    }

    /// Looks at the inbox once. Nothing that goes wrong makes the invocation fail (Inbox Watch, invariant 1): what is
    /// missing then is the metric, and its alarm tells when no run has come to its end for ten minutes.
    pub async fn handle(&self, request_id: &str) {
        match self.watch(request_id).await {
            Ok(report) => {
                let Report { looked, new, finished, failed } = report;
                tracing::info!(looked, new, finished, failed, "inbox watched");
                if looked {
                    telemetry::measure(Metric::InboxWatched.once(), System.now());
                }
            }
            Err(error) => {
                tracing::error!(error = telemetry::chain(error.as_ref()), "the inbox was not watched to the end");
            }
        }
    }

    async fn watch(&self, request_id: &str) -> Result<Report, Box<dyn Error + Send + Sync>> {
        let audit_keys = AuditKeys::parse(&self.audit_keys.document().await?)?;
        let audit_key = audit_keys.current()?;
        let journal = FunctionJournal {
            function: FUNCTION,
            notes: &self.sales,
            log: &self.log,
            alerts: &self.alerts,
            clock: &System,
        };
        let ports = Ports {
            journal,
            store: &self.sales,
            inbox: &self.mailbox,
            mailbox: &self.mailbox,
            broadcast: &self.broadcast,
            pause: &System,
            audit_key: &audit_key,
            audit_keys: &audit_keys,
        };
        // Behind a pointer: the compiler gives up on the layout of futures nested this deep.
        Ok(Box::pin(run(ports, &self.settings, request_id)).await?)
    }
}
