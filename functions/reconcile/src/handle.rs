//! One scheduled run: calls [`run`] and records the metric that its alarm watches.

use crate::{
    Report,
    compare::reach,
    ports::Ports,
    progress::{Pass, Progress},
    reports::before,
    run,
};
use domain::{Metric, StepError, due::Incomplete};
use runtime::{ConfigurationError, Environment};
use std::time::Duration;

/// The function's name, and that of its note about the last complete comparison.
pub const FUNCTION: &str = "reconcile";

/// A failed run: the failed invocation raises the function's alarm.
#[derive(Debug, thiserror::Error)]
pub enum NotReconciled {
    /// Stripe's sessions could not be listed to their end, or a note not be read or written.
    #[error(transparent)]
    Step(#[from] StepError),
    /// Some sales could not be compared, or some reports not be read.
    #[error(transparent)]
    Incomplete(#[from] Incomplete<Report>),
}

/// Continues the comparison that was cut off, or runs one that reaches back to the last complete one.
///
/// # Errors
/// [`NotReconciled`].
pub async fn handle(ports: Ports<'_>, least: Duration) -> Result<Report, NotReconciled> {
    Ok(reconcile(ports, least).await?.complete()?)
}

async fn reconcile(ports: Ports<'_>, least: Duration) -> Result<Report, StepError> {
    let now = ports.journal.clock.now();
    let progress = Progress::load(ports.notebook, now).await?;
    let pass = match progress.begun(now) {
        Some(pass) if !pass.is_compared => pass.clone(),
        over => {
            // The comparison is over. The reports took longer than its run, and are continued.
            let left = over.map(|over| over.reports.clone()).filter(|reports| !reports.are_read());
            let complete = progress.complete.value.memory;
            let outage = complete.map_or(Duration::ZERO, |complete| now.since(complete));
            let new = Pass::new(now, before(now, reach(ports.ledger, least, outage).await));
            Pass { reports: left.unwrap_or_default(), ..new }
        }
    };
    let since = pass.since.to_iso();
    let report = run(ports, progress, pass).await?;
    let Report { paid, missing, astray, overdue, amounts, reports, billing, unreadable, failed } = report;
    tracing::info!(since, paid, missing, astray, overdue, amounts, reports, billing, unreadable, failed, "reconciled");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_look_back_is_two_to_thirty_days() {
        const DAY: u64 = 86_400;
        let seconds = |environment: Environment| look_back(&environment).ok().map(|least| least.as_secs());
        assert_eq!(seconds(Environment::of(&[])), Some(3 * DAY));
        assert_eq!(seconds(Environment::of(&[("RECONCILE_DAYS", "30")])), Some(30 * DAY));
        assert_eq!(seconds(Environment::of(&[("RECONCILE_DAYS", "1")])), None);
        assert_eq!(seconds(Environment::of(&[("RECONCILE_DAYS", "31")])), None);
    }
}
