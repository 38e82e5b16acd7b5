//! The journal of subscribers: a subscriber is saved with their audit records and alerts.

use crate::{
    chain,
    journal::{self, Change, CommitError, Committed, Journaled, Outbox, Ports, Refusal, Unpublished},
    record::Record,
};
use domain::{
    Alert, CachedVerdict, Timestamp,
    alert::Severity,
    chat::{Subscriber, SubscriberId},
    ports::{Alerts, AuditLog, Clock, SaveError, StorageError, Subscribers, Versioned},
};

/// The ports of a subscriber's commit.
#[derive(Clone, Copy)]
pub struct SubscriberJournal<'a> {
    /// Subscribers.
    pub store: &'a dyn Subscribers,
    /// The log.
    pub log: &'a dyn AuditLog,
    /// Operators.
    pub alerts: &'a dyn Alerts,
    /// Time.
    pub clock: &'a dyn Clock,
}

impl<'a> SubscriberJournal<'a> {
    /// The subscriber, or a new one of whom nothing is known.
    ///
    /// # Errors
    /// [`StorageError`].
    pub async fn load(&self, id: &SubscriberId) -> Result<Versioned<Subscriber>, StorageError> {
        let found = self.store.load(id).await?;
        Ok(found.unwrap_or_else(|| Versioned { value: Subscriber::new(id.clone()), version: 0 }))
    }

    /// Lets `decide` change the subscriber and saves them with the records and alerts; then publishes these. `decide` runs
    /// again on the newer record after a conflict, so its result must depend on nothing but the record and the time.
    ///
    /// # Errors
    /// [`CommitError`]: nothing was changed, or it was and the reply got lost. The report that comes again meets what is
    /// stored by then.
    pub async fn commit<T: Send>(
        &self,
        subscriber: Versioned<Subscriber>,
        decide: impl Fn(&mut Subscriber, Timestamp) -> Change<T> + Send + Sync,
    ) -> Result<Committed<SubscriberJournal<'a>, T>, CommitError> {
        journal::commit(*self, subscriber, decide).await
    }
}

impl Journaled for SubscriberJournal<'_> {
    type State = Subscriber;
    type Record = Record;

    fn ports(&self) -> Ports<'_> {
        Ports { log: self.log, alerts: self.alerts, clock: self.clock }
    }

    fn outbox(subscriber: &mut Subscriber) -> Outbox<'_> {
        let (entries, alerts) = subscriber.outbox_mut();
        Outbox { entries, alerts }
    }

    fn publishes_first(_subscriber: &Subscriber) -> bool {
        false
    }

    async fn reload(&self, subscriber: &Subscriber) -> Result<Versioned<Subscriber>, StorageError> {
        self.load(subscriber.id()).await
    }

    async fn save(
        &self,
        subscriber: &Subscriber,
        expected: u64,
        _verdict: Option<&CachedVerdict>,
    ) -> Result<u64, SaveError> {
        self.store.save(subscriber, expected).await
    }

    fn apply<T>(&self, subscriber: &mut Subscriber, change: &mut Change<T>, _now: Timestamp) {
        for record in &change.records {
            chain::append_subscriber(subscriber, record);
        }
        subscriber.keep_alerts(change.alerts.drain(..));
    }

    fn log_refuses(&self, subscriber: &mut Subscriber, reason: &Unpublished, now: Timestamp) -> Refusal {
        let detail = match reason {
            Unpublished::Forked => "audit stream forked: the place of a record is taken".to_owned(),
            Unpublished::Failed(error) => {
                format!("audit record not written, kept for the next step: {}", error.operation)
            }
        };
        let subject = subscriber.id().prefix();
        let alert = Alert::about("ORACLE-AUDIT", Severity::Critical, now, "AUDIT_WRITE", subject, &detail);
        Refusal { alert: Some(alert), republish: false }
    }

    fn is_worth_settling(subscriber: &mut Subscriber, had_outbox: bool) -> bool {
        had_outbox && Self::outbox(subscriber).is_empty()
    }
}
