//! Remembers Stripe's recent answers. A client can make up session ids, or poll one that is not paid, and each such
//! question would use a call that paying customers may need.

use domain::{CheckoutSession, PaymentStatus, Recent, SessionStage, UnknownIdLimiter, unknown_ids::Limits};
use std::time::Duration;

/// How long a session stays known as unpaid: briefly, because it may be paid at any moment.
const UNPAID_WINDOW: Duration = Duration::from_secs(5);

/// Why a session is not paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unpaid {
    /// It can still be paid at this address.
    Open(String),
    /// Its customer has finished, and the payment takes days, as a bank debit does.
    InProcess,
    /// Its customer has finished, and there was nothing to pay: an operator may give the verdict away.
    Free,
    /// It can no longer be paid, or its payment failed.
    Closed,
}

impl From<CheckoutSession> for Unpaid {
    fn from(CheckoutSession { stage, payment_status, url, .. }: CheckoutSession) -> Self {
        match (stage, payment_status, url) {
            (SessionStage::Open, _, Some(address)) => Self::Open(address),
            (SessionStage::Complete, PaymentStatus::Unpaid, _) => Self::InProcess,
            (SessionStage::Complete, PaymentStatus::NoPaymentRequired, _) => Self::Free,
            _ => Self::Closed,
        }
    }
}

/// Stripe's recent answers.
#[derive(Debug)]
pub struct RecentAnswers {
    /// Limits questions about ids that may be made up. Sales in our store are not affected, because the store is read
    /// first.
    pub(crate) sessions: UnknownIdLimiter,
    /// Sessions that were not paid a moment ago.
    pub(crate) unpaid: Recent<Unpaid>,
}

impl RecentAnswers {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { sessions: UnknownIdLimiter::new("session", limits), unpaid: Recent::new(UNPAID_WINDOW) }
    }
}
