//! The journal of states with an audit trail: sales, chat accounts, subscribers, Bridges, purchases. Each state has a
//! stream of records of its own and is saved with its records and alerts.

use crate::{
    chain,
    journal::{self, Change, CommitError, Committed, Effects, Journaled, Outbox, Ports, Refusal, Unpublished},
    record::Record,
    stream::{LoadsById, Stream, StreamStore},
};
use domain::{
    Alert, Timestamp,
    alert::Severity,
    audit_trail::{Audited, StateId},
    ports::{Alerts, AuditLog, Clock, SaveError, StorageError, Versioned},
};

/// How often a persistent commit is tried: a burst of sixty, the most that a test sends, is recorded whole.
const PERSISTENT_ATTEMPTS: u32 = 8;

type Id<P> = <<P as StreamStore>::State as Audited>::Id;

/// The ports of a state's commit. `P` is the port that stores the state.
pub struct StreamJournal<'a, P: ?Sized> {
    /// The store of the state.
    pub store: &'a P,
    /// The log.
    pub log: &'a dyn AuditLog,
    /// Operators.
    pub alerts: &'a dyn Alerts,
    /// Time.
    pub clock: &'a dyn Clock,
}

impl<P: ?Sized> Copy for StreamJournal<'_, P> {}
impl<P: ?Sized> Clone for StreamJournal<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: LoadsById + ?Sized> StreamJournal<'_, P> {
    /// Loads the state, or the one that exists before anything is stored.
    ///
    /// # Errors
    /// [`StorageError`], also for a state that is not stored and does not begin empty.
    pub async fn load(&self, id: &Id<P>) -> Result<Versioned<P::State>, StorageError> {
        self.load_or(id, || P::State::unstored(id)).await
    }

    /// Commits as [`Self::commit`] and ends the step. Tries again while other steps keep changing the state, so that all
    /// of a burst are recorded.
    ///
    /// # Errors
    /// As [`Self::commit`].
    pub async fn commit_persistently(
        &self,
        mut state: Versioned<P::State>,
        decide: impl Fn(&mut P::State, Timestamp) -> Change<()> + Send + Sync,
    ) -> Result<(), CommitError> {
        let id = state.value.id().clone();
        for _ in 0..PERSISTENT_ATTEMPTS {
            match self.commit(state, &decide).await {
                Err(CommitError::Contended) => state = self.load(&id).await?,
                committed => {
                    committed?.settle().await;
                    return Ok(());
                }
            }
        }
        Err(CommitError::Contended)
    }
}

impl<'a, P: StreamStore + ?Sized> StreamJournal<'a, P> {
    async fn load_or(
        &self,
        id: &Id<P>,
        first: impl FnOnce() -> Option<P::State>,
    ) -> Result<Versioned<P::State>, StorageError> {
        let found = self.store.load(id).await?;
        let first = || first().map(|value| Versioned { value, version: 0 });
        found.or_else(first).ok_or_else(|| StorageError { operation: "state read", source: "it is gone".into() })
    }

    /// Lets `decide` change the state and saves it with its records and alerts; then publishes these. `decide` runs
    /// again on the newer state after a conflict, so its result must depend on nothing but the state and the time.
    ///
    /// # Errors
    /// [`CommitError`]: nothing was changed, or the change was saved and the reply got lost. In both cases the caller
    /// repeats its step on the stored state, for example because its message is delivered again.
    pub async fn commit<T: Send>(
        &self,
        state: Versioned<P::State>,
        decide: impl Fn(&mut P::State, Timestamp) -> Change<T> + Send + Sync,
    ) -> Result<Committed<StreamJournal<'a, P>, T>, CommitError> {
        journal::commit(*self, state, |state: &mut P::State, now| (decide(state, now), None)).await
    }

    /// Publishes what an earlier step could not; used by steps that find no work.
    pub async fn flush(&self, mut state: Versioned<P::State>) -> Versioned<P::State> {
        journal::flush(self, &mut state).await;
        state
    }
}

impl<P: StreamStore + ?Sized> Journaled for StreamJournal<'_, P> {
    type State = P::State;
    type Record = Record;
    type Beside = P::Beside;

    fn ports(&self) -> Ports<'_> {
        Ports { log: self.log, alerts: self.alerts, clock: self.clock }
    }

    fn outbox(state: &mut P::State) -> Outbox<'_> {
        let (entries, alerts) = state.trail_mut().outbox_mut();
        Outbox { entries, alerts }
    }

    fn publishes_first(state: &P::State) -> bool {
        state.trail().outbox().len() > P::State::MOST_WAITING
    }

    async fn reload(&self, state: &P::State) -> Result<Versioned<P::State>, StorageError> {
        self.load_or(state.id(), || state.renewed()).await
    }

    async fn save(&self, state: &P::State, expected: u64, beside: Option<&P::Beside>) -> Result<u64, SaveError> {
        self.store.save_with(state, expected, beside).await
    }

    fn apply(&self, state: &mut P::State, Effects { records, mut alerts }: Effects<Record>, now: Timestamp) {
        for record in &records {
            chain::append(state, record);
        }
        state.complete(&mut alerts, now);
        state.trail_mut().keep_alerts(alerts);
    }

    fn log_refuses(&self, state: &mut P::State, reason: &Unpublished, now: Timestamp) -> Refusal {
        let detail = reason.detail();
        let alert =
            Alert::about("ORACLE-AUDIT", Severity::Critical, now, "AUDIT_WRITE", state.id().reference(), &detail);
        Refusal { alert: Some(alert), republish: false }
    }
}
