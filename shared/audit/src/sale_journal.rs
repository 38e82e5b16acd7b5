//! The stream of a sale: a sale is saved with its audit records and alerts, and with its cached verdict.

use crate::{
    journal::{self, Change, CommitError, Committed},
    line::{Line, Place, VERSION, json},
    record::Record,
    stream::{Stream, StreamStore},
    stream_journal::StreamJournal,
};
use domain::{
    Alert, CachedVerdict, Sale, SessionId, Timestamp,
    alert::Severity,
    ports::{SaleStore, SaveError, StorageError, Versioned},
    sale::VERDICT_LOST,
};

/// The journal of sales.
pub type Journal<'a> = StreamJournal<'a, dyn SaleStore + 'a>;

impl Journal<'_> {
    /// As [`StreamJournal::commit`], with a verdict to cache in the same write. A verdict makes a change.
    ///
    /// # Errors
    /// As [`StreamJournal::commit`].
    pub async fn commit_with_verdict<T: Send>(
        &self,
        sale: Versioned<Sale>,
        decide: impl Fn(&mut Sale, Timestamp) -> (Change<T>, Option<Box<CachedVerdict>>) + Send + Sync,
    ) -> Result<Committed<Self, T>, CommitError> {
        let decide = |sale: &mut Sale, now| {
            let (change, mut verdict) = decide(sale, now);
            if let Some(verdict) = &mut verdict {
                verdict.smoke = sale.smoke();
            }
            (change, verdict)
        };
        journal::commit(*self, sale, decide).await
    }
}

impl StreamJournal<'_, dyn SaleStore + '_> {
    /// Loads a sale, or starts a new one.
    ///
    /// # Errors
    /// [`StorageError`] when the store failed.
    pub async fn load(&self, session: &SessionId, received_at: Timestamp) -> Result<Versioned<Sale>, StorageError> {
        let fresh = || Versioned { value: Sale::ordered(session.clone(), received_at), version: 0 };
        Ok(self.store.load(session).await?.unwrap_or_else(fresh))
    }

    /// Whether this is a follow-up that the session which includes it stops. A refund or an erasure is decided about the
    /// session first, and the follow-up's own row learns of it later.
    ///
    /// # Errors
    /// [`StorageError`] when the store failed.
    pub async fn stopped_by_session(&self, id: &SessionId) -> Result<bool, StorageError> {
        let session = if id.is_followup() { self.store.load(&id.paid_session()).await? } else { None };
        Ok(session.is_some_and(|session| session.value.stops_followup()))
    }

    /// Reopens a sale whose verdict is lost (infra/decisions/verdict-retry.md), with an alert of `component`; without
    /// one if the caller raises its own. Returns whether it is reopened: nothing changes if another worker has archived
    /// the verdict or made it again meanwhile.
    ///
    /// # Errors
    /// [`CommitError`]. Repeating is safe.
    pub async fn reopen_lost(&self, sale: Versioned<Sale>, component: Option<&str>) -> Result<bool, CommitError> {
        let lost = sale.value.fulfilment().clone();
        let reopen = |sale: &mut Sale, now| {
            if *sale.fulfilment() != lost || sale.reopen(now).is_err() {
                return Change::nothing(false);
            }
            let session = sale.session_id();
            let alert = |component| Alert::event(component, Severity::Error, now, "CACHE_READ", session, VERDICT_LOST);
            Change::save(true).alerting_all(component.map(alert))
        };
        Ok(self.commit(sale, reopen).await?.settle().await.1)
    }

    /// Releases a claim at once, so that the next delivery of its message need not wait for the lease to expire. If this
    /// fails too, the lease expires by itself. `release` returns whether it released the claim; `received_at` is for a
    /// sale that is not stored.
    pub async fn release(
        &self,
        session: &SessionId,
        received_at: Timestamp,
        release: impl Fn(&mut Sale, Timestamp) -> bool + Send + Sync,
    ) {
        let release = |sale: &mut Sale, now| if release(sale, now) { Change::save(()) } else { Change::nothing(()) };
        if let Ok(sale) = self.load(session, received_at).await
            && let Ok(released) = self.commit(sale, release).await
        {
            released.settle().await;
        }
    }
}

impl Stream for Sale {
    fn line(&self, record: &Record, place: Place<'_>) -> String {
        json(&Line {
            timestamp: record.timestamp.to_iso(),
            session_id: place.id,
            tier: self.tier(),
            query_hash: self.query_hash(),
            verdict_hash: self.verdict_hash(),
            email: self.email_tag(),
            latency_ms: record.timestamp.millis_since(record.triggered_at),
            smoke: self.smoke(),
            body: &record.body,
            v: VERSION,
            place,
        })
    }

    fn renewed(&self) -> Option<Self> {
        Some(Self::ordered(self.session_id().clone(), self.received_at()))
    }

    fn complete(&mut self, alerts: &mut Vec<Alert>, now: Timestamp) {
        if self.smoke() {
            // A smoke test reports in its own way.
            alerts.clear();
        }
        self.saved(now);
    }
}

impl StreamStore for dyn SaleStore + '_ {
    type State = Sale;
    type Beside = CachedVerdict;

    async fn save_with(&self, sale: &Sale, expected: u64, verdict: Option<&CachedVerdict>) -> Result<u64, SaveError> {
        SaleStore::save(self, sale, expected, verdict).await
    }
}
