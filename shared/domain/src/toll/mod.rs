//! Answers that are sold for USDC over HTTP 402: what is for sale, and the states of one purchase.

mod identifier;
mod offer;
mod purchase;

pub use identifier::{Named, PaymentIdentifier, PaymentIdentifierError};
pub use offer::Offer;
pub use purchase::{
    Answered, Claimed, InvalidPurchase, List, PREFIX, Paid, Problem, Purchase, Refused, SignedPayment, Stage,
    purchase_id,
};
