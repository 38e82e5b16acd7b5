//! Commits changes of a state together with their audit records and alerts, and publishes these.
//!
//! This is the only outbox protocol, for sales and other states with an audit trail ([`crate::StreamJournal`]) and for
//! scheduled functions ([`crate::FunctionJournal`]):
//!
//! 1. A change is decided on a loaded state and saved with its records and alerts (its outbox), on condition that no
//!    other process saved in between; after a conflict the state is loaded and decided again.
//! 2. The alerts are raised and the records written to the log, in their order.
//! 3. The emptied outbox is saved ([`Committed::settle`]), so that the next step need not publish it again.
//!
//! If a process crashes after 1, the next one publishes the same objects under the same keys: a record is written once,
//! an alert is raised at least once. A failing log blocks nothing (Audit Trail, failure mode 1): the records wait in
//! the saved state, operators are alerted, and the next step publishes them.
//!
//! The file has more than 300 lines because the whole protocol is in one place: its types, the trait of a journaled
//! state, and its steps, each with its documentation.

use crate::{
    record::Record,
    sale_events::{self, Context},
};
use domain::{
    Alert, ErrorCode, Sale, StepError, Timestamp,
    alert::Severity,
    ports::{Alerts, AuditLog, Clock, Published, SaveError, StorageError, Versioned},
    sale::{AuditEntry, Claim, Event},
};
use std::future::Future;

/// The number of attempts at a conflicting commit before it fails.
const MAX_CONFLICTS: u32 = 16;

/// A decision about a state: the answer, and the effects if the state changes. Without effects the state stays as it was
/// loaded. Adding a record or an alert makes a change, so neither can be lost because nothing is saved. `R` is the kind of
/// record: a sale's, or a scheduled function's.
#[derive(Debug)]
pub struct Change<T, R = Record> {
    effects: Option<Effects<R>>,
    /// The result for the caller.
    pub answer: T,
}

/// The records and alerts that are saved with a changed state.
#[derive(Debug)]
pub struct Effects<R> {
    /// The records of the change, in the order of their stream.
    pub records: Vec<R>,
    /// Alerts about the change: raised once it is saved, and again if the process crashes before that.
    pub alerts: Vec<Alert>,
}

impl<R> Default for Effects<R> {
    fn default() -> Self {
        Self { records: Vec::new(), alerts: Vec::new() }
    }
}

impl<T> Change<T> {
    /// A transition of a sale, with its records. `context` has the facts for the log beyond the event.
    pub fn of(event: &Event, context: &Context, answer: T) -> Self {
        Self::recorded(sale_events::records(event, context), answer)
    }
}

impl Change<bool> {
    /// A transition of a sale, with its records; nothing if the sale refused it. The answer is whether it was made.
    pub fn made<E>(made: Result<Event, E>, context: &Context) -> Self {
        made.map_or_else(|_| Self::nothing(false), |event| Self::of(&event, context, true))
    }

    /// The same for a paid sale that turned out unusable. Operators are alerted if its customer is not asked.
    pub fn unusable<E>(made: Result<Event, E>, sale: &Sale, component: &str, context: &Context) -> Self {
        let change = Self::made(made, context);
        let is_unannounced = change.answer && !sale.is_drop_open();
        let (severity, now, id) = (Severity::Critical, context.now, sale.session_id());
        let alert = || Alert::event(component, severity, now, "UNUSABLE", id, Sale::UNANNOUNCED);
        change.alerting_all(is_unannounced.then(alert))
    }
}

impl Change<Claim> {
    /// A claim on a sale's work, without a record; nothing unless it was granted.
    #[must_use]
    pub fn claimed(claim: Claim) -> Self {
        if claim == Claim::Granted { Self::save(claim) } else { Self::nothing(claim) }
    }
}

impl<R> Change<(), R> {
    /// A transition without a record; nothing if the state refused it.
    pub fn saved<T, E>(made: Result<T, E>) -> Self {
        if made.is_ok() { Self::save(()) } else { Self::nothing(()) }
    }
}

impl<T, R> Change<T, R> {
    /// Nothing changes.
    pub const fn nothing(answer: T) -> Self {
        Self { effects: None, answer }
    }

    /// The state changes.
    pub const fn save(answer: T) -> Self {
        Self::recorded(Vec::new(), answer)
    }

    /// The state changes, with these records.
    pub const fn recorded(records: Vec<R>, answer: T) -> Self {
        Self { effects: Some(Effects { records, alerts: Vec::new() }), answer }
    }

    /// The state changes, with these records; nothing changes without one.
    pub fn recorded_if_any(records: Vec<R>, answer: T) -> Self {
        if records.is_empty() { Self::nothing(answer) } else { Self::recorded(records, answer) }
    }

    /// Adds an alert.
    #[must_use]
    pub fn alerting(mut self, alert: Alert) -> Self {
        self.effects.get_or_insert_default().alerts.push(alert);
        self
    }

    /// Adds alerts. Without any, the change stays as it is.
    #[must_use]
    pub fn alerting_all(self, alerts: impl IntoIterator<Item = Alert>) -> Self {
        alerts.into_iter().fold(self, Self::alerting)
    }

    /// Adds a record.
    #[must_use]
    pub fn with_record(mut self, record: R) -> Self {
        self.effects.get_or_insert_default().records.push(record);
        self
    }

    /// The records and alerts; `None` if nothing changes.
    pub const fn effects(&self) -> Option<&Effects<R>> {
        self.effects.as_ref()
    }

    /// The same change with another answer.
    pub fn map<U>(self, answer: impl FnOnce(T) -> U) -> Change<U, R> {
        Change { effects: self.effects, answer: answer(self.answer) }
    }
}

/// Why a commit did not happen.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Other processes kept changing the state.
    #[error("the record kept changing")]
    Contended,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<CommitError> for StepError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Contended => ErrorCode::Contended.of(error),
            CommitError::Storage(error) => error.into(),
        }
    }
}

/// Why records still wait in an outbox.
#[derive(Debug)]
pub enum Unpublished {
    /// Another record has the place of the first of them.
    Forked,
    /// The log failed.
    Failed(StorageError),
}

impl Unpublished {
    /// The reason, as the alert states it.
    pub(crate) fn detail(&self) -> String {
        match self {
            Self::Forked => "audit stream forked: the place of a record is taken".to_owned(),
            Self::Failed(error) => format!("audit record not written, kept for the next step: {}", error.operation),
        }
    }
}

/// The consequence of records that could not be published.
#[derive(Debug)]
pub struct Refusal {
    /// An alert for operators.
    pub alert: Option<Alert>,
    /// Whether the records have new places, and are saved and published once more.
    pub republish: bool,
}

/// The ports that every journal needs.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub log: &'a dyn AuditLog,
    pub alerts: &'a dyn Alerts,
    pub clock: &'a dyn Clock,
}

/// The unpublished records and alerts of a state.
#[derive(Debug)]
pub struct Outbox<'s> {
    /// Records, in the order of their stream.
    pub entries: &'s mut Vec<AuditEntry>,
    /// Alerts.
    pub alerts: &'s mut Vec<Alert>,
}

impl Outbox<'_> {
    /// Whether it is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.alerts.is_empty()
    }
}

/// A kind of state that is saved with its outbox: the parts of the protocol that depend on the kind.
pub trait Journaled: Copy + Send + Sync {
    /// The state.
    type State: Clone + Send + Sync;
    /// A record that has no place in the state's stream yet.
    type Record: Send;
    /// What a change may save in the same write, beside the state.
    type Beside: Send + Sync;

    /// The ports.
    fn ports(&self) -> Ports<'_>;

    /// The state's outbox.
    fn outbox(state: &mut Self::State) -> Outbox<'_>;

    /// Whether the outbox is published before a change is decided, so that it cannot outgrow its store.
    fn publishes_first(state: &Self::State) -> bool;

    /// Loads the version that another process saved.
    fn reload(&self, state: &Self::State) -> impl Future<Output = Result<Versioned<Self::State>, StorageError>> + Send;

    /// Saves the state, on condition that the stored version is the expected one. Returns the new version.
    fn save(
        &self,
        state: &Self::State,
        expected: u64,
        beside: Option<&Self::Beside>,
    ) -> impl Future<Output = Result<u64, SaveError>> + Send;

    /// Applies effects to the state: the records go into its stream, the alerts into its outbox.
    fn apply(&self, state: &mut Self::State, effects: Effects<Self::Record>, now: Timestamp);

    /// Called when the log accepted the records.
    fn log_works(&self, _state: &mut Self::State, _now: Timestamp) {}

    /// Called when the log did not accept the records.
    fn log_refuses(&self, state: &mut Self::State, reason: &Unpublished, now: Timestamp) -> Refusal;

    /// Whether a state whose outbox was published is worth saving once more: only if nothing waits any more.
    fn is_worth_settling(state: &mut Self::State) -> bool {
        Self::outbox(state).is_empty()
    }
}

/// A commit that has to be ended: the saved state, and the decision's answer. Only the methods that end it give access
/// to them, so a commit that nobody ends is an unused value, which the compiler reports.
#[must_use = "end a commit with `settle`, or with `unsettled` where a later commit of the same step follows"]
pub struct Committed<J: Journaled, T> {
    journal: J,
    state: Versioned<J::State>,
    answer: T,
    was_saved: bool,
    had_outbox: bool,
}

impl<J: Journaled, T> Committed<J, T> {
    /// Ends the step: saves the emptied outbox, if there was one. After a decision that changed nothing, publishes what
    /// an earlier step could not. Correctness depends on neither, because the log recognises a record that it has.
    pub async fn settle(mut self) -> (Versioned<J::State>, T) {
        if self.was_saved {
            settle(&self.journal, &mut self.state, self.had_outbox).await;
        } else {
            flush(&self.journal, &mut self.state).await;
        }
        (self.state, self.answer)
    }

    /// Leaves the end to a later commit of the same step: that one saves the emptied outbox with its own change. Only
    /// allowed where such a commit follows whenever this one saved something. If the step fails before it, the next step
    /// publishes again.
    pub fn unsettled(self) -> (Versioned<J::State>, T) {
        (self.state, self.answer)
    }

    /// Ends the step, unless `continues` says that a later commit of the same step follows.
    pub async fn settle_unless(self, continues: impl FnOnce(&J::State, &T) -> bool) -> (Versioned<J::State>, T) {
        if continues(&self.state.value, &self.answer) { self.unsettled() } else { self.settle().await }
    }
}

/// Lets `decide` change the state and saves it with its records and alerts; then publishes these. `decide` runs again
/// on the newer state after a conflict, so its result must depend only on the state and the time. What it returns beside
/// the change is saved in the same write, and makes a change as a record does.
pub(crate) async fn commit<J: Journaled, T: Send>(
    journal: J,
    mut current: Versioned<J::State>,
    decide: impl Fn(&mut J::State, Timestamp) -> (Change<T, J::Record>, Option<Box<J::Beside>>) + Send + Sync,
) -> Result<Committed<J, T>, CommitError> {
    for _ in 0..MAX_CONFLICTS {
        let Versioned { mut value, version } = current;
        let is_first = J::publishes_first(&value);
        let published = if is_first { publish(&journal, &mut value).await } else { Ok(()) };
        let now = journal.ports().clock.now();
        let (effects, beside, answer) = {
            // On a copy: if `decide` makes no change, the state stays as loaded. It is saved nevertheless if something
            // of it was published first.
            let mut decided = value.clone();
            let (Change { effects, answer }, beside) = decide(&mut decided, now);
            let effects = effects.or_else(|| beside.is_some().then(Effects::default));
            if effects.is_some() {
                value = decided;
            }
            (effects, beside, answer)
        };
        if effects.is_none() && !is_first {
            let state = Versioned { value, version };
            return Ok(Committed { journal, state, answer, was_saved: false, had_outbox: false });
        }
        if is_first && published.is_ok() {
            journal.log_works(&mut value, now);
        }
        journal.apply(&mut value, effects.unwrap_or_default(), now);
        match journal.save(&value, version, beside.as_deref()).await {
            Ok(version) => {
                let had_outbox = !J::outbox(&mut value).is_empty();
                let mut state = Versioned { value, version };
                deliver(&journal, &mut state, published).await;
                return Ok(Committed { journal, state, answer, was_saved: true, had_outbox });
            }
            Err(SaveError::Conflict) => current = journal.reload(&value).await?,
            Err(SaveError::Storage(error)) => return Err(error.into()),
        }
    }
    Err(CommitError::Contended)
}

/// Publishes what an earlier step could not, if anything waits.
pub(crate) async fn flush<J: Journaled>(journal: &J, state: &mut Versioned<J::State>) {
    if !J::outbox(&mut state.value).is_empty() {
        deliver(journal, state, Ok(())).await;
        settle(journal, state, true).await;
    }
}

/// Saves the emptied outbox, if there was one.
async fn settle<J: Journaled>(journal: &J, state: &mut Versioned<J::State>, had_outbox: bool) {
    // After a conflict, the other process publishes; after a failure, the next step publishes again.
    if had_outbox
        && J::is_worth_settling(&mut state.value)
        && let Ok(version) = journal.save(&state.value, state.version, None).await
    {
        state.version = version;
    }
}

/// Raises the alerts, then publishes the records. A log that has just failed is not tried again.
async fn deliver<J: Journaled>(journal: &J, state: &mut Versioned<J::State>, mut published: Result<(), Unpublished>) {
    let Ports { alerts, clock, .. } = journal.ports();
    for alert in std::mem::take(J::outbox(&mut state.value).alerts) {
        alerts.raise(alert).await;
    }
    if published.is_ok() {
        published = publish(journal, &mut state.value).await;
    }
    for _ in 0..2 {
        let Err(reason) = published else { return };
        let Refusal { alert, republish } = journal.log_refuses(&mut state.value, &reason, clock.now());
        if let Some(alert) = alert {
            alerts.raise(alert).await;
        }
        if !republish {
            return;
        }
        // Saved before publishing: a record must not be in the log under two numbers.
        let Ok(version) = journal.save(&state.value, state.version, None).await else { return };
        state.version = version;
        published = publish(journal, &mut state.value).await;
    }
}

/// Writes the records to the log, in their order, and removes each one that the log has.
async fn publish<J: Journaled>(journal: &J, state: &mut J::State) -> Result<(), Unpublished> {
    let log = journal.ports().log;
    let entries = J::outbox(state).entries;
    while let Some(entry) = entries.first() {
        match log.publish(entry).await {
            Ok(Published::Written | Published::AlreadyThere) => {}
            Ok(Published::Forked) => return Err(Unpublished::Forked),
            Err(error) => return Err(Unpublished::Failed(error)),
        }
        entries.remove(0);
    }
    Ok(())
}
