//! One scheduled run: probes everything once and reports changes.

use crate::probe::{self, Findings, probe};
use async_trait::async_trait;
use domain::{
    Metric, Timestamp,
    ports::{Alerts, Clock, Meter, Notes},
};

/// The things that are probed.
#[async_trait]
pub trait Probed: Send + Sync {
    /// Probes everything once.
    async fn findings(&self) -> Findings;
    /// When the stored refresh token of the mailbox was written; `None` before the mailbox was probed.
    fn refresh_token_written_at(&self) -> Option<Timestamp>;
}

/// The ports that the function uses.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub probed: &'a dyn Probed,
    pub notes: &'a dyn Notes,
    pub alerts: &'a dyn Alerts,
    pub clock: &'a dyn Clock,
    pub meter: &'a dyn Meter,
}

/// Probes everything once, and reports what has changed since the last run.
pub async fn handle(ports: Ports<'_>) {
    let findings = ports.probed.findings().await;
    tracing::info!(wrong = findings.len(), "boot probe");
    if let Some(written_at) = ports.probed.refresh_token_written_at() {
        let now = ports.clock.now();
        ports.meter.record(&[Metric::RefreshTokenAge.of(now.since(written_at).as_secs())], now);
    }
    let Ports { notes, alerts, clock, .. } = ports;
    probe(probe::Ports { notes, alerts, clock }, &findings).await;
}
