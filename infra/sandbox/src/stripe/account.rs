//! The account's settings: webhook endpoints, payment links, payment methods and the customer portal. All but the
//! payment methods are replaceable by /control/configure.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::error::StripeError;
use super::form::Form;
use super::listing;
use super::objects::{complete_custom_fields, whole};
use super::version::API_VERSION;
use crate::state::State;

/// The events that the deployment guide requires.
const EVENTS: [&str; 17] = [
    "checkout.session.completed",
    "checkout.session.async_payment_succeeded",
    "checkout.session.async_payment_failed",
    "checkout.session.expired",
    "charge.refunded",
    "refund.created",
    "refund.failed",
    "refund.updated",
    "charge.refund.updated",
    "charge.dispute.created",
    "charge.dispute.updated",
    "charge.dispute.closed",
    "customer.subscription.created",
    "customer.subscription.updated",
    "customer.subscription.deleted",
    "invoice.paid",
    "invoice.payment_failed",
];

/// The configured endpoints, or else the one that the site needs.
pub(crate) fn endpoints(state: &State, form: &Form, now: Timestamp) -> Result<Value, StripeError> {
    listing::allow(form, &[])?;
    let configured = state.config.stripe_webhook_endpoints.clone();
    let of_site = || {
        let site = state.config.site.as_ref();
        site.map(|site| vec![json!({ "url": format!("{site}/api/webhook") })]).unwrap_or_default()
    };
    let items = configured.unwrap_or_else(of_site);
    let items: Vec<Value> = items.iter().enumerate().map(|(index, given)| endpoint(index, given, now)).collect();
    listing::page(&items, "webhook_endpoint", form, "/v1/webhook_endpoints")
}

/// The configured links; none by default.
pub(crate) fn links(state: &State, form: &Form) -> Result<Value, StripeError> {
    listing::allow(form, &["active"])?;
    let active = form.boolean("active")?;
    let links = state.config.stripe_payment_links.iter().enumerate().map(|(index, given)| link(index, given));
    let items: Vec<Value> = links.filter(|link| active.is_none_or(|active| link["active"] == active)).collect();
    listing::page(&items, "payment_link", form, "/v1/payment_links")
}

/// The configured items of a link; none by default.
pub(crate) fn link_items(state: &State, id: &str, form: &Form, now: Timestamp) -> Result<Value, StripeError> {
    listing::allow(form, &[])?;
    let mut links = state.config.stripe_payment_links.iter().enumerate();
    let Some((_, given)) = links.find(|(index, given)| link(*index, given)["id"] == id) else {
        return Err(StripeError::missing("payment_link", id, None));
    };
    let items = given["line_items"].as_array().into_iter().flatten().enumerate();
    let items: Vec<Value> = items.map(|(index, given)| link_item(index, given, now)).collect();
    listing::page(&items, "item", form, &format!("/v1/payment_links/{id}/line_items"))
}

/// The single configuration: cards are the only enabled payment method.
pub(crate) fn payment_methods(form: &Form) -> Result<Value, StripeError> {
    listing::allow(form, &["application"])?;
    let preference = json!({"overridable": null, "preference": "on", "value": "on"});
    let configuration = json!({
        "id": "pmc_sandbox",
        "object": "payment_method_configuration",
        "active": true,
        "application": null,
        "is_default": true,
        "livemode": false,
        "name": "Default",
        "parent": null,
        "card": {"available": true, "display_preference": preference},
    });
    listing::page(&[configuration], "payment_method_configuration", form, "/v1/payment_method_configurations")
}

/// The single configuration of the customer portal, as the deployment guide describes it.
pub(crate) fn portals(state: &State, form: &Form) -> Result<Value, StripeError> {
    listing::allow(form, &["active", "is_default"])?;
    let mut features = json!({
        "customer_update": { "allowed_updates": [], "enabled": false },
        "invoice_history": { "enabled": true },
        "payment_method_update": { "enabled": true, "payment_method_configuration": null },
        "subscription_cancel": {
            "cancellation_reason": { "enabled": false, "options": [] },
            "enabled": true,
            "mode": "at_period_end",
            "proration_behavior": "none",
        },
        "subscription_update": {
            "billing_cycle_anchor": null,
            "default_allowed_updates": [],
            "enabled": false,
            "proration_behavior": "none",
            "schedule_at_period_end": { "conditions": [] },
            "trial_update_behavior": "end_trial",
        },
    });
    for (name, given) in state.config.stripe_portal.as_object().into_iter().flatten() {
        features[name] = over(features[name].take(), given);
    }
    let created = state.now().as_second();
    let configuration = json!({
        "id": "bpc_sandbox",
        "object": "billing_portal.configuration",
        "active": true,
        "application": null,
        "business_profile": { "headline": null, "privacy_policy_url": null, "terms_of_service_url": null },
        "created": created,
        "default_return_url": null,
        "features": features,
        "is_default": true,
        "livemode": false,
        "login_page": { "enabled": false, "url": null },
        "metadata": {},
        "name": null,
        "updated": created,
    });
    let asked = |name| form.boolean(name).map(|value| value.is_none_or(|wanted| wanted));
    let items = if asked("active")? && asked("is_default")? { vec![configuration] } else { Vec::new() };
    listing::page(&items, "billing_portal.configuration", form, "/v1/billing_portal/configurations")
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
    let whole = whole(
        "payment_link",
        json!({
            "id": format!("plink_sandbox{index}"),
            "url": format!("https://buy.stripe.com/test_sandbox{index}"),
        }),
    );
    let mut link = over(whole, given);
    // Stripe lists the items apart.
    if let Some(fields) = link.as_object_mut() {
        fields.remove("line_items");
    }
    complete_custom_fields(&mut link);
    link
}

/// An item of a link: `price` has the fields that differ from a one-time price of 1.00 CAD.
fn link_item(index: usize, given: &Value, now: Timestamp) -> Value {
    let price = json!({
        "id": format!("price_sandbox{index}"),
        "active": true,
        "created": now.as_second(),
        "currency": "cad",
        "product": format!("prod_sandbox{index}"),
        "unit_amount": 100,
    });
    let mut price = over(whole("price", price), &given["price"]);
    price["unit_amount_decimal"] = price["unit_amount"].as_i64().map(|amount| amount.to_string()).into();
    let quantity = given["quantity"].as_i64().unwrap_or(1);
    let amount = price["unit_amount"].as_i64().unwrap_or(0).saturating_mul(quantity);
    let item = json!({
        "id": format!("li_sandbox{index}"),
        "adjustable_quantity": given["adjustable_quantity"],
        "amount_subtotal": amount,
        "amount_total": amount,
        "currency": price["currency"],
        "description": "Verdict",
        "price": price,
        "quantity": quantity,
    });
    whole("item", item)
}

/// The object with the given fields replacing its own.
fn over(mut whole: Value, given: &Value) -> Value {
    for (name, value) in given.as_object().into_iter().flatten() {
        whole[name] = value.clone();
    }
    whole
}
