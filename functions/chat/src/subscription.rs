//! Subscribing, and the customer portal. What somebody has paid for comes from Stripe's events, never from here.

use crate::{NotDone, Ports, reply};
use domain::chat::{PaidPlan, SubscriberId};
use runtime::http::{Reply, Request};
use serde_json::{Value, json};
use subscription::Shop;

const fn shop(ports: Ports<'_>) -> Shop<'_> {
    Shop { subscribers: ports.subscribers, desk: ports.desk, randomness: ports.randomness }
}

/// POST: where a plan can be paid, or the portal for those who are subscribed.
pub(crate) async fn subscribe(ports: Ports<'_>, who: &SubscriberId, request: &Request) -> Result<Reply, NotDone> {
    let Ok(Value::Object(fields)) = serde_json::from_slice(request.body()) else { return Ok(reply::malformed()) };
    let plan = match PaidPlan::parse(fields.get("plan").and_then(Value::as_str).unwrap_or_default()) {
        Ok(plan) => plan,
        Err(error) => return Ok(Reply::error(400, "plan_invalid", &error.to_string())),
    };
    // No address is kept, so Stripe's page asks for one.
    let url = subscription::subscribe(shop(ports), who, plan, None, ports.journal.clock.now()).await?;
    Ok(Reply::json(200, &json!({ "url": url })))
}

/// POST: where a subscription is canceled or paid.
pub(crate) async fn portal(ports: Ports<'_>, who: &SubscriberId) -> Result<Reply, NotDone> {
    Ok(match subscription::to_portal(shop(ports), who).await? {
        Some(url) => Reply::json(200, &json!({ "url": url })),
        None => Reply::error(404, "not_subscribed", "There is no subscription yet."),
    })
}
