//! What is remembered of a run, recorded, and told to operators.

use crate::report::{Report, Trigger};
use audit::{FunctionJournal, Noted};
use domain::{SessionId, Timestamp};
use serde::{Deserialize, Serialize};

/// The function's name: that of its memory, of its stream in the audit log, and of its folder.
pub const FUNCTION: &str = "smoke-test";

/// More sessions than this are not remembered: entries are also cleaned up by age.
const MOST_LEFTOVERS: usize = 20;

/// What the smoke test remembers from one run to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Sessions whose cache entries are not known to be gone.
    #[serde(default)]
    pub leftovers: Vec<SessionId>,
}

/// The sessions that earlier runs have left. A memory that cannot be read counts as empty: the test runs all the same.
pub async fn leftovers(journal: FunctionJournal<'_>) -> Vec<SessionId> {
    match journal.load::<Memory>().await {
        Ok(notebook) => notebook.value.memory.leftovers,
        Err(error) => {
            tracing::warn!(%error, "what earlier runs have left is not known");
            Vec::new()
        }
    }
}

/// Records a run with what it remembers, and tells operators, in one write. `cleaned` are the leftovers that the run
/// was given. When the write fails, operators are told all the same.
pub async fn record(
    journal: FunctionJournal<'_>,
    report: &Report,
    trigger: Trigger,
    cleaned: &[SessionId],
    now: Timestamp,
    log: &str,
) {
    let alerts = report.alerts(trigger, now, log);
    let note = |memory: &mut Memory| {
        // Another run may have added its own meanwhile.
        memory.leftovers.retain(|session| !cleaned.contains(session));
        memory.leftovers.extend(report.leftovers.iter().cloned());
        let surplus = memory.leftovers.len().saturating_sub(MOST_LEFTOVERS);
        memory.leftovers.drain(..surplus);
        let noted = Noted::save(()).recording("smoke_test", report.facts(trigger));
        alerts.iter().cloned().fold(noted, Noted::alerting)
    };
    let saved = match journal.load::<Memory>().await {
        Ok(notebook) => journal.commit(notebook, note).await.map(drop).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = saved {
        tracing::error!(error, "the run is not recorded");
        for alert in alerts {
            journal.alerts.raise(alert).await;
        }
    }
}
