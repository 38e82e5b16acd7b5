//! One scheduled run: probes everything once and reports changes.

use crate::probe::{Checks, probe};
use async_trait::async_trait;
use domain::{
    Metric, Timestamp,
    ports::{Alerts, Clock, Meter, Notes},
};

/// Probes what this system depends on.
#[async_trait]
pub trait DependencyProbe: Send + Sync {
    /// Probes everything once.
    async fn checks(&self) -> Checks;
    /// When the stored refresh token of the mailbox was written; `None` without a token, and before the mailbox was
    /// probed.
    async fn refresh_token_written_at(&self) -> Option<Timestamp>;
}

/// The ports that the function uses.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub probe: &'a dyn DependencyProbe,
    pub notes: &'a dyn Notes,
    pub alerts: &'a dyn Alerts,
    pub clock: &'a dyn Clock,
    pub meter: &'a dyn Meter,
}

/// Probes everything once, and reports what has changed since the last run.
pub async fn handle(ports: Ports<'_>) {
    let checks = ports.probe.checks().await;
    tracing::info!(wrong = checks.findings.len(), unknown = checks.unknown.len(), "boot probe");
    if let Some(written_at) = ports.probe.refresh_token_written_at().await {
        let now = ports.clock.now();
        ports.meter.record(&[Metric::RefreshTokenAge.of(now.since(written_at).as_secs())], now);
    }
    probe(ports.notes, ports.alerts, ports.clock, &checks).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use testkit::{World, run};

    struct FakeProbe {
        wrong: bool,
        token_written_at: Option<Timestamp>,
    }

    #[async_trait]
    impl DependencyProbe for FakeProbe {
        async fn checks(&self) -> Checks {
            let findings = self.wrong.then(|| ("Gemini", "refused".to_owned())).into_iter().collect();
            Checks { findings, ..Checks::default() }
        }

        async fn refresh_token_written_at(&self) -> Option<Timestamp> {
            self.token_written_at
        }
    }

    #[test]
    fn changes_are_reported_and_the_age_of_the_refresh_token_is_measured() {
        let written_at = Timestamp::from_seconds(1_000);
        let world = World::at(written_at.plus(Duration::from_secs(86_400)));
        let handled = |wrong, token_written_at| {
            let probe = FakeProbe { wrong, token_written_at };
            run(handle(Ports { probe: &probe, notes: &world, alerts: &world, clock: &world, meter: &world })).unwrap();
            let mut state = world.state();
            (std::mem::take(&mut state.alerts).len(), std::mem::take(&mut state.measurements))
        };
        assert_eq!(handled(false, None), (0, vec![]));
        let age = vec![Metric::RefreshTokenAge.of(86_400)];
        assert_eq!(handled(true, Some(written_at)), (1, age.clone()));
        assert_eq!(handled(true, Some(written_at)), (0, age));
        assert_eq!(handled(false, None), (1, vec![]));
    }
}
