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

/// A model that notes its call in progress, and whether it has delivered a reply.
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
        *last = Some(Call { model: model.to_owned(), since, is_in_progress: true });
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
        if outcome.is_ok() {
            *last = None;
        } else if let Some(call) = last.as_mut() {
            call.is_in_progress = false;
        }
    }

    /// Records that a time limit dropped the call in progress, if there is one. It counts as a failure if its model had
    /// at least `enough` time; otherwise the next caller makes the half-open call.
    pub async fn record_dropped_call(&self, ports: Ports<'_>, policy: &Policy, session: &SessionId, enough: Duration) {
        let dropped = self.last().take().filter(|call| call.is_in_progress);
        let Some(Call { model, since, .. }) = dropped else { return };
        let circuits = Circuits { ports, policy, session };
        if ports.clock.now().since(since) >= enough {
            // A time limit is shorter than the time for which a circuit opens, so while the circuit is half open, the
            // call in progress is the half-open one.
            circuits.failed(&model, Admitted::Probe).await;
        } else {
            circuits.not_asked(&model).await;
        }
    }
}

#[async_trait]
impl Model for Tracked<'_> {
    async fn ask(&self, model: &str, prompt: &Prompt) -> Result<ModelReply, ModelError> {
        self.begin(model);
        let outcome = self.model.ask(model, prompt).await;
        self.end(&outcome);
        outcome
    }

    async fn stream(
        &self,
        model: &str,
        prompt: &Prompt,
        listener: &mut dyn Listener,
    ) -> Result<ModelReply, ModelError> {
        self.begin(model);
        let outcome = self.model.stream(model, prompt, listener).await;
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

    /// What the circuit of a model knows after a call was dropped that had this many seconds. Before it, the circuit was
    /// open for a minute, and the call is the half-open one.
    fn dropped_after(seconds: u64) -> Breaker {
        let world = World::at(Timestamp::from_seconds(1_000));
        let policy = Policy {
            models: vec!["model-a".to_owned()],
            backoff: Backoff { attempts: 2, base: Duration::from_millis(1), cap: Duration::from_millis(1) },
            caller: Caller::Toll,
            breaker: breaker_policy(&Environment::of(&[])).unwrap(),
            longest: None,
        };
        let circuit = policy.caller.circuit("model-a").into_owned();
        let opened_at = Some(Timestamp::from_seconds(900));
        let open = Breaker { failures: 5, opened_at, open_since: opened_at, ..Breaker::default() };
        world.state().breakers.insert(circuit.clone(), (open, 1));
        let tracked = Tracked::new(&world, &world);
        let ports = Ports {
            model: &tracked,
            breakers: &world,
            alerts: &world,
            clock: &world,
            randomness: &world,
            pause: &world,
        };
        let session = SessionId::parse("cs_test_1").unwrap();
        run(Circuits { ports, policy: &policy, session: &session }.admit("model-a")).unwrap().unwrap();
        world.plan(Plan::none().whenever("model.ask", Fault::CrashBefore));
        let (instruction, content) = (String::new(), String::new());
        let prompt = Prompt { instruction, content, schema: serde_json::Value::Null, max_output_tokens: 1 };
        assert!(run(tracked.ask("model-a", &prompt)).is_none(), "it hangs");
        world.plan(Plan::none());
        world.advance(Duration::from_secs(seconds));
        run(tracked.record_dropped_call(ports, &policy, &session, Duration::from_secs(6))).unwrap();
        let (breaker, _) = world.state().breakers[&circuit].clone();
        breaker
    }

    #[test]
    fn a_dropped_call_is_a_failure_if_its_model_had_enough_time_and_leaves_no_half_open_call_behind() {
        let (late, early) = (dropped_after(6), dropped_after(5));
        assert_eq!((late.failures, late.opened_at), (6, Some(Timestamp::from_seconds(1_006))));
        assert_eq!((early.failures, early.opened_at), (5, Some(Timestamp::from_seconds(900))));
        assert_eq!((late.probing_since, early.probing_since), (None, None));
    }
}
