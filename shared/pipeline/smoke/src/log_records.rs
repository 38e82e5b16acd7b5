//! The records of the smoke test's sale: the audit log says who did what, and holds no address and no question.

use crate::{
    ports::Ports,
    stage::{Failure, LOOK_EVERY, failed, out_of_time},
};
use domain::{SessionId, Timestamp, smoke};
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};

/// The sources that a sale's records must name: its order, its page and its mail.
const SOURCES: [&str; 3] = ["webhook", "cache_hit", "email_service"];

/// Waits until all records of the sale are published, and checks them.
pub(crate) async fn check(
    ports: Ports<'_>,
    session: &SessionId,
    deadline: Timestamp,
    limit: Duration,
) -> Result<(), Failure> {
    loop {
        let sale = ports.store.load(session).await.map_err(|error| failed(&error))?;
        let Some(sale) = sale else { return Err(Failure::new("there is no sale, so there are no records")) };
        // A record that is not published yet has a number, but no object.
        if sale.value.outbox().is_empty()
            && let (Some(prefix), Some(head)) = (audit::chain::prefix(&sale.value), sale.value.audit())
        {
            let mut lines = Vec::new();
            for number in 1..=head.count {
                let key = format!("{prefix}{number:06}.json");
                let line = ports.log.object(&key).await.map_err(|error| failed(&error))?;
                lines.push(line.ok_or_else(|| Failure::new(format!("record {number} is not in the log")))?);
            }
            let missing = missing(&lines)?;
            if missing.is_empty() {
                return Ok(());
            }
            if ports.clock.now() >= deadline {
                return Err(Failure::with("the log does not have all records", json!({ "missing": missing })));
            }
        } else if ports.clock.now() >= deadline {
            return Err(out_of_time(limit));
        }
        ports.pause.pause(LOOK_EVERY).await;
    }
}

/// The sources without a record.
fn missing(lines: &[Vec<u8>]) -> Result<Vec<&'static str>, Failure> {
    let mut sources = BTreeSet::new();
    for (index, line) in lines.iter().enumerate() {
        let number = index + 1;
        let text = String::from_utf8_lossy(line);
        let record: Value =
            serde_json::from_str(&text).map_err(|_| Failure::new(format!("record {number} is no JSON")))?;
        if text.contains(smoke::QUERY) || text.contains('@') {
            return Err(Failure::new(format!("record {number} holds an address or the question")));
        }
        if record["smoke"] != true {
            return Err(Failure::new(format!("record {number} is not marked as the smoke test's")));
        }
        sources.extend(record["source"].as_str().map(str::to_owned));
    }
    Ok(SOURCES.into_iter().filter(|source| !sources.contains(*source)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(source: &str, more: &str) -> Vec<u8> {
        format!("{{\"smoke\":true,\"event\":\"pipeline\",\"source\":\"{source}\"{more}}}\n").into_bytes()
    }

    #[test]
    fn an_order_a_page_and_a_mail_are_recorded_without_a_question_or_an_address() {
        let complete = SOURCES.map(|source| record(source, ""));
        assert_eq!(missing(&complete), Ok(vec![]));
        assert_eq!(missing(&complete[..2]), Ok(vec!["email_service"]));
        for (more, expected) in [
            (format!(",\"query\":\"{}\"", smoke::QUERY), "record 1 holds an address or the question"),
            (",\"to\":\"a@b.example\"".to_owned(), "record 1 holds an address or the question"),
        ] {
            assert_eq!(missing(&[record("webhook", &more)]).unwrap_err().error, expected);
        }
        let unmarked = br#"{"source":"webhook"}"#.to_vec();
        assert_eq!(missing(&[unmarked]).unwrap_err().error, "record 1 is not marked as the smoke test's");
        assert_eq!(missing(&[b"{".to_vec()]).unwrap_err().error, "record 1 is no JSON");
    }
}
