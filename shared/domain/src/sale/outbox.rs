//! What a saved sale carries for the log and for operators until it is published. Only the journal writes it.

use super::{AuditEntry, AuditHead, Sale};
use crate::{Alert, Timestamp};

impl Sale {
    /// Puts a finished record into the outbox; `head` is the end of the audit stream after it.
    pub fn append_record(&mut self, entry: AuditEntry, head: AuditHead) {
        self.audit = Some(head);
        self.outbox.push(entry);
    }

    /// Keeps alerts until they are raised.
    pub fn keep_alerts(&mut self, alerts: impl IntoIterator<Item = Alert>) {
        self.alerts.extend(alerts);
    }

    /// The records and alerts that wait, for the journal that publishes them.
    pub const fn outbox_mut(&mut self) -> (&mut Vec<AuditEntry>, &mut Vec<Alert>) {
        (&mut self.outbox, &mut self.alerts)
    }

    /// Whether everything has reached the log and the operators.
    #[must_use]
    pub const fn is_published(&self) -> bool {
        self.outbox.is_empty() && self.alerts.is_empty()
    }

    /// Notes when the sale is saved.
    pub const fn saved(&mut self, now: Timestamp) {
        self.changed_at = now;
    }
}
