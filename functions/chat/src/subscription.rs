//! Starts a subscription and opens the customer portal. Neither changes what a customer has access to: only Stripe's
//! events do.

use crate::{NotDone, Ports, Settings, reply};
use domain::chat::{PaidPlan, SubscriberId};
use runtime::{
    http::{Reply, Request},
    telemetry,
};
use serde_json::{Value, json};
use subscription::Shop;

const fn shop(ports: Ports<'_>) -> Shop<'_> {
    Shop { subscribers: ports.subscribers, desk: ports.desk, randomness: ports.randomness }
}

/// POST: the address of the payment page for a plan, or of the customer portal for a subscriber.
pub(crate) async fn subscribe(ports: Ports<'_>, who: &SubscriberId, request: &Request) -> Result<Reply, NotDone> {
    let Ok(Value::Object(fields)) = serde_json::from_slice(request.body()) else { return Ok(reply::malformed()) };
    let plan = match PaidPlan::parse(fields.get("plan").and_then(Value::as_str).unwrap_or_default()) {
        Ok(plan) => plan,
        Err(error) => return Ok(Reply::error(400, "plan_invalid", &error.to_string())),
    };
    let url = subscription::subscribe(shop(ports), who, plan, ports.journal.clock.now()).await?;
    Ok(Reply::json(200, &json!({ "url": url })))
}

/// The address at which a customer goes on whose free exchanges are used: where the plan `chat` is paid, the same for all
/// tabs of a day; or the offer on the chat's page when Stripe gives none.
pub(crate) async fn offer(ports: Ports<'_>, settings: &Settings, who: &SubscriberId) -> String {
    match subscription::subscribe(shop(ports), who, PaidPlan::Chat, ports.journal.clock.now()).await {
        Ok(url) => url,
        Err(error) => {
            tracing::error!(error = telemetry::chain(&error), "no payment page: the offer names the chat's page");
            format!("{}/chat#subscribe", settings.site)
        }
    }
}

/// POST: the address of the customer portal, where a subscription is canceled or an invoice is paid.
pub(crate) async fn portal(ports: Ports<'_>, who: &SubscriberId) -> Result<Reply, NotDone> {
    Ok(match subscription::to_portal(shop(ports), who).await? {
        Some(url) => Reply::json(200, &json!({ "url": url })),
        None => Reply::error(404, "not_subscribed", "There is no subscription yet."),
    })
}
