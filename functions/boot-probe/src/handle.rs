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
    /// The stored refresh token of the mailbox.
    async fn refresh_token(&self) -> RefreshToken;
    /// Whether the circuit of a model that this configuration calls is open; `None` if it is unknown.
    async fn open_circuit(&self) -> Option<bool>;
}

/// The stored refresh token of the mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefreshToken {
    /// It could not be read.
    Unknown,
    /// None is stored, as for an application permission.
    Missing,
    /// It was written at this time.
    WrittenAt(Timestamp),
}

impl RefreshToken {
    /// Its age in seconds. Without a token it is 0, because the alarm on the age ignores missing data: after the token
    /// is removed, nothing else would end the alarm.
    fn age(self, now: Timestamp) -> Option<u64> {
        match self {
            Self::Unknown => None,
            Self::Missing => Some(0),
            Self::WrittenAt(written_at) => Some(now.since(written_at).as_secs()),
        }
    }
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
    // First: if the store does not answer, measuring takes time.
    probe(ports.notes, ports.alerts, ports.clock, &checks).await;
    let (token, open) = (ports.probe.refresh_token().await, ports.probe.open_circuit().await);
    let now = ports.clock.now();
    let age = token.age(now).map(|age| Metric::RefreshTokenAge.of(age));
    // The functions record a circuit that closes. The one of a model that is no longer called never closes.
    let circuit = open.map(|open| Metric::BreakerOpen.of(open.into()));
    let measured: Vec<_> = age.into_iter().chain(circuit).collect();
    if !measured.is_empty() {
        ports.meter.record(&measured, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use testkit::{World, run};

    struct FakeProbe {
        wrong: bool,
        token: RefreshToken,
        open: Option<bool>,
    }

    #[async_trait]
    impl DependencyProbe for FakeProbe {
        async fn checks(&self) -> Checks {
            let findings = self.wrong.then(|| ("Gemini", "refused".to_owned())).into_iter().collect();
            Checks { findings, ..Checks::default() }
        }

        async fn refresh_token(&self) -> RefreshToken {
            self.token
        }

        async fn open_circuit(&self) -> Option<bool> {
            self.open
        }
    }

    /// The alarms on both gauges ignore missing data, so a token that was removed and the circuit of a model that is no
    /// longer called are measured as 0.
    #[test]
    fn changes_are_reported_and_every_run_measures_what_it_knows() {
        use RefreshToken::{Missing, Unknown, WrittenAt};
        let written_at = Timestamp::from_seconds(1_000);
        let world = World::at(written_at.plus(Duration::from_secs(86_400)));
        let handled = |wrong, token, open| {
            let probe = FakeProbe { wrong, token, open };
            run(handle(Ports { probe: &probe, notes: &world, alerts: &world, clock: &world, meter: &world })).unwrap();
            let mut state = world.state();
            (std::mem::take(&mut state.alerts).len(), std::mem::take(&mut state.measurements))
        };
        let (age, open) = (|age| Metric::RefreshTokenAge.of(age), |open| Metric::BreakerOpen.of(open));
        assert_eq!(handled(false, Unknown, None), (0, vec![]));
        assert_eq!(handled(true, WrittenAt(written_at), Some(true)), (1, vec![age(86_400), open(1)]));
        assert_eq!(handled(true, WrittenAt(written_at), None), (0, vec![age(86_400)]));
        assert_eq!(handled(false, Missing, Some(false)), (1, vec![age(0), open(0)]));
    }
}
