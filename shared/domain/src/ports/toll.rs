//! Selling for USDC: the purchases, the facilitator that submits payments, and a node of the chain.

use super::{SaveError, StorageError, Versioned};
use crate::{
    SessionId, Timestamp,
    toll::{List, Named, Purchase, SignedPayment},
};
use async_trait::async_trait;

/// Purchases by their ids.
#[async_trait]
pub trait Purchases: Send + Sync {
    /// The purchase, if its payment was seen before.
    async fn load(&self, id: &SessionId) -> Result<Option<Versioned<Purchase>>, StorageError>;
    /// Saves it if its version is still `expected` (0: if there is none). Returns the new version.
    async fn save(&self, purchase: &Purchase, expected: u64) -> Result<u64, SaveError>;
    /// Those that somebody has to look at by then, the most urgent first; a hundred at most.
    async fn listed(&self, list: List, until: Timestamp) -> Result<Vec<SessionId>, StorageError>;
    /// What a payer's name for a purchase stands for, if it was given. `key` is of payer and name.
    async fn named(&self, key: &SessionId) -> Result<Option<Versioned<Named>>, StorageError>;
    /// Names a purchase if the name's version is still `expected` (0: if it was never given). Returns the new version.
    async fn name(&self, key: &SessionId, named: &Named, expected: u64) -> Result<u64, SaveError>;
}

/// Why a facilitator did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum FacilitatorError {
    /// It refuses the payment; the reason is its own word.
    #[error("the facilitator refuses the payment: {0}")]
    Refused(String),
    /// It has submitted the payment, and the chain has not taken it yet: this is no end.
    #[error("the settlement is pending")]
    Pending,
    /// It could not be reached, or its answer got lost: what was asked may have been done.
    #[error("the facilitator is unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Who checks payments and submits them to the chain. It may refuse a payment; it cannot make one good.
#[async_trait]
pub trait Facilitator: Send + Sync {
    /// Whether it would settle the payment now.
    async fn verify(&self, payment: &SignedPayment) -> Result<(), FacilitatorError>;
    /// Submits the payment and waits for its transaction, whose hash it returns.
    async fn settle(&self, payment: &SignedPayment) -> Result<String, FacilitatorError>;
}

/// What the chain knows of a signed payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// Nobody has submitted it.
    Unused {
        /// The time of the newest block that will stay.
        head: Timestamp,
    },
    /// A transaction has used it, or another of the same payer and nonce.
    Used {
        /// The transaction.
        transaction: String,
        /// Whether it paid us the amount. It did not where the payer signed something else with the same nonce.
        is_ours: bool,
    },
    /// A transaction has used it, and too few blocks have followed.
    Unconfirmed,
}

/// What the chain knows of a transaction that is said to have paid us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// It paid us exactly the amount.
    Paid {
        /// Who paid.
        payer: String,
    },
    /// It may yet be one that did.
    Unconfirmed(String),
    /// It is not one that did.
    Refused(String),
}

/// A node of the chain.
#[async_trait]
pub trait Node: Send + Sync {
    /// What became of a signed payment.
    async fn whereabouts(&self, payment: &SignedPayment) -> Result<Whereabouts, StorageError>;
    /// Whether a transaction paid us this many millionths of a dollar.
    async fn transfer(&self, transaction: &str, amount: u64) -> Result<Transfer, StorageError>;
}
