//! The audit log.

use super::World;
use serde_json::Value;
use tests::{SOON, eventually};

impl World {
    /// The keys of the session's records. A record is in the sale's head before it is in the log, so this waits until
    /// the log has all of them.
    pub(crate) async fn record_keys(&self, session: &str) -> Vec<String> {
        eventually(&format!("the records of {session} to be in the log"), SOON, async || {
            let sale = self.aws.document(session, "SALE").await.unwrap_or_default();
            let keys = self.aws.keys("AuditBucket", &format!("/{session}/")).await;
            (keys.len() as u64 >= sale["audit"]["count"].as_u64().unwrap_or_default()).then_some(keys)
        })
        .await
    }

    /// The session's lines in the audit log, in the order of their keys.
    pub(crate) async fn lines(&self, session: &str) -> Vec<String> {
        let mut lines = Vec::new();
        for key in self.record_keys(session).await {
            lines.push(self.aws.text("AuditBucket", &key).await);
        }
        lines
    }

    /// A function's records of one event kind in the log, in the order of their numbers.
    pub(crate) async fn function_records(&self, function: &str, event: &str) -> Vec<Value> {
        let mut found = Vec::new();
        for key in self.aws.keys("AuditBucket", &format!("/function/{function}/")).await {
            let line = self.aws.text("AuditBucket", &key).await;
            let record: Value = serde_json::from_str(&line).expect("a line of JSON");
            if record["event"] == event {
                found.push(record["details"].clone());
            }
        }
        found
    }

    /// The session's audit records.
    pub(crate) async fn records(&self, session: &str) -> Vec<Value> {
        let lines = self.lines(session).await;
        lines.iter().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    /// The number of records of the session with this source and status.
    pub(crate) async fn count(&self, session: &str, source: &str, status: &str) -> usize {
        let records = self.records(session).await;
        records.iter().filter(|record| record["source"] == source && record["status"] == status).count()
    }
}
