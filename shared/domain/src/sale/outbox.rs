//! The unpublished records and alerts of a saved sale. Only the journal writes them.

use super::{AuditEntry, AuditHead, Sale};
use crate::{Alert, Timestamp};

impl Sale {
    /// Adds a finished record to the outbox; `head` is the end of the audit stream after it.
    pub fn append_record(&mut self, entry: AuditEntry, head: AuditHead) {
        self.audit = Some(head);
        self.outbox.push(entry);
    }

    /// Stores alerts until they are raised.
    pub fn keep_alerts(&mut self, alerts: impl IntoIterator<Item = Alert>) {
        self.alerts.extend(alerts);
    }

    /// The waiting records and alerts, for the journal that publishes them.
    pub const fn outbox_mut(&mut self) -> (&mut Vec<AuditEntry>, &mut Vec<Alert>) {
        (&mut self.outbox, &mut self.alerts)
    }

    /// Whether all records are in the log and all alerts were raised.
    #[must_use]
    pub const fn is_published(&self) -> bool {
        self.outbox.is_empty() && self.alerts.is_empty()
    }

    /// Records the time at which the sale is saved.
    pub const fn saved(&mut self, now: Timestamp) {
        self.changed_at = now;
    }
}
