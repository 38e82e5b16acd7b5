//! Subscribers of the chat, and the payment provider's data about them, in a [`World`].

use super::{page, vendors::payment_trouble};
use crate::world::{State, World};
use async_trait::async_trait;
use domain::{
    Timestamp,
    chat::{Access, BillingReport, Subscriber, SubscriberId},
    money::{ObjectId, PaymentId},
    ports::{
        BillingReports, ChatAccess, NewSubscription, PaymentError, StorageError, Subscribers, SubscriptionLedger,
        SubscriptionPages,
    },
};

#[async_trait]
impl ChatAccess for World {
    async fn access(&self, subscriber: &SubscriberId, now: Timestamp) -> Result<Access, StorageError> {
        self.stored("subscribers.access", |state| {
            state.subscribers.get(subscriber).map_or_else(Access::default, |(known, _)| known.access(now))
        })
        .await
    }
}

#[async_trait]
impl Subscribers for World {
    async fn ending_after(&self, from: Timestamp) -> Result<Vec<SubscriberId>, StorageError> {
        self.stored("subscribers.ending_after", |state| {
            let end = |known: &Subscriber| known.billing().access_until().unwrap_or(Timestamp::from_millis(0));
            let subscribers = state.subscribers.values().map(|(known, _)| (end(known), known.id().clone()));
            let mut found: Vec<_> = subscribers.filter(|(end, _)| *end >= from).collect();
            found.sort();
            found.into_iter().map(|(_, id)| id).collect()
        })
        .await
    }
}

/// The provider's refusal of a customer who was deleted.
fn refusal(state: &State, customer: &ObjectId) -> Option<PaymentError> {
    let is_deleted = state.deleted_customers.contains(customer);
    is_deleted.then(|| PaymentError::Refused("resource_missing".to_owned()))
}

/// The provider's sessions: one for each idempotency key.
#[async_trait]
impl SubscriptionPages for World {
    async fn subscribe(&self, new: &NewSubscription) -> Result<String, PaymentError> {
        let write = self.boundary("subscriptions.subscribe", |state| {
            if let Some(refused) = new.customer.as_ref().and_then(|customer| refusal(state, customer)) {
                return Err(refused);
            }
            let known = state.subscribing.iter().position(|made| made.idempotency_key == new.idempotency_key);
            let number = known.unwrap_or_else(|| {
                state.subscribing.push(new.clone());
                state.subscribing.len() - 1
            });
            Ok(format!("https://pay.example/cs_test_sub_{number}"))
        });
        write.await.unwrap_or_else(|trouble| Err(payment_trouble(trouble)))
    }

    async fn portal(&self, customer: &ObjectId, _key: &str) -> Result<String, PaymentError> {
        let write = self.boundary("subscriptions.portal", |state| match refusal(state, customer) {
            Some(refused) => Err(refused),
            None => Ok(format!("https://portal.example/{customer}")),
        });
        write.await.unwrap_or_else(|trouble| Err(payment_trouble(trouble)))
    }
}

#[async_trait]
impl SubscriptionLedger for World {
    async fn billing_since(
        &self,
        since: Timestamp,
        _now: Timestamp,
        from: Option<&str>,
    ) -> Result<BillingReports, PaymentError> {
        // Lists every subscription, but invoices by their creation and only paid ones, as the provider does.
        let is_listed = |created: Timestamp, report: &BillingReport| match report {
            BillingReport::Subscription { .. } => true,
            BillingReport::InvoicePaid { .. } => created >= since,
            BillingReport::InvoiceFailed { .. } | BillingReport::Payment { .. } => false,
        };
        let read = self.boundary("subscriptions.billing_since", |state| {
            let listed = state.billing.iter().filter(|(created, _, report)| is_listed(*created, report));
            let listed: Vec<_> = listed.map(|(_, subscriber, report)| (subscriber.clone(), report.clone())).collect();
            let (reports, next) = page(&listed, from);
            let unreadable = if from.is_none() { state.unreadable.clone() } else { Vec::new() };
            BillingReports { reports, unreadable, next }
        });
        read.await.map_err(payment_trouble)
    }

    async fn invoice_of(
        &self,
        payment: &PaymentId,
        _now: Timestamp,
    ) -> Result<Option<(SubscriberId, BillingReport)>, PaymentError> {
        let read = self.boundary("subscriptions.invoice_of", |state| state.invoices.get(payment).cloned());
        read.await.map_err(payment_trouble)
    }
}
