//! Subscribers of the chat, and what they may do.

use super::{PaymentError, SaveError, StorageError, Versioned};
use crate::{
    EmailAddress, Timestamp,
    chat::{Access, BillingReport, PaidPlan, Subscriber, SubscriberId},
    money::{ObjectId, PaymentId},
};
use async_trait::async_trait;

/// What somebody may do in the chat.
#[async_trait]
pub trait ChatAccess: Send + Sync {
    /// What they may do now. Somebody of whom nothing is known has [`Access::default`].
    async fn access(&self, subscriber: &SubscriberId, now: Timestamp) -> Result<Access, StorageError>;
}

/// Subscribers by their ids.
#[async_trait]
pub trait Subscribers: Send + Sync {
    /// The subscriber, if anything is known of them.
    async fn load(&self, id: &SubscriberId) -> Result<Option<Versioned<Subscriber>>, StorageError>;
    /// Saves it if its version is still `expected` (0: if there is none). Returns the new version.
    async fn save(&self, subscriber: &Subscriber, expected: u64) -> Result<u64, SaveError>;
    /// Those whose access ends after `from`, the soonest first; a thousand at most.
    async fn ending_after(&self, from: Timestamp) -> Result<Vec<SubscriberId>, StorageError>;
}

/// A subscription that is to be sold.
#[derive(Clone, Debug)]
pub struct NewSubscription {
    /// Who subscribes.
    pub subscriber: SubscriberId,
    /// To what.
    pub plan: PaidPlan,
    /// Prefills the page.
    pub email: Option<EmailAddress>,
    /// Who they are at the payment provider's, where they paid before.
    pub customer: Option<ObjectId>,
    /// Makes the creation idempotent.
    pub idempotency_key: String,
}

/// The payment provider's pages for subscribers.
#[async_trait]
pub trait SubscriptionDesk: Send + Sync {
    /// Creates a session in which the subscription can be paid. Returns its address.
    async fn subscribe(&self, new: &NewSubscription) -> Result<String, PaymentError>;
    /// Opens the portal in which a customer cancels, or pays what is due. Returns its address.
    async fn portal(&self, customer: &ObjectId, idempotency_key: &str) -> Result<String, PaymentError>;
}

/// A page of what the payment provider has of subscriptions, as its events would report it.
#[derive(Clone, Debug, Default)]
pub struct BillingReports {
    /// Each with the subscriber.
    pub reports: Vec<(SubscriberId, BillingReport)>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// The payment provider's books of subscriptions.
#[async_trait]
pub trait SubscriptionLedger: Send + Sync {
    /// One page of all subscriptions, and of the paid invoices that were created since.
    async fn billing_since(
        &self,
        since: Timestamp,
        now: Timestamp,
        from: Option<&str>,
    ) -> Result<BillingReports, PaymentError>;
    /// The paid invoice of a subscription that a payment paid, if one did, and the subscriber.
    async fn invoice_of(
        &self,
        payment: &PaymentId,
        now: Timestamp,
    ) -> Result<Option<(SubscriberId, BillingReport)>, PaymentError>;
}
