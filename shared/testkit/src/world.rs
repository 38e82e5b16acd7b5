//! Everything outside a function, in memory.

use crate::faults::{Fault, Plan};
use domain::{
    Alert, CachedVerdict, CheckoutSession, Sale, SessionId, Submission, Timestamp,
    breaker::Breaker,
    message::Message,
    money::PaymentId,
    ports::{MailError, ModelError, ModelReply, NewCheckoutSession, Prompt, RefundStatus},
    sale::Draft,
};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError, TryLockError},
};

/// A mail in the pretended mailbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The recipient.
    pub to: String,
    /// The subject.
    pub subject: String,
    /// The body.
    pub body: String,
}

/// What the model will say next.
pub type Answer = Result<ModelReply, ModelError>;

/// The contents of the world. Tests read and change it freely between runs.
#[derive(Default)]
#[allow(missing_docs)]
pub struct State {
    pub now: i64,
    pub random: u64,
    pub sales: BTreeMap<SessionId, (Sale, u64)>,
    pub cache: BTreeMap<SessionId, CachedVerdict>,
    pub corrupt_cache: bool,
    pub archive: BTreeMap<SessionId, CachedVerdict>,
    pub log: BTreeMap<String, String>,
    pub quarantine: Vec<(SessionId, String)>,
    /// What was sent, with how long the queue is to keep it back.
    pub queue: VecDeque<(Message, std::time::Duration)>,
    pub submissions: BTreeMap<SessionId, Submission>,
    pub dead_letters: BTreeMap<String, String>,
    /// What became of payments: how often each was given back, by idempotency key.
    pub refunds: BTreeMap<String, PaymentId>,
    pub refund_status: Option<RefundStatus>,
    pub breakers: BTreeMap<String, (Breaker, u64)>,
    pub alerts: Vec<Alert>,
    /// Alerts that no topic took: the adapter's last resort is the function's log.
    pub logged_alerts: Vec<Alert>,
    pub sessions: BTreeMap<SessionId, CheckoutSession>,
    pub created: Vec<NewCheckoutSession>,
    pub promotion_codes: BTreeMap<String, String>,
    pub answers: VecDeque<Answer>,
    pub prompts: Vec<(String, Prompt)>,
    /// What the mailbox answers next instead of doing what it is asked: nothing lets the call through.
    pub mailbox_says: VecDeque<Option<MailError>>,
    /// When somebody asked the mailbox to make or send a draft.
    pub mail_calls: Vec<(&'static str, i64)>,
    pub drafts: BTreeMap<String, (Draft, Delivered)>,
    pub sent: Vec<(Draft, Delivered)>,
    pub paused: Vec<std::time::Duration>,
    /// Every effect in order: what the run did.
    pub boundaries: Vec<&'static str>,
}

/// Everything outside a function.
#[derive(Default)]
pub struct World {
    state: Mutex<State>,
    plan: Mutex<Plan>,
    passed: Mutex<usize>,
}

/// What came of a boundary.
enum Passed<T> {
    Answered(Option<T>),
    Died,
}

impl World {
    /// A world at the given moment.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        let world = Self::default();
        world.state().now = now.as_millis();
        world
    }

    /// The contents.
    ///
    /// # Panics
    /// When the test holds them already: a world is used by one thread, so waiting would last for ever.
    pub fn state(&self) -> MutexGuard<'_, State> {
        match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => panic!("the world's state is held by this test already"),
        }
    }

    /// Sets what goes wrong from here on; boundaries count from 0 again.
    pub fn plan(&self, plan: Plan) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = plan;
        *self.passed.lock().unwrap_or_else(PoisonError::into_inner) = 0;
    }

    /// How many boundaries were passed since the plan was set.
    #[must_use]
    pub fn passed(&self) -> usize {
        *self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets time pass.
    pub fn advance(&self, duration: std::time::Duration) {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        self.state().now += millis;
    }

    /// Passes a boundary: `effect` is done, not done, done with its reply lost, or the process dies around it.
    pub(crate) async fn boundary<T>(&self, name: &'static str, effect: impl FnOnce(&mut State) -> T) -> Option<T> {
        match self.pass(name, effect) {
            Passed::Answered(answer) => answer,
            Passed::Died => std::future::pending().await,
        }
    }

    fn pass<T>(&self, name: &'static str, effect: impl FnOnce(&mut State) -> T) -> Passed<T> {
        let number = {
            let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
            *passed += 1;
            *passed - 1
        };
        let fault = self.plan.lock().unwrap_or_else(PoisonError::into_inner).fault(number, name);
        if fault == Some(Fault::CrashBefore) {
            return Passed::Died;
        }
        let mut state = self.state();
        state.boundaries.push(name);
        if fault == Some(Fault::Fail) {
            return Passed::Answered(None);
        }
        let answer = effect(&mut state);
        match fault {
            Some(Fault::LoseReply) => Passed::Answered(None),
            Some(Fault::CrashAfter) => Passed::Died,
            _ => Passed::Answered(Some(answer)),
        }
    }
}
