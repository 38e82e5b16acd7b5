//! The journal of states with an audit trail: chat accounts, subscribers, purchases. Each state has a stream of
//! records of its own and is saved with its records and alerts.

use crate::{
    chain,
    journal::{self, Change, CommitError, Committed, Journaled, Outbox, Ports, Refusal, Unpublished},
    record::Record,
    stream::Stream,
};
use domain::{
    Alert, CachedVerdict, Timestamp,
    alert::Severity,
    audit_trail::StateId,
    ports::{Alerts, AuditLog, Clock, SaveError, StorageError, Store, Versioned},
};

/// The ports of a state's commit.
pub struct StreamJournal<'a, S: Stream> {
    /// The store of the state.
    pub store: &'a S::Store,
    /// The log.
    pub log: &'a dyn AuditLog,
    /// Operators.
    pub alerts: &'a dyn Alerts,
    /// Time.
    pub clock: &'a dyn Clock,
}

impl<S: Stream> Copy for StreamJournal<'_, S> {}
impl<S: Stream> Clone for StreamJournal<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, S: Stream> StreamJournal<'a, S> {
    /// Loads the state, or the one that exists before anything is stored.
    ///
    /// # Errors
    /// [`StorageError`], also for a state that is not stored and does not begin empty.
    pub async fn load(&self, id: &S::Id) -> Result<Versioned<S>, StorageError> {
        let found = self.store.load(id).await?;
        let unstored = || S::unstored(id).map(|value| Versioned { value, version: 0 });
        found.or_else(unstored).ok_or_else(|| StorageError { operation: "state read", source: "it is gone".into() })
    }

    /// Lets `decide` change the state and saves it with its records and alerts; then publishes these. `decide` runs
    /// again on the newer state after a conflict, so its result must depend on nothing but the state and the time.
    ///
    /// # Errors
    /// [`CommitError`]: nothing was changed, or the change was saved and the reply got lost. The caller repeats its
    /// step on the stored state.
    pub async fn commit<T: Send>(
        &self,
        state: Versioned<S>,
        decide: impl Fn(&mut S, Timestamp) -> Change<T> + Send + Sync,
    ) -> Result<Committed<StreamJournal<'a, S>, T>, CommitError> {
        journal::commit(*self, state, decide).await
    }

    /// Publishes what an earlier step could not.
    pub async fn flush(&self, mut state: Versioned<S>) -> Versioned<S> {
        journal::flush(self, &mut state).await;
        state
    }
}

impl<S: Stream> Journaled for StreamJournal<'_, S> {
    type State = S;
    type Record = Record;

    fn ports(&self) -> Ports<'_> {
        Ports { log: self.log, alerts: self.alerts, clock: self.clock }
    }

    fn outbox(state: &mut S) -> Outbox<'_> {
        let (entries, alerts) = state.trail_mut().outbox_mut();
        Outbox { entries, alerts }
    }

    fn publishes_first(state: &S) -> bool {
        state.trail().outbox().len() > S::MOST_WAITING
    }

    async fn reload(&self, state: &S) -> Result<Versioned<S>, StorageError> {
        self.load(state.id()).await
    }

    async fn save(&self, state: &S, expected: u64, _verdict: Option<&CachedVerdict>) -> Result<u64, SaveError> {
        self.store.save(state, expected).await
    }

    fn apply<T>(&self, state: &mut S, change: &mut Change<T>, _now: Timestamp) {
        for record in &change.records {
            chain::append_to(state, record);
        }
        state.trail_mut().keep_alerts(change.alerts.drain(..));
    }

    fn log_refuses(&self, state: &mut S, reason: &Unpublished, now: Timestamp) -> Refusal {
        let detail = reason.detail();
        let alert =
            Alert::about("ORACLE-AUDIT", Severity::Critical, now, "AUDIT_WRITE", state.id().reference(), &detail);
        Refusal { alert: Some(alert), republish: false }
    }
}
