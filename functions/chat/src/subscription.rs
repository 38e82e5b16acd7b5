//! Starts a subscription and opens the customer portal. Neither changes what a customer has access to: only Stripe's
//! events do.

use crate::{Ports, Settings, limits, reply};
use domain::{
    StepError,
    chat::{PaidPlan, SubscriberId},
};
use runtime::{
    http::{Reply, Request},
    telemetry,
};
use serde_json::{Value, json};
use subscription::SellingPorts;

const fn selling_ports(ports: Ports<'_>) -> SellingPorts<'_> {
    SellingPorts { subscribers: ports.subscribers, pages: ports.pages, randomness: ports.randomness }
}

/// POST: the address of the payment page for a plan, or of the customer portal for a subscriber.
pub(crate) async fn subscribe(ports: Ports<'_>, who: &SubscriberId, request: &Request) -> Result<Reply, StepError> {
    let fields = match reply::fields(request) {
        Ok(fields) => fields,
        Err(reply) => return Ok(reply),
    };
    let plan = match PaidPlan::parse(fields.get("plan").and_then(Value::as_str).unwrap_or_default()) {
        Ok(plan) => plan,
        Err(error) => return Ok(Reply::error(400, "plan_invalid", &error.to_string())),
    };
    if let Some(wait) = limits::STRIPE_PAGE.take(ports, who).await? {
        return Ok(reply::too_many(wait));
    }
    let url = subscription::subscribe(selling_ports(ports), who, plan, ports.journal.clock.now()).await?;
    Ok(Reply::json(200, &json!({ "url": url })))
}

/// The address at which a customer goes on whose free exchanges are used: where the plan `chat` is paid, the same for all
/// tabs of a day; or the offer on the chat's page when Stripe gives none, or is not asked any more within this hour.
pub(crate) async fn offer(ports: Ports<'_>, settings: &Settings, who: &SubscriberId) -> String {
    payment_page(ports, who)
        .await
        .unwrap_or_else(|error| {
            let (code, error) = (error.code().as_str(), telemetry::chain(&error));
            tracing::error!(code, error, "no payment page: the offer names the chat's page");
            None
        })
        .unwrap_or_else(|| format!("{}/chat#subscribe", settings.site))
}

/// The payment page of an offer; `None` for a subscriber who had too many within the hour.
async fn payment_page(ports: Ports<'_>, who: &SubscriberId) -> Result<Option<String>, StepError> {
    if limits::OFFER.take(ports, who).await?.is_some() {
        return Ok(None);
    }
    Ok(Some(subscription::subscribe(selling_ports(ports), who, PaidPlan::Chat, ports.journal.clock.now()).await?))
}

/// POST: the address of the customer portal, where a subscription is canceled or an invoice is paid.
pub(crate) async fn portal(ports: Ports<'_>, who: &SubscriberId) -> Result<Reply, StepError> {
    let Some(customer) = subscription::customer(ports.subscribers, who).await? else { return Ok(not_subscribed()) };
    if let Some(wait) = limits::STRIPE_PAGE.take(ports, who).await? {
        return Ok(reply::too_many(wait));
    }
    let url = subscription::portal(selling_ports(ports), &customer).await?;
    Ok(url.map_or_else(not_subscribed, |url| Reply::json(200, &json!({ "url": url }))))
}

fn not_subscribed() -> Reply {
    Reply::error(404, "not_subscribed", "There is no subscription yet.")
}
