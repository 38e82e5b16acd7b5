//! From the schedule to [`run`].

use crate::{Ports, Settings, Unrecorded, When, probe::Site};
use audit::FunctionJournal;
use aws::{Connection, DynamoSales, S3Archive, S3AuditLog, SnsAlerts};
use domain::{Metric, cache_health, ports::Clock};
use runtime::{Environment, System, telemetry};
use std::{error::Error, sync::Arc};

/// The cache-health function of one process.
pub struct Function {
    table: DynamoSales,
    log: S3AuditLog,
    archive: S3Archive,
    alerts: SnsAlerts,
    site: Site,
    settings: Settings,
    unrecorded: Unrecorded,
}

impl Function {
    /// Reads and validates the configuration.
    ///
    /// # Errors
    /// One that names the variable that is missing or malformed.
    pub fn from_environment(environment: &Environment) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let connection = Connection::from_environment(|name| environment.optional(name))?;
        let required = |name| environment.required(name);
        Ok(Self {
            table: DynamoSales::new(connection.clone(), required("TABLE_NAME")?, Arc::new(System)),
            // The journal tells once that the log fails, and once that it does not any more: not at every look.
            log: S3AuditLog::new(connection.silent(), required("AUDIT_BUCKET")?),
            archive: S3Archive::new(connection.clone(), required("ARCHIVE_BUCKET")?),
            alerts: SnsAlerts::new(connection, required("OPS_TOPIC_ARN")?, required("CRITICAL_TOPIC_ARN")?),
            site: Site::new(&environment.base_url("SITE_URL", "")?)?,
            settings: Settings::from_environment(environment)?,
            unrecorded: Unrecorded::default(),
        })
    }

    /// Takes the looks that are due; an event `{"look":"now"}` asks for one at once.
    ///
    /// # Errors
    /// When a look could not be put on record, so that the function's alarm shows it.
    pub async fn handle(&self, event: &serde_json::Value) -> Result<(), lambda_runtime::Error> {
        let journal = FunctionJournal {
            function: cache_health::FUNCTION,
            notes: &self.table,
            log: &self.log,
            alerts: &self.alerts,
            clock: &System,
        };
        let ports = Ports {
            journal,
            service: &self.site,
            cache: &self.table,
            archive: &self.archive,
            randomness: &System,
            clock: &System,
            pause: &System,
        };
        let when = if event["look"] == "now" { When::Now } else { When::Due };
        for record in self.unrecorded.run(ports, self.settings, when).await? {
            tracing::info!(overall = ?record.overall, cache = ?record.cache, service = record.service.reachable, "looked");
            if let Some(measures) = record.measures {
                telemetry::measure(Metric::CacheEntries.of(measures.entries), record.at);
                let used = measures.bytes.saturating_mul(100) / self.settings.budget_bytes;
                telemetry::measure(Metric::CacheBudgetUsed.of(used), record.at);
            }
        }
        telemetry::measure(Metric::CacheHealthRan.once(), System.now());
        Ok(())
    }
}
