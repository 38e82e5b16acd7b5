//! The circuit breaker around the model (Gemini Timeout, invariants 5 and 7). Its row is shared by every running
//! function; when the row cannot be read or written, calls go on: the breaker protects, it must not stop sales.

use crate::generate::{Policy, Ports};
use domain::{
    Alert, SessionId, Timestamp,
    alert::Severity,
    breaker::{Admission, Breaker},
    ports::{ModelError, SaveError},
};
use std::time::Duration;

/// How often a change of the breaker is tried when others change it at the same time.
const TRIES: u32 = 4;

/// Whether the model may be asked; otherwise until when not.
pub(crate) async fn admit(ports: Ports<'_>, policy: &Policy, model: &str) -> Result<(), Timestamp> {
    let now = ports.clock.now();
    let Ok(mut row) = ports.breakers.load(model).await else { return Ok(()) };
    let refused = now.plus(policy.breaker.open);
    match row.value.admit(now, &policy.breaker) {
        Admission::Call => Ok(()),
        Admission::Refuse => {
            let reopens = row.value.opened_at.map_or(refused, |at| at.plus(policy.breaker.open));
            Err(if reopens > now { reopens } else { refused })
        }
        // Only who saves the probe makes it: exactly one call goes through.
        Admission::Probe => match ports.breakers.save(model, &row.value, row.version).await {
            Ok(()) => Ok(()),
            Err(SaveError::Conflict) => Err(refused),
            Err(SaveError::Storage(_)) => Ok(()),
        },
    }
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
