//! The contents of a world.
//! The file has more than 300 lines because every store and every record of calls is a documented field of one state.

use crate::{
    faults::{Fault, Passage},
    random::Random,
    unread::Unread,
};
use domain::{
    Alert, CachedVerdict, CheckoutSession, Sale, SessionId, Submission, Timestamp,
    breaker::Breaker,
    cache_entries::{CacheDelta, CacheTotals, ListedEntry},
    chat::{Account, BillingReport, Bridge, ChatSession, ExchangeId, Login, Subscriber, SubscriberId},
    message::Message,
    metric::{Measurement, Metric},
    money::{ObjectId, PaymentId, PaymentReport, RefundStatus},
    ports::{
        FacilitatorError, MadeRefund, MailError, MemoryRecord, ModelError, ModelReply, NewCheckoutSession,
        NewSubscription, Prompt, SubjectKey, UnknownRefund, Versioned,
    },
    relay::{RelayDraft, RelayDraftId, RelayMail},
    sale::Draft,
    smoke::Facts,
    suppression::Suppression,
    toll::{CorpusVersion, Named, PaidBy, Purchase},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

/// A mail in the simulated mailbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The sale that it is about.
    pub session: SessionId,
    /// The recipient.
    pub to: String,
    /// The subject.
    pub subject: String,
    /// The body.
    pub body: String,
}

/// The simulated chain of USDC and its facilitator.
#[derive(Debug, Default)]
pub struct Chain {
    /// Signed payments that were submitted, by payer and nonce: the transaction, and whether it paid us.
    pub used: BTreeMap<(String, String), (String, bool)>,
    /// Whether the node has no receipt of a transaction that used a signed payment.
    pub has_no_receipts: bool,
    /// How far the chain's clock is behind ours, in milliseconds.
    pub behind: i64,
    /// Transfers that were made before the purchase: payer and amount, by transaction.
    pub transfers: BTreeMap<String, (String, u64)>,
    /// The other transfers to us in such a transaction.
    pub beside: BTreeMap<String, Vec<PaidBy>>,
    /// When such a transfer was made, in milliseconds; one without an entry is new.
    pub transferred_at: BTreeMap<String, i64>,
    /// The number of payments that the facilitator submitted and the chain accepted.
    pub settled: u32,
    /// The facilitator's next replies, in place of a check.
    pub checks: VecDeque<FacilitatorError>,
    /// The facilitator's next replies, in place of a settlement.
    pub says: VecDeque<FacilitatorError>,
}

/// A reply of the model.
pub type Answer = Result<ModelReply, ModelError>;

/// A model that computes its replies from its name and the prompt.
pub type Answering = Box<dyn FnMut(&str, &Prompt) -> Answer + Send>;

/// Decides the conditions of every effect when it begins: by its name and the time, in milliseconds.
pub type Surroundings = Box<dyn FnMut(&'static str, i64) -> Passage + Send>;

/// One effect that began, with its fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The boundary.
    pub name: &'static str,
    /// The fault, if any.
    pub fault: Option<Fault>,
}

/// The contents of the world. Tests read and change it freely between runs.
#[derive(Default)]
#[allow(missing_docs)]
pub struct State {
    pub now: i64,
    /// The error of the running invocation's clock, in milliseconds.
    pub skew: i64,
    pub random: Random,
    pub sales: BTreeMap<SessionId, (Sale, u64)>,
    pub cache: BTreeMap<SessionId, CachedVerdict>,
    pub corrupt_cache: bool,
    /// Sales whose cache entry cannot be read.
    pub corrupt_entries: BTreeSet<SessionId>,
    /// When each entry was stored, and its bytes, as the counters count them.
    pub cache_index: BTreeMap<SessionId, (Timestamp, u64)>,
    pub cache_totals: CacheTotals,
    /// Rows of the index of ages that are not cache entries.
    pub strange_rows: BTreeSet<SessionId>,
    /// Corrections of the counters by token, with the time of each.
    pub corrections: BTreeMap<String, i64>,
    /// Entries that were removed.
    pub removed_entries: BTreeSet<SessionId>,
    pub archive: BTreeMap<SessionId, CachedVerdict>,
    pub log: BTreeMap<String, String>,
    /// Keys of objects of the log that cannot be read.
    pub log_unreadable: BTreeSet<String>,
    /// The original lines of records that were overwritten since, by key.
    pub log_originals: BTreeMap<String, String>,
    /// When a record came into the log; a record that a test has put there itself came at time zero.
    pub log_written_at: BTreeMap<String, i64>,
    /// The counted measurements of the log's records, by key: of those whose writer got a reply.
    pub log_measurements: BTreeMap<String, Vec<Measurement>>,
    /// The log bucket's messages about new objects, by handle, and the handles of those that are hidden.
    pub log_notices: BTreeMap<String, String>,
    pub hidden_log_notices: BTreeSet<String>,
    pub digests: BTreeMap<String, String>,
    /// Everything that was signed, in order: it must not contain two documents with one number.
    pub signed: Vec<[u8; 32]>,
    pub quarantine: Vec<(SessionId, String)>,
    /// The sent messages, with the delay of each.
    pub queue: VecDeque<(Message, Duration)>,
    /// The messages that were sent to a [`World::queue`], with its name and the delay.
    pub outgoing: VecDeque<(&'static str, Message, Duration)>,
    /// The messages that a [`World::queue`] had to hide: its name (empty for the world itself), the receipt handle, and
    /// for how long.
    pub hidden: VecDeque<(&'static str, String, Duration)>,
    /// The bodies that a [`World::queue`] sent to its dead letters, with its name (empty for the world itself).
    pub put_aside: VecDeque<(&'static str, String)>,
    pub submissions: BTreeMap<SessionId, Submission>,
    pub dead_letters: BTreeMap<String, String>,
    /// The refunds that Stripe made, each with its payment.
    pub refunds: Vec<(PaymentId, MadeRefund)>,
    /// Refunds of every payment whose status no version knows.
    pub unknown_refunds: Vec<UnknownRefund>,
    /// The status of a new refund, and the later status of a pending one.
    pub refund_status: Option<RefundStatus>,
    /// The code with which Stripe refuses to make a refund.
    pub refund_refused: Option<String>,
    /// Stripe's lists of refunds and disputes, each with the time of its creation.
    pub reports: Vec<(Timestamp, PaymentId, PaymentReport)>,
    /// Objects in Stripe's lists of reports that cannot be read.
    pub unreadable: Vec<ObjectId>,
    /// The time after which the slowest payment method pays.
    pub slowest_method: Duration,
    /// The amount to pay in a new session.
    pub checkout_total: Option<i64>,
    /// Payments that went back by other means: nothing is left to refund.
    pub given_back: BTreeSet<PaymentId>,
    pub breakers: BTreeMap<String, (Breaker, u64)>,
    /// Purchases in USDC.
    pub purchases: BTreeMap<SessionId, (Purchase, u64)>,
    /// Subscribers of the chat, with their versions.
    pub subscribers: BTreeMap<SubscriberId, (Subscriber, u64)>,
    /// Indexes of corpora.
    pub corpora: BTreeMap<CorpusVersion, Vec<u8>>,
    /// Bridges, with their versions.
    pub bridges: BTreeMap<SubscriberId, (Bridge, u64)>,
    /// Payers' names for purchases.
    pub purchase_names: BTreeMap<SessionId, (Named, u64)>,
    /// Accounts of the chat.
    pub accounts: BTreeMap<SubscriberId, (Account, u64)>,
    /// The sealed beginnings of their replies.
    pub beginnings: BTreeMap<(SubscriberId, ExchangeId), String>,
    /// Mailed sign-in links and sessions, by the digests of their secrets.
    pub logins: BTreeMap<String, (Login, u64)>,
    pub chat_sessions: BTreeMap<String, ChatSession>,
    /// The counters against abuse.
    pub allowances: BTreeMap<String, u32>,
    /// Counted questions about ids that may be made up, by window and group.
    pub unknown_ids: BTreeMap<(String, u8), u32>,
    /// Logs of the memory, and its keys.
    pub memory_logs: BTreeMap<String, Vec<MemoryRecord>>,
    pub memory_keys: BTreeMap<String, SubjectKey>,
    pub memory_keys_made: u32,
    /// The subjects whose keys are destroyed.
    pub memory_keys_destroyed: BTreeSet<String>,
    /// Sessions that the payment provider made for subscriptions.
    pub subscribing: Vec<NewSubscription>,
    /// The customers who were deleted at the payment provider.
    pub deleted_customers: BTreeSet<ObjectId>,
    /// The payment provider's data about subscriptions, with the times at which its objects were created.
    pub billing: Vec<(Timestamp, SubscriberId, BillingReport)>,
    /// The invoices of their payments.
    pub invoices: BTreeMap<PaymentId, (SubscriberId, BillingReport)>,
    /// The chain.
    pub chain: Chain,
    /// The saved state of scheduled functions by name, with its version.
    pub notes: BTreeMap<String, (String, u64)>,
    pub alerts: Vec<Alert>,
    /// Deduplicates alerts; absent without [`World::suppressing`].
    pub suppression: Option<Suppression>,
    /// Alerts that were held back.
    pub held_back_alerts: Vec<Alert>,
    /// Alerts that no topic accepted: the adapter's last resort is the function's log.
    pub logged_alerts: Vec<Alert>,
    /// Measurements for CloudWatch, in the order of their recording.
    pub measurements: Vec<Measurement>,
    pub sessions: BTreeMap<SessionId, CheckoutSession>,
    /// The data of Stripe's test mode for the smoke test's key.
    pub smoke_sessions: BTreeMap<SessionId, Facts>,
    pub created: Vec<NewCheckoutSession>,
    pub promotion_codes: BTreeMap<String, String>,
    /// Whether our key belongs to the payment provider's other mode.
    pub other_mode: bool,
    pub answers: VecDeque<Answer>,
    /// Replies when `answers` is empty.
    pub model: Option<Answering>,
    /// How long the model takes for each further sentence of a streamed reply.
    pub sentence_time: Duration,
    pub prompts: Vec<(String, Prompt)>,
    /// The mailbox's next errors; `None` lets a call through.
    pub mailbox_says: VecDeque<Option<MailError>>,
    /// Until this time the mailbox does not answer searches.
    pub mailbox_returns_at: i64,
    /// The calls that make or send a draft, with their times.
    pub mail_calls: Vec<(&'static str, i64)>,
    pub drafts: BTreeMap<String, (Draft, Delivered)>,
    /// Whether a service that keeps no mails sends them.
    pub relays_mails: bool,
    /// The drafts of its mails, with the claims on them in the order of their making.
    pub relay_drafts: BTreeMap<RelayDraftId, Versioned<RelayDraft>>,
    pub relay_claims: Vec<(RelayDraftId, RelayMail)>,
    /// The sales of the mails that it has sent, by its ids.
    pub relay_links: BTreeMap<String, SessionId>,
    pub sent: Vec<(Draft, Delivered)>,
    /// When each of them was sent.
    pub sent_at: Vec<i64>,
    /// Drafts, sent mails and messages that were removed from the mailbox; customers keep their copies.
    pub removed_mails: BTreeSet<String>,
    /// The lag of the sent-items folder, in milliseconds.
    pub sent_items_lag: i64,
    /// How long a draft that was sent is still a draft, and can be sent again, in milliseconds.
    pub draft_lag: i64,
    /// Unread messages.
    pub inbox: Vec<Unread>,
    /// The sale that a mail in this conversation is about.
    pub conversations: BTreeMap<String, SessionId>,
    /// The number of created drafts of acknowledgements.
    pub acknowledgements: u32,
    /// The sales that drafts of acknowledgements name to the mailbox.
    pub acknowledged: BTreeMap<String, SessionId>,
    /// Lines of alerts.
    pub broadcasts: Vec<String>,
    pub paused: Vec<Duration>,
    /// Every effect of the run, in order.
    pub boundaries: Vec<&'static str>,
    /// Every effect that began, with its fault.
    pub crossings: Vec<Crossing>,
}

impl State {
    /// The model's outcome of one call.
    pub(crate) fn asked(&mut self, model: &str, prompt: &Prompt) -> Result<ModelReply, ModelError> {
        self.prompts.push((model.to_owned(), prompt.clone()));
        let next = self.answers.pop_front();
        next.or_else(|| self.model.as_mut().map(|answer| answer(model, prompt)))
            .unwrap_or(Err(ModelError::Unavailable(503)))
    }

    /// The draft with this id, unless it was sent longer ago than the lag.
    pub(crate) fn draft(&self, id: &str) -> Option<&(Draft, Delivered)> {
        let is_moved = || {
            let mut sent = self.sent.iter().zip(&self.sent_at);
            sent.any(|((sent, _), at)| sent.id == id && at + self.draft_lag <= self.now)
        };
        self.drafts.get(id).filter(|_| self.draft_lag == 0 || !is_moved())
    }

    /// The refunds of a payment, with their current status.
    pub fn refunds_of<'s>(&'s self, payment: &'s PaymentId) -> impl Iterator<Item = MadeRefund> + 's {
        let own = self.refunds.iter().filter(move |(of, _)| of == payment);
        own.map(|(_, made)| match made.status {
            RefundStatus::Pending => {
                MadeRefund { status: self.refund_status.unwrap_or(RefundStatus::Succeeded), ..made.clone() }
            }
            _ => made.clone(),
        })
    }

    /// How many records of the log have counted a metric. A record that is counted twice is one here.
    #[must_use]
    pub fn counted(&self, metric: Metric) -> usize {
        self.log_measurements.values().flatten().filter(|measurement| measurement.metric == metric).count()
    }

    /// How many measurements of a metric were recorded, apart from those of the log's records.
    #[must_use]
    pub fn measured(&self, metric: Metric) -> usize {
        self.measurements.iter().filter(|measurement| measurement.metric == metric).count()
    }

    /// The records of the log, in the order of their keys.
    ///
    /// # Panics
    /// When one of them is not JSON.
    #[must_use]
    pub fn records(&self) -> Vec<Value> {
        let parse =
            |line: &String| serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.log.values().map(parse).collect()
    }

    /// Caches a verdict, as the store does together with its sale, and updates the counters.
    pub fn cache_verdict(&mut self, session: &SessionId, verdict: &CachedVerdict, stored_at: Timestamp) {
        let document = serde_json::to_string(verdict).unwrap_or_default();
        let after = (stored_at, document.len() as u64);
        let before = self.cache_index.insert(session.clone(), after).map(|(_, bytes)| bytes);
        self.cache_totals = self.cache_totals.moved(CacheDelta::between(before, Some(after.1)));
        self.cache.insert(session.clone(), verdict.clone());
        self.removed_entries.remove(session);
        self.corrupt_entries.remove(session);
    }

    /// Removes an entry; `false` if it does not exist.
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
