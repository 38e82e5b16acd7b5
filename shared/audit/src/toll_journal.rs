//! The journal of purchases in USDC: a purchase is saved with its audit records and alerts.

use crate::{
    chain,
    journal::{self, Change, CommitError, Committed, Journaled, Outbox, Ports, Refusal, Unpublished},
    record::Record,
};
use domain::{
    Alert, CachedVerdict, Timestamp,
    alert::Severity,
    ports::{Alerts, AuditLog, Clock, Purchases, SaveError, StorageError, Versioned},
    toll::Purchase,
};

/// The ports of a purchase's commit.
#[derive(Clone, Copy)]
pub struct TollJournal<'a> {
    /// Purchases.
    pub store: &'a dyn Purchases,
    /// The log.
    pub log: &'a dyn AuditLog,
    /// Operators.
    pub alerts: &'a dyn Alerts,
    /// Time.
    pub clock: &'a dyn Clock,
}

impl<'a> TollJournal<'a> {
    /// Lets `decide` change the purchase and saves it with its records and alerts; then publishes these. `decide` runs
    /// again on the newer purchase after a conflict, so its result must depend on nothing but the purchase and the time.
    ///
    /// # Errors
    /// [`CommitError`]: nothing was changed, or it was and the reply got lost. The same payment shown again meets what
    /// is stored by then.
    pub async fn commit<T: Send>(
        &self,
        purchase: Versioned<Purchase>,
        decide: impl Fn(&mut Purchase, Timestamp) -> Change<T> + Send + Sync,
    ) -> Result<Committed<TollJournal<'a>, T>, CommitError> {
        journal::commit(*self, purchase, decide).await
    }

    /// Publishes what an earlier step could not.
    pub async fn flush(&self, mut purchase: Versioned<Purchase>) -> Versioned<Purchase> {
        journal::flush(self, &mut purchase).await;
        purchase
    }
}

impl Journaled for TollJournal<'_> {
    type State = Purchase;
    type Record = Record;

    fn ports(&self) -> Ports<'_> {
        Ports { log: self.log, alerts: self.alerts, clock: self.clock }
    }

    fn outbox(purchase: &mut Purchase) -> Outbox<'_> {
        let (entries, alerts) = purchase.outbox_mut();
        Outbox { entries, alerts }
    }

    fn publishes_first(_purchase: &Purchase) -> bool {
        false
    }

    /// A purchase that is gone was never saved: its payment is new again.
    async fn reload(&self, purchase: &Purchase) -> Result<Versioned<Purchase>, StorageError> {
        let found = self.store.load(purchase.id()).await?;
        let gone = || StorageError { operation: "purchase read", source: "it is gone".into() };
        found.ok_or_else(gone)
    }

    async fn save(
        &self,
        purchase: &Purchase,
        expected: u64,
        _verdict: Option<&CachedVerdict>,
    ) -> Result<u64, SaveError> {
        self.store.save(purchase, expected).await
    }

    fn apply<T>(&self, purchase: &mut Purchase, change: &mut Change<T>, _now: Timestamp) {
        for record in &change.records {
            chain::append_toll(purchase, record);
        }
        purchase.keep_alerts(change.alerts.drain(..));
    }

    fn log_refuses(&self, purchase: &mut Purchase, reason: &Unpublished, now: Timestamp) -> Refusal {
        let detail = match reason {
            Unpublished::Forked => "audit stream forked: the place of a record is taken".to_owned(),
            Unpublished::Failed(error) => {
                format!("audit record not written, kept for the next step: {}", error.operation)
            }
        };
        let subject = purchase.id().reference();
        let alert = Alert::about("ORACLE-AUDIT", Severity::Critical, now, "AUDIT_WRITE", subject, &detail);
        Refusal { alert: Some(alert), republish: false }
    }

    fn is_worth_settling(purchase: &mut Purchase, had_outbox: bool) -> bool {
        had_outbox && Self::outbox(purchase).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TollStatus;
    use domain::toll::{Offer, Paid, purchase_id};
    use serde_json::Value;
    use testkit::{World, run};

    fn purchase() -> Purchase {
        let transaction = format!("0x8f3b2c1a4d5e{}", "0".repeat(52));
        let paid = Paid::Transferred { transaction, payer: "0xaa".to_owned(), network: "eip155:84532".to_owned() };
        let id = purchase_id(&"b".repeat(64)).unwrap();
        let hash = "sha256:a1b2c3d400000000".to_owned();
        Purchase::new(id, Offer::Query, "f".to_owned(), hash, paid, Timestamp::from_millis(1_776_349_500_000))
    }

    #[test]
    fn a_line_has_the_fields_of_the_specifications_example() {
        let now = Timestamp::from_millis(1_776_349_500_312);
        let world = World::at(now);
        let journal = TollJournal { store: &world, log: &world, alerts: &world, clock: &world };
        let replay = |purchase: &mut Purchase, now| {
            let detail = "Transaction already used (replay attempt).";
            Change::recorded(vec![Record::toll(now, purchase.received_at(), TollStatus::Replay, detail)], ())
        };
        let committed = run(journal.commit(Versioned { value: purchase(), version: 0 }, replay)).unwrap().unwrap();
        run(committed.settle()).unwrap();
        let state = world.state();
        let (key, line) = state.log.iter().next().unwrap();
        assert_eq!(*key, format!("2026-04-16/session/cs_x402_{}/000001.json", "b".repeat(64)));
        let line: Value = serde_json::from_str(line).unwrap();
        for (field, expected) in [
            ("tx_hash", "0x8f3b2c1a4d...".into()),
            ("endpoint", "/query".into()),
            ("query_hash", "sha256:a1b2c3d400000000".into()),
            ("amount_usdc", Value::from(0.05)),
            ("latency_ms", 312.into()),
            ("status", "REPLAY".into()),
            ("source", "oracle_toll".into()),
            ("error_detail", "Transaction already used (replay attempt).".into()),
        ] {
            assert_eq!(line[field], expected, "{field}");
        }
    }
}
