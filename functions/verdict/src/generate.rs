//! Asking the model: a few attempts, each checked, until a reply may go on (Gemini Timeout; TMM Cross-Validation).

use crate::{guard, prompt::build_verdict_prompt};
use crosscheck::Crosscheck;
use domain::{
    Alert, Query, SessionId, Tier, Timestamp, Verdict,
    alert::Severity,
    backoff::Backoff,
    breaker::BreakerPolicy,
    ports::{Alerts, Breakers, Clock, Model, ModelError, Pause, Randomness},
};
use std::time::Duration;

/// What generation needs from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub model: &'a dyn Model,
    pub breakers: &'a dyn Breakers,
    pub alerts: &'a dyn Alerts,
    pub clock: &'a dyn Clock,
    pub randomness: &'a dyn Randomness,
    pub pause: &'a dyn Pause,
}

/// How generation goes about it.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The models, best first; the next one is asked when one is not known (any more).
    pub models: Vec<String>,
    /// Attempts and waits.
    pub backoff: Backoff,
    /// When a model is left alone.
    pub breaker: BreakerPolicy,
}

/// What came of it, with every crosscheck that ran (each has its record; TMM Cross-Validation, invariant 5).
#[derive(Debug)]
pub struct Generated {
    /// The verdict, or why there is none.
    pub verdict: Result<Verdict, NoVerdict>,
    /// Each crosscheck, in order.
    pub crosschecks: Vec<Crosscheck>,
    /// How many times the model was asked.
    pub attempts: u32,
    /// Which model answered last.
    pub model_version: Option<String>,
}

/// Why there is no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoVerdict {
    /// It failed for good; the reason is for operators.
    Failed(String),
    /// Our own side failed before the model was asked: the order must come again.
    NotReady(String),
    /// The model was not asked, and will not be before this.
    CircuitOpen(Timestamp),
}

/// Asks until a reply is approved, refused for good, or the attempts are used up: never more than
/// `policy.backoff.attempts` calls in all (Gemini Timeout, invariant 2).
///
/// A reply that is no JSON is asked for once more, with a stricter instruction and inside that ceiling
/// (GAP-02E). A reply that fails the crosscheck otherwise is not: asking until one passes would be fabrication
/// (TMM Cross-Validation, invariant 4).
pub async fn generate(ports: Ports<'_>, policy: &Policy, session: &SessionId, tier: Tier, query: &Query) -> Generated {
    let mut generated = Generated {
        verdict: Err(NoVerdict::Failed("no attempt was made".to_owned())),
        crosschecks: Vec::new(),
        attempts: 0,
        model_version: None,
    };
    let mut models = policy.models.iter();
    let Some(mut model) = models.next() else { return generated };
    let mut stricter = false;
    if let Err(until) = guard::admit(ports, policy, model).await {
        tracing::warn!(session = session.prefix(), model, "circuit open: the model is not asked");
        generated.verdict = Err(NoVerdict::CircuitOpen(until));
        return generated;
    }
    while generated.attempts < policy.backoff.attempts {
        generated.attempts += 1;
        let attempt = generated.attempts;
        let asked_at = ports.clock.now();
        match ports.model.ask(model, &build_verdict_prompt(tier, query, stricter)).await {
            Ok(reply) => {
                tracing::info!(session = session.prefix(), attempt, model = reply.model_version, "[gemini] answered");
                let took = Duration::from_millis(ports.clock.now().millis_since(asked_at));
                guard::succeeded(ports, policy, session, model, took).await;
                if let Some(warning) = &reply.status_warning {
                    warn(ports, session, &format!("{}: {warning}", reply.model_version)).await;
                }
                generated.model_version = Some(reply.model_version);
                let crosscheck = crosscheck::crosscheck(&reply.text, tier);
                let malformed = crosscheck.flags.iter().any(|flag| flag == "malformed_json");
                generated.verdict = accept(&crosscheck, &reply.text, tier).map_err(NoVerdict::Failed);
                generated.crosschecks.push(crosscheck);
                if (!malformed || stricter) && !domain::planted("asked-until-it-pleases") {
                    return generated;
                }
                stricter = true;
            }
            Err(error) => {
                tracing::warn!(session = session.prefix(), attempt, model, %error, "[gemini] attempt failed");
                generated.verdict = Err(NoVerdict::Failed(error.to_string()));
                match error {
                    ModelError::NotReady(source) => {
                        generated.verdict = Err(NoVerdict::NotReady(source.to_string()));
                        return generated;
                    }
                    ModelError::UnknownModel => {
                        warn(ports, session, &format!("model {model} is not known any more")).await;
                        let Some(next) = models.next() else { return generated };
                        model = next;
                    }
                    error if error.is_retriable() && !domain::planted("first-failure-final") => {
                        let jitter = ports.randomness.fraction();
                        let Some(wait) = policy.backoff.wait_after(attempt, jitter) else {
                            guard::failed(ports, policy, session, model).await;
                            return generated;
                        };
                        ports.pause.pause(wait).await;
                    }
                    _ => return generated,
                }
            }
        }
    }
    generated
}

/// The parsed verdict of an approved reply, reduced to what the tier sells.
fn accept(crosscheck: &Crosscheck, text: &str, tier: Tier) -> Result<Verdict, String> {
    if !crosscheck.approved {
        return Err(format!("crosscheck rejected the reply: {:?}", crosscheck.crosscheck_reason));
    }
    let verdict: Verdict = serde_json::from_str(text).map_err(|_| "the reply is no verdict".to_owned())?;
    if verdict.is_complete_for(tier) { Ok(verdict.for_tier(tier)) } else { Err("the reply is incomplete".to_owned()) }
}

async fn warn(ports: Ports<'_>, session: &SessionId, detail: &str) {
    let alert = Alert::event("ORACLE-MODEL", Severity::Error, ports.clock.now(), "MODEL_CALL", session, detail);
    ports.alerts.raise(alert).await;
}
