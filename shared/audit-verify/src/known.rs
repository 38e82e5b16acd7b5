//! What the table says of a stream: of its end, above all.

use crate::link::previous_of;
use audit::digest::sha256;
use domain::{
    Sale,
    chat::{Account, Subscriber},
    sale::{AuditEntry, AuditHead},
    toll::Purchase,
};
use serde::Deserialize;

/// What the sale's record, or a function's note, says about its stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub(crate) head: AuditHead,
    /// Records of the stream's end that may not be in the log yet.
    pub(crate) waiting: Vec<AuditEntry>,
}

/// As much of a function's note as its stream needs.
#[derive(Deserialize)]
struct NoteOfFunction {
    head: Option<AuditHead>,
    #[serde(default)]
    outbox: Vec<AuditEntry>,
}

impl Known {
    /// What a scheduled function's note says; nothing where it names no stream.
    #[must_use]
    pub fn of_note(document: &str) -> Option<Self> {
        let NoteOfFunction { head, outbox } = serde_json::from_str(document).ok()?;
        Some(Self { head: head?, waiting: outbox })
    }

    /// What this sale says. A sale that names no stream has no records.
    #[must_use]
    pub fn of(sale: &Sale) -> Self {
        let none = || AuditHead { opened: String::new(), count: 0, hash: sha256(b"") };
        Self { head: sale.audit().cloned().unwrap_or_else(none), waiting: sale.outbox().to_vec() }
    }

    /// What this purchase in USDC says.
    #[must_use]
    pub fn of_purchase(purchase: &Purchase) -> Self {
        let none = || AuditHead { opened: String::new(), count: 0, hash: sha256(b"") };
        Self { head: purchase.audit().cloned().unwrap_or_else(none), waiting: purchase.outbox().to_vec() }
    }

    /// What this chat account says.
    #[must_use]
    pub fn of_account(account: &Account) -> Self {
        let none = || AuditHead { opened: String::new(), count: 0, hash: sha256(b"") };
        Self { head: account.audit().cloned().unwrap_or_else(none), waiting: account.outbox().to_vec() }
    }

    /// What this subscriber says.
    #[must_use]
    pub fn of_subscriber(subscriber: &Subscriber) -> Self {
        let none = || AuditHead { opened: String::new(), count: 0, hash: sha256(b"") };
        Self { head: subscriber.audit().cloned().unwrap_or_else(none), waiting: subscriber.outbox().to_vec() }
    }

    /// The day that the keys of its records begin with.
    #[must_use]
    pub fn opened(&self) -> &str {
        &self.head.opened
    }

    /// How many records must be in the log.
    #[must_use]
    pub const fn published(&self) -> u64 {
        self.head.count.saturating_sub(self.waiting.len() as u64)
    }

    /// The hash of the last record that must be in the log; nothing where a waiting record cannot be read.
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
