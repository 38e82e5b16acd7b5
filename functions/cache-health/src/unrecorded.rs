//! Looks that could not be put on record. The memory lies in the very table that a look is at: while the table fails
//! nothing can be remembered there, so these are counted in the process (Cache Alert, severity levels: two in a row
//! are critical).

use crate::{
    Ports, Settings, When,
    judge::{alert, all_clear},
    memory::Problem,
    run,
};
use audit::CommitError;
use domain::{alert::Severity, cache_health::HealthRecord};
use std::sync::atomic::{AtomicU32, Ordering};

/// How many runs of this process ended in a failure, one after the other.
#[derive(Debug, Default)]
pub struct Unrecorded(AtomicU32);

impl Unrecorded {
    /// [`run`], and operators hear of it when the looks cannot be put on record any more, and when they can again.
    ///
    /// # Errors
    /// As [`run`].
    pub(crate) async fn run(
        &self,
        ports: Ports<'_>,
        settings: Settings,
        when: When,
    ) -> Result<Vec<HealthRecord>, CommitError> {
        let outcome = run(ports, settings, when).await;
        let (now, subject) = (ports.clock.now(), Problem::Cache.subject());
        if outcome.is_ok() {
            if self.0.swap(0, Ordering::Relaxed) >= settings.failures_critical {
                ports.journal.alerts.raise(all_clear(now, subject, "recovered: looks are put on record again")).await;
            }
        } else {
            let failures = self.0.fetch_add(1, Ordering::Relaxed).saturating_add(1);
            if failures == settings.failures_critical {
                let detail = format!("cache not readable: {failures} consecutive looks could not be put on record");
                ports.journal.alerts.raise(alert(Severity::Critical, now, subject, &detail)).await;
            }
        }
        outcome
    }
}
