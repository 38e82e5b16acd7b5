//! What became of a sale's money, and who said so.

use crate::{
    Timestamp,
    words::{self, InvalidWords},
};
use serde::{Deserialize, Serialize};
use std::fmt;

mod history;
pub mod report;

pub use history::{Dispute, Noted, PaymentHistory, Refund, Returned};
pub use report::{DisputeStatus, ObjectId, PaymentChange, PaymentReport, RefundStatus};

/// Stripe's id of a payment, `pi_…`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PaymentId(String);

/// The text is no id of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a payment id is pi_ followed by 1 to 250 letters, digits and underscores")]
pub struct InvalidPaymentId;

impl PaymentId {
    /// Reads an id.
    ///
    /// # Errors
    /// [`InvalidPaymentId`].
    pub fn parse(text: impl Into<String>) -> Result<Self, InvalidPaymentId> {
        let text = text.into();
        let rest = text.strip_prefix("pi_").ok_or(InvalidPaymentId)?;
        let valid = (1..=250).contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if valid { Ok(Self(text)) } else { Err(InvalidPaymentId) }
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for PaymentId {
    type Error = InvalidPaymentId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(text)
    }
}

impl From<PaymentId> for String {
    fn from(id: PaymentId) -> Self {
        id.0
    }
}

impl fmt::Display for PaymentId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What the name of a policy begins with.
const POLICY: &str = "policy ";

/// Who or what decided that money goes back (Silent Drop, invariant 6; DESIGN: the policy is in the record).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unparsed", into = "Unparsed")]
pub struct Authorisation {
    by: String,
    reason: String,
}

/// An authorisation as it is stored.
#[derive(Serialize, Deserialize)]
struct Unparsed {
    by: String,
    reason: String,
}

impl Authorisation {
    /// Reads who decided (an operator's name, or `policy` with the policy's name) and why, in their own words.
    /// Both go into the audit log, so neither may hold an address.
    ///
    /// # Errors
    /// [`InvalidWords`].
    pub fn parse(by: &str, reason: &str) -> Result<Self, InvalidWords> {
        Ok(Self { by: words::parse(by)?, reason: words::parse(reason)? })
    }

    /// That of a policy, which no human decided at that moment.
    ///
    /// # Errors
    /// [`InvalidWords`].
    pub fn by_policy(name: &str, reason: &str) -> Result<Self, InvalidWords> {
        Self::parse(&format!("{POLICY}{name}"), reason)
    }

    /// Whether a policy decided.
    #[must_use]
    pub fn is_by_policy(&self) -> bool {
        self.by.starts_with(POLICY)
    }

    /// Who decided.
    #[must_use]
    pub fn by(&self) -> &str {
        &self.by
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl TryFrom<Unparsed> for Authorisation {
    type Error = InvalidWords;

    fn try_from(Unparsed { by, reason }: Unparsed) -> Result<Self, Self::Error> {
        Self::parse(&by, &reason)
    }
}

impl From<Authorisation> for Unparsed {
    fn from(Authorisation { by, reason }: Authorisation) -> Self {
        Self { by, reason }
    }
}

/// What became of the money.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Money {
    /// We have it.
    #[default]
    Kept,
    /// It was decided to give it back; Stripe may or may not know yet.
    RefundAuthorised {
        /// By whom, and why.
        authorisation: Authorisation,
        /// When.
        at: Timestamp,
    },
    /// It was given back.
    Refunded {
        /// When we knew.
        at: Timestamp,
    },
    /// A refund was canceled or bounced: the money came back, and a human gives it to the customer another way or
    /// issues it again.
    RefundFailed {
        /// When we knew.
        at: Timestamp,
        /// Who had decided it; `None` when it was not given back by us.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refund: Option<Authorisation>,
    },
    /// The customer's bank has taken it back: for now, or for good when the dispute was lost.
    Disputed {
        /// When we knew.
        at: Timestamp,
        /// A refund that had been decided before: it stands when the dispute is won.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refund: Option<Authorisation>,
    },
}

impl Money {
    /// Its name in errors and in the table of [`crate::sale`].
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::RefundAuthorised { .. } => "refund authorised",
            Self::Refunded { .. } => "refunded",
            Self::RefundFailed { .. } => "refund failed",
            Self::Disputed { .. } => "disputed",
        }
    }
}

/// How far a refund has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefundStep {
    /// Somebody, or a policy, decided it (Silent Drop, invariant 6).
    Authorised,
    /// Stripe has taken the order and works on it.
    Issued,
    /// Stripe says that the money is on its way or has arrived.
    Confirmed,
    /// Stripe refused, or could not do it: a human decides.
    Failed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authorisation_names_somebody_and_a_reason_and_no_address() {
        let good = Authorisation::parse(" alex ", "asked for it by mail").unwrap();
        assert_eq!((good.by(), good.reason()), ("alex", "asked for it by mail"));
        let stored = serde_json::to_string(&good).unwrap();
        assert_eq!(serde_json::from_str::<Authorisation>(&stored).unwrap(), good);
        assert!(Authorisation::parse(&"a".repeat(200), &"é".repeat(200)).is_ok());
        for (text, why) in [
            ("", InvalidWords::Empty),
            (" \t", InvalidWords::Empty),
            ("a@b.example", InvalidWords::Address),
            ("a\u{ff20}b", InvalidWords::Address),
            ("a\nb", InvalidWords::Control),
            ("a\u{7f}b", InvalidWords::Control),
            (&"a".repeat(201), InvalidWords::TooLong),
        ] {
            assert_eq!(Authorisation::parse(text, "because"), Err(why), "{text:?}");
            assert_eq!(Authorisation::parse("alex", text), Err(why), "{text:?}");
        }
        assert!(serde_json::from_str::<Authorisation>(r#"{"by":"a@b","reason":"x"}"#).is_err());
    }

    #[test]
    fn payment_ids_are_words() {
        assert_eq!(PaymentId::parse("pi_3Nx").unwrap().as_str(), "pi_3Nx");
        for text in ["", "pi_", "ch_1", "pi_a/b", "pi_ö"] {
            assert_eq!(PaymentId::parse(text), Err(InvalidPaymentId), "{text}");
        }
    }
}
