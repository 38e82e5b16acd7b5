//! The payment provider.

use crate::{
    CheckoutSession, Query, SessionId, Tier, Timestamp,
    money::{ObjectId, PaymentId, PaymentReport, RefundStatus},
};
use async_trait::async_trait;
use std::time::Duration;

/// Why the payment provider did not answer.
#[derive(Debug, thiserror::Error)]
pub enum PaymentError {
    /// It knows no such thing.
    #[error("the payment provider knows no such object")]
    NotFound,
    /// It refused the request: trying again is useless.
    #[error("the payment provider refused the request: {0}")]
    Refused(String),
    /// It repeats an earlier failure of its own under this idempotency key: only another key gets an answer.
    #[error("the payment provider repeats an earlier failure")]
    Replayed,
    /// It could not be reached or failed: try again later.
    #[error("the payment provider is unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A session to be created.
#[derive(Clone, Debug)]
pub struct NewCheckoutSession {
    /// What is bought.
    pub tier: Tier,
    /// What is asked.
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
    /// Where the customer pays.
    pub url: String,
    /// What is to be paid, in the currency's smallest unit.
    pub amount_total: Option<i64>,
}

/// The payment provider.
#[async_trait]
pub trait Payments: Send + Sync {
    /// Whether an id is of the provider's other mode, live or test: there is no such session for our key. Never asks.
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

/// A refund as the provider has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeRefund {
    /// Its id.
    pub id: ObjectId,
    /// In the currency's smallest unit.
    pub amount: Option<i64>,
    /// How it stands.
    pub status: RefundStatus,
    /// The idempotency key that it was made with, where it was made by us.
    pub key: Option<String>,
}

/// What came of asking for a refund.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewRefund {
    /// This was made.
    Made(MadeRefund),
    /// All of the payment went back before.
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

/// A page of the provider's refunds and disputes, as its events would report them.
#[derive(Clone, Debug, Default)]
pub struct PaymentReports {
    /// Each with its payment.
    pub reports: Vec<(PaymentId, PaymentReport)>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// The payment provider's books.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Gives back what is left of a payment. The key makes it one refund however often it is asked for, and the
    /// refund carries it.
    async fn refund(&self, payment: &PaymentId, idempotency_key: &str) -> Result<NewRefund, PaymentError>;
    /// The refunds of a payment.
    async fn refunds(&self, payment: &PaymentId) -> Result<Vec<MadeRefund>, PaymentError>;
    /// The session that a payment paid for, if one did.
    async fn session_of(&self, payment: &PaymentId) -> Result<Option<CheckoutSession>, PaymentError>;
    /// One page of the sessions that were created since and completed: paid, or with nothing to pay.
    async fn completed_since(&self, since: Timestamp, from: Option<&str>) -> Result<CompletedSessions, PaymentError>;
    /// One page of the refunds and disputes that were created since.
    async fn reports_since(
        &self,
        since: Timestamp,
        now: Timestamp,
        from: Option<&str>,
    ) -> Result<PaymentReports, PaymentError>;
    /// How long after a purchase the slowest payment method that is switched on can still pay or fail.
    async fn slowest_method(&self) -> Result<Duration, PaymentError>;
}
