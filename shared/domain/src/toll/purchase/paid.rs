//! The ways to pay a purchase.

use crate::{Timestamp, toll::offer::dollars};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A payment that its payer has signed and that has to be submitted to the chain.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedPayment {
    /// Its version of x402: 1 or 2.
    pub version: u8,
    /// The payment as received, in that version's form.
    pub payload: Value,
    /// Our requirements, in that version's form.
    pub requirements: Value,
    /// The network, by its name in that version.
    pub network: String,
    /// The amount in millionths of a dollar.
    pub amount: u64,
    /// The payer, in lower case.
    pub payer: String,
    /// The nonce, unique per payer, in lower case.
    pub nonce: String,
    /// From this time on it cannot be settled.
    pub valid_before: Timestamp,
}

/// A holder of the signature can submit the transfer, so it is never printed.
impl std::fmt::Debug for SignedPayment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignedPayment")
            .field("network", &self.network)
            .field("payer", &self.payer)
            .finish_non_exhaustive()
    }
}

/// Stands for the payer of a transaction that several have paid.
pub const SEVERAL: &str = "several";

/// What one payer has transferred in a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaidBy {
    /// The payer, in lower case.
    pub payer: String,
    /// The amount in millionths of a dollar.
    pub amount: u64,
}

impl PaidBy {
    /// The amount in dollars, in the form of the audit log.
    #[must_use]
    pub fn dollars(&self) -> f64 {
        dollars(self.amount)
    }
}

/// The payment of a purchase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Paid {
    /// A signed transfer, which is settled once the answer is ready.
    Signed(Box<SignedPayment>),
    /// A transfer that was on the chain before.
    Transferred {
        /// The transaction.
        transaction: String,
        /// The payer; [`SEVERAL`] if the purchase names several.
        payer: String,
        /// The network (CAIP-2).
        network: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signed_payment_is_printed_without_what_settles_it() {
        let signed = SignedPayment {
            version: 2,
            payload: serde_json::json!({ "signature": "0xsecret" }),
            requirements: Value::Null,
            network: "base-sepolia".to_owned(),
            amount: 50_000,
            payer: "0xaa".to_owned(),
            nonce: "0xbb".to_owned(),
            valid_before: Timestamp::from_seconds(0),
        };
        assert_eq!(format!("{signed:?}"), r#"SignedPayment { network: "base-sepolia", payer: "0xaa", .. }"#);
    }
}
