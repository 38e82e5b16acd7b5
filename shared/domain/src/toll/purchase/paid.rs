//! How a purchase is paid.

use crate::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
