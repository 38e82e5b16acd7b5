//! Answers that are sold for USDC over HTTP 402: the offers, and the states of one purchase.

mod corpus;
mod identifier;
mod offer;
mod purchase;

pub use corpus::{CorpusVersion, InvalidCorpusVersion};
pub use identifier::{Named, PaymentIdentifier, PaymentIdentifierError};
pub use offer::Offer;
pub use purchase::{
    Answered, Claimed, InvalidPurchase, List, PREFIX, Paid, PaidBy, Problem, Purchase, Refused, SignedPayment, Stage,
    purchase_id,
};
