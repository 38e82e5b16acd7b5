//! One scheduled run: calls [`run`] and records the metric that its alarm watches.

use crate::{
    Ports, Report,
    compare::reach,
    progress::{Pass, Progress},
    reports::before,
    run,
};
use domain::{Metric, StepError};
use runtime::{ConfigurationError, Environment};
use std::time::Duration;

/// The function's name, and that of its note.
pub const FUNCTION: &str = "reconcile";

/// Continues the comparison that was cut off, or runs one that reaches back to the last complete one.
///
/// # Errors
/// [`StepError`] when Stripe's sessions could not be listed to their end, or the note not be read or written.
pub async fn handle(ports: Ports<'_>, least: Duration) -> Result<Report, StepError> {
    let now = ports.journal.clock.now();
    let note = ports.notebook.load::<Progress>().await?;
    let pass = match note.value.memory.begun(now) {
        Some(pass) => pass.clone(),
        None => {
            let outage = note.value.memory.complete().map_or(Duration::ZERO, |complete| now.since(complete));
            Pass { began: now, since: before(now, reach(ports.ledger, least, outage).await), from: None }
        }
    };
    let days = now.since(pass.since).as_secs() / (24 * 3600);
    let report = run(ports, note, pass).await?;
    let Report { paid, missing, astray, overdue, amounts, reports, billing, unreadable, failed } = report;
    tracing::info!(days, paid, missing, astray, overdue, amounts, reports, billing, unreadable, failed, "reconciled");
    ports.meter.record(&[Metric::Reconciled.once()], ports.journal.clock.now());
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
