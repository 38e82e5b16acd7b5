//! Turns probe findings into alerts.

use doctor::FAILED_CHECKS_NOTE;
use domain::{
    Alert, Timestamp,
    alert::Severity,
    ports::{Alerts, Clock, Notes, Versioned},
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The failed checks, each with a reason for operators.
pub type Findings = BTreeMap<&'static str, String>;

/// The result of the checks of one run, or of those so far.
#[derive(Debug, Default)]
pub struct Checks {
    /// The failed ones.
    pub findings: Findings,
    /// The checks that could not be made: one that failed before still counts as failed.
    pub unknown: BTreeSet<&'static str>,
    /// The checks of dependencies that neither this configuration nor open work needs: an earlier failure is forgotten.
    pub unused: BTreeSet<&'static str>,
}

impl Checks {
    /// Whether a check that failed before still counts as failed.
    fn is_failed(&self, name: &str) -> bool {
        self.findings.contains_key(name) || self.unknown.contains(name)
    }
}

/// Alerts on changes since the last run and then saves the findings: a run that crashes in between alerts again. A note
/// that cannot be read counts as empty, so that every failed check is alerted on.
pub(crate) async fn probe(notes: &dyn Notes, alerts: &dyn Alerts, clock: &dyn Clock, checks: &Checks) {
    let noted = notes.load(FAILED_CHECKS_NOTE).await.unwrap_or(Versioned { value: None, version: 0 });
    let before: BTreeSet<String> =
        noted.value.and_then(|document| serde_json::from_str(&document).ok()).unwrap_or_default();
    for alert in changes(&before, checks, clock.now()) {
        alerts.raise(alert).await;
    }
    let failed = checks.findings.keys().map(|name| (*name).to_owned());
    let names: BTreeSet<String> = failed.chain(before.iter().filter(|name| checks.is_failed(name)).cloned()).collect();
    if names == before {
        return;
    }
    let document = Value::from_iter(names).to_string();
    if notes.save(FAILED_CHECKS_NOTE, &document, noted.version).await.is_err() {
        tracing::error!("cannot save the findings: the next run alerts on them again");
    }
}

/// One critical alert for each check that started to fail, and a recovery alert for each that works again.
fn changes(before: &BTreeSet<String>, checks: &Checks, now: Timestamp) -> Vec<Alert> {
    // Each check is a subject of its own, so that two changes in one run are two alerts.
    let (tag, operation) = ("ORACLE-PROBE", "BOOT_PROBE");
    let broken = checks.findings.iter().filter(|(name, _)| !before.contains(**name));
    let works = before.iter().filter(|name| !checks.is_failed(name) && !checks.unused.contains(name.as_str()));
    let broken = broken.map(|(name, reason)| {
        Alert::about(tag, Severity::Critical, now, operation, name, &format!("{name}: {reason}"))
    });
    let works = works.map(|name| Alert::all_clear(tag, now, operation, name, &format!("{name}: works again")));
    broken.chain(works).collect()
}

#[cfg(test)]
mod tests;
