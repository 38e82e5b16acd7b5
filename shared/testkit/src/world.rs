//! Everything outside a function, in memory.

use crate::{
    faults::{Fault, Passage, Plan, Trouble},
    unread::Unread,
};
use domain::{
    Alert, CachedVerdict, CheckoutSession, Sale, SessionId, Submission, Timestamp,
    breaker::Breaker,
    cache_entries::{CacheDelta, CacheTotals, ListedEntry},
    chat::{Account, BillingReport, ChatSession, Login, Subscriber, SubscriberId},
    message::Message,
    metric::Measurement,
    money::{PaymentId, PaymentReport, RefundStatus},
    ports::{
        FacilitatorError, MadeRefund, MailError, MemoryRecord, ModelError, ModelReply, NewCheckoutSession,
        NewSubscription, Prompt, SubjectKey,
    },
    sale::Draft,
    smoke::Facts,
    suppression::Suppression,
    toll::{Named, Purchase},
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    future::Future,
    pin::Pin,
    sync::{Mutex, MutexGuard, PoisonError, TryLockError},
    task::{Context, Poll},
    time::Duration,
};

/// Every boundary a port of this crate can pass, by name.
pub const BOUNDARIES: [&str; 96] = [
    "accounts.load",
    "accounts.save",
    "memory.append",
    "memory.destroy_key",
    "memory.find_key",
    "memory.head",
    "memory.make_key",
    "memory.read",
    "sign_ins.begin_session",
    "sign_ins.end_session",
    "sign_ins.login",
    "sign_ins.save_login",
    "sign_ins.session",
    "sign_ins.take",
    "alerts.raise",
    "archive.find",
    "archive.keep",
    "archive.listed",
    "breaker.load",
    "breaker.save",
    "broadcast.tell",
    "cache.correct",
    "cache.documents",
    "cache.listed",
    "cache.newest",
    "cache.remove",
    "cache.remove_listed",
    "cache.totals",
    "dead_letters.keep",
    "digests.find",
    "digests.keep",
    "digests.keys",
    "digests.sign",
    "facilitator.settle",
    "facilitator.verify",
    "inbox.create_acknowledgement",
    "inbox.message",
    "inbox.new_text",
    "inbox.sale_of",
    "inbox.arrived",
    "ledger.completed_since",
    "ledger.refund",
    "ledger.refunds",
    "ledger.reports_since",
    "ledger.session_of",
    "ledger.slowest_method",
    "log.keys",
    "log.lines",
    "log.object",
    "log.originals",
    "log.publish",
    "log_notices.receive",
    "log_notices.remove",
    "mailbox.create_draft",
    "mailbox.discard_draft",
    "mailbox.draft_exists",
    "mailbox.send_draft",
    "mailbox.was_sent",
    "model.ask",
    "node.transfer",
    "node.whereabouts",
    "notes.load",
    "notes.save",
    "payments.create_session",
    "payments.promotion_code",
    "payments.session",
    "purchases.listed",
    "purchases.load",
    "purchases.name",
    "purchases.named",
    "purchases.save",
    "quarantine.held",
    "quarantine.hold",
    "queue.hide",
    "queue.send",
    "secrets.document",
    "sale_data.kept",
    "sale_data.remove",
    "sale_mails.of_sale",
    "sale_mails.remove",
    "store.all",
    "store.load",
    "store.load_with_verdict",
    "store.open",
    "store.open_followup",
    "store.save",
    "submissions.find",
    "submissions.keep",
    "subscribers.access",
    "subscribers.ending_after",
    "subscribers.load",
    "subscribers.save",
    "subscriptions.billing_since",
    "subscriptions.invoice_of",
    "subscriptions.portal",
    "subscriptions.subscribe",
];

/// A mail in the pretended mailbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The sale it is about.
    pub session: SessionId,
    /// The recipient.
    pub to: String,
    /// The subject.
    pub subject: String,
    /// The body.
    pub body: String,
}

/// The chain of USDC and its facilitator, as they are pretended.
#[derive(Debug, Default)]
pub struct Chain {
    /// Signed payments that were submitted, by payer and nonce: the transaction, and whether it paid us.
    pub used: BTreeMap<(String, String), (String, bool)>,
    /// Transfers that were made before they were shown: payer and amount, by transaction.
    pub transfers: BTreeMap<String, (String, u64)>,
    /// How often the facilitator submitted anything that the chain took.
    pub settled: u32,
    /// What the facilitator says next instead of settling.
    pub says: VecDeque<FacilitatorError>,
}

/// What the model will say next.
pub type Answer = Result<ModelReply, ModelError>;

/// A model that answers by itself, given its name and the prompt.
pub type Answering = Box<dyn FnMut(&str, &Prompt) -> Answer + Send>;

/// What every effect meets, decided when it is begun: by its name and the moment, in milliseconds.
pub type Surroundings = Box<dyn FnMut(&'static str, i64) -> Passage + Send>;

/// One effect that was begun, and what it met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The boundary.
    pub name: &'static str,
    /// What went wrong there, if anything.
    pub fault: Option<Fault>,
}

/// The contents of the world. Tests read and change it freely between runs.
#[derive(Default)]
#[allow(missing_docs)]
pub struct State {
    pub now: i64,
    /// How far the clock of the running invocation is off, in milliseconds.
    pub skew: i64,
    pub random: u64,
    pub sales: BTreeMap<SessionId, (Sale, u64)>,
    pub cache: BTreeMap<SessionId, CachedVerdict>,
    pub corrupt_cache: bool,
    /// Sales whose cache entry cannot be read.
    pub corrupt_entries: BTreeSet<SessionId>,
    /// When each entry was stored, and its bytes: what the counters count.
    pub cache_index: BTreeMap<SessionId, (Timestamp, u64)>,
    pub cache_totals: CacheTotals,
    /// Rows of the index of ages that are not ours to read.
    pub strange_rows: BTreeSet<SessionId>,
    /// Corrections of the counters, by token, and when each was made.
    pub corrections: BTreeMap<String, i64>,
    /// Entries that were taken out.
    pub removed_entries: BTreeSet<SessionId>,
    pub archive: BTreeMap<SessionId, CachedVerdict>,
    pub log: BTreeMap<String, String>,
    /// The first lines of records that were written over since, by key.
    pub log_originals: BTreeMap<String, String>,
    /// When a record came into the log: those that a test has put there itself came at the beginning of time.
    pub log_written_at: BTreeMap<String, i64>,
    /// What the records of the log count for, by key.
    pub log_measurements: BTreeMap<String, Vec<Measurement>>,
    /// What the log's bucket says of objects that came into it, by handle, and which of it is hidden.
    pub log_notices: BTreeMap<String, String>,
    pub hidden_log_notices: BTreeSet<String>,
    pub digests: BTreeMap<String, String>,
    /// Everything that was signed, in order: no two documents of one number may be in here.
    pub signed: Vec<[u8; 32]>,
    pub quarantine: Vec<(SessionId, String)>,
    /// What was sent, with how long the queue is to keep it back.
    pub queue: VecDeque<(Message, Duration)>,
    /// What was sent to a [`World::queue`], with its name and how long the queue is to keep it back.
    pub outgoing: VecDeque<(&'static str, Message, Duration)>,
    /// What a [`World::queue`] was asked to hide: its name (empty for the world itself), the receipt handle, for how
    /// long.
    pub hidden: VecDeque<(&'static str, String, Duration)>,
    pub submissions: BTreeMap<SessionId, Submission>,
    pub dead_letters: BTreeMap<String, String>,
    /// The refunds that Stripe made, each with its payment.
    pub refunds: Vec<(PaymentId, MadeRefund)>,
    /// How a new refund stands, and one that was pending.
    pub refund_status: Option<RefundStatus>,
    /// The code with which Stripe refuses to make a refund.
    pub refund_refused: Option<String>,
    /// What Stripe lists as refunds and disputes.
    pub reports: Vec<(PaymentId, PaymentReport)>,
    /// How late the slowest payment method pays.
    pub slowest_method: Duration,
    /// What is to be paid for a new session.
    pub checkout_total: Option<i64>,
    /// Payments that went back in another way: there is nothing left that a refund could give.
    pub given_back: BTreeSet<PaymentId>,
    pub breakers: BTreeMap<String, (Breaker, u64)>,
    /// Purchases in USDC.
    pub purchases: BTreeMap<SessionId, (Purchase, u64)>,
    /// Subscribers of the chat, with their versions.
    pub subscribers: BTreeMap<SubscriberId, (Subscriber, u64)>,
    /// What payers call them.
    pub purchase_names: BTreeMap<SessionId, (Named, u64)>,
    /// Accounts of the chat.
    pub accounts: BTreeMap<SubscriberId, (Account, u64)>,
    /// Links that were mailed and sessions, by the digests of their secrets.
    pub logins: BTreeMap<String, (Login, u64)>,
    pub chat_sessions: BTreeMap<String, ChatSession>,
    /// What was counted against abuse.
    pub allowances: BTreeMap<String, u32>,
    /// Logs of the memory, and its keys.
    pub memory_logs: BTreeMap<String, Vec<MemoryRecord>>,
    pub memory_keys: BTreeMap<String, SubjectKey>,
    pub memory_keys_made: u8,
    /// Sessions that the payment provider made for subscriptions.
    pub subscribing: Vec<NewSubscription>,
    /// What the payment provider has of subscriptions,
    pub billing: Vec<(SubscriberId, BillingReport)>,
    /// and the invoices of their payments.
    pub invoices: BTreeMap<PaymentId, (SubscriberId, BillingReport)>,
    /// What is known of USDC.
    pub chain: Chain,
    /// What scheduled functions remember, by name, with its version.
    pub notes: BTreeMap<String, (String, u64)>,
    pub alerts: Vec<Alert>,
    /// Suppresses alerts that were sent a moment ago; absent unless [`World::suppressing`] was asked for.
    pub suppression: Option<Suppression>,
    /// Alerts that were held back.
    pub held_back_alerts: Vec<Alert>,
    /// Alerts that no topic took: the adapter's last resort is the function's log.
    pub logged_alerts: Vec<Alert>,
    /// Measurements for CloudWatch, in the order of their recording.
    pub measurements: Vec<Measurement>,
    pub sessions: BTreeMap<SessionId, CheckoutSession>,
    /// What Stripe's test mode says under the smoke test's key.
    pub smoke_sessions: BTreeMap<SessionId, Facts>,
    pub created: Vec<NewCheckoutSession>,
    pub promotion_codes: BTreeMap<String, String>,
    pub answers: VecDeque<Answer>,
    /// Asked where `answers` has nothing left.
    pub model: Option<Answering>,
    pub prompts: Vec<(String, Prompt)>,
    /// What the mailbox answers next instead of doing what it is asked: nothing lets the call through.
    pub mailbox_says: VecDeque<Option<MailError>>,
    /// When somebody asked the mailbox to make or send a draft.
    pub mail_calls: Vec<(&'static str, i64)>,
    pub drafts: BTreeMap<String, (Draft, Delivered)>,
    pub sent: Vec<(Draft, Delivered)>,
    /// When each of them was sent.
    pub sent_at: Vec<i64>,
    /// Drafts, sent mails and messages that were removed from the mailbox; what customers have of them stays theirs.
    pub removed_mails: BTreeSet<String>,
    /// How long the sent items lag behind, in milliseconds.
    pub sent_items_lag: i64,
    /// Unread messages.
    pub inbox: Vec<Unread>,
    /// The sale of which a mail was sent in a conversation.
    pub conversations: BTreeMap<String, SessionId>,
    /// How many drafts of acknowledgements were made.
    pub acknowledgements: u32,
    /// Lines of alerts.
    pub broadcasts: Vec<String>,
    pub paused: Vec<Duration>,
    /// Every effect in order: what the run did.
    pub boundaries: Vec<&'static str>,
    /// Every effect that was begun, with what it met.
    pub crossings: Vec<Crossing>,
}

impl State {
    /// The refunds of a payment, as they stand now.
    pub fn refunds_of<'s>(&'s self, payment: &'s PaymentId) -> impl Iterator<Item = MadeRefund> + 's {
        let own = self.refunds.iter().filter(move |(of, _)| of == payment);
        own.map(|(_, made)| match made.status {
            RefundStatus::Pending => {
                MadeRefund { status: self.refund_status.unwrap_or(RefundStatus::Succeeded), ..made.clone() }
            }
            _ => made.clone(),
        })
    }

    /// Puts a verdict into the cache, as the store does together with its sale: the counters move with it.
    pub fn cache_verdict(&mut self, session: &SessionId, verdict: &CachedVerdict, stored_at: Timestamp) {
        let document = serde_json::to_string(verdict).unwrap_or_default();
        let after = (stored_at, document.len() as u64);
        let before = self.cache_index.insert(session.clone(), after).map(|(_, bytes)| bytes);
        self.cache_totals = self.cache_totals.moved(CacheDelta::between(before, Some(after.1)));
        self.cache.insert(session.clone(), verdict.clone());
        self.removed_entries.remove(session);
        self.corrupt_entries.remove(session);
    }

    /// Takes an entry out; `false` where it does not exist.
    pub(crate) fn uncache(&mut self, session: &SessionId) -> bool {
        let listed = self.cache_index.remove(session).map(|(_, bytes)| bytes);
        if listed.is_some() {
            self.cache_totals = self.cache_totals.moved(CacheDelta::between(listed, None));
        }
        let there = self.cache.remove(session).is_some() || listed.is_some();
        if there {
            self.removed_entries.insert(session.clone());
        }
        there
    }

    /// The index of ages, oldest first.
    #[must_use]
    pub fn listed_entries(&self) -> Vec<ListedEntry> {
        let listed = |(session, (stored_at, bytes)): (&SessionId, &(Timestamp, u64))| ListedEntry {
            stored_at: *stored_at,
            session: session.clone(),
            bytes: *bytes,
        };
        let mut all: Vec<_> = self.cache_index.iter().map(listed).collect();
        all.sort();
        all
    }
}

/// Everything outside a function.
#[derive(Default)]
pub struct World {
    state: Mutex<State>,
    plan: Mutex<Plan>,
    passed: Mutex<usize>,
    surroundings: Mutex<Option<Surroundings>>,
    wake: Mutex<Option<i64>>,
}

/// What came of a boundary.
enum Passed<T> {
    Answered(Result<T, Trouble>),
    Died,
}

/// A secret document of a world.
pub struct StoredSecret<'w> {
    pub(crate) world: &'w World,
    pub(crate) document: String,
}

/// One of several queues of a world.
pub struct NamedQueue<'w> {
    pub(crate) world: &'w World,
    pub(crate) name: &'static str,
}

impl World {
    /// A world at the given moment.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        let world = Self::default();
        world.state().now = now.as_millis();
        world
    }

    /// Suppresses alerts that were sent within this window, as the real topics do.
    #[must_use]
    pub fn suppressing(self, window: Duration) -> Self {
        self.state().suppression = Some(Suppression::new(window));
        self
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
        *lock(&self.plan) = plan;
        *lock(&self.passed) = 0;
    }

    /// How many boundaries were passed since the plan was set.
    #[must_use]
    pub fn passed(&self) -> usize {
        *lock(&self.passed)
    }

    /// Puts every effect into these surroundings from here on, in place of the plan: it may take time, so that
    /// handlers overlap. Who polls them asks [`World::wake`] when to poll again.
    pub fn surround(&self, surroundings: Surroundings) {
        *lock(&self.surroundings) = Some(surroundings);
    }

    /// When the handler that was polled last wants to be polled again, in milliseconds; nothing where its process
    /// died.
    pub fn wake(&self) -> Option<i64> {
        lock(&self.wake).take()
    }

    /// A queue of its own, distinguished by its name.
    #[must_use]
    pub const fn queue(&self, name: &'static str) -> NamedQueue<'_> {
        NamedQueue { world: self, name }
    }

    /// A secret document, which is fetched at every use.
    #[must_use]
    pub fn secret(&self, document: &str) -> StoredSecret<'_> {
        StoredSecret { world: self, document: document.to_owned() }
    }

    /// Lets time pass.
    pub fn advance(&self, duration: Duration) {
        self.state().now += millis(duration);
    }

    /// Waits: in surroundings until it is polled late enough, without them by letting time pass.
    pub(crate) async fn wait(&self, duration: Duration) {
        if lock(&self.surroundings).is_some() {
            self.sleep(duration).await;
        } else {
            self.advance(duration);
        }
    }

    fn sleep(&self, duration: Duration) -> Sleep<'_> {
        Sleep { world: self, until: self.state().now + millis(duration) }
    }

    /// Passes a boundary: `effect` is done, not done, done with its reply lost, or the process dies around it.
    pub(crate) async fn boundary<T: Send>(
        &self,
        name: &'static str,
        effect: impl FnOnce(&mut State) -> T + Send,
    ) -> Result<T, Trouble> {
        let passage = self.passage(name);
        self.sleep(passage.before).await;
        match self.pass(name, passage.fault, effect) {
            Passed::Answered(answer) => {
                self.sleep(passage.after).await;
                answer
            }
            Passed::Died => std::future::pending().await,
        }
    }

    fn passage(&self, name: &'static str) -> Passage {
        assert!(BOUNDARIES.contains(&name), "{name} is not among the boundaries");
        let number = {
            let mut passed = lock(&self.passed);
            *passed += 1;
            *passed - 1
        };
        let now = self.state().now;
        match lock(&self.surroundings).as_mut() {
            Some(surroundings) => surroundings(name, now),
            None => Passage { fault: lock(&self.plan).fault(number, name), ..Passage::default() },
        }
    }

    fn pass<T>(&self, name: &'static str, fault: Option<Fault>, effect: impl FnOnce(&mut State) -> T) -> Passed<T> {
        let mut state = self.state();
        state.crossings.push(Crossing { name, fault });
        if fault == Some(Fault::CrashBefore) {
            return Passed::Died;
        }
        state.boundaries.push(name);
        match fault {
            Some(Fault::Fail) => return Passed::Answered(Err(Trouble::Failed)),
            Some(Fault::Refuse(status)) => return Passed::Answered(Err(Trouble::Refused(status))),
            _ => {}
        }
        let answer = effect(&mut state);
        match fault {
            Some(Fault::LoseReply) => Passed::Answered(Err(Trouble::Failed)),
            Some(Fault::CrashAfter) => Passed::Died,
            _ => Passed::Answered(Ok(answer)),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Ready once the world's time has come, and not woken before: a poller asks [`World::wake`].
struct Sleep<'w> {
    world: &'w World,
    until: i64,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<()> {
        if self.world.state().now >= self.until {
            return Poll::Ready(());
        }
        *lock(&self.world.wake) = Some(self.until);
        Poll::Pending
    }
}
