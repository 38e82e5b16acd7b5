//! How far a purchase is, and who has to look at it next.

use crate::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
