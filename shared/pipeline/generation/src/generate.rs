//! Asks the model: a few attempts, each crosschecked, until a reply is accepted (Gemini Timeout; TMM Crosscheck).
//! The file has more than 300 lines because all that can follow an attempt is in one place, with the rules for the next
//! model and for a reply beside it.

use crate::{
    asking::{Policy, Ports, Question},
    guard::{self, Admitted, Circuits},
};
use audit::Record;
use authority::ReplyProblem;
use crosscheck::{Crosscheck, constants::PHI};
use domain::{
    Alert, Query, SessionId, Tier, Timestamp, Verdict,
    alert::Severity,
    ports::{ModelError, ModelReply},
    retry::Unavailable,
};
use serde_json::{Value, json};

/// The outcome, with every crosscheck that ran (each has its record; TMM Crosscheck, invariant 5).
#[derive(Debug)]
pub struct Generated {
    /// The verdict, or the reason for its absence.
    pub verdict: Result<Verdict, NoVerdict>,
    /// Each crosscheck, in order.
    pub crosschecks: Vec<Crosscheck>,
    /// The number of calls to models, including calls to a model that no longer exists.
    pub attempts: u32,
    /// The model that answered last.
    pub model_version: Option<String>,
    /// Whether the last reply was asked for because an earlier one broke the grammar of a narrative answer.
    pub is_corrected: bool,
}

impl Generated {
    /// The records of the crosschecks.
    pub fn records(&self, now: Timestamp, triggered_at: Timestamp) -> impl Iterator<Item = Record> {
        let checks = self.crosschecks.iter();
        checks.map(move |check| Record::crosscheck(now, triggered_at, PHI, check, check.is_opposed()))
    }

    /// The facts of the calls for an audit record. `prompt_version` is the version of the first prompt.
    #[must_use]
    pub fn facts(&self, prompt_version: String) -> Value {
        json!({
            "attempts": self.attempts,
            "model_version": self.model_version,
            "prompt_version": if self.is_corrected { prompt::corrected_version(&prompt_version) } else { prompt_version },
        })
    }
}

/// Why there is no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoVerdict {
    /// The model refused the question, or its reply is refused for good; the reason is for operators.
    Refused(String),
    /// The calls failed, and later ones may succeed; the reason is for operators.
    Failed(Failure),
    /// Our own side failed before the model was called: the order must be delivered again.
    NotReady(String),
    /// No model may be called now: every circuit is open, or a vendor asked for a longer delay.
    NotBefore(Unavailable),
}

/// Why calls failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// For operators.
    pub reason: String,
    /// Whether the vendor refused our key or account: our own outage, which ends only when an operator acts.
    pub is_ours: bool,
    /// The end of the delay that a vendor asked for: no model is to be called before it.
    pub not_before: Option<Timestamp>,
}

impl NoVerdict {
    fn failed(reason: String) -> Self {
        Self::Failed(Failure { reason, is_ours: false, not_before: None })
    }

    /// The same, with no call before the end of a vendor's delay.
    fn not_before(self, end: Option<Timestamp>) -> Self {
        match self {
            Self::Failed(failure) => Self::Failed(Failure { not_before: end, ..failure }),
            Self::NotBefore(unavailable) => Self::NotBefore(unavailable.not_before(end)),
            Self::Refused(_) | Self::NotReady(_) => self,
        }
    }

    /// The effect of an error on the sale: a refused question ends the sale, any other error ends the call only.
    fn of(error: &ModelError) -> Self {
        let reason = short(&error.to_string());
        match error {
            ModelError::NotReady(source) => Self::NotReady(source.to_string()),
            ModelError::BadRequest(_) | ModelError::NoVerdict(_) => Self::Refused(reason),
            ModelError::Unauthorized(_) | ModelError::Account(_) => {
                Self::Failed(Failure { reason, is_ours: true, not_before: None })
            }
            ModelError::Timeout
            | ModelError::Network(_)
            | ModelError::Unavailable(_)
            | ModelError::Throttled(_)
            | ModelError::Incomplete(_)
            | ModelError::QuotaExhausted
            | ModelError::UnknownModel => Self::failed(reason),
        }
    }
}

/// Asks for the verdict of a question. `problem` is how an earlier reply broke the grammar of a narrative answer.
///
/// Asks until a reply is approved, refused for good, or the attempts are used up: never more than
/// `policy.backoff.attempts` calls in all (Gemini Timeout, invariant 2).
///
/// The next model of the list serves when a model does not exist (any more), which costs no attempt. It also serves
/// immediately when a model is throttled or its quota is used up, for the last attempt when a model fails otherwise,
/// and when a model's circuit is open. A delay that a vendor asks for is never shortened: if it is longer than our own
/// longest wait, the call ends and the order waits, also when the next model failed meanwhile
/// (infra/decisions/models.md).
///
/// A reply that is not JSON, or that passes the crosscheck but leaves a field empty that the tier sells, is requested
/// once more with a stricter instruction, within the limit of attempts (Gemini Timeout, GAP-02E;
/// infra/decisions/crosscheck.md). A reply that fails the crosscheck otherwise is not: asking until one passes would be
/// fabrication (TMM Crosscheck, invariant 4).
///
/// A half-open circuit gets one call. If it fails, the next model serves or the order waits for the circuit, because
/// the failure shows that the outage continues and says nothing about this sale.
pub(crate) async fn generate(
    ports: Ports<'_>,
    policy: &Policy,
    session: &SessionId,
    question: Question<'_>,
    problem: Option<&ReplyProblem>,
) -> Generated {
    let circuits = Circuits { ports, policy, session };
    let mut models = Candidates { circuits, rest: policy.models.iter(), closed_until: None, throttled_until: None };
    let mut generated = Generated {
        verdict: Err(NoVerdict::failed("no attempt was made".to_owned())),
        crosschecks: Vec::new(),
        attempts: 0,
        model_version: None,
        is_corrected: problem.is_some(),
    };
    let Some((model, admitted)) = models.next().await else {
        models.explain_end(&mut generated);
        return generated;
    };
    let (stricter, attempt, asked_since) = (false, 0, ports.clock.now());
    let mut asking =
        Asking { circuits, question, problem, models, model, admitted, stricter, attempt, asked_since, generated };
    while asking.attempt < policy.backoff.attempts {
        if asking.ask().await == NextStep::Finish {
            break;
        }
    }
    let Asking { generated, models, .. } = asking;
    Generated { verdict: generated.verdict.map_err(|none| none.not_before(models.throttled_until)), ..generated }
}

/// The attempts at one verdict.
struct Asking<'a> {
    circuits: Circuits<'a>,
    question: Question<'a>,
    problem: Option<&'a ReplyProblem>,
    models: Candidates<'a>,
    /// The model that is asked, and how often it may be.
    model: &'a str,
    admitted: Admitted,
    /// Whether the instruction insists on the form once more.
    stricter: bool,
    /// The number of attempts so far. A call to a model that does not exist does not count.
    attempt: u32,
    /// Since when the model is asked, with its failed attempts and their waits.
    asked_since: Timestamp,
    generated: Generated,
}

/// What follows an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextStep {
    /// Another attempt, if one is left.
    AskAgain,
    /// The result of this one.
    Finish,
}

impl Asking<'_> {
    /// Makes one attempt.
    async fn ask(&mut self) -> NextStep {
        self.attempt += 1;
        self.generated.attempts += 1;
        let prompt = self.question.prompt(self.stricter, self.problem);
        match self.circuits.ports.model.ask(self.model, &prompt).await {
            Ok(reply) => self.answered(reply).await,
            Err(error) => self.failed(error).await,
        }
    }

    async fn answered(&mut self, reply: ModelReply) -> NextStep {
        let Circuits { ports, session, .. } = self.circuits;
        let attempt = self.attempt;
        // The words of this line and of the other outcome are specified (Gemini Timeout, verification criterion 2).
        let model = reply.model_version.as_str();
        tracing::info!(session = session.prefix(), attempt, model, "[gemini] attempt {attempt} succeeded");
        self.circuits.succeeded(self.model, self.asked_since).await;
        if let Some(warning) = &reply.status_warning {
            warn(ports, session, &format!("{}: {}", reply.model_version, short(warning))).await;
        }
        self.generated.model_version = Some(reply.model_version);
        let Question { tier, query, .. } = self.question;
        let crosscheck = crosscheck::crosscheck(&reply.text, tier);
        // Its record is lost if the claim of its sale is (TMM Crosscheck, failure mode 3: the log is the fallback).
        let (approved, score, reason) = (crosscheck.approved, crosscheck.coherence_score, crosscheck.crosscheck_reason);
        tracing::info!(session = session.prefix(), attempt, approved, score, ?reason, "the reply is crosschecked");
        let accepted = accept(&crosscheck, &reply.text, tier, query);
        let again = accepted.as_ref().is_err_and(Refused::is_of_the_call);
        self.generated.verdict = accepted.map_err(|refused| match again {
            true => NoVerdict::failed(refused.to_string()),
            false => NoVerdict::Refused(refused.to_string()),
        });
        self.generated.crosschecks.push(crosscheck);
        if !again || self.stricter {
            return NextStep::Finish;
        }
        (self.stricter, self.admitted) = (true, Admitted::Call);
        self.asked_since = ports.clock.now();
        NextStep::AskAgain
    }

    async fn failed(&mut self, error: ModelError) -> NextStep {
        let Circuits { ports, policy, session } = self.circuits;
        let (model, attempt, is_probe) = (self.model, self.attempt, self.admitted == Admitted::Probe);
        tracing::warn!(session = session.prefix(), attempt, model, %error, "[gemini] attempt {attempt} failed");
        self.generated.verdict = Err(NoVerdict::of(&error));
        if let ModelError::Throttled(delay) = &error {
            self.models.remember_throttle(ports.clock.now().plus(*delay));
        }
        if is_probe || !error.is_retriable() {
            self.circuits.ended(model, self.admitted, &error).await;
        }
        if let ModelError::NotReady(_) = &error {
            return NextStep::Finish;
        }
        if is_probe && !error.is_outage() {
            // The service is up, so the circuit is closed, and the call is repeated like any other.
            self.admitted = Admitted::Call;
        } else if is_probe && let Some(until) = guard::closed_until(ports, policy, model).await {
            self.models.remember_open_circuit(until);
            // The half-open call of a model that is not asked any more would keep everybody else from making it.
            let is_last = self.attempt >= policy.backoff.attempts;
            if is_last || !self.switch().await {
                self.models.explain_end(&mut self.generated);
                return NextStep::Finish;
            }
            self.asked_since = ports.clock.now();
            return NextStep::AskAgain;
        }
        if matches!(error, ModelError::UnknownModel) {
            warn(ports, session, &format!("model {model} is not known any more")).await;
            self.attempt -= 1;
        }
        self.after_failure(error, is_probe).await
    }

    /// Goes on with the next model, waits, or ends.
    async fn after_failure(&mut self, error: ModelError, is_probe: bool) -> NextStep {
        let Circuits { ports, policy, .. } = self.circuits;
        let model = self.model;
        let left = policy.backoff.attempts - self.attempt;
        let wait = policy.backoff.wait_after(self.attempt, ports.randomness.fraction());
        if gives_way(&error, left) && self.switch().await {
            if error.is_retriable() && !is_probe {
                self.circuits.ended(model, Admitted::Call, &error).await;
            }
            // A throttled model says nothing about the next one; a failure of another kind may affect the next model
            // too.
            let may_last =
                error.is_retriable() && !matches!(error, ModelError::Throttled(_) | ModelError::Unavailable(429));
            if let Some(wait) = wait.filter(|_| may_last) {
                ports.pause.pause(wait).await;
            }
            self.asked_since = ports.clock.now();
            return NextStep::AskAgain;
        }
        match (error, wait) {
            (ModelError::Throttled(delay), Some(wait)) if delay <= policy.backoff.cap => {
                ports.pause.pause(wait.max(delay)).await;
            }
            (ModelError::Throttled(delay), _) => {
                let delayed = Unavailable::Delayed(ports.clock.now().plus(delay));
                self.generated.verdict = Err(NoVerdict::NotBefore(delayed));
                return NextStep::Finish;
            }
            (error, Some(wait)) if error.is_retriable() => ports.pause.pause(wait).await,
            (error, _) => {
                if error.is_retriable() {
                    self.circuits.ended(model, self.admitted, &error).await;
                } else if matches!(error, ModelError::UnknownModel | ModelError::QuotaExhausted) {
                    self.models.explain_end(&mut self.generated);
                }
                return NextStep::Finish;
            }
        }
        NextStep::AskAgain
    }

    /// Selects the next model whose circuit admits a call. Returns whether there is one.
    async fn switch(&mut self) -> bool {
        let Some((model, admitted)) = self.models.next().await else { return false };
        (self.model, self.admitted) = (model, admitted);
        true
    }
}

/// Whether the next model of the list serves after this failure. `left` is the number of remaining attempts.
fn gives_way(error: &ModelError, left: u32) -> bool {
    match error {
        ModelError::UnknownModel => true,
        ModelError::Throttled(_) | ModelError::QuotaExhausted | ModelError::Unavailable(429) => left > 0,
        error => error.is_retriable() && left == 1,
    }
}

/// The models that were not called yet.
struct Candidates<'a> {
    circuits: Circuits<'a>,
    rest: std::slice::Iter<'a, String>,
    /// When the first of the open circuits may be tried.
    closed_until: Option<Timestamp>,
    /// When the delay of every throttled model is over. A retry begins with the first model again, whichever it was.
    throttled_until: Option<Timestamp>,
}

impl<'a> Candidates<'a> {
    /// The next model whose circuit admits a call.
    async fn next(&mut self) -> Option<(&'a str, Admitted)> {
        while let Some(model) = self.rest.next() {
            match self.circuits.admit(model).await {
                Ok(admitted) => return Some((model, admitted)),
                Err(until) => {
                    let session = self.circuits.session.prefix();
                    tracing::warn!(session, model, "circuit open: the model is not asked");
                    self.remember_open_circuit(until);
                }
            }
        }
        None
    }

    fn remember_open_circuit(&mut self, until: Timestamp) {
        self.closed_until = Some(self.closed_until.map_or(until, |earlier| earlier.min(until)));
    }

    fn remember_throttle(&mut self, until: Timestamp) {
        self.throttled_until = self.throttled_until.max(Some(until));
    }

    /// Gives the reason why no model is left: the open circuits, or the earlier result.
    fn explain_end(&self, generated: &mut Generated) {
        if let Some(until) = self.closed_until {
            generated.verdict = Err(NoVerdict::NotBefore(Unavailable::CircuitOpen(until)));
        }
    }
}

/// Shortens a vendor's text for an alert or a record: 80 characters of words and codes.
fn short(text: &str) -> String {
    let known = |c: &char| c.is_ascii_alphanumeric() || " _-.:,/()".contains(*c);
    text.chars().filter(known).take(80).collect()
}

/// Why a reply is not sold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Refused {
    /// It is not JSON.
    #[error("the reply is no JSON")]
    Malformed,
    /// The crosscheck's formula rejected it.
    #[error("crosscheck rejected the reply: {0:?}")]
    Crosscheck(crosscheck::Reason),
    /// It passed the formula but does not have the form of this tier's verdict.
    #[error("the reply is no verdict of this tier")]
    Form,
    /// It leaves a field empty that the tier sells.
    #[error("the reply is hollow: {}", .0.join(", "))]
    Hollow(Vec<String>),
}

impl Refused {
    /// Whether the refusal shows a failed call, which another call may improve: the reply is cut off, is not a verdict,
    /// or leaves a field empty that is sold. Asking until a different judgement comes would be fabrication.
    fn is_of_the_call(&self) -> bool {
        match self {
            Self::Malformed | Self::Form | Self::Hollow(_) => true,
            Self::Crosscheck(_) => false,
        }
    }
}

/// The verdict of an approved reply, reduced to what the tier sells.
fn accept(crosscheck: &Crosscheck, text: &str, tier: Tier, query: &Query) -> Result<Verdict, Refused> {
    if crosscheck.is_malformed() {
        return Err(Refused::Malformed);
    }
    if !crosscheck.approved {
        return Err(Refused::Crosscheck(crosscheck.crosscheck_reason));
    }
    let verdict: Verdict = serde_json::from_str(text).map_err(|_| Refused::Form)?;
    if !verdict.is_complete_for(tier) {
        return Err(Refused::Form);
    }
    let hollow = crosscheck::hollow(&verdict, tier, query.as_str());
    if hollow.is_empty() { Ok(verdict.for_tier(tier)) } else { Err(Refused::Hollow(hollow)) }
}

async fn warn(ports: Ports<'_>, session: &SessionId, detail: &str) {
    let alert = Alert::event("ORACLE-MODEL", Severity::Error, ports.clock.now(), "MODEL_CALL", session, detail);
    ports.alerts.raise(alert).await;
}

#[cfg(test)]
mod tests;
