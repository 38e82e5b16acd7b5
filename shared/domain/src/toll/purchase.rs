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

use crate::{
    Alert, SessionId, Timestamp,
    sale::{AuditEntry, AuditHead},
    toll::Offer,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// What the id of a purchase begins with. It has the form of a session id, so that its records are a stream like any
/// other, and Stripe gives out none of this form.
pub const PREFIX: &str = "cs_x402_";

/// After a payment's time is over, the chain's own clock may still be behind by this much.
const GRACE: Duration = Duration::from_secs(60);

/// The time between two looks at a settlement whose outcome is unknown.
const SETTLE_AGAIN: Duration = Duration::from_secs(60);

/// A settlement is looked for on the chain after this time,
const CONFIRM_AFTER: Duration = Duration::from_secs(120);

/// and a human looks if the chain does not have it after this one.
const DOUBTFUL_AFTER: Duration = Duration::from_secs(3600);

/// A transfer that was made before it was shown to us buys an answer for this long; then its money goes back.
const TRANSFER_HOLDS: Duration = Duration::from_secs(3600);

/// Repetitions that are recorded; later ones are answered and leave no record.
const MOST_RECORDED: u32 = 100;

/// A payment that its payer signed and that somebody must still submit to the chain.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedPayment {
    /// The version of x402 in which it came: 1 or 2.
    pub version: u8,
    /// The payment as it came, in that version's form.
    pub payload: Value,
    /// What we asked for, in that version's form.
    pub requirements: Value,
    /// The network, in that version's words.
    pub network: String,
    /// Millionths of a dollar.
    pub amount: u64,
    /// Who pays, in lower case.
    pub payer: String,
    /// What makes it unique among the payer's, in lower case.
    pub nonce: String,
    /// It cannot be settled at or after this time.
    pub valid_before: Timestamp,
}

/// A holder of the signature can submit the transfer, so it is shown nowhere.
impl std::fmt::Debug for SignedPayment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignedPayment")
            .field("network", &self.network)
            .field("payer", &self.payer)
            .finish_non_exhaustive()
    }
}

/// How a purchase is paid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Paid {
    /// By a signed transfer, which is settled once the answer is there.
    Signed(Box<SignedPayment>),
    /// By a transfer that was on the chain before.
    Transferred {
        /// The transaction.
        transaction: String,
        /// Who paid.
        payer: String,
        /// The network (CAIP-2).
        network: String,
    },
}

/// How far a purchase is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Stage {
    /// There is no answer; nothing was asked of the facilitator but whether the payment is good.
    Unanswered,
    /// One invocation makes the answer.
    Working { owner: String, until: Timestamp },
    /// The answer is kept. The settlement was asked for, and its outcome is not known to be good.
    Settling { answer: Box<Answered>, attempts: u32, problem: Option<Problem>, next: Timestamp },
    /// The facilitator says that the transfer is made, or the chain does.
    Settled { answer: Box<Answered>, transaction: String, at: Timestamp, confirmed: bool, doubtful: bool },
    /// The payment can never be settled any more.
    Lapsed { at: Timestamp },
    /// We have the money, and there is no answer: a human gives it back.
    Owed { transaction: String, at: Timestamp, resolved: bool },
}

/// Why an attempt did not settle a purchase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// For operators and the payer.
    pub why: String,
    /// Whether the facilitator said no, other than that nobody knows.
    pub is_refusal: bool,
}

/// An answer, byte for byte as it leaves.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The body.
    pub body: String,
    /// What the audit log says of its making.
    pub facts: Value,
    /// When it was made.
    pub at: Timestamp,
}

impl std::fmt::Debug for Answered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Answered({} bytes)", self.body.len())
    }
}

/// What a claim finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// The caller makes the answer.
    Granted,
    /// Somebody does.
    Busy,
    /// There is nothing left to make: the stage says why.
    Ended,
}

/// The purchase is in another stage than the step needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the purchase is at another stage")]
pub struct Refused;

/// A digest that no purchase can be named by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a purchase is named by 64 hexadecimal digits")]
pub struct InvalidPurchase;

/// Who has to look at a purchase next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// The schedule.
    Machines,
    /// A human.
    Humans,
}

impl List {
    /// Its name in the table's index.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Machines => "TOLL",
            Self::Humans => "TOLL_HUMAN",
        }
    }
}

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

    /// Takes the making of the answer, for as long as the lease lasts.
    pub fn claim(&mut self, owner: &str, now: Timestamp, lease: Duration) -> Claimed {
        match &self.stage {
            Stage::Working { owner: other, until } if *until > now && other != owner => Claimed::Busy,
            Stage::Unanswered | Stage::Working { .. } => {
                self.stage = Stage::Working { owner: owner.to_owned(), until: now.plus(lease) };
                Claimed::Granted
            }
            Stage::Settling { .. } | Stage::Settled { .. } | Stage::Lapsed { .. } | Stage::Owed { .. } => {
                Claimed::Ended
            }
        }
    }

    fn is_held_by(&self, holder: &str) -> bool {
        matches!(&self.stage, Stage::Working { owner, .. } if owner == holder)
    }

    /// Ends a claim without an answer.
    ///
    /// # Errors
    /// [`Refused`] where the claim is another's by now.
    pub fn give_up(&mut self, owner: &str) -> Result<(), Refused> {
        if !self.is_held_by(owner) {
            return Err(Refused);
        }
        self.stage = Stage::Unanswered;
        Ok(())
    }

    /// Keeps the answer. A signed payment is to be settled at once: this counts as the first attempt, so that one whose
    /// process dies in the middle is known to have been made.
    ///
    /// # Errors
    /// [`Refused`] where the claim is another's by now.
    pub fn answer(&mut self, owner: &str, answer: Answered, now: Timestamp) -> Result<(), Refused> {
        if !self.is_held_by(owner) {
            return Err(Refused);
        }
        let answer = Box::new(answer);
        self.stage = match &self.paid {
            Paid::Signed(_) => Stage::Settling { answer, attempts: 1, problem: None, next: now.plus(SETTLE_AGAIN) },
            Paid::Transferred { transaction, .. } => {
                Stage::Settled { answer, transaction: transaction.clone(), at: now, confirmed: true, doubtful: false }
            }
        };
        Ok(())
    }

    /// Counts a further attempt at the settlement, before it is made.
    ///
    /// # Errors
    /// [`Refused`] where nothing is to be settled.
    pub fn settle_again(&mut self, now: Timestamp) -> Result<(), Refused> {
        let Stage::Settling { attempts, next, .. } = &mut self.stage else { return Err(Refused) };
        *attempts += 1;
        *next = now.plus(SETTLE_AGAIN);
        Ok(())
    }

    /// Keeps why an attempt did not settle it. That a facilitator refuses does not say that nobody settled it.
    ///
    /// # Errors
    /// [`Refused`] where nothing is to be settled.
    pub fn not_settled(&mut self, why: Problem) -> Result<(), Refused> {
        let Stage::Settling { problem, .. } = &mut self.stage else { return Err(Refused) };
        *problem = Some(why);
        Ok(())
    }

    /// The transfer to us is made. Without an answer to give for it, we owe the money. Returns whether we do.
    ///
    /// # Errors
    /// [`Refused`] where that is known already.
    pub fn settled(&mut self, transaction: &str, is_confirmed: bool, at: Timestamp) -> Result<bool, Refused> {
        let transaction = transaction.to_owned();
        match std::mem::replace(&mut self.stage, Stage::Unanswered) {
            Stage::Settling { answer, .. } => {
                self.stage = Stage::Settled { answer, transaction, at, confirmed: is_confirmed, doubtful: false };
                Ok(false)
            }
            Stage::Unanswered | Stage::Working { .. } | Stage::Lapsed { .. } => {
                self.stage = Stage::Owed { transaction, at, resolved: false };
                Ok(true)
            }
            known @ (Stage::Settled { .. } | Stage::Owed { .. }) => {
                self.stage = known;
                Err(Refused)
            }
        }
    }

    /// The payment's time is over, and the chain does not have the transfer.
    ///
    /// # Errors
    /// [`Refused`] where it was settled.
    pub fn lapse(&mut self, at: Timestamp) -> Result<(), Refused> {
        match self.stage {
            Stage::Unanswered | Stage::Working { .. } | Stage::Settling { .. } => {
                self.stage = Stage::Lapsed { at };
                Ok(())
            }
            Stage::Settled { .. } | Stage::Lapsed { .. } | Stage::Owed { .. } => Err(Refused),
        }
    }

    /// The chain has the transfer that the facilitator told of.
    ///
    /// # Errors
    /// [`Refused`] where that is no question.
    pub fn confirm(&mut self, on_chain: &str) -> Result<(), Refused> {
        let Stage::Settled { transaction, confirmed, doubtful, .. } = &mut self.stage else { return Err(Refused) };
        on_chain.clone_into(transaction);
        (*confirmed, *doubtful) = (true, false);
        Ok(())
    }

    /// The chain does not have the transfer that the facilitator told of. Returns whether it is time for a human.
    ///
    /// # Errors
    /// [`Refused`] where that is no question, or a human looks already.
    pub fn doubt(&mut self, now: Timestamp) -> Result<bool, Refused> {
        match &mut self.stage {
            Stage::Settled { at, confirmed: false, doubtful: doubtful @ false, .. } => {
                *doubtful = now >= at.plus(DOUBTFUL_AFTER);
                Ok(*doubtful)
            }
            _ => Err(Refused),
        }
    }

    /// A human has dealt with it.
    ///
    /// # Errors
    /// [`Refused`] where it waits for none.
    pub fn resolve(&mut self) -> Result<(), Refused> {
        match &mut self.stage {
            Stage::Owed { resolved: resolved @ false, .. } => *resolved = true,
            Stage::Settled { confirmed, doubtful: doubtful @ true, .. } => (*confirmed, *doubtful) = (true, false),
            _ => return Err(Refused),
        }
        Ok(())
    }

    /// Counts a repetition; `false` where it leaves no record any more.
    pub const fn repeat(&mut self) -> bool {
        self.repeated = self.repeated.saturating_add(1);
        self.repeated <= MOST_RECORDED
    }

    /// When the payment cannot be settled any more, by the chain's clock too.
    #[must_use]
    pub fn lapses_at(&self) -> Timestamp {
        match &self.paid {
            Paid::Signed(signed) => signed.valid_before.plus(GRACE),
            Paid::Transferred { .. } => self.received_at.plus(TRANSFER_HOLDS),
        }
    }

    /// Who has to look at it next, and when.
    #[must_use]
    pub fn next(&self) -> Option<(List, Timestamp)> {
        match &self.stage {
            Stage::Unanswered | Stage::Working { .. } => Some((List::Machines, self.lapses_at())),
            Stage::Settling { next, .. } => Some((List::Machines, *next)),
            Stage::Settled { at, confirmed: false, doubtful: false, .. } => {
                Some((List::Machines, at.plus(CONFIRM_AFTER)))
            }
            Stage::Settled { at, doubtful: true, .. } | Stage::Owed { at, resolved: false, .. } => {
                Some((List::Humans, *at))
            }
            Stage::Settled { .. } | Stage::Lapsed { .. } | Stage::Owed { .. } => None,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn purchase() -> Purchase {
        let signed = SignedPayment {
            version: 2,
            payload: Value::Null,
            requirements: Value::Null,
            network: "eip155:84532".to_owned(),
            amount: 50_000,
            payer: "0x1".to_owned(),
            nonce: "0x2".to_owned(),
            valid_before: at(100),
        };
        let id = purchase_id(&"a".repeat(64)).unwrap();
        Purchase::new(id, Offer::Query, "f".to_owned(), "q".to_owned(), Paid::Signed(Box::new(signed)), at(10))
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn answered() -> Answered {
        Answered { body: "{}".to_owned(), facts: Value::Null, at: at(20) }
    }

    const LEASE: Duration = Duration::from_secs(30);

    #[test]
    fn one_invocation_makes_the_answer_and_another_follows_it_when_it_dies() {
        let mut purchase = purchase();
        assert_eq!(purchase.claim("one", at(10), LEASE), Claimed::Granted);
        assert_eq!(purchase.claim("two", at(39), LEASE), Claimed::Busy);
        assert_eq!(purchase.claim("two", at(40), LEASE), Claimed::Granted);
        assert_eq!(purchase.answer("one", answered(), at(41)), Err(Refused));
        assert_eq!(purchase.give_up("one"), Err(Refused));
        assert_eq!(purchase.answer("two", answered(), at(41)), Ok(()));
        assert_eq!(purchase.claim("three", at(99), LEASE), Claimed::Ended);
    }

    #[test]
    fn what_is_settled_is_never_lapsed_and_money_without_an_answer_is_owed() {
        let mut paid = purchase();
        paid.claim("one", at(10), LEASE);
        paid.answer("one", answered(), at(20)).unwrap();
        assert_eq!(paid.next(), Some((List::Machines, at(80))));
        assert_eq!(paid.settled("0xt", false, at(21)), Ok(false));
        assert_eq!((paid.lapse(at(200)), paid.settled("0xu", true, at(22))), (Err(Refused), Err(Refused)));
        assert_eq!(paid.next(), Some((List::Machines, at(141))));
        assert_eq!(paid.doubt(at(3620)), Ok(false));
        assert_eq!(paid.doubt(at(3621)), Ok(true));
        assert_eq!(paid.next(), Some((List::Humans, at(21))));
        paid.confirm("0xt").unwrap();
        assert_eq!(paid.next(), None);

        let mut unanswered = purchase();
        assert_eq!(unanswered.next(), Some((List::Machines, at(160))));
        unanswered.lapse(at(160)).unwrap();
        assert_eq!(unanswered.next(), None);
        assert_eq!(unanswered.settled("0xt", true, at(161)), Ok(true));
        assert_eq!(unanswered.next(), Some((List::Humans, at(161))));
        unanswered.resolve().unwrap();
        assert_eq!((unanswered.next(), unanswered.resolve()), (None, Err(Refused)));
    }

    #[test]
    fn a_purchase_is_named_by_a_digest() {
        for digest in ["", "a", &"A".repeat(64), &"g".repeat(64), &"a".repeat(65)] {
            assert_eq!(purchase_id(digest), Err(InvalidPurchase));
        }
        let id = purchase_id(&"0".repeat(64)).unwrap();
        assert!(!id.looks_issued(), "it opens no page");
    }

    #[test]
    fn a_signature_is_not_shown() {
        assert!(!format!("{:?}", purchase()).contains("payload"));
    }
}
