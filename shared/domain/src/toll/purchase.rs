//! One purchase: from a payment to an answer and a settlement, each step one conditional write.
//!
//! | stage | what is true | what follows |
//! |---|---|---|
//! | unanswered | nothing is settled, no answer is kept | the same payment may ask again, a few times; when it has lapsed, the chain is asked once |
//! | working | one invocation makes the answer until its lease ends | an answer, or unanswered |
//! | settling | the answer is kept and has not left | settled, or lapsed |
//! | settled | the transfer to us is made; the answer may leave | the chain confirms it, or a human looks |
//! | lapsed | the payment can never be settled any more, or the chain does not show where it went | nothing, or a human looks for the money |
//! | owed | the transfer to us is made and there is no answer | a human gives the money back, and is reminded daily |

mod paid;
mod stage;
mod steps;
#[cfg(test)]
mod tests;

pub use paid::{Paid, PaidBy, SignedPayment};
pub use stage::{Answered, Claimed, List, Problem, Refused, Stage};

use crate::{
    SessionId, Timestamp,
    audit_trail::{AuditTrail, Audited},
    toll::{Offer, offer::dollars},
};
use serde::{Deserialize, Serialize};

/// The prefix of a purchase's id. The id has the form of a session id, so that its records form a stream like any
/// other; Stripe issues no ids with this prefix.
pub const PREFIX: &str = "cs_x402_";

/// The number of repeated requests that are recorded; later ones are answered without a record.
const MOST_RECORDED: u32 = 100;

/// The most payers of a transaction that a purchase names.
const MOST_PAYERS: usize = 100;

/// After this many attempts at its answer that ended with an unusable reply, a purchase gets no further one, because
/// such attempts are not paid for. Attempts without a reply are not counted: while no model replies, no purchase ends.
const MOST_UNANSWERED: u32 = 8;

/// The digest cannot identify a purchase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a purchase is named by 64 hexadecimal digits")]
pub struct InvalidPurchase;

/// The id of the purchase for this digest of a payment.
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
    /// The digest of the offer and the question.
    fingerprint: String,
    /// The hash of the question in the audit log.
    query_hash: String,
    paid: Paid,
    /// The amount of a transfer that is not that of the offer, in millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    transferred: Option<u64>,
    received_at: Timestamp,
    stage: Stage,
    /// When the schedule last looked at it and could change nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    looked_at: Option<Timestamp>,
    #[serde(default)]
    repeated: u32,
    /// The attempts at an answer in which a model delivered a reply that is unusable.
    #[serde(default, skip_serializing_if = "crate::serde_skip::is_zero")]
    unanswered: u32,
    #[serde(flatten)]
    trail: AuditTrail,
}

impl Purchase {
    /// A purchase for a payment that is new.
    #[must_use]
    pub fn new(
        id: SessionId,
        offer: Offer,
        fingerprint: String,
        query_hash: String,
        paid: Paid,
        received_at: Timestamp,
    ) -> Self {
        Self {
            id,
            offer,
            fingerprint,
            query_hash,
            paid,
            transferred: None,
            received_at,
            stage: Stage::Unanswered,
            looked_at: None,
            repeated: 0,
            unanswered: 0,
            trail: AuditTrail::new(),
        }
    }

    /// Its id.
    #[must_use]
    pub const fn id(&self) -> &SessionId {
        &self.id
    }

    /// The offer.
    #[must_use]
    pub const fn offer(&self) -> Offer {
        self.offer
    }

    /// Whether the purchase is for exactly this offer and question.
    #[must_use]
    pub fn is_for(&self, fingerprint: &str) -> bool {
        self.fingerprint == fingerprint
    }

    /// The hash of the question in the audit log.
    #[must_use]
    pub fn query_hash(&self) -> &str {
        &self.query_hash
    }

    /// The payment.
    #[must_use]
    pub const fn paid(&self) -> &Paid {
        &self.paid
    }

    /// The same purchase, for a transfer of this amount.
    #[must_use]
    pub fn of_amount(self, amount: u64) -> Self {
        Self { transferred: Some(amount).filter(|amount| *amount != self.offer.price()), ..self }
    }

    /// The same purchase, for a transaction in which each of these has paid. The amount is their sum. If there are
    /// several, its payer is the text of the first hundred, because the row is limited.
    #[must_use]
    pub fn of_payers(mut self, payers: &[PaidBy]) -> Self {
        let sum = payers.iter().fold(0_u64, |sum, paid| sum.saturating_add(paid.amount));
        if let Paid::Transferred { payer, .. } = &mut self.paid
            && payers.len() > 1
        {
            *payer = PaidBy::join(payers.get(..MOST_PAYERS).unwrap_or(payers));
        }
        self.of_amount(sum)
    }

    /// What each payer of the transaction has transferred; nothing if there is one payer.
    #[must_use]
    pub fn payers(&self) -> Vec<PaidBy> {
        match &self.paid {
            Paid::Transferred { payer, .. } => PaidBy::split(payer),
            Paid::Signed(_) => Vec::new(),
        }
    }

    /// The amount that is paid, in dollars, in the form of the audit log.
    #[must_use]
    pub fn dollars(&self) -> f64 {
        dollars(self.transferred.unwrap_or_else(|| self.offer.price()))
    }

    /// When the payment was first received.
    #[must_use]
    pub const fn received_at(&self) -> Timestamp {
        self.received_at
    }

    /// Its stage.
    #[must_use]
    pub const fn stage(&self) -> &Stage {
        &self.stage
    }

    /// The transaction, if there is one.
    #[must_use]
    pub fn transaction(&self) -> Option<&str> {
        match (&self.stage, &self.paid) {
            (Stage::Settled { transaction, .. } | Stage::Owed { transaction, .. }, _)
            | (_, Paid::Transferred { transaction, .. }) => Some(transaction),
            _ => None,
        }
    }

    /// The answer, if one is stored.
    #[must_use]
    pub fn answered(&self) -> Option<&Answered> {
        match &self.stage {
            Stage::Settling { answer, .. } | Stage::Settled { answer, .. } => Some(answer),
            _ => None,
        }
    }

    /// The signed payment, if it is paid with one.
    #[must_use]
    pub fn signed(&self) -> Option<&SignedPayment> {
        match &self.paid {
            Paid::Signed(signed) => Some(signed),
            Paid::Transferred { .. } => None,
        }
    }

    /// Whether models have delivered too many unusable replies for its answer: no further attempt is made.
    #[must_use]
    pub const fn is_exhausted(&self) -> bool {
        self.unanswered >= MOST_UNANSWERED
    }

    /// Counts a repeated request; `false` if it is not recorded any more.
    pub const fn repeat(&mut self) -> bool {
        self.repeated = self.repeated.saturating_add(1);
        self.repeated <= MOST_RECORDED
    }
}

impl Audited for Purchase {
    type Id = SessionId;

    fn unstored(_: &SessionId) -> Option<Self> {
        None
    }

    fn id(&self) -> &SessionId {
        &self.id
    }

    fn stream(&self) -> String {
        self.id.as_str().to_owned()
    }

    fn trail(&self) -> &AuditTrail {
        &self.trail
    }

    fn trail_mut(&mut self) -> &mut AuditTrail {
        &mut self.trail
    }
}
