//! The ports of selling for USDC: the purchases, the facilitator that submits payments, and a node of the chain.

use super::{SaveError, StorageError, Store, Versioned};
use crate::{
    SessionId, Timestamp,
    toll::{CorpusVersion, List, Named, PaidBy, Purchase, SignedPayment},
};
use async_trait::async_trait;

/// Purchases by their ids.
#[async_trait]
pub trait Purchases: Store<Purchase> {
    /// Purchases with open work due by then, the most urgent first: all that wait for a human, at most a hundred of the
    /// schedule's.
    async fn listed(&self, list: List, until: Timestamp) -> Result<Vec<SessionId>, StorageError>;
    /// The purchase that a payer's name refers to, if the name was used. `key` is derived from payer and name.
    async fn named(&self, key: &SessionId) -> Result<Option<Versioned<Named>>, StorageError>;
    /// Names a purchase if the name's version is still `expected` (0: if it is unused). Returns the new version.
    async fn name(&self, key: &SessionId, named: &Named, expected: u64) -> Result<u64, SaveError>;
}

/// Why a call to a facilitator failed.
#[derive(Debug, thiserror::Error)]
pub enum FacilitatorError {
    /// It refuses the payment; the reason is the facilitator's own.
    #[error("the facilitator refuses the payment: {0}")]
    Refused(String),
    /// It reports a failure that does not exclude that it has submitted the payment, or a check that failed and says
    /// nothing about the payment; the reason is the facilitator's own.
    #[error("the facilitator could not decide about the payment: {0}")]
    Unclear(String),
    /// It has submitted the payment, and the chain has not accepted it yet: this is not final.
    #[error("the settlement is pending")]
    Pending,
    /// It could not be reached, or its answer was lost: the call may have had its effect.
    #[error("the facilitator is unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl FacilitatorError {
    /// Whether it says that the payment's nonce is used. The payment itself may have used it, seconds ago.
    #[must_use]
    pub fn says_used(&self) -> bool {
        matches!(self, Self::Refused(reason) | Self::Unclear(reason) if reason.contains("nonce") && reason.contains("used"))
    }
}

/// Checks payments and submits them to the chain. A facilitator may refuse a payment, but cannot make an invalid one
/// valid.
#[async_trait]
pub trait Facilitator: Send + Sync {
    /// Checks whether it would settle the payment now.
    async fn verify(&self, payment: &SignedPayment) -> Result<(), FacilitatorError>;
    /// Submits the payment and waits for its transaction. Returns the transaction's hash.
    async fn settle(&self, payment: &SignedPayment) -> Result<String, FacilitatorError>;
}

/// The state of a signed payment on the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaymentUse {
    /// It was not submitted.
    Unused {
        /// The time of the newest final block.
        head: Timestamp,
    },
    /// A transaction has used it, or has used another payment with the same payer and nonce.
    Used {
        /// The transaction.
        transaction: String,
        /// Whether it paid us the amount. It did not if the payer signed another payment with the same nonce.
        is_ours: bool,
    },
    /// A transaction has used it, and the node has no receipt of the transaction: it lags behind, or does not keep
    /// receipts that long.
    Unconfirmed,
    /// It is used, and the node finds no transaction that used it within the hour before it expired or within the last
    /// two days. Either it was used at another time, or the node's answers contradict each other.
    Untraced,
}

/// The state on the chain of a transaction that is claimed to have paid us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// It paid us exactly the amount.
    Paid {
        /// The payer.
        payer: String,
    },
    /// It paid us what buys nothing here: another amount, or the amount too long ago.
    Other {
        /// The payer.
        payer: String,
        /// The amount in millionths of a dollar.
        amount: u64,
        /// Whether it is too old to buy anything.
        is_late: bool,
    },
    /// It paid us by several transfers, so it buys nothing: what each payer has transferred.
    Several(Vec<PaidBy>),
    /// It submitted a signed transfer to us, which buys by its signature. The signature may never have reached us.
    Signed {
        /// The payer, in lower case.
        payer: String,
        /// The nonce, in lower case.
        nonce: String,
        /// The amount in millionths of a dollar.
        amount: u64,
    },
    /// It may still become one that paid us.
    Unconfirmed(String),
    /// It did not pay us.
    Refused(String),
}

/// A node of the chain.
#[async_trait]
pub trait Node: Send + Sync {
    /// The state of a signed payment.
    async fn payment_use(&self, payment: &SignedPayment) -> Result<PaymentUse, StorageError>;
    /// Whether a transaction paid us this many millionths of a dollar.
    async fn transfer(&self, transaction: &str, amount: u64) -> Result<Transfer, StorageError>;
}

/// The indexes of corpora, each kept once under its version.
#[async_trait]
pub trait Corpora: Send + Sync {
    /// The bytes of an index, if it is there.
    async fn read(&self, version: &CorpusVersion) -> Result<Option<Vec<u8>>, StorageError>;
    /// Keeps an index, unless one is stored already; a stored one is never replaced.
    async fn keep(&self, version: &CorpusVersion, bytes: &[u8]) -> Result<(), StorageError>;
    /// The versions that are kept, with when each was; in order of the versions.
    async fn listed(&self) -> Result<Vec<(CorpusVersion, Timestamp)>, StorageError>;
}
