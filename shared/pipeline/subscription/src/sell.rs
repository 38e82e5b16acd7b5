//! The addresses at which a subscription is paid and changed.

use audit::hash::sha256;
use domain::{
    StepError, Timestamp,
    chat::{Billing, PaidPlan, SubscriberId, billing::SubscriptionStatus},
    money::ObjectId,
    ports::{NewSubscription, PaymentError, Randomness, Subscribers, SubscriptionPages},
};

/// The ports of selling.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct SellingPorts<'a> {
    pub subscribers: &'a dyn Subscribers,
    pub pages: &'a dyn SubscriptionPages,
    pub randomness: &'a dyn Randomness,
}

/// Stripe's code for an object that does not exist (any more).
const MISSING: &str = "resource_missing";

/// The address at which a plan is paid: a new Checkout Session's, or the customer portal's for a subscriber.
///
/// A repeated call for the same plan within a day (UTC) returns the same session, for which Stripe accepts one payment,
/// so that a customer with two tabs does not pay twice. `decisions/subscriptions.md` has the cases that this does not
/// cover.
///
/// A former subscriber whose customer an operator has deleted at Stripe is a new customer there.
///
/// # Errors
/// [`StepError`]; nothing is charged.
pub async fn subscribe(
    ports: SellingPorts<'_>,
    subscriber: &SubscriberId,
    plan: PaidPlan,
    now: Timestamp,
) -> Result<String, StepError> {
    let known = ports.subscribers.load(subscriber).await?;
    let billing = known.map(|known| known.value.billing().clone()).unwrap_or_default();
    if let Some(customer) = subscribed(&billing) {
        return Ok(open_portal(ports, customer).await?);
    }
    let new = |customer: Option<ObjectId>| {
        let parameters = sha256(customer.as_ref().map_or("", ObjectId::as_str).as_bytes());
        let idempotency_key = format!(
            "subscribe-{}-{}-{}-{}-{}",
            plan.key(),
            billing.subscriptions().len(),
            now.to_date(),
            subscriber.as_str(),
            parameters.trim_start_matches("sha256:").get(..16).unwrap_or_default(),
        );
        NewSubscription { subscriber: subscriber.clone(), plan, customer, idempotency_key }
    };
    match open_session(ports, new(billing.customer().cloned())).await {
        Err(PaymentError::Refused(code)) if code == MISSING && billing.customer().is_some() => {
            Ok(open_session(ports, new(None)).await?)
        }
        opened => Ok(opened?),
    }
}

async fn open_session(ports: SellingPorts<'_>, new: NewSubscription) -> Result<String, PaymentError> {
    match ports.pages.subscribe(&new).await {
        // Stripe repeats a failure of its own to this key for a day, and has opened no session. Another key opens one.
        Err(PaymentError::Replayed) => {
            let idempotency_key = format!("{}-again", new.idempotency_key);
            ports.pages.subscribe(&NewSubscription { idempotency_key, ..new }).await
        }
        opened => opened,
    }
}

/// A subscriber's customer at Stripe; `None` for one who never subscribed.
///
/// # Errors
/// [`StepError`].
pub async fn customer(subscribers: &dyn Subscribers, subscriber: &SubscriberId) -> Result<Option<ObjectId>, StepError> {
    let known = subscribers.load(subscriber).await?;
    Ok(known.and_then(|known| known.value.billing().customer().cloned()))
}

/// The address of the customer portal, where a subscription is canceled or an invoice is paid; `None` if the customer was
/// deleted at Stripe, which ends the subscription.
///
/// # Errors
/// [`StepError`].
pub async fn portal(ports: SellingPorts<'_>, customer: &ObjectId) -> Result<Option<String>, StepError> {
    match open_portal(ports, customer).await {
        Err(PaymentError::Refused(code)) if code == MISSING => Ok(None),
        opened => Ok(Some(opened?)),
    }
}

async fn open_portal(ports: SellingPorts<'_>, customer: &ObjectId) -> Result<String, PaymentError> {
    ports.pages.portal(customer, &format!("portal-{}", ports.randomness.token())).await
}

/// The customer of a subscription that has begun and not ended. A subscription that waits for its first payment does
/// not count, because the customer may have abandoned it.
fn subscribed(billing: &Billing) -> Option<&ObjectId> {
    let under_way = |status: SubscriptionStatus| !status.has_ended() && status != SubscriptionStatus::Incomplete;
    billing.subscriptions().values().find(|state| under_way(state.status)).map(|state| &state.customer)
}
