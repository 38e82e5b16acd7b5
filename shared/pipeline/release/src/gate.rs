//! Judges a deployment, and decides whether it continues.

use crate::{
    bind,
    build::Build,
    entry::Entry,
    state::{FUNCTION, GateState},
};
use anvil_rules::{
    Effect,
    evidence::{Deployment, Evidence, Score},
};
use audit::{FunctionJournal, Notebook, Noted};
use domain::{
    Alert, ErrorCode, StepError, Timestamp,
    alert::Severity,
    deployment::Answer,
    ports::{Notes, StorageError},
    smoke::{self, LastRun},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// The age up to which a smoke test counts. An older one says nothing about this deployment, because the hook before
/// this one has just run one.
pub const SMOKE_TEST_COUNTS_FOR: Duration = Duration::from_secs(15 * 60);

/// The number of stored verdicts. The audit log has all of them.
const REMEMBERED: usize = 20;

/// The part of the smoke test's saved state that the gate needs.
#[derive(Default, Deserialize)]
struct SmokeTestState {
    #[serde(default)]
    last: Option<LastRun>,
}

/// The score of the last smoke test, if it is recent. `deployed_at` is when the deployment began, if the caller knows
/// it: an earlier run tested another build.
///
/// # Errors
/// [`StorageError`] if the table could not be read.
pub async fn last_smoke_test(
    notes: &dyn Notes,
    now: Timestamp,
    deployed_at: Option<Timestamp>,
) -> Result<Option<Score>, StorageError> {
    let Some(document) = notes.load(smoke::FUNCTION).await?.value else { return Ok(None) };
    let last =
        serde_json::from_str::<Notebook<SmokeTestState>>(&document).ok().and_then(|notebook| notebook.memory.last);
    let is_of_build = |last: &LastRun| deployed_at.is_none_or(|deployed_at| last.at >= deployed_at);
    let counted = last.filter(|last| now.since(last.at) <= SMOKE_TEST_COUNTS_FOR && is_of_build(last));
    Ok(counted.map(|last| Score { passed: last.passed, of: last.of }))
}

/// The last verdicts, the oldest first.
///
/// # Errors
/// [`StorageError`] if the table could not be read.
pub async fn verdicts(journal: FunctionJournal<'_>) -> Result<Vec<Entry>, StorageError> {
    let journal = FunctionJournal { function: FUNCTION, ..journal };
    Ok(journal.load::<GateState>().await?.value.memory.verdicts)
}

/// Judges the deployment of a build and records the verdict. A deployment continues if the verdict allows it, or if two
/// people have overridden the verdict; it uses up their override.
///
/// # Errors
/// [`StepError`]: nothing may ship, and no verdict is recorded, or it is and the reply was lost.
pub async fn judge(journal: FunctionJournal<'_>, build: &Build, observed: &Deployment) -> Result<Answer, StepError> {
    let notebook = journal.load::<GateState>().await?;
    let evidence = evidence(build, observed)?;
    let decide = |state: &mut GateState, now| decide(state, build, observed, &evidence, now);
    let (_, answer) = journal.commit(notebook, decide).await?.settle().await;
    Ok(answer)
}

/// Records that a deployment is rolled back because its judgement failed. The log may have its verdict nevertheless,
/// and that may say that the release may ship.
///
/// # Errors
/// [`StepError`]: the answer is not recorded, or it is and the reply was lost.
pub async fn record_rollback(journal: FunctionJournal<'_>, build: &Build) -> Result<(), StepError> {
    let notebook = journal.load::<GateState>().await?;
    let Build { release, versions, deployment } = build;
    let facts = json!({ "release": release, "versions": versions, "deployment": deployment, "answer": "Failed" });
    let answered = |_: &mut GateState, _| Noted::save(()).requiring("deployment_answered", facts.clone());
    journal.commit(notebook, answered).await?.settle().await;
    Ok(())
}

/// The build and the observations, bound so that the verdict proves them: equal observations of two builds differ.
fn evidence(build: &Build, observed: &Deployment) -> Result<Value, StepError> {
    let malformed = |error| ErrorCode::Malformed.of(error);
    let mut observed = serde_json::to_value(observed).map_err(malformed)?;
    observed["build"] = serde_json::to_value(build).map_err(malformed)?;
    let bound = bind("the deployment", &observed).map_err(|error| ErrorCode::Malformed.of(error))?;
    serde_json::to_value(bound).map_err(malformed)
}

fn decide(
    state: &mut GateState,
    build: &Build,
    observed: &Deployment,
    evidence: &Value,
    now: Timestamp,
) -> Noted<Answer> {
    let assessment = observed.assess();
    let verdict = assessment.verdict();
    state.overrides.retain(|other| now < other.until);
    let Build { release, versions, deployment } = build;
    let mut overridden = state.overrides.iter_mut().find(|granted| granted.covers(build, now));
    // A verdict that was requested by hand lets nothing go live, and leaves the override to the deployment.
    if let Some(granted) = &mut overridden {
        granted.used_by.clone_from(deployment);
    }
    let subject = format!("release {release}");
    let entry = Entry::of(now, &subject, &assessment, observed.kernels(), evidence.clone());
    state.verdicts.push(Entry { build: Some(build.clone()), ..entry });
    let surplus = state.verdicts.len().saturating_sub(REMEMBERED);
    state.verdicts.drain(..surplus);
    let (may_ship, is_overridden) = (verdict.may_ship(), overridden.is_some());
    let answer = if may_ship || is_overridden { Answer::Succeeded } else { Answer::Failed };
    let reasons: Vec<_> =
        assessment.reasons().iter().map(|it| json!({ "effect": it.effect(), "text": it.text() })).collect();
    let facts = json!({
        "release": release, "versions": versions, "deployment": deployment, "verdict": verdict, "reasons": reasons,
        "evidence": evidence, "may_ship": may_ship,
        "overridden": overridden.map(|granted| json!({ "by": granted.by, "second": granted.second })),
    });
    let noted = Noted::save(answer).requiring("deployment_judged", facts);
    let against = assessment.reasons().iter().filter(|reason| reason.effect() >= Effect::Caution);
    let against: Vec<&str> = against.map(|reason| reason.text()).collect();
    let alert = |severity, what: &str| {
        let detail = format!("{verdict}, {what}: {}; oracle anvil report", against.join(" "));
        Alert::about("ORACLE-GATE", severity, now, "DEPLOYMENT", release, &detail)
    };
    match (may_ship, is_overridden) {
        (true, _) if against.is_empty() => noted,
        (true, _) => noted.alerting(alert(Severity::Warn, "may go live")),
        (false, true) => noted.alerting(alert(Severity::Critical, "may go live because two people have overridden it")),
        (false, false) => noted.alerting(alert(Severity::Critical, "is rolled back")),
    }
}

#[cfg(test)]
mod tests;
