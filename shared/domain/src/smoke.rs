//! The session of our own smoke test: what it buys, and how it differs from customers' sessions.
//!
//! It is not paid, so accepting it opens a way around the payment. [`examine`] secures this way. It only examines
//! orders that the smoke test itself signed, with facts that Stripe's test mode reported for the smoke test's own key,
//! and accepts nothing but the one fixed question (Smoke Test, invariants 1 to 3).

use crate::{
    CheckoutSession, PaymentStatus, Query, SessionId, SessionStage, Submission, Tier, Timestamp, ports::PaymentError,
};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The tier that is ordered, for 1.00 CAD that is never paid.
pub const TIER: Tier = Tier::Quick;

/// The question, verbatim from the spec: no other question is ever answered without payment.
pub const QUERY: &str = "Is the Oracle pipeline operational? This is an automated smoke test.";

/// The name of the function, of its memory, of its stream in the audit log, and of its folder.
pub const FUNCTION: &str = "smoke-test";

/// The result of the last run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRun {
    /// When it began.
    pub at: Timestamp,
    /// Stages that passed.
    pub passed: u64,
    /// All stages.
    pub of: u64,
}

/// The only address that the mail goes to (Smoke Test, invariant 3).
pub const EMAIL: &str = "oracle-smoke-test@42sisters.ai";

/// The metadata entry that marks the session as the smoke test's.
pub const MARK: (&str, &str) = ("smoke", "true");

/// The greatest age of an accepted session, so that a stolen signed event is soon useless: 15 minutes.
pub const MAX_AGE: Duration = Duration::from_secs(15 * 60);

/// The most that Stripe's clock may be ahead of ours.
const MAX_AHEAD: Duration = Duration::from_secs(5 * 60);

/// How long the record of a smoke test's sale is kept (Smoke Test, invariant 7): 30 days.
pub const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 3600);

/// Whether a Stripe key is a secret key of the test mode (Smoke Test, invariant 1).
#[must_use]
pub fn is_test_key(key: &str) -> bool {
    key.strip_prefix("sk_test_").is_some_and(|rest| !rest.is_empty())
}

/// The smoke test's submission.
///
/// # Errors
/// Never with the constants above; a test checks this.
pub fn submission() -> Result<Submission, crate::query::InvalidQuery> {
    Ok(Submission { tier: TIER, query: Query::parse(QUERY)? })
}

/// Stripe's data about a session, read with the smoke test's key.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The session.
    pub session: CheckoutSession,
    /// `livemode`, if it is a boolean.
    pub livemode: Option<bool>,
}

/// Stripe's test mode, called with the smoke test's own key.
#[async_trait]
pub trait SmokeSessions: Send + Sync {
    /// Stripe's data about a session.
    async fn facts(&self, id: &SessionId) -> Result<Facts, PaymentError>;
}

/// Why a session is not the smoke test's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotOurs {
    /// Its id is not one of the test mode.
    #[error("smoke: not a session of the test mode")]
    Id,
    /// Stripe does not report it as in test mode.
    #[error("smoke: not in test mode")]
    Livemode,
    /// It does not have the mark.
    #[error("smoke: not marked as a smoke test")]
    Unmarked,
    /// It is paid, or can no longer be paid: it is a customer's, or over.
    #[error("smoke: not an open, unpaid session")]
    Status,
    /// It has another price.
    #[error("smoke: another amount")]
    Amount,
    /// It asks another question.
    #[error("smoke: another tier or question")]
    Submission,
    /// It was not created recently.
    #[error("smoke: too old")]
    Age,
}

/// Checks that these facts are those of a smoke test that began recently. Each condition alone refuses.
///
/// # Errors
/// [`NotOurs`], for the first condition that is not met.
pub fn examine(facts: &Facts, now: Timestamp) -> Result<(), NotOurs> {
    let session = &facts.session;
    let price = i64::from(TIER.price_cents());
    let young = |created: Timestamp| created.plus(MAX_AGE) >= now && created <= now.plus(MAX_AHEAD);
    let conditions = [
        (session.id.is_test_mode(), NotOurs::Id),
        (facts.livemode == Some(false), NotOurs::Livemode),
        (session.metadata.get(MARK.0).is_some_and(|value| value == MARK.1), NotOurs::Unmarked),
        (session.payment_status == PaymentStatus::Unpaid && session.stage == SessionStage::Open, NotOurs::Status),
        (
            session.amount_total == Some(price) && session.currency.as_deref() == Some(crate::tier::CURRENCY),
            NotOurs::Amount,
        ),
        (session.submission().ok() == submission().ok(), NotOurs::Submission),
        (session.created.is_some_and(young), NotOurs::Age),
    ];
    match conditions.into_iter().find(|(holds, _)| !holds) {
        Some((_, reason)) => Err(reason),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn facts() -> Facts {
        let metadata = [("tier", "quick"), ("q0", QUERY), ("qn", "1"), MARK];
        let session = CheckoutSession {
            id: SessionId::parse("cs_test_a1").unwrap(),
            payment_status: PaymentStatus::Unpaid,
            stage: SessionStage::Open,
            url: None,
            metadata: metadata.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            idea: None,
            email: None,
            amount_total: Some(100),
            currency: Some("cad".to_owned()),
            payment: None,
            created: Some(NOW),
            locale: None,
        };
        Facts { session, livemode: Some(false) }
    }

    fn with(change: impl Fn(&mut Facts)) -> Result<(), NotOurs> {
        let mut changed = facts();
        change(&mut changed);
        examine(&changed, NOW)
    }

    #[test]
    fn the_smoke_tests_own_session_passes() {
        assert_eq!(examine(&facts(), NOW), Ok(()));
        assert_eq!(submission().unwrap().query.as_str(), QUERY);
        assert!(crate::EmailAddress::parse(EMAIL).is_ok());
    }

    /// Each condition refuses on its own: without it, its line here fails.
    #[test]
    fn every_condition_alone_refuses() {
        let metadata = |facts: &mut Facts, name: &str, value: &str| {
            facts.session.metadata.insert(name.to_owned(), value.to_owned());
        };
        for id in ["cs_live_a1", "cs_a1", "cs_testy_a1", "cs_test"] {
            assert_eq!(with(|facts| facts.session.id = SessionId::parse(id).unwrap()), Err(NotOurs::Id), "{id}");
        }
        for livemode in [Some(true), None] {
            assert_eq!(with(|facts| facts.livemode = livemode), Err(NotOurs::Livemode));
        }
        for mark in ["", "false", "TRUE", "1"] {
            assert_eq!(with(|facts| metadata(facts, "smoke", mark)), Err(NotOurs::Unmarked), "{mark}");
        }
        assert_eq!(with(|facts| drop(facts.session.metadata.remove("smoke"))), Err(NotOurs::Unmarked));
        for status in [PaymentStatus::Paid, PaymentStatus::NoPaymentRequired] {
            assert_eq!(with(|facts| facts.session.payment_status = status), Err(NotOurs::Status));
        }
        assert_eq!(with(|facts| facts.session.stage = SessionStage::Complete), Err(NotOurs::Status));
        for amount in [None, Some(0), Some(2500)] {
            assert_eq!(with(|facts| facts.session.amount_total = amount), Err(NotOurs::Amount));
        }
        assert_eq!(with(|facts| facts.session.currency = Some("usd".to_owned())), Err(NotOurs::Amount));
        for (name, value) in [("tier", "strategy"), ("q0", "Should I sell?"), ("qn", "2"), ("tier", "")] {
            assert_eq!(with(|facts| metadata(facts, name, value)), Err(NotOurs::Submission), "{name}");
        }
        assert_eq!(with(|facts| facts.session.idea = Some("Should I sell?".to_owned())), Err(NotOurs::Submission));
        for created in [None, Some(NOW.as_seconds() - 901), Some(NOW.as_seconds() + 301), Some(0)] {
            let created = created.map(Timestamp::from_seconds);
            assert_eq!(with(|facts| facts.session.created = created), Err(NotOurs::Age));
        }
    }

    #[test]
    fn only_a_secret_key_of_the_test_mode_is_one() {
        assert!(is_test_key("sk_test_1"));
        for key in
            ["", "sk_test_", "sk_live_1", "rk_live_1", "pk_test_1", " sk_test_1", "SK_TEST_1", "sk_live_sk_test_1"]
        {
            assert!(!is_test_key(key), "{key}");
        }
    }
}
