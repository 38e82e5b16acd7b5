//! One purchase: from a payment to an answer and a settlement, each step one conditional write.
//!
//! | stage | what is true | what follows |
//! |---|---|---|
//! | unanswered | nothing is settled, no answer is kept | the same payment may ask again; when it has lapsed, the chain is asked once |
//! | working | one invocation makes the answer until its lease ends | an answer, or unanswered |
//! | settling | the answer is kept and has not left | settled, or lapsed |
//! | settled | the transfer to us is made; the answer may leave | the chain confirms it, or a human looks |
//! | lapsed | the payment can never be settled any more | nothing |
//! | owed | the transfer to us is made and there is no answer | a human gives the money back |

mod paid;
mod stage;
mod steps;
#[cfg(test)]
mod tests;

pub use paid::{Paid, SignedPayment};
pub use stage::{Answered, Claimed, List, Problem, Refused, Stage};

use crate::{
    Alert, SessionId, Timestamp,
    sale::{AuditEntry, AuditHead},
    toll::Offer,
};
use serde::{Deserialize, Serialize};

/// What the id of a purchase begins with. It has the form of a session id, so that its records are a stream like any
/// other, and Stripe gives out none of this form.
pub const PREFIX: &str = "cs_x402_";

/// Repetitions that are recorded; later ones are answered and leave no record.
const MOST_RECORDED: u32 = 100;

/// A digest that no purchase can be named by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a purchase is named by 64 hexadecimal digits")]
pub struct InvalidPurchase;

/// The id of the purchase that this digest of a payment names.
///
/// # Errors
/// [`InvalidPurchase`]
pub fn purchase_id(digest: &str) -> Result<SessionId, InvalidPurchase> {
    let is_digest = digest.len() == 64 && digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let id = is_digest.then(|| SessionId::parse(format!("{PREFIX}{digest}")).ok()).flatten();
    id.ok_or(InvalidPurchase)
}

/// One purchase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Purchase {
    id: SessionId,
    offer: Offer,
    /// Digest of what is bought: the offer and the question.
    fingerprint: String,
    /// The question as the audit log knows it.
    query_hash: String,
    paid: Paid,
    received_at: Timestamp,
    stage: Stage,
    #[serde(default)]
    repeated: u32,
    #[serde(default)]
    audit: Option<AuditHead>,
    #[serde(default)]
    outbox: Vec<AuditEntry>,
    #[serde(default)]
    alerts: Vec<Alert>,
}

impl Purchase {
    /// A payment that was seen for the first time.
    #[must_use]
    pub fn new(
        id: SessionId,
        offer: Offer,
        fingerprint: String,
        query_hash: String,
        paid: Paid,
        received_at: Timestamp,
    ) -> Self {
        let stage = Stage::Unanswered;
        let (audit, outbox, alerts) = (None, Vec::new(), Vec::new());
        Self { id, offer, fingerprint, query_hash, paid, received_at, stage, repeated: 0, audit, outbox, alerts }
    }

    /// Its id.
    #[must_use]
    pub const fn id(&self) -> &SessionId {
        &self.id
    }

    /// What is bought.
    #[must_use]
    pub const fn offer(&self) -> Offer {
        self.offer
    }

    /// Whether exactly this is bought.
    #[must_use]
    pub fn is_for(&self, fingerprint: &str) -> bool {
        self.fingerprint == fingerprint
    }

    /// The question as the audit log knows it.
    #[must_use]
    pub fn query_hash(&self) -> &str {
        &self.query_hash
    }

    /// How it is paid.
    #[must_use]
    pub const fn paid(&self) -> &Paid {
        &self.paid
    }

    /// When the payment was first shown.
    #[must_use]
    pub const fn received_at(&self) -> Timestamp {
        self.received_at
    }

    /// How far it is.
    #[must_use]
    pub const fn stage(&self) -> &Stage {
        &self.stage
    }

    /// The transaction, where there is one.
    #[must_use]
    pub fn transaction(&self) -> Option<&str> {
        match (&self.stage, &self.paid) {
            (Stage::Settled { transaction, .. } | Stage::Owed { transaction, .. }, _)
            | (_, Paid::Transferred { transaction, .. }) => Some(transaction),
            _ => None,
        }
    }

    /// The answer, where one is kept.
    #[must_use]
    pub fn answered(&self) -> Option<&Answered> {
        match &self.stage {
            Stage::Settling { answer, .. } | Stage::Settled { answer, .. } => Some(answer),
            _ => None,
        }
    }

    /// The signed payment, where it is paid so.
    #[must_use]
    pub fn signed(&self) -> Option<&SignedPayment> {
        match &self.paid {
            Paid::Signed(signed) => Some(signed),
            Paid::Transferred { .. } => None,
        }
    }

    /// Counts a repetition; `false` where it leaves no record any more.
    pub const fn repeat(&mut self) -> bool {
        self.repeated = self.repeated.saturating_add(1);
        self.repeated <= MOST_RECORDED
    }

    /// The end of its stream of records.
    #[must_use]
    pub const fn audit(&self) -> Option<&AuditHead> {
        self.audit.as_ref()
    }

    /// Records that wait to be published.
    #[must_use]
    pub fn outbox(&self) -> &[AuditEntry] {
        &self.outbox
    }

    /// Appends a record to the outbox.
    pub fn append_record(&mut self, entry: AuditEntry, head: AuditHead) {
        self.outbox.push(entry);
        self.audit = Some(head);
    }

    /// Keeps alerts until they are raised.
    pub fn keep_alerts(&mut self, alerts: impl IntoIterator<Item = Alert>) {
        self.alerts.extend(alerts);
    }

    /// What waits to be published.
    pub const fn outbox_mut(&mut self) -> (&mut Vec<AuditEntry>, &mut Vec<Alert>) {
        (&mut self.outbox, &mut self.alerts)
    }
}
