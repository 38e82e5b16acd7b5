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

/// What one payer has transferred in a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
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

    /// The text of several payers: `0xaa 0.060000, 0xbb 1.000000`, with amounts in dollars, because an earlier version
    /// shows operators this text.
    pub(super) fn join(payers: &[Self]) -> String {
        let part = |Self { payer, amount }: &Self| format!("{payer} {}.{:06}", amount / 1_000_000, amount % 1_000_000);
        payers.iter().map(part).collect::<Vec<_>>().join(", ")
    }

    /// The payers of such a text; none if it is the text of one payer.
    pub(super) fn split(text: &str) -> Vec<Self> {
        let part = |part: &str| {
            let (payer, dollars) = part.split_once(' ')?;
            let (whole, millionths) = dollars.split_once('.').filter(|(_, millionths)| millionths.len() == 6)?;
            let amount = format!("{whole}{millionths}").parse().ok()?;
            Some(Self { payer: payer.to_owned(), amount })
        };
        text.split(", ").map(part).collect::<Option<_>>().unwrap_or_default()
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
        /// The payer. Several payers and their parts are one text, which [`Purchase::payers`](super::Purchase::payers)
        /// reads, because an earlier version would not save a field of their own with the row.
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

    #[test]
    fn several_payers_are_one_text_with_their_parts_in_dollars() {
        let part = |payer: &str, amount| PaidBy { payer: payer.to_owned(), amount };
        let payers = [part("0xaa", 60_000), part("0xbb", 1_000_000), part("0xcc", u64::MAX)];
        let text = PaidBy::join(&payers);
        assert_eq!(text, "0xaa 0.060000, 0xbb 1.000000, 0xcc 18446744073709.551615");
        assert_eq!(PaidBy::split(&text), payers);
        for one in ["", "0xaa", "0xaa 1", "0xaa 0.06", "0xaa 0.060000, 0xbb", "0xaa 18446744073709.551616"] {
            assert!(PaidBy::split(one).is_empty(), "{one}");
        }
    }
}
