//! The journal of sales: a sale is saved with its audit records and alerts, and with its cached verdict.

use crate::{
    chain,
    journal::{self, Change, CommitError, Committed, Journaled, Outbox, Ports, Refusal, Unpublished},
    record::Record,
};
use domain::{
    Alert, CachedVerdict, Sale, SessionId, Timestamp,
    alert::Severity,
    ports::{Alerts, AuditLog, Clock, SaleStore, SaveError, StorageError, Versioned},
};

/// The ports of a sale's commit.
#[derive(Clone, Copy)]
pub struct Journal<'a> {
    /// Sales.
    pub store: &'a dyn SaleStore,
    /// The log.
    pub log: &'a dyn AuditLog,
    /// Operators.
    pub alerts: &'a dyn Alerts,
    /// Time.
    pub clock: &'a dyn Clock,
}

impl<'a> Journal<'a> {
    /// Loads a sale, or starts a new one.
    ///
    /// # Errors
    /// [`StorageError`] when the store failed.
    pub async fn load(&self, session: &SessionId, received_at: Timestamp) -> Result<Versioned<Sale>, StorageError> {
        let fresh = || Versioned { value: Sale::ordered(session.clone(), received_at), version: 0 };
        Ok(self.store.load(session).await?.unwrap_or_else(fresh))
    }

    /// Lets `decide` change the sale and saves it with its records and alerts; then publishes these. `decide` runs
    /// again on the newer sale after a conflict, so its result must depend only on the sale and the time.
    ///
    /// # Errors
    /// [`CommitError`]: nothing was changed, or it was and the reply was lost. In both cases the caller's message is
    /// delivered again, and the same decision is made on the state that is stored by then.
    pub async fn commit<T: Send>(
        &self,
        sale: Versioned<Sale>,
        decide: impl Fn(&mut Sale, Timestamp) -> Change<T> + Send + Sync,
    ) -> Result<Committed<Journal<'a>, T>, CommitError> {
        journal::commit(*self, sale, decide).await
    }

    /// Publishes what an earlier step could not; used by steps that find no work.
    pub async fn flush(&self, mut sale: Versioned<Sale>) -> Versioned<Sale> {
        journal::flush(self, &mut sale).await;
        sale
    }
}

impl Journaled for Journal<'_> {
    type State = Sale;
    type Record = Record;

    fn ports(&self) -> Ports<'_> {
        Ports { log: self.log, alerts: self.alerts, clock: self.clock }
    }

    fn outbox(sale: &mut Sale) -> Outbox<'_> {
        let (entries, alerts) = sale.outbox_mut();
        Outbox { entries, alerts }
    }

    fn publishes_first(_sale: &Sale) -> bool {
        false
    }

    async fn reload(&self, sale: &Sale) -> Result<Versioned<Sale>, StorageError> {
        self.load(sale.session_id(), sale.received_at()).await
    }

    async fn save(&self, sale: &Sale, expected: u64, verdict: Option<&CachedVerdict>) -> Result<u64, SaveError> {
        self.store.save(sale, expected, verdict).await
    }

    fn apply<T>(&self, sale: &mut Sale, change: &mut Change<T>, now: Timestamp) {
        for record in &change.records {
            chain::append(sale, record);
        }
        // A smoke test reports in its own way.
        if !sale.smoke() {
            sale.keep_alerts(change.alerts.drain(..));
        }
        if let Some(verdict) = &mut change.verdict {
            verdict.smoke = sale.smoke();
        }
        sale.saved(now);
    }

    fn log_refuses(&self, sale: &mut Sale, reason: &Unpublished, now: Timestamp) -> Refusal {
        let detail = reason.detail();
        let alert = Alert::event("ORACLE-AUDIT", Severity::Critical, now, "AUDIT_WRITE", sale.session_id(), &detail);
        Refusal { alert: Some(alert), republish: false }
    }
}
