//! The circuit breaker around the model (Gemini Timeout, invariants 5 and 7). All running instances of a function share its row. If
//! the row cannot be read or written, calls continue: the breaker protects sales and must not stop them.

use crate::asking::{Policy, Ports};
use domain::{
    Alert, SessionId, Timestamp,
    alert::Severity,
    breaker::{Admission, Breaker, update},
    ports::{Breakers, ModelError, SaveError},
};
use std::time::Duration;

/// How often a model may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admitted {
    /// As often as the attempts at a verdict need.
    Call,
    /// Once: it is the only call of a half-open circuit.
    Probe,
}

/// The time until which the model is not called; `None` when it may be called, or when the row cannot be read.
pub(crate) async fn closed_until(ports: Ports<'_>, policy: &Policy, model: &str) -> Option<Timestamp> {
    let row = ports.gauged().load(&policy.caller.circuit(model)).await.ok()?;
    row.value.refuses_until(ports.clock.now(), &policy.breaker)
}

/// The earliest time at which a model may be called; `None` when one may be called now.
pub async fn all_closed_until(ports: Ports<'_>, policy: &Policy) -> Option<Timestamp> {
    let mut first = None;
    for model in &policy.models {
        let until = closed_until(ports, policy, model).await?;
        first = Some(first.map_or(until, |earlier: Timestamp| earlier.min(until)));
    }
    first
}

/// The circuits of a caller's models, with the sale or message for which they are asked.
#[derive(Clone, Copy)]
pub(crate) struct Circuits<'a> {
    pub(crate) ports: Ports<'a>,
    pub(crate) policy: &'a Policy,
    pub(crate) session: &'a SessionId,
}

impl Circuits<'_> {
    /// Whether the model may be called; the error is the time until which it may not.
    pub(crate) async fn admit(&self, model: &str) -> Result<Admitted, Timestamp> {
        let Self { ports, policy, .. } = *self;
        let now = ports.clock.now();
        let circuit = policy.caller.circuit(model);
        let Ok(mut row) = ports.gauged().load(&circuit).await else { return Ok(Admitted::Call) };
        match row.value.admit(now, &policy.breaker) {
            Admission::Call => Ok(Admitted::Call),
            Admission::Refuse(until) => Err(until),
            // Only the caller that saves the probe makes it, so exactly one call goes through.
            Admission::Probe => match ports.gauged().save(&circuit, &row.value, row.version).await {
                // The row may be saved although its write failed: this caller then has to end the half-open state.
                Ok(()) | Err(SaveError::Storage(_)) => Ok(Admitted::Probe),
                Err(SaveError::Conflict) => Err(row.value.look_again(now, &policy.breaker)),
            },
        }
    }

    /// Records that all attempts at an admitted call failed.
    pub(crate) async fn failed(&self, model: &str, admitted: Admitted) {
        let Self { ports, policy, .. } = *self;
        let (now, circuit) = (ports.clock.now(), policy.caller.circuit(model));
        let is_probe = admitted == Admitted::Probe;
        if update(&ports.gauged(), &circuit, |breaker| breaker.failed(is_probe, now, &policy.breaker)).await {
            self.opened(&circuit, "calls fail").await;
        }
    }

    /// Records that a half-open call, or a call that is not repeated, ended without a reply. An outage fails every sale,
    /// so it counts as a failure, and so do a refused key or account and a used-up quota (Gemini Timeout, failure mode 6:
    /// the circuit opens, and sales wait instead of failing). A refused question, a reply that is longer than its limit,
    /// or a model that no longer exists counts as an answer: the service is up, and otherwise one question could close
    /// the model to everybody.
    pub(crate) async fn ended(&self, model: &str, admitted: Admitted, error: &ModelError) {
        match error {
            ModelError::NotReady(_) if admitted == Admitted::Probe => self.not_asked(model).await,
            // Another caller may be making the half-open call.
            ModelError::NotReady(_) => {}
            error if error.is_outage() => self.failed(model, admitted).await,
            _ => self.update(model, Breaker::answered).await,
        }
    }

    /// Records that a call succeeded. Its whole duration counts, including failed attempts and their waits (Gemini
    /// Timeout, GAP-02B).
    pub(crate) async fn succeeded(&self, model: &str, asked_since: Timestamp) {
        let Self { ports, policy, .. } = *self;
        let (now, circuit) = (ports.clock.now(), policy.caller.circuit(model));
        let took = Duration::from_millis(now.millis_since(asked_since));
        if update(&ports.gauged(), &circuit, |breaker| breaker.succeeded(took, now, &policy.breaker)).await {
            self.opened(&circuit, "calls have become slow").await;
        }
    }

    /// Records that the admitted call had no result: the next caller makes the half-open call.
    pub(crate) async fn not_asked(&self, model: &str) {
        self.update(model, Breaker::not_asked).await;
    }

    /// Changes the breaker in a way that never opens it.
    async fn update(&self, model: &str, change: fn(&mut Breaker)) {
        let circuit = self.policy.caller.circuit(model);
        let change = |breaker: &mut Breaker| {
            change(breaker);
            false
        };
        update(&self.ports.gauged(), &circuit, change).await;
    }

    async fn opened(&self, circuit: &str, why: &str) {
        let (ports, detail) = (self.ports, format!("circuit of {circuit} opened: {why}"));
        let alert =
            Alert::event("ORACLE-MODEL", Severity::Critical, ports.clock.now(), "CIRCUIT", self.session, &detail);
        ports.alerts.raise(alert).await;
    }
}
