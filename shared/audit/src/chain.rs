//! The hash chain of one stream, and the keys of its objects.

pub use crate::line::VERSION;
use crate::{hash::sha256, line::Place, record::Record, stream::Stream};
use domain::{
    Measurement, Sale,
    sale::{AuditEntry, AuditHead},
};

/// The key of record `seq` (from 1) of a stream: the day on which the stream was opened, the stream, the number.
///
/// The day is that of the stream's first record, not of the record itself: were it the record's own, two
/// writers who both write number 5 around midnight would not collide, and a fork would go unseen.
#[must_use]
pub fn key(opened: &str, stream: &str, seq: u64) -> String {
    format!("{opened}/{stream}/{seq:06}.json")
}

/// The prefix of the keys of a sale's records; `None` before the first record.
#[must_use]
pub fn prefix(sale: &Sale) -> Option<String> {
    let head = sale.audit()?;
    Some(format!("{}/session/{}/", head.opened, sale.session_id().as_str()))
}

/// The head of a stream without records.
#[must_use]
pub fn opened(day: String) -> AuditHead {
    AuditHead { opened: day, count: 0, hash: sha256(b"") }
}

/// Appends a line to a stream: `line` writes it with its number and the hash of the line before it.
pub(crate) fn link(
    head: &mut AuditHead,
    stream: &str,
    measurements: Vec<Measurement>,
    line: impl FnOnce(u64, &str) -> String,
) -> AuditEntry {
    let seq = head.count + 1;
    let line = line(seq, &head.hash);
    head.count = seq;
    head.hash = sha256(line.as_bytes());
    AuditEntry { key: key(&head.opened, stream, seq), line, measurements }
}

/// Appends a record to the stream of a state with an audit trail: into its outbox, to be saved with the state.
pub fn append<S: Stream>(state: &mut S, record: &Record) {
    let id = state.stream();
    let stream = format!("session/{id}");
    let mut head = state.trail().head().cloned().unwrap_or_else(|| opened(record.timestamp.to_date()));
    let entry = link(&mut head, &stream, state.measurements(record), |seq, prev| {
        state.line(record, Place { id: &id, stream: &stream, seq, prev })
    });
    state.trail_mut().append(entry, head);
}

/// A transaction's hash, shortened as the spec prescribes: 12 characters and `...`.
#[must_use]
pub fn cut(transaction: &str) -> String {
    format!("{}...", transaction.chars().take(12).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Source, Status};
    use domain::{SessionId, Tier, Timestamp};
    use serde_json::Value;
    use testkit::sale::WithField;

    fn record(millis: i64) -> Record {
        Record::pipeline(
            Timestamp::from_millis(millis),
            Timestamp::from_millis(1_776_349_384_565),
            Source::Webhook,
            Status::Ok,
            None,
        )
    }

    fn sale() -> Sale {
        let mut sale = Sale::ordered(SessionId::parse("cs_live_abc123").unwrap(), Timestamp::from_millis(0));
        sale = sale.with("tier", Some(Tier::Quick));
        sale = sale.with("query_hash", "sha256:8f3a2c1b00000000");
        sale
    }

    #[test]
    fn a_line_has_the_fields_of_the_spec() {
        let mut sale = sale();
        append(&mut sale, &record(1_776_349_387_412));
        let line: Value = serde_json::from_str(&sale.outbox()[0].line).unwrap();
        assert_eq!(line["timestamp"], "2026-04-16T14:23:07.412Z");
        assert_eq!(line["session_id"], "cs_live_abc123");
        assert_eq!(
            (&line["tier"], &line["status"], &line["source"]),
            (&"quick".into(), &"OK".into(), &"webhook".into())
        );
        assert_eq!(line["latency_ms"], 2847);
        assert!(line["error_detail"].is_null() && line.as_object().unwrap().contains_key("error_detail"));
        for field in ["query_hash", "verdict_hash", "email"] {
            assert!(line.as_object().unwrap().contains_key(field), "{field}");
        }
        assert_eq!(sale.outbox()[0].key, "2026-04-16/session/cs_live_abc123/000001.json");
    }

    #[test]
    fn each_line_names_the_hash_of_the_one_before() {
        let mut sale = sale();
        for millis in [1_776_349_387_412, 1_776_349_387_500, 1_776_400_000_000] {
            append(&mut sale, &record(millis));
        }
        let mut expected = sha256(b"");
        for (index, entry) in sale.outbox().iter().enumerate() {
            let line: Value = serde_json::from_str(&entry.line).unwrap();
            assert_eq!(
                (line["seq"].as_u64(), line["prev"].as_str()),
                (Some(index as u64 + 1), Some(expected.as_str()))
            );
            assert!(entry.key.starts_with("2026-04-16/"), "one stream, one prefix: {}", entry.key);
            expected = sha256(entry.line.as_bytes());
        }
        assert_eq!(sale.audit().unwrap().hash, expected);
    }

    #[test]
    fn a_failure_without_a_reason_cannot_be_written() {
        let record = Record::pipeline(
            Timestamp::from_millis(0),
            Timestamp::from_millis(0),
            Source::EmailService,
            Status::EmailFailed,
            None,
        );
        let mut sale = sale();
        append(&mut sale, &record);
        let line: Value = serde_json::from_str(&sale.outbox()[0].line).unwrap();
        assert_eq!(line["error_detail"], "unspecified");
    }
}
