//! The streams of audit records that the table knows of.

use super::StorageError;
use crate::audit_trail::{AuditEntry, AuditHead, Audited, stream_of_note};
use async_trait::async_trait;

/// A stream of which the log must have records, by its row in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredStream {
    /// Its name in keys of the log: `session/{id}` or `function/{name}`.
    pub name: String,
    /// The day that the keys of its newest records begin with.
    pub opened: String,
}

impl StoredStream {
    /// The stream of a state; `None` if none of its records must be in the log yet.
    #[must_use]
    pub fn of(state: &impl Audited) -> Option<Self> {
        Self::at(format!("session/{}", state.stream()), state.trail().head()?, state.trail().outbox())
    }

    /// The stream that a function's note names; `None` if it names none, or none of its records must be in the log yet.
    #[must_use]
    pub fn of_note(function: &str, document: &str) -> Option<Self> {
        let (head, waiting) = stream_of_note(document)?;
        Self::at(format!("function/{function}"), &head, &waiting)
    }

    /// The stream with this head and these waiting records; `None` if no other record is in the head's day.
    fn at(name: String, head: &AuditHead, waiting: &[AuditEntry]) -> Option<Self> {
        let waiting = waiting.iter().filter(|entry| entry.key.starts_with(&head.opened)).count();
        let has_published = head.count > u64::try_from(waiting).unwrap_or(u64::MAX);
        has_published.then(|| Self { name, opened: head.opened.clone() })
    }
}

/// A page of all streams.
#[derive(Clone, Debug, Default)]
pub struct StreamsPage {
    /// Streams, in no order.
    pub streams: Vec<StoredStream>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// All streams of chat accounts, subscribers, Bridges, purchases and functions; [`super::AllSales`] has those of sales.
/// Reading them scans the whole table: for operators only, never for a request or a schedule.
#[async_trait]
pub trait AllStreams: Send + Sync {
    /// One page.
    async fn streams(&self, from: Option<&str>) -> Result<StreamsPage, StorageError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_missed_only_if_a_record_of_it_was_published() {
        let head = |count| AuditHead { opened: "2026-01-02".to_owned(), count, hash: "h".to_owned() };
        let waits = |day: &str| AuditEntry { key: format!("{day}/k"), line: "{}".to_owned(), measurements: Vec::new() };
        let at = |count, waiting: &[AuditEntry]| StoredStream::at("function/f".to_owned(), &head(count), waiting);
        assert_eq!(at(0, &[]), None);
        assert_eq!(at(1, &[waits("2026-01-02")]), None);
        assert_eq!(at(1, &[waits("2026-01-01")]).unwrap().opened, "2026-01-02", "what waits is of the day before");
        assert!(at(2, &[waits("2026-01-02")]).is_some());
    }
}
