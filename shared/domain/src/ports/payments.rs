//! The payment provider.

use crate::{
    CheckoutSession, Query, SessionId, Tier, Timestamp,
    money::{ObjectId, PaymentId, PaymentReport, RefundStatus},
};
use async_trait::async_trait;
use std::time::Duration;

/// Why a call to the payment provider failed.
#[derive(Debug, thiserror::Error)]
pub enum PaymentError {
    /// The provider does not have such an object.
    #[error("the payment provider knows no such object")]
    NotFound,
    /// The provider refused the request: retrying is useless.
    #[error("the payment provider refused the request: {0}")]
    Refused(String),
    /// Our key may not do this: only another key can.
    #[error("the payment provider does not let our key do this: {0}")]
    Forbidden(String),
    /// The provider replays its own earlier failure for this idempotency key: only another key gets a new answer.
    #[error("the payment provider repeats an earlier failure")]
    Replayed,
    /// The provider could not be reached or failed: retry later.
    #[error("the payment provider is unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A session to be created.
#[derive(Clone, Debug)]
pub struct NewCheckoutSession {
    /// The tier to buy.
    pub tier: Tier,
    /// The question.
    pub query: Query,
    /// The provider's id of a promotion code.
    pub promotion_code: Option<String>,
    /// Makes the creation idempotent.
    pub idempotency_key: String,
}

/// A created session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedCheckoutSession {
    /// Its id.
    pub id: SessionId,
    /// The address of the payment page.
    pub url: String,
    /// The amount to pay, in the currency's smallest unit.
    pub amount_total: Option<i64>,
}

/// The payment provider.
#[async_trait]
pub trait Payments: Send + Sync {
    /// Whether an id belongs to the provider's other mode, live or test, so that our key cannot see the session. Makes
    /// no call.
    async fn is_of_other_mode(&self, _id: &SessionId) -> bool {
        false
    }
    /// Retrieves a session.
    async fn session(&self, id: &SessionId) -> Result<CheckoutSession, PaymentError>;
    /// Creates a session.
    async fn create_session(&self, new: &NewCheckoutSession) -> Result<CreatedCheckoutSession, PaymentError>;
    /// The provider's id of an active promotion code.
    async fn promotion_code(&self, code: &str) -> Result<Option<String>, PaymentError>;
}

/// A refund in the provider's books.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeRefund {
    /// Its id.
    pub id: ObjectId,
    /// In the currency's smallest unit.
    pub amount: Option<i64>,
    /// Its status.
    pub status: RefundStatus,
    /// The idempotency key of its request, if we made it.
    pub key: Option<String>,
}

/// A refund in the provider's books that cannot be read, such as one with a new status: its money may have moved or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRefund {
    /// Its id.
    pub id: ObjectId,
    /// The idempotency key of its request, if we made it.
    pub key: Option<String>,
}

/// The refunds of a payment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaymentRefunds {
    /// Those that can be read.
    pub made: Vec<MadeRefund>,
    /// The others.
    pub unknown: Vec<UnknownRefund>,
}

/// The result of asking for a refund.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewRefund {
    /// This refund was made.
    Made(MadeRefund),
    /// The whole payment had gone back before.
    NothingLeft,
}

/// A page of the provider's completed sessions.
#[derive(Clone, Debug, Default)]
pub struct CompletedSessions {
    /// The sessions.
    pub sessions: Vec<CheckoutSession>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// A page of the provider's refunds and disputes, in the form of its events.
#[derive(Clone, Debug, Default)]
pub struct PaymentReports {
    /// Each with its payment.
    pub reports: Vec<(PaymentId, PaymentReport)>,
    /// The refunds and disputes of payments that cannot be read, such as those with a new status.
    pub unreadable: Vec<ObjectId>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// From which creation on the provider's refunds and disputes are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportsSince {
    /// The refunds.
    pub refunds: Timestamp,
    /// The disputes.
    pub disputes: Timestamp,
}

/// The payment provider's books.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Refunds what is left of a payment. The key makes repeated requests one refund, and the refund stores the key.
    async fn refund(&self, payment: &PaymentId, idempotency_key: &str) -> Result<NewRefund, PaymentError>;
    /// The refunds of a payment.
    async fn refunds(&self, payment: &PaymentId) -> Result<PaymentRefunds, PaymentError>;
    /// The session that a payment paid, if any.
    async fn session_of(&self, payment: &PaymentId) -> Result<Option<CheckoutSession>, PaymentError>;
    /// One page of the sessions that were created since then and are complete: paid, or with nothing to pay.
    async fn completed_since(&self, since: Timestamp, from: Option<&str>) -> Result<CompletedSessions, PaymentError>;
    /// One page of the refunds and disputes that were created since then.
    async fn reports_since(
        &self,
        since: ReportsSince,
        now: Timestamp,
        from: Option<&str>,
    ) -> Result<PaymentReports, PaymentError>;
    /// How long after a purchase the slowest enabled payment method can still pay or fail.
    async fn slowest_method(&self) -> Result<Duration, PaymentError>;
}
