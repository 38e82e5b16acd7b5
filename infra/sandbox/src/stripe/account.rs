//! How the account is set up: webhook endpoints and payment links, each replaced by /control/configure.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::error::StripeError;
use super::form::Form;
use super::{API_VERSION, listing};
use crate::state::State;

/// What the deployment guide tells to select.
const EVENTS: [&str; 10] = [
    "checkout.session.completed",
    "checkout.session.async_payment_succeeded",
    "checkout.session.async_payment_failed",
    "checkout.session.expired",
    "charge.refunded",
    "refund.failed",
    "refund.updated",
    "charge.refund.updated",
    "charge.dispute.created",
    "charge.dispute.closed",
];

/// The configured endpoints, else the one that the site needs.
pub(crate) fn endpoints(state: &State, form: &Form, now: Timestamp) -> Result<Value, StripeError> {
    form.allow(&listing::PARAMETERS)?;
    let configured = state.config.stripe_webhook_endpoints.clone();
    let of_site = || {
        let site = state.config.site.as_ref();
        site.map(|site| vec![json!({ "url": format!("{site}/api/webhook") })]).unwrap_or_default()
    };
    let items = configured.unwrap_or_else(of_site);
    let items: Vec<Value> = items.iter().enumerate().map(|(index, given)| endpoint(index, given, now)).collect();
    listing::page(&items, "webhook_endpoint", form, "/v1/webhook_endpoints")
}

/// The configured links; none unless told otherwise.
pub(crate) fn links(state: &State, form: &Form) -> Result<Value, StripeError> {
    let mut parameters = vec!["active"];
    parameters.extend(listing::PARAMETERS);
    form.allow(&parameters)?;
    let active = form.boolean("active")?;
    let links = state.config.stripe_payment_links.iter().enumerate().map(|(index, given)| link(index, given));
    let items: Vec<Value> = links.filter(|link| active.is_none_or(|active| link["active"] == active)).collect();
    listing::page(&items, "payment_link", form, "/v1/payment_links")
}

fn endpoint(index: usize, given: &Value, now: Timestamp) -> Value {
    let whole = json!({
        "id": format!("we_sandbox{index}"),
        "object": "webhook_endpoint",
        "api_version": API_VERSION,
        "application": null,
        "created": now.as_second(),
        "description": null,
        "enabled_events": EVENTS,
        "livemode": false,
        "metadata": {},
        "status": "enabled",
        "url": "",
    });
    over(whole, given)
}

fn link(index: usize, given: &Value) -> Value {
    let whole = json!({
        "id": format!("plink_sandbox{index}"),
        "object": "payment_link",
        "active": true,
        "after_completion": {"type": "hosted_confirmation", "hosted_confirmation": {"custom_message": null}},
        "custom_fields": [],
        "livemode": false,
        "metadata": {},
        "url": format!("https://buy.stripe.com/test_sandbox{index}"),
    });
    over(whole, given)
}

/// The object with the given fields in place of its own.
fn over(mut whole: Value, given: &Value) -> Value {
    for (name, value) in given.as_object().into_iter().flatten() {
        whole[name] = value.clone();
    }
    whole
}
