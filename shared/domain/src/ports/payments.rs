//! The payment provider.

use crate::{CheckoutSession, Query, SessionId, Tier, Timestamp, money::PaymentId};
use async_trait::async_trait;

/// Why the payment provider did not answer.
#[derive(Debug, thiserror::Error)]
pub enum PaymentError {
    /// It knows no such thing.
    #[error("the payment provider knows no such object")]
    NotFound,
    /// It refused the request: trying again is useless.
    #[error("the payment provider refused the request: {0}")]
    Refused(String),
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

/// How a refund stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefundStatus {
    /// The money is on its way or has arrived.
    Succeeded,
    /// The provider works on it.
    Pending,
    /// It did not work: a human decides.
    Failed,
}

/// A page of the provider's paid sessions.
#[derive(Clone, Debug, Default)]
pub struct PaidSessions {
    /// The sessions.
    pub sessions: Vec<CheckoutSession>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// The payment provider's books.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Gives a payment back, whole. The key makes it one refund however often it is asked for.
    async fn refund(&self, payment: &PaymentId, idempotency_key: &str) -> Result<RefundStatus, PaymentError>;
    /// The session that a payment paid for, if one did.
    async fn session_of(&self, payment: &PaymentId) -> Result<Option<CheckoutSession>, PaymentError>;
    /// One page of the paid sessions that were created since.
    async fn paid_since(&self, since: Timestamp, from: Option<&str>) -> Result<PaidSessions, PaymentError>;
}
