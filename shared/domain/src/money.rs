//! The state of a sale's money, and who decided about it.

use crate::{
    CallerIdentity, Operator, Timestamp,
    operator::POLICY,
    recorded_words::{self, InvalidWords},
};
use serde::{Deserialize, Serialize};
use std::fmt;

mod history;
mod listed;
pub mod report;

pub use history::{Dispute, PaymentHistory, Refund, ReportEffect, Returned};
pub use report::{DisputeStatus, ObjectId, PaymentChange, PaymentReport, RefundStatus};

/// Stripe's id of a payment, `pi_…`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct PaymentId(String);

crate::text_newtype::text_newtype!(PaymentId, InvalidPaymentId);

/// The text is not an id of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a payment id is pi_ followed by 1 to 250 letters, digits and underscores")]
pub struct InvalidPaymentId;

impl PaymentId {
    /// Parses an id.
    ///
    /// # Errors
    /// [`InvalidPaymentId`].
    pub fn parse(text: impl Into<String>) -> Result<Self, InvalidPaymentId> {
        let text = text.into();
        let rest = text.strip_prefix("pi_").ok_or(InvalidPaymentId)?;
        let valid = (1..=250).contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if valid { Ok(Self(text)) } else { Err(InvalidPaymentId) }
    }
}

impl fmt::Display for PaymentId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The operator or policy that decided a refund (Silent Drop, invariant 6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unparsed", into = "Unparsed")]
pub struct Authorisation {
    by: String,
    reason: String,
    identity: Option<CallerIdentity>,
}

/// An authorisation as it is stored.
#[derive(Serialize, Deserialize)]
struct Unparsed {
    by: String,
    reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity: Option<CallerIdentity>,
}

impl Authorisation {
    /// Parses who decided (an operator's name, or `policy` with the policy's name) and why, in their own words. Both go
    /// into the audit log, so neither may contain an address.
    ///
    /// # Errors
    /// [`InvalidWords`].
    pub fn parse(by: &str, reason: &str) -> Result<Self, InvalidWords> {
        Ok(Self { by: recorded_words::parse(by)?, reason: recorded_words::parse(reason)?, identity: None })
    }

    /// The authorisation by an operator, for a reason.
    ///
    /// # Errors
    /// [`InvalidWords`].
    pub fn by_operator(operator: &Operator, reason: &str) -> Result<Self, InvalidWords> {
        Ok(Self { identity: operator.identity().cloned(), ..Self::parse(operator.name(), reason)? })
    }

    /// The authorisation by a policy, without a human's decision at that moment.
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

    /// The AWS identity of the operator who decided, if it is known.
    #[must_use]
    pub const fn identity(&self) -> Option<&CallerIdentity> {
        self.identity.as_ref()
    }

    /// The name of the operator or policy.
    #[must_use]
    pub fn by(&self) -> &str {
        &self.by
    }

    /// The reason.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl TryFrom<Unparsed> for Authorisation {
    type Error = InvalidWords;

    fn try_from(Unparsed { by, reason, identity }: Unparsed) -> Result<Self, Self::Error> {
        Ok(Self { identity, ..Self::parse(&by, &reason)? })
    }
}

impl From<Authorisation> for Unparsed {
    fn from(Authorisation { by, reason, identity }: Authorisation) -> Self {
        Self { by, reason, identity }
    }
}

/// The state of the money.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Money {
    /// We have it.
    #[default]
    Kept,
    /// A refund was decided; Stripe may or may not know yet.
    RefundAuthorised {
        /// By whom, and why.
        authorisation: Authorisation,
        /// When.
        at: Timestamp,
    },
    /// It went back.
    Refunded {
        /// When we learned of it.
        at: Timestamp,
    },
    /// A refund was canceled or bounced: we have the money again, and a human refunds it by other means or issues the
    /// refund again.
    RefundFailed {
        /// When we learned of it.
        at: Timestamp,
        /// The authorisation of the refund; `None` when it was not ours.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refund: Option<Authorisation>,
    },
    /// The customer's bank has taken it back: temporarily, or finally if the dispute was lost.
    Disputed {
        /// When we learned of it.
        at: Timestamp,
        /// A refund that was decided before: it still applies if the dispute is won.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refund: Option<Authorisation>,
        /// Whether a refund was canceled or bounced before, or during the dispute: if the dispute is won, a human
        /// issues it again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        bounced: bool,
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

    /// Whether a refund came back that only a human issues again.
    #[must_use]
    pub const fn has_bounced(&self) -> bool {
        matches!(self, Self::RefundFailed { .. } | Self::Disputed { bounced: true, .. })
    }
}

/// The step of a refund.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefundStep {
    /// It was decided, by an operator or a policy (Silent Drop, invariant 6).
    Authorised,
    /// Stripe accepted the request and is processing it.
    Issued,
    /// Stripe reports that the money is in transit or has arrived.
    Confirmed,
    /// Stripe refused, or could not carry it out: a human decides.
    Failed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operators_authorisation_carries_the_identity_that_aws_knows() {
        let identity = CallerIdentity::parse("arn:aws:iam::123456789012:user/dana").ok();
        let dana = Operator::parse("dana", None).unwrap().known_as(identity.clone());
        assert_eq!(Authorisation::by_operator(&dana, "asked for").unwrap().identity(), identity.as_ref());
        assert_eq!(Authorisation::parse("dana", "asked for").unwrap().identity(), None);
    }

    /// A policy's refund orders the customer's letter; after an operator's, the operator writes to the customer.
    #[test]
    fn a_refund_by_an_operator_is_by_no_policy() {
        assert!(Authorisation::by_policy("desk", "held").unwrap().is_by_policy());
        for name in ["policy", "policymaker", "the policy desk"] {
            let operator = Operator::parse(name, None).unwrap();
            assert!(!Authorisation::by_operator(&operator, "asked for").unwrap().is_by_policy(), "{name:?}");
        }
    }

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

    /// Disputes that were stored earlier have no such field.
    #[test]
    fn a_dispute_without_a_bounced_refund_is_stored_as_before() {
        let at = Timestamp::from_seconds(1);
        let disputed = |bounced| Money::Disputed { at, refund: None, bounced };
        for bounced in [false, true] {
            let stored = serde_json::to_value(disputed(bounced)).unwrap();
            assert_eq!(stored.get("bounced").is_some(), bounced, "{stored}");
            assert_eq!(serde_json::from_value::<Money>(stored).unwrap(), disputed(bounced));
        }
    }

    #[test]
    fn payment_ids_are_words() {
        assert_eq!(PaymentId::parse("pi_3Nx").unwrap().as_str(), "pi_3Nx");
        for text in ["", "pi_", "ch_1", "pi_a/b", "pi_ö"] {
            assert_eq!(PaymentId::parse(text), Err(InvalidPaymentId), "{text}");
        }
    }
}
