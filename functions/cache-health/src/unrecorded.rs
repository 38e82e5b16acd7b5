//! Counts checks that could not be recorded. The stored state is in the same table that a check reads: while the table
//! fails, nothing can be saved there, so these failures are counted in the process (Cache Alert, severity levels: two
//! in a row are critical).

use crate::{
    Ports, Settings, When,
    judge::{alert, all_clear},
    run,
    state::Problem,
};
use audit::CommitError;
use domain::{alert::Severity, cache_health::HealthRecord};
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of consecutive failed runs of this process.
#[derive(Debug, Default)]
pub struct Unrecorded(AtomicU32);

impl Unrecorded {
    /// Calls [`run`], and alerts operators when checks can no longer be recorded, and when they can again.
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
        let (now, subject) = (ports.journal.clock.now(), Problem::Cache.subject());
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
