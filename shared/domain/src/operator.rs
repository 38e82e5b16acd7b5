//! The operator who decides about a sale by hand, with the reason.

use crate::recorded_words::{self, InvalidWords};
use serde::{Deserialize, Serialize};

/// The prefix of a policy's name. An operator's name does not begin with it, because by it the log and the customer's
/// letters tell who decided.
pub(crate) const POLICY: &str = "policy ";

/// An operator who makes a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    by: String,
    reason: Option<String>,
    identity: Option<CallerIdentity>,
}

/// The ARN of the AWS identity that a command runs with, unlike the operator's name, which they typed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct CallerIdentity(String);

crate::text_newtype::text_newtype!(CallerIdentity, InvalidIdentity);

/// The text is not an ARN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the caller's identity is no ARN of at most {MAX_ARN} characters")]
pub struct InvalidIdentity;

/// The longest ARN of a user: a path of 512 characters and a name of 64, after the ARN's prefix.
const MAX_ARN: usize = 700;

impl CallerIdentity {
    /// Reads an ARN. A session of IAM Identity Center is named after its user, often by address: it is cut before the @,
    /// because the log holds no address (Audit Trail, GAP-02).
    ///
    /// # Errors
    /// [`InvalidIdentity`].
    pub fn parse(arn: impl AsRef<str>) -> Result<Self, InvalidIdentity> {
        let arn = arn.as_ref();
        let is_arn = arn.starts_with("arn:") && arn.len() <= MAX_ARN && !arn.chars().any(char::is_control);
        let kept = arn.split(['@', '\u{ff20}']).next().filter(|_| is_arn).ok_or(InvalidIdentity)?;
        Ok(Self(kept.to_owned()))
    }
}

impl Operator {
    /// An operator by name, with the reason if one is given.
    ///
    /// # Errors
    /// [`InvalidWords`] when either cannot be logged, or the name is a policy's.
    pub fn parse(by: &str, reason: Option<&str>) -> Result<Self, InvalidWords> {
        let by = recorded_words::parse(by)?;
        if by.starts_with(POLICY) {
            return Err(InvalidWords::Policy);
        }
        Ok(Self { by, reason: reason.map(recorded_words::parse).transpose()?, identity: None })
    }

    /// A policy that decides in an operator's place.
    ///
    /// # Errors
    /// [`InvalidWords`] when the name or the reason cannot be logged.
    pub fn policy(name: &str, reason: &str) -> Result<Self, InvalidWords> {
        let by = recorded_words::parse(&format!("{POLICY}{name}"))?;
        Ok(Self { by, reason: Some(recorded_words::parse(reason)?), identity: None })
    }

    /// The same operator, known to AWS by this identity.
    #[must_use]
    pub fn known_as(self, identity: Option<CallerIdentity>) -> Self {
        Self { identity, ..self }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.by
    }

    /// The reason.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// The AWS identity, if AWS was asked and answered.
    #[must_use]
    pub const fn identity(&self) -> Option<&CallerIdentity> {
        self.identity.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_an_arn_without_an_address() {
        let user = "arn:aws:iam::123456789012:user/ops/dana";
        let session = "arn:aws:sts::123456789012:assumed-role/AWSReservedSSO_Ops_0a/dana";
        for (arn, kept) in [
            (user.to_owned(), user),
            (format!("{session}@example.com"), session),
            (format!("{session}\u{ff20}example.com"), session),
        ] {
            assert_eq!(CallerIdentity::parse(arn).unwrap().as_str(), kept);
        }
        for wrong in ["", "dana", "arn:aws\n", &format!("arn:{}", "a".repeat(MAX_ARN))] {
            assert_eq!(CallerIdentity::parse(wrong), Err(InvalidIdentity), "{wrong}");
        }
        let stored: CallerIdentity = serde_json::from_value(serde_json::json!(user)).unwrap();
        assert_eq!(serde_json::json!(stored), user);
    }

    #[test]
    fn names_and_reasons_are_words_without_addresses() {
        let operator = Operator::parse(" dana ", Some("the list was too strict")).unwrap();
        assert_eq!((operator.name(), operator.reason()), ("dana", Some("the list was too strict")));
        for (text, why) in [
            ("", InvalidWords::Empty),
            (" \t", InvalidWords::Empty),
            ("a\nb", InvalidWords::Control),
            ("dana@example.com", InvalidWords::Address),
            ("dana\u{ff20}example.com", InvalidWords::Address),
            (&"é".repeat(201), InvalidWords::TooLong),
        ] {
            assert_eq!(Operator::parse(text, None), Err(why), "{text:?}");
            assert_eq!(Operator::parse("dana", Some(text)), Err(why), "{text:?}");
        }
        assert!(Operator::parse(&"é".repeat(200), None).is_ok());
    }

    #[test]
    fn only_a_policy_has_a_policys_name() {
        for name in ["policy desk", " policy  desk"] {
            assert_eq!(Operator::parse(name, Some("asked for")), Err(InvalidWords::Policy), "{name:?}");
        }
        let policy = Operator::policy("erasure", "its session is erased").unwrap();
        assert_eq!((policy.name(), policy.reason()), ("policy erasure", Some("its session is erased")));
    }
}
