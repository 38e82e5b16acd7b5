//! What is told of what was found.

use async_trait::async_trait;
use domain::{
    Alert, Timestamp,
    alert::Severity,
    ports::{Alerts, Clock, StorageError},
};
use std::collections::{BTreeMap, BTreeSet};

/// What does not work, each with a reason for operators.
pub type Findings = BTreeMap<&'static str, String>;

/// What did not work last time.
#[async_trait]
pub trait Memory: Send + Sync {
    /// The names of what did not work; none when nobody has looked yet.
    async fn recall(&self) -> Result<BTreeSet<String>, StorageError>;
    /// Keeps them.
    async fn keep(&self, names: &BTreeSet<String>) -> Result<(), StorageError>;
}

/// What a probe needs from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub memory: &'a dyn Memory,
    pub alerts: &'a dyn Alerts,
    pub clock: &'a dyn Clock,
}

/// Tells of what has changed since the last time, and then remembers it: whoever dies in between tells again. A
/// memory that cannot be read counts as empty, so that nothing is ever kept quiet for want of it.
pub async fn probe(ports: Ports<'_>, findings: &Findings) {
    let before = ports.memory.recall().await.unwrap_or_default();
    for alert in changes(&before, findings, ports.clock.now()) {
        ports.alerts.raise(alert).await;
    }
    let names: BTreeSet<String> = findings.keys().map(|name| (*name).to_owned()).collect();
    if names != before && ports.memory.keep(&names).await.is_err() {
        tracing::error!("what was found could not be kept: it will be told again");
    }
}

/// One critical alert for each thing that has stopped to work, and word of each that works again.
fn changes(before: &BTreeSet<String>, findings: &Findings, now: Timestamp) -> Vec<Alert> {
    let alert = |severity, detail: &str| Alert::about("ORACLE-PROBE", severity, now, "BOOT_PROBE", "-", detail);
    let broken = findings.iter().filter(|(name, _)| !before.contains(**name));
    let works = before.iter().filter(|name| !findings.contains_key(name.as_str()));
    let broken = broken.map(|(name, reason)| alert(Severity::Critical, &format!("{name}: {reason}")));
    broken.chain(works.map(|name| alert(Severity::Warn, &format!("{name}: works again")))).collect()
}

#[cfg(test)]
mod tests;
