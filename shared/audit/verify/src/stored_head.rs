//! The table's data about a stream, mainly about its end.

use crate::link::previous_of;
use audit::chain;
use domain::{
    audit_trail::{Audited, stream_of_note},
    sale::{AuditEntry, AuditHead},
};

/// The head of a stream as its sale, or a function's note, stores it, with the records that wait to be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredHead {
    pub(crate) head: AuditHead,
    /// The last records of the stream, which may not be in the log yet.
    pub(crate) waiting: Vec<AuditEntry>,
}

impl StoredHead {
    /// The data in a scheduled function's note; `None` if it names no stream.
    #[must_use]
    pub fn of_note(document: &str) -> Option<Self> {
        let (head, waiting) = stream_of_note(document)?;
        Some(Self { head, waiting })
    }

    /// The data in a sale or another state with an audit trail. A state that names no stream has no records.
    #[must_use]
    pub fn of(state: &impl Audited) -> Self {
        let trail = state.trail();
        let head = trail.head().cloned().unwrap_or_else(|| chain::opened(String::new()));
        Self { head, waiting: trail.outbox().to_vec() }
    }

    /// The day that the keys of its records begin with.
    #[must_use]
    pub fn opened(&self) -> &str {
        &self.head.opened
    }

    /// The number of records that must be in the log.
    #[must_use]
    pub const fn published(&self) -> u64 {
        self.head.count.saturating_sub(self.waiting.len() as u64)
    }

    /// The hash of the last record that must be in the log; `None` if a waiting record cannot be read.
    pub(crate) fn published_hash(&self) -> Option<String> {
        match self.waiting.first() {
            None => Some(self.head.hash.clone()),
            Some(entry) => previous_of(entry.line.as_bytes()),
        }
    }

    /// The waiting record with this number.
    pub(crate) fn waiting(&self, seq: u64) -> Option<&AuditEntry> {
        let index = seq.checked_sub(self.published() + 1)?;
        self.waiting.get(usize::try_from(index).ok()?)
    }
}
