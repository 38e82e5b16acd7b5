//! The stream of a purchase in USDC.

use crate::{
    chain::cut,
    line::{Place, TollLine, VERSION, json},
    record::Record,
    stream::{LoadsById, Stream, StreamStore},
    stream_journal::StreamJournal,
};
use domain::{Measurement, Metric, ports::Purchases, toll::Purchase};
use std::convert::Infallible;

/// The journal of purchases.
pub type TollJournal<'a> = StreamJournal<'a, dyn Purchases + 'a>;

impl StreamStore for dyn Purchases + '_ {
    type State = Purchase;
    type Beside = Infallible;
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
            place,
        })
    }

    /// An answer that the filter stops is not kept: nothing waits in quarantine. [`Metric::TollUnanswered`] counts it.
    fn measurements(&self, record: &Record) -> Vec<Measurement> {
        record.measurements().into_iter().filter(|measurement| measurement.metric != Metric::Held).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Body, Change, TollStatus};
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

    /// The alarm on held verdicts sends operators to the quarantine, which has none of a purchase.
    #[test]
    fn an_answer_that_the_filter_stops_is_recorded_and_not_counted_as_held() {
        let now = Timestamp::from_millis(1_776_349_500_312);
        let world = World::at(now);
        let journal = TollJournal { store: &world, log: &world, alerts: &world, clock: &world };
        let body = Body::ContentFilter {
            gate: 2,
            outcome: "QUARANTINE".to_owned(),
            list_version: "1".to_owned(),
            list_hash: "h".to_owned(),
            hits: Value::Array(Vec::new()),
        };
        let stopped = Record::new(now, now, body).measuring([Metric::Held.once()]);
        let record = |_: &mut Purchase, _| Change::recorded(vec![stopped.clone()], ());
        let committed = run(journal.commit(Versioned { value: purchase(), version: 0 }, record)).unwrap().unwrap();
        run(committed.settle()).unwrap();
        let state = world.state();
        assert_eq!((state.log.len(), state.counted(Metric::Held)), (1, 0));
    }
}
