//! From the schedule to [`run`].

use crate::run::{Limits, Ports, Summary, run};
use audit::FunctionJournal;
use audit_verify::signed_digest::FUNCTION;
use aws::{Connection, DynamoSales, KmsKey, S3AuditLog, S3Digests, SnsAlerts, SqsLogNotices};
use domain::{Metric, ports::Clock};
use runtime::{Environment, System, telemetry};
use std::{error::Error, sync::Arc};

/// A digest of so many objects is a megabyte. A run of so many digests ends well within the function's time. A record has
/// some hundred bytes: whatever is larger than this is none.
const LIMITS: Limits = Limits { entries: 5_000, documents: 20, bytes: 1_000_000 };

/// The audit-digest function of one process.
pub struct Function {
    notes: DynamoSales,
    bucket: String,
    log: S3AuditLog,
    notices: SqsLogNotices,
    digests: S3Digests,
    key: KmsKey,
    alerts: SnsAlerts,
}

impl Function {
    /// Reads and validates the configuration.
    ///
    /// # Errors
    /// One that names the variable that is missing or malformed.
    pub fn from_environment(environment: &Environment) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let connection = Connection::from_environment(|name| environment.optional(name))?;
        let required = |name| environment.required(name);
        let bucket = required("AUDIT_BUCKET")?;
        Ok(Self {
            notes: DynamoSales::new(connection.clone(), required("TABLE_NAME")?, Arc::new(System)),
            log: S3AuditLog::new(connection.clone(), bucket.clone()),
            bucket,
            notices: SqsLogNotices::new(connection.clone(), required("LOG_NOTICES_QUEUE_URL")?),
            digests: S3Digests::new(connection.clone(), required("DIGESTS_BUCKET")?),
            key: KmsKey::new(connection.clone(), required("DIGEST_KEY_ARN")?),
            alerts: SnsAlerts::new(connection, required("OPS_TOPIC_ARN")?, required("CRITICAL_TOPIC_ARN")?),
        })
    }

    /// Digests what is new.
    ///
    /// # Errors
    /// When the digest is not complete, so that the function's alarm shows it.
    pub async fn handle(&self) -> Result<(), lambda_runtime::Error> {
        let ports = Ports {
            journal: FunctionJournal {
                function: FUNCTION,
                notes: &self.notes,
                log: &self.log,
                alerts: &self.alerts,
                clock: &System,
            },
            bucket: &self.bucket,
            log: &self.log,
            notices: &self.notices,
            digests: &self.digests,
            signer: &self.key,
        };
        let summary = run(ports, LIMITS).await?;
        let Summary { documents, entries, unreadable, left, overtaken } = summary;
        tracing::info!(documents, entries, unreadable, left, overtaken, "digested");
        telemetry::measure(Metric::Digested.once(), System.now());
        Ok(())
    }
}
