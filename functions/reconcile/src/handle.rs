//! One scheduled run: calls [`run`] and records the metric that its alarm watches.

use crate::{Ports, Report, compare::reach, run};
use domain::Metric;
use domain::StepError;
use runtime::{ConfigurationError, Environment};
use std::time::Duration;

/// Runs one comparison.
///
/// # Errors
/// [`StepError`] when Stripe's sessions could not be listed to their end.
pub async fn handle(ports: Ports<'_>, look_back: Duration) -> Result<Report, StepError> {
    let look_back = reach(ports.ledger, look_back).await;
    let report = run(ports, look_back).await?;
    let Report { paid, missing, astray, overdue, amounts, reports, billing, unreadable, failed } = report;
    let days = look_back.as_secs() / (24 * 3600);
    tracing::info!(days, paid, missing, astray, overdue, amounts, reports, billing, unreadable, failed, "reconciled");
    ports.meter.record(&[Metric::Reconciled.once()], ports.journal.clock.now());
    Ok(report)
}

/// The least age up to which sessions are compared (`RECONCILE_DAYS`, 2 to 30, 3 when unset). Slow payment methods that
/// are enabled extend it.
///
/// # Errors
/// [`ConfigurationError`] when it is out of range.
pub fn look_back(environment: &Environment) -> Result<Duration, ConfigurationError> {
    let days = environment.bounded("RECONCILE_DAYS", 3_u64, 2, 30)?;
    Ok(Duration::from_secs(days * 24 * 3600))
}
