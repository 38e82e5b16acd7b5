//! Commits changes of a sale together with their audit records, and publishes the records.
//!
//! A change is decided on a loaded sale and saved on condition that nobody saved it in between; on a conflict it
//! is loaded and decided again. The records ride in the saved sale (its outbox) and are written to the log right
//! after it, before the step reports success. When the log cannot be written the verdict is not withheld
//! (Audit Trail, failure mode 1): the records stay in the outbox, operators are alerted, and the next commit
//! publishes them. Alerts that tell of a change take the same way: they are saved with it and raised after it, so
//! no change that operators must know of can happen without their hearing of it, should the process die in between.

use crate::{chain, record::Record};
use domain::{
    Alert, CachedVerdict, Sale, SessionId, Timestamp,
    alert::Severity,
    ports::{Alerts, AuditLog, Clock, Published, SaleStore, SaveError, StorageError, Versioned},
    sale::AuditEntry,
};

/// How often a conflicting commit is decided again before it is given up to the queue.
pub(crate) const MAX_CONFLICTS: u32 = 16;

/// What a decision wants done.
#[derive(Debug)]
pub struct Change<T> {
    /// The records of the change.
    pub records: Vec<Record>,
    /// A verdict to cache in the same write.
    pub verdict: Option<Box<CachedVerdict>>,
    /// Alerts that tell operators of the change: raised once it is saved, and again if the process dies before
    /// they are.
    pub alerts: Vec<Alert>,
    /// Whether the sale is to be saved at all.
    pub save: bool,
    /// What the caller wants to know.
    pub answer: T,
}

impl<T> Change<T> {
    /// Nothing changes.
    pub const fn nothing(answer: T) -> Self {
        Self { records: Vec::new(), verdict: None, alerts: Vec::new(), save: false, answer }
    }

    /// The sale changes.
    pub const fn save(answer: T) -> Self {
        Self { records: Vec::new(), verdict: None, alerts: Vec::new(), save: true, answer }
    }

    /// The sale changes, and these records tell of it.
    pub const fn recorded(records: Vec<Record>, answer: T) -> Self {
        Self { records, verdict: None, alerts: Vec::new(), save: true, answer }
    }

    /// Operators are told of it.
    #[must_use]
    pub fn alerting(mut self, alert: Alert) -> Self {
        self.alerts.push(alert);
        self
    }
}

/// Why a commit did not happen.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Others kept changing the sale.
    #[error("the sale kept changing")]
    Contended,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The ports a commit needs.
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

impl Journal<'_> {
    /// Loads a sale, or starts one that nobody has seen.
    ///
    /// # Errors
    /// [`StorageError`] when the store failed.
    pub async fn load(&self, session: &SessionId, received_at: Timestamp) -> Result<Versioned<Sale>, StorageError> {
        let fresh = || Versioned { value: Sale::ordered(session.clone(), received_at), version: 0 };
        Ok(self.store.load(session).await?.unwrap_or_else(fresh))
    }

    /// Lets `decide` change the sale and saves it with its records. Returns the sale as saved and the decision's
    /// answer. `decide` runs again on the newer sale after a conflict, so it must depend on nothing but the sale
    /// it is given.
    ///
    /// # Errors
    /// [`CommitError`]: nothing was changed, or it was and the reply got lost. Either way the caller's message
    /// comes back and the same decision is taken on what is then there.
    pub async fn commit<T: Send>(
        &self,
        mut current: Versioned<Sale>,
        decide: impl Fn(&mut Sale) -> Change<T> + Send + Sync,
    ) -> Result<(Versioned<Sale>, T), CommitError> {
        for _ in 0..MAX_CONFLICTS {
            let Versioned { mut value, version } = current;
            let change = decide(&mut value);
            if !change.save {
                return Ok((Versioned { value, version }, change.answer));
            }
            for record in &change.records {
                chain::append(&mut value, record);
            }
            // What there is to tell of a smoke test, its own report tells.
            if !domain::planted("alert-not-in-the-change") && !value.smoke {
                value.alerts.extend(change.alerts);
            }
            let mut verdict = change.verdict;
            if let Some(verdict) = &mut verdict {
                verdict.smoke = value.smoke;
            }
            let late =
                if domain::planted("alert-after-the-save") { std::mem::take(&mut value.alerts) } else { Vec::new() };
            value.changed_at = self.clock.now();
            if domain::planted("records-published-before-the-save") {
                self.publish(&mut value).await;
            }
            match self.store.save(&value, version, verdict.as_deref()).await {
                Ok(version) => {
                    value.alerts.extend(late);
                    self.publish(&mut value).await;
                    return Ok((Versioned { value, version }, change.answer));
                }
                Err(SaveError::Conflict) if domain::planted("conflict-saved-over") => {
                    let version = self.load(&value.session_id, value.received_at).await?.version;
                    current = Versioned { value, version };
                }
                Err(SaveError::Conflict) => {
                    let received_at = value.received_at;
                    current = self.load(&value.session_id, received_at).await?;
                }
                Err(SaveError::Storage(error)) => return Err(error.into()),
            }
        }
        Err(CommitError::Contended)
    }

    /// Publishes what an earlier step could not: for steps that find nothing left to do.
    pub async fn flush(&self, mut sale: Versioned<Sale>) {
        if domain::planted("alerts-dropped-at-flush") {
            sale.value.alerts.clear();
        }
        if !sale.value.outbox.is_empty() || !sale.value.alerts.is_empty() {
            self.publish(&mut sale.value).await;
            self.settle(sale).await;
        }
    }

    /// Saves that the outbox was emptied, so that the next step need not write the same records again. Nothing
    /// depends on it: the log recognises a record it already has.
    pub async fn settle(&self, sale: Versioned<Sale>) {
        if sale.value.outbox.is_empty() && sale.value.alerts.is_empty() {
            // A conflict means that somebody saved later and will publish; a failure, that somebody will again.
            let _ = self.store.save(&sale.value, sale.version, None).await;
        }
    }

    /// Raises the alerts, then writes what is in the outbox to the log, in order, and empties it as far as that
    /// went.
    async fn publish(&self, sale: &mut Sale) {
        for alert in std::mem::take(&mut sale.alerts) {
            self.alerts.raise(alert).await;
        }
        let detail = match publish_outbox(self.log, &mut sale.outbox).await {
            Ok(()) => return,
            Err(Unpublished::Forked) => "audit stream forked: the place of a record is taken".to_owned(),
            Err(Unpublished::Failed(error)) => {
                format!("audit record not written, kept for the next step: {}", error.operation)
            }
        };
        let now = self.clock.now();
        let alert = Alert::event("ORACLE-AUDIT", Severity::Critical, now, "AUDIT_WRITE", &sale.session_id, &detail);
        self.alerts.raise(alert).await;
    }
}

/// Why records still wait in an outbox.
#[derive(Debug)]
pub(crate) enum Unpublished {
    /// The place of the first of them is taken by another.
    Forked,
    /// The log did not take it.
    Failed(StorageError),
}

/// Writes what is in an outbox to the log, in its order, and empties it as far as that goes.
pub(crate) async fn publish_outbox(log: &dyn AuditLog, outbox: &mut Vec<AuditEntry>) -> Result<(), Unpublished> {
    while let Some(entry) = outbox.first() {
        match log.publish(entry).await {
            Ok(Published::Written | Published::AlreadyThere) => {}
            Err(_) if domain::planted("log-error-swallowed") => {}
            Ok(Published::Forked) => return Err(Unpublished::Forked),
            Err(error) => return Err(Unpublished::Failed(error)),
        }
        outbox.remove(0);
    }
    Ok(())
}
