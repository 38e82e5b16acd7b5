//! Keeps what is lost when a time limit drops the calls of a model: the call in progress, which its circuit counts, and
//! whether a model has delivered a reply.

use crate::{
    asking::{Policy, Ports},
    guard::{Admitted, Circuits},
};
use async_trait::async_trait;
use domain::{
    SessionId, Timestamp,
    ports::{Clock, Listener, Model, ModelError, ModelReply, Prompt},
};
use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// A model that notes its call in progress, and whether it has delivered a reply. It is always asked by its stream: only
/// that shows whether a model is writing when the time is over.
pub struct Tracked<'a> {
    model: &'a dyn Model,
    clock: &'a dyn Clock,
    last: Mutex<Option<Call>>,
    has_delivered: AtomicBool,
}

/// The last call, if it was not answered.
struct Call {
    model: String,
    /// When its model was first asked. Further attempts at the same model belong to the same call.
    since: Timestamp,
    /// When it last wrote something, if its reply is long ([`Prompt::is_long`]).
    long_at: Option<Timestamp>,
    is_in_progress: bool,
}

impl<'a> Tracked<'a> {
    /// Tracks the calls of a model.
    #[must_use]
    pub const fn new(model: &'a dyn Model, clock: &'a dyn Clock) -> Self {
        Self { model, clock, last: Mutex::new(None), has_delivered: AtomicBool::new(false) }
    }

    fn last(&self) -> MutexGuard<'_, Option<Call>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, model: &str) {
        let now = self.clock.now();
        let mut last = self.last();
        let since = last.take().filter(|call| call.model == model).map_or(now, |call| call.since);
        *last = Some(Call { model: model.to_owned(), since, long_at: None, is_in_progress: true });
    }

    fn mark_long_text(&self) {
        let now = self.clock.now();
        if let Some(call) = self.last().as_mut() {
            call.long_at = Some(now);
        }
    }

    /// Whether any call has delivered a reply, also one that is cut off, empty or blocked.
    #[must_use]
    pub fn has_delivered(&self) -> bool {
        self.has_delivered.load(Ordering::Relaxed)
    }

    fn end(&self, outcome: &Result<ModelReply, ModelError>) {
        if let Ok(_) | Err(ModelError::Incomplete(_) | ModelError::NoVerdict(_)) = outcome {
            self.has_delivered.store(true, Ordering::Relaxed);
        }
        let mut last = self.last();
        // A failure that is no outage ends the call: the next attempt at this model has its whole time.
        if outcome.as_ref().err().is_none_or(|error| !error.is_outage()) {
            *last = None;
        } else if let Some(call) = last.as_mut() {
            call.is_in_progress = false;
        }
    }

    /// Records that a time limit dropped the call in progress, if there is one. It counts as a failure if its model had
    /// at least `enough` time; otherwise the next caller makes the half-open call. A model whose long reply grew within
    /// the last half of `enough` does not fail: it has delivered a reply, which only needs more than our time.
    pub async fn record_dropped_call(&self, ports: Ports<'_>, policy: &Policy, session: &SessionId, enough: Duration) {
        let dropped = self.last().take().filter(|call| call.is_in_progress);
        let Some(Call { model, since, long_at, .. }) = dropped else { return };
        let (circuits, now) = (Circuits { ports, policy, session }, ports.clock.now());
        if long_at.is_some_and(|at| now.since(at) < enough / 2) {
            self.has_delivered.store(true, Ordering::Relaxed);
            circuits.ended(&model, Admitted::Probe, &ModelError::cut_by_time()).await;
        } else if now.since(since) >= enough {
            // A time limit is shorter than the time for which a circuit opens (settings.rs), so while the circuit is
            // half open, the call in progress is the half-open one.
            circuits.failed(&model, Admitted::Probe).await;
        } else {
            circuits.not_asked(&model).await;
        }
    }
}

/// Passes a model's text on, and marks its call when the reply is long.
struct Noting<'a> {
    tracked: &'a Tracked<'a>,
    prompt: &'a Prompt,
    listener: &'a mut dyn Listener,
}

#[async_trait]
impl Listener for Noting<'_> {
    async fn hear(&mut self, text: &str) {
        if self.prompt.is_long(text) {
            self.tracked.mark_long_text();
        }
        self.listener.hear(text).await;
    }
}

/// The listener of a caller that needs the whole reply only.
struct Unheard;

#[async_trait]
impl Listener for Unheard {
    async fn hear(&mut self, _text: &str) {}
}

#[async_trait]
impl Model for Tracked<'_> {
    async fn ask(&self, model: &str, prompt: &Prompt) -> Result<ModelReply, ModelError> {
        self.stream(model, prompt, &mut Unheard).await
    }

    async fn stream(
        &self,
        model: &str,
        prompt: &Prompt,
        listener: &mut dyn Listener,
    ) -> Result<ModelReply, ModelError> {
        self.begin(model);
        let outcome = self.model.stream(model, prompt, &mut Noting { tracked: self, prompt, listener }).await;
        self.end(&outcome);
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breaker_policy;
    use domain::{
        backoff::Backoff,
        breaker::{Breaker, Caller},
    };
    use runtime::Environment;
    use testkit::{Fault, Plan, World, run};

    /// Writes this and hangs.
    struct Writing(String);

    #[async_trait]
    impl Model for Writing {
        async fn ask(&self, _model: &str, _prompt: &Prompt) -> Result<ModelReply, ModelError> {
            std::future::pending().await
        }

        async fn stream(
            &self,
            _model: &str,
            _prompt: &Prompt,
            listener: &mut dyn Listener,
        ) -> Result<ModelReply, ModelError> {
            listener.hear(&self.0).await;
            std::future::pending().await
        }
    }

    /// Answers with these errors, the last one first, and then hangs.
    struct Failing(Mutex<Vec<ModelError>>);

    #[async_trait]
    impl Model for Failing {
        async fn ask(&self, _model: &str, _prompt: &Prompt) -> Result<ModelReply, ModelError> {
            std::future::pending().await
        }

        async fn stream(&self, model: &str, prompt: &Prompt, _: &mut dyn Listener) -> Result<ModelReply, ModelError> {
            let error = self.0.lock().unwrap().pop();
            match error {
                Some(error) => Err(error),
                None => self.ask(model, prompt).await,
            }
        }
    }

    /// What the circuit of a model knows after a call was dropped that had this many seconds, and whether it has
    /// delivered a reply. A call of the world hangs without a word.
    fn dropped_after(model: Option<&dyn Model>, seconds: u64) -> (Breaker, bool) {
        dropped(model, &[("model-a", seconds)])
    }

    /// What the circuit of the first model that is asked knows after the last call was dropped, and whether a call has
    /// delivered a reply. Each model is asked in turn, and then this many seconds pass. Before the first call, which is
    /// the half-open one, the circuit was open for a minute.
    fn dropped(model: Option<&dyn Model>, calls: &[(&str, u64)]) -> (Breaker, bool) {
        let world = World::at(Timestamp::from_seconds(1_000));
        let policy = Policy {
            models: vec!["model-a".to_owned(), "model-b".to_owned()],
            backoff: Backoff { attempts: 2, base: Duration::from_millis(1), cap: Duration::from_millis(1) },
            caller: Caller::Toll,
            breaker: breaker_policy(&Environment::of(&[])).unwrap(),
            longest: None,
        };
        let (last, _) = calls[calls.len() - 1];
        let circuit = policy.caller.circuit(last).into_owned();
        let opened_at = Some(Timestamp::from_seconds(900));
        let open = Breaker { failures: 5, opened_at, open_since: opened_at, ..Breaker::default() };
        world.state().breakers.insert(circuit.clone(), (open, 1));
        let tracked = Tracked::new(model.unwrap_or(&world), &world);
        let ports = Ports {
            model: &tracked,
            breakers: &world,
            alerts: &world,
            clock: &world,
            randomness: &world,
            pause: &world,
            meter: &world,
        };
        let session = SessionId::parse("cs_test_1").unwrap();
        run(Circuits { ports, policy: &policy, session: &session }.admit(last)).unwrap().unwrap();
        world.plan(Plan::none().whenever("model.ask", Fault::CrashBefore));
        let (instruction, content) = (String::new(), String::new());
        let schema = serde_json::Value::Null;
        let prompt = Prompt { instruction, content, schema, max_output_tokens: 1, ordinary_reply_bytes: 10 };
        for (model, seconds) in calls {
            let _ended: Option<Result<ModelReply, ModelError>> = run(tracked.ask(model, &prompt));
            world.advance(Duration::from_secs(*seconds));
        }
        world.plan(Plan::none());
        run(tracked.record_dropped_call(ports, &policy, &session, Duration::from_secs(6))).unwrap();
        let (breaker, _) = world.state().breakers[&circuit].clone();
        (breaker, tracked.has_delivered())
    }

    fn failing(errors: impl IntoIterator<Item = ModelError>) -> Failing {
        Failing(Mutex::new(errors.into_iter().collect()))
    }

    /// Otherwise a model that fails slowly and often would never have had enough time.
    #[test]
    fn attempts_at_one_model_during_an_outage_are_one_call() {
        let outage = || ModelError::Unavailable(503);
        let (together, _) = dropped(Some(&failing([outage()])), &[("model-a", 4), ("model-a", 2)]);
        assert_eq!(together.failures, 6);
        let (other, _) = dropped(Some(&failing([outage()])), &[("model-b", 4), ("model-a", 2)]);
        assert_eq!(other.failures, 5, "the time of another model is not its own");
    }

    /// The caller has counted the failure of a call that has ended.
    #[test]
    fn a_call_that_has_ended_is_not_dropped() {
        let (ended, answered) = dropped(Some(&failing([ModelError::Unavailable(503)])), &[("model-a", 7)]);
        assert_eq!((ended.failures, answered), (5, false));
    }

    #[test]
    fn an_attempt_after_a_failure_that_is_no_outage_has_its_whole_time() {
        let blocked = || ModelError::NoVerdict("SAFETY".to_owned());
        let (next, answered) = dropped(Some(&failing([blocked()])), &[("model-a", 4), ("model-a", 5)]);
        assert_eq!((next.failures, answered), (5, true), "a blocked reply is a reply");
    }

    #[test]
    fn a_dropped_call_is_a_failure_if_its_model_had_enough_time_and_leaves_no_half_open_call_behind() {
        let ((late, answered), (early, _)) = (dropped_after(None, 6), dropped_after(None, 5));
        assert!(!answered);
        assert_eq!((late.failures, late.opened_at), (6, Some(Timestamp::from_seconds(1_006))));
        assert_eq!((early.failures, early.opened_at), (5, Some(Timestamp::from_seconds(900))));
        assert_eq!((late.probing_since, early.probing_since), (None, None));
    }

    /// The asker decides how long a model writes. One that has written nothing for a while has stalled.
    #[test]
    fn a_dropped_call_of_a_model_that_is_writing_a_long_reply_is_no_failure() {
        let long = Writing("A".repeat(11));
        let (writing, answered) = dropped_after(Some(&long), 2);
        assert!(answered && writing.is_fresh(), "{writing:?}");
        let (_, answered) = dropped_after(Some(&long), 3);
        assert!(!answered, "half of the time without a word");
        let (stalled, answered) = dropped_after(Some(&long), 6);
        assert_eq!((stalled.failures, stalled.opened_at), (6, Some(Timestamp::from_seconds(1_006))));
        assert!(!answered);
    }

    /// A model that does not write an ordinary reply in time has become slow. Its circuit opens, which alerts operators.
    #[test]
    fn a_dropped_call_of_a_model_that_has_written_little_is_that_of_a_silent_one() {
        let short = Writing("A".repeat(10));
        for seconds in [2, 6] {
            let (silent, slow) = (dropped_after(None, seconds), dropped_after(Some(&short), seconds));
            assert_eq!(slow, silent, "after {seconds} s");
        }
    }
}
