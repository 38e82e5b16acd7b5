//! The stream of a purchase in USDC.

use crate::{
    chain::cut,
    line::{TollLine, VERSION, json},
    record::Record,
    stream::{LoadsById, Place, Stream, StreamStore},
    stream_journal::StreamJournal,
};
use domain::{ports::Purchases, toll::Purchase};

/// The journal of purchases.
pub type TollJournal<'a> = StreamJournal<'a, dyn Purchases + 'a>;

impl StreamStore for dyn Purchases + '_ {
    type State = Purchase;
}

impl LoadsById for dyn Purchases + '_ {}

impl Stream for Purchase {
    /// The transaction is named by its first 12 characters (Audit Trail, oracle toll events).
    fn line(&self, record: &Record, place: Place<'_>) -> String {
        json(&TollLine {
            timestamp: record.timestamp.to_iso(),
            session_id: place.id,
            tx_hash: self.transaction().map(cut),
            endpoint: self.offer().path(),
            query_hash: self.query_hash(),
            amount_usdc: self.dollars(),
            latency_ms: record.timestamp.millis_since(record.triggered_at),
            body: &record.body,
            v: VERSION,
            stream: place.stream,
            seq: place.seq,
            prev: place.prev,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Change, TollStatus};
    use domain::{
        Timestamp,
        ports::Versioned,
        toll::{Offer, Paid, purchase_id},
    };
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
