//! One scheduled run: calls [`run`] and records the metric that its alarm watches.

use crate::{Ports, Report, compare::reach, run};
use audit::Noted;
use domain::{Metric, StepError, Timestamp};
use runtime::{ConfigurationError, Environment};
use std::time::Duration;

/// The function's name, and that of its note: the beginning of the last comparison of every sale.
pub const FUNCTION: &str = "reconcile";

/// Runs one comparison, which reaches back to the last complete one.
///
/// # Errors
/// [`StepError`] when Stripe's sessions could not be listed to their end, or the note not be read or written.
pub async fn handle(ports: Ports<'_>, least: Duration) -> Result<Report, StepError> {
    let began = ports.journal.clock.now();
    let note = ports.notebook.load::<Option<Timestamp>>().await?;
    let outage = note.value.memory.map_or(Duration::ZERO, |complete| began.since(complete));
    let look_back = reach(ports.ledger, least, outage).await;
    let report = run(ports, look_back).await?;
    let Report { paid, missing, astray, overdue, amounts, reports, billing, unreadable, failed } = report;
    let days = look_back.as_secs() / (24 * 3600);
    tracing::info!(days, paid, missing, astray, overdue, amounts, reports, billing, unreadable, failed, "reconciled");
    ports.meter.record(&[Metric::Reconciled.once()], ports.journal.clock.now());
    if report.failed == 0 {
        let complete = |note: &mut Option<Timestamp>, _: Timestamp| {
            *note = (*note).max(Some(began));
            Noted::save(())
        };
        ports.notebook.commit(note, complete).await?.settle().await;
    }
    Ok(report)
}

/// The least age up to which sessions are compared (`RECONCILE_DAYS`, 2 to 30, 3 when unset). Slow payment methods that
/// are enabled extend it, and so do days without a complete comparison.
///
/// # Errors
/// [`ConfigurationError`] when it is out of range.
pub fn look_back(environment: &Environment) -> Result<Duration, ConfigurationError> {
    let days = environment.bounded("RECONCILE_DAYS", 3_u64, 2, 30)?;
    Ok(Duration::from_secs(days * 24 * 3600))
}
