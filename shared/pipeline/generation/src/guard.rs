//! The circuit breaker around the model (Gemini Timeout, invariants 5 and 7). Its row is shared by every running
//! function; when the row cannot be read or written, calls go on: the breaker protects, it must not stop sales.

use crate::asking::{Policy, Ports};
use domain::{
    Alert, SessionId, Timestamp,
    alert::Severity,
    breaker::{Admission, Breaker},
    ports::{ModelError, SaveError},
};
use std::time::Duration;

/// How often a change of the breaker is tried when others change it at the same time.
const TRIES: u32 = 4;

/// How a model may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admitted {
    /// As often as an attempt at a verdict needs.
    Call,
    /// Once: it is the half-open circuit's one call.
    Probe,
}

/// Whether the model may be asked; otherwise until when not.
pub(crate) async fn admit(ports: Ports<'_>, policy: &Policy, model: &str) -> Result<Admitted, Timestamp> {
    let now = ports.clock.now();
    let Ok(mut row) = ports.breakers.load(model).await else { return Ok(Admitted::Call) };
    match row.value.admit(now, &policy.breaker) {
        Admission::Call => Ok(Admitted::Call),
        Admission::Refuse(until) => Err(until),
        // Only who saves the probe makes it: exactly one call goes through.
        Admission::Probe => match ports.breakers.save(model, &row.value, row.version).await {
            Ok(()) => Ok(Admitted::Probe),
            Err(SaveError::Conflict) => Err(now.plus(policy.breaker.reopen.least)),
            Err(SaveError::Storage(_)) => Ok(Admitted::Call),
        },
    }
}

/// Until when the model is not asked. `None` when it may be, or nobody can say.
pub(crate) async fn closed_until(ports: Ports<'_>, policy: &Policy, model: &str) -> Option<Timestamp> {
    let row = ports.breakers.load(model).await.ok()?;
    row.value.refuses_until(ports.clock.now(), &policy.breaker)
}

/// Until when none of the models is asked, if that is so.
pub async fn all_closed_until(ports: Ports<'_>, policy: &Policy) -> Option<Timestamp> {
    let mut first = None;
    for model in &policy.models {
        let until = closed_until(ports, policy, model).await?;
        first = Some(first.map_or(until, |earlier: Timestamp| earlier.min(until)));
    }
    first
}

/// Notes that all attempts at a call failed.
pub(crate) async fn failed(ports: Ports<'_>, policy: &Policy, session: &SessionId, model: &str) {
    let now = ports.clock.now();
    if change(ports, model, |breaker| breaker.failed(now, &policy.breaker)).await {
        opened(ports, session, model, "calls fail").await;
    }
}

/// Notes that a call ended without a reply, for good and at once. A refused key or a used-up quota fails every sale,
/// so it counts as a failure (Gemini Timeout, failure mode 6: the circuit opens, and sales wait instead of failing).
/// A refused question, or a model that is gone, is an answer: the service is up. Whatever it is, a half-open breaker
/// hears of it.
pub(crate) async fn ended(ports: Ports<'_>, policy: &Policy, session: &SessionId, model: &str, error: &ModelError) {
    match error {
        ModelError::Unauthorized(_) | ModelError::QuotaExhausted => failed(ports, policy, session, model).await,
        ModelError::NotReady(_) => drop(change(ports, model, |breaker| noted(breaker, Breaker::not_asked)).await),
        _ => drop(change(ports, model, |breaker| noted(breaker, Breaker::answered)).await),
    }
}

fn noted(breaker: &mut Breaker, note: fn(&mut Breaker)) -> bool {
    note(breaker);
    false
}

/// Notes that a call succeeded, and how long it took.
pub(crate) async fn succeeded(ports: Ports<'_>, policy: &Policy, session: &SessionId, model: &str, took: Duration) {
    let now = ports.clock.now();
    if change(ports, model, |breaker| breaker.succeeded(took, now, &policy.breaker)).await {
        opened(ports, session, model, "calls have become slow").await;
    }
}

/// Changes the row, if that changes anything; answers what the change said.
async fn change(ports: Ports<'_>, model: &str, change: impl Fn(&mut Breaker) -> bool + Send) -> bool {
    for _ in 0..TRIES {
        let Ok(mut row) = ports.breakers.load(model).await else { return false };
        let before = row.value.clone();
        let opened = change(&mut row.value);
        if row.value == before {
            return false;
        }
        match ports.breakers.save(model, &row.value, row.version).await {
            Ok(()) => return opened,
            Err(SaveError::Conflict) => {}
            Err(SaveError::Storage(_)) => return false,
        }
    }
    false
}

async fn opened(ports: Ports<'_>, session: &SessionId, model: &str, why: &str) {
    let detail = format!("circuit of {model} opened: {why}");
    let alert = Alert::event("ORACLE-MODEL", Severity::Critical, ports.clock.now(), "CIRCUIT", session, &detail);
    ports.alerts.raise(alert).await;
}
