//! Where somebody goes who wants to pay, or to change what they pay.

use audit::digest::sha256;
use domain::{
    EmailAddress, StepError, Timestamp,
    chat::{Billing, PaidPlan, SubscriberId, billing::SubscriptionStatus},
    money::ObjectId,
    ports::{NewSubscription, Randomness, Subscribers, SubscriptionDesk},
};

/// What selling needs from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Shop<'a> {
    pub subscribers: &'a dyn Subscribers,
    pub desk: &'a dyn SubscriptionDesk,
    pub randomness: &'a dyn Randomness,
}

/// The address to pay at: a new Checkout Session, or the customer portal for those who are subscribed.
///
/// The same question within a day gets the same session, whose payment Stripe takes once: nobody pays twice from two tabs.
///
/// # Errors
/// [`StepError`]; nothing is charged by then.
pub async fn subscribe(
    shop: Shop<'_>,
    subscriber: &SubscriberId,
    plan: PaidPlan,
    email: Option<&EmailAddress>,
    now: Timestamp,
) -> Result<String, StepError> {
    let known = shop.subscribers.load(subscriber).await?;
    let billing = known.map(|known| known.value.billing().clone()).unwrap_or_default();
    if let Some(customer) = subscribed(&billing) {
        return portal(shop, customer).await;
    }
    let customer = billing.customer().cloned();
    let prefilled = email.map_or_else(String::new, |email| sha256(email.expose().as_bytes()));
    let parameters = sha256(format!("{prefilled} {}", customer.as_ref().map_or("", ObjectId::as_str)).as_bytes());
    let idempotency_key = format!(
        "subscribe-{}-{}-{}-{}-{}",
        plan.key(),
        billing.subscriptions().len(),
        now.to_date(),
        subscriber.as_str(),
        parameters.trim_start_matches("sha256:").get(..16).unwrap_or_default(),
    );
    let (subscriber, email) = (subscriber.clone(), email.cloned());
    let new = NewSubscription { subscriber, plan, email, customer, idempotency_key };
    Ok(shop.desk.subscribe(&new).await?)
}

/// The customer portal, where a subscription is canceled or paid; `None` for somebody who never subscribed.
///
/// # Errors
/// [`StepError`].
pub async fn to_portal(shop: Shop<'_>, subscriber: &SubscriberId) -> Result<Option<String>, StepError> {
    let known = shop.subscribers.load(subscriber).await?;
    match known.as_ref().and_then(|known| known.value.billing().customer()) {
        Some(customer) => portal(shop, customer).await.map(Some),
        None => Ok(None),
    }
}

async fn portal(shop: Shop<'_>, customer: &ObjectId) -> Result<String, StepError> {
    Ok(shop.desk.portal(customer, &format!("portal-{}", shop.randomness.token())).await?)
}

/// The customer whose subscription is under way: paid, being paid or waiting to be paid. What waits for its first payment
/// is not: it is abandoned as easily as begun.
fn subscribed(billing: &Billing) -> Option<&ObjectId> {
    let under_way = |status: SubscriptionStatus| !status.has_ended() && status != SubscriptionStatus::Incomplete;
    billing.subscriptions().values().find(|state| under_way(state.status)).map(|state| &state.customer)
}
