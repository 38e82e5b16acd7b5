//! Subscribers of the chat, and their access.

use super::{PaymentError, StorageError, Store};
use crate::{
    Timestamp,
    chat::{Access, BillingReport, PaidPlan, Subscriber, SubscriberId},
    money::{ObjectId, PaymentId},
};
use async_trait::async_trait;

/// The access of subscribers to the chat.
#[async_trait]
pub trait ChatAccess: Send + Sync {
    /// Their access now. An unknown subscriber has [`Access::default`].
    async fn access(&self, subscriber: &SubscriberId, now: Timestamp) -> Result<Access, StorageError>;
}

/// Subscribers by their ids.
#[async_trait]
pub trait Subscribers: Store<Subscriber> {
    /// All subscribers whose access ends after `from`, the soonest first.
    async fn ending_after(&self, from: Timestamp) -> Result<Vec<SubscriberId>, StorageError>;
}

/// A subscription to sell.
#[derive(Clone, Debug)]
pub struct NewSubscription {
    /// The subscriber.
    pub subscriber: SubscriberId,
    /// The plan.
    pub plan: PaidPlan,
    /// The subscriber's id at the payment provider, if they paid before.
    pub customer: Option<ObjectId>,
    /// Makes the creation idempotent.
    pub idempotency_key: String,
}

/// The payment provider's pages for subscribers.
#[async_trait]
pub trait SubscriptionPages: Send + Sync {
    /// Creates a session in which the subscription can be paid. Returns its address.
    async fn subscribe(&self, new: &NewSubscription) -> Result<String, PaymentError>;
    /// Opens the portal in which a customer cancels, or pays what is due. Returns its address.
    async fn portal(&self, customer: &ObjectId, idempotency_key: &str) -> Result<String, PaymentError>;
}

/// A page of the payment provider's data about subscriptions, in the form of its events.
#[derive(Clone, Debug, Default)]
pub struct BillingReports {
    /// The reports, each with its subscriber.
    pub reports: Vec<(SubscriberId, BillingReport)>,
    /// Our subscriptions and invoices that cannot be read, such as those with a new status.
    pub unreadable: Vec<ObjectId>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// The payment provider's books of subscriptions.
#[async_trait]
pub trait SubscriptionLedger: Send + Sync {
    /// One page of all subscriptions, and of the paid invoices that were created since then.
    async fn billing_since(
        &self,
        since: Timestamp,
        now: Timestamp,
        from: Option<&str>,
    ) -> Result<BillingReports, PaymentError>;
    /// The paid invoice of a subscription that a payment paid, if any, and its subscriber.
    async fn invoice_of(
        &self,
        payment: &PaymentId,
        now: Timestamp,
    ) -> Result<Option<(SubscriberId, BillingReport)>, PaymentError>;
}
