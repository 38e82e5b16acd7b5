//! The stage of a purchase, and the list of open work that it is on.

use crate::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The stage of a purchase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Stage {
    /// There is no answer; the facilitator was only asked whether the payment is valid.
    Unanswered,
    /// One invocation has claimed the answer. `evaluation` is the authority gate's, which no record has yet.
    Working {
        owner: String,
        until: Timestamp,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evaluation: Option<Value>,
    },
    /// The answer is stored. The settlement was requested, and its success is not confirmed.
    Settling {
        answer: Box<Answered>,
        attempts: u32,
        /// The attempts that were refused; 0 in a row that an earlier version stored.
        #[serde(default)]
        refused: u32,
        problem: Option<Problem>,
        next: Timestamp,
    },
    /// The facilitator, or the chain, confirms that the transfer is made.
    Settled {
        answer: Box<Answered>,
        transaction: String,
        at: Timestamp,
        confirmed: bool,
        doubtful: bool,
        /// Whether a human has dealt with the doubt. Earlier versions stored such a sale as confirmed.
        #[serde(default)]
        resolved: bool,
    },
    /// The payment can no longer be settled.
    Lapsed {
        at: Timestamp,
        /// Whether the chain did not show where the payment went: then it may have reached us.
        #[serde(default)]
        untraced: bool,
        /// Whether a human has looked for one that is untraced.
        #[serde(default)]
        resolved: bool,
    },
    /// We have the money, and there is no answer: a human gives it back.
    Owed { transaction: String, at: Timestamp, resolved: bool },
}

/// Why an attempt at the settlement failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The reason, for operators and the payer.
    pub why: String,
    /// Whether every attempt so far was refused, as opposed to an unknown outcome of any of them.
    pub is_refusal: bool,
}

/// An answer, byte for byte as it is sent.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The body.
    pub body: String,
    /// The facts of its making, for the audit log.
    pub facts: Value,
    /// When it was made.
    pub at: Timestamp,
}

impl std::fmt::Debug for Answered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Answered({} bytes)", self.body.len())
    }
}

/// The result of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// The caller holds the claim and makes the answer.
    Granted,
    /// Another invocation holds the claim.
    Busy,
    /// There is nothing left to make; the stage shows why.
    Ended,
}

/// The purchase is not in the stage that the step needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the purchase is at another stage")]
pub struct Refused;

/// The list of open work that a purchase is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// For the schedule.
    Machines,
    /// For a human.
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
