//! Checkout sessions: created by the API, paid on the hosted page or by a control call, or planted by a test.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::error::StripeError;
use super::form::Form;
use super::objects::{complete_custom_fields, whole};
use super::store::{Session, close};
use super::{listing, session_form, subscriptions};
use crate::{config::is_email, state::State};

pub(crate) fn expire_old(state: &mut State, now: Timestamp) {
    state.stripe.sessions.expire_old(now);
}

pub(crate) fn create(state: &mut State, form: &Form, now: Timestamp) -> Result<Value, StripeError> {
    let new = session_form::parse(state, form, now)?;
    let id = state.identifiers.prefixed("cs_test_a1", 56);
    let url = format!("{}/stripe/pay/{id}", state.public_url);
    let given = json!({
        "id": id,
        "adaptive_pricing": new.adaptive_pricing.map(|enabled| json!({ "enabled": enabled })),
        "allow_promotion_codes": new.allow_promotion_codes,
        "amount_subtotal": new.amount_subtotal,
        "amount_total": new.amount_subtotal - new.amount_discount,
        "cancel_url": new.cancel_url,
        "client_reference_id": new.client_reference_id,
        "currency": new.currency,
        "customer": new.customer,
        "customer_email": new.customer_email,
        "discounts": new.discounts,
        "expires_at": new.expires_at,
        "metadata": new.metadata,
        "mode": new.mode,
        "success_url": new.success_url,
        "total_details": {"amount_discount": new.amount_discount, "amount_shipping": 0, "amount_tax": 0},
        "url": url,
    });
    let value = completed_fields(given, now);
    let sessions = &mut state.stripe.sessions;
    sessions.insert(value.clone(), new.line_items, new.intent_metadata);
    Ok(expanded(state, &value, form))
}

/// Adds the fields that Stripe always returns to the given ones.
pub(crate) fn completed_fields(given: Value, now: Timestamp) -> Value {
    let mut value = whole("checkout.session", json!({ "created": now.as_second() }));
    value["expires_at"] = json!(now.as_second() + 24 * 3600);
    if let (Value::Object(fields), Value::Object(given)) = (&mut value, given) {
        fields.extend(given);
    }
    if value["customer_details"].is_object() {
        value["customer_details"] = whole("customer_details", value["customer_details"].take());
    }
    complete_custom_fields(&mut value);
    value
}

pub(crate) fn retrieve(state: &mut State, id: &str, form: &Form, now: Timestamp) -> Result<Value, StripeError> {
    form.allow(&["expand.#"])?;
    state.stripe.sessions.expire_old(now);
    let session = known(state, id)?;
    Ok(expanded(state, &session.value, form))
}

fn known<'a>(state: &'a State, id: &str) -> Result<&'a Session, StripeError> {
    let found = state.stripe.sessions.get(id);
    found.ok_or_else(|| StripeError::missing("checkout.session", id, None))
}

/// The session with the objects that `expand[]` names.
fn expanded(state: &State, value: &Value, form: &Form) -> Value {
    let mut value = value.clone();
    if form.expands("line_items")
        && let Some(session) = value["id"].as_str().and_then(|id| state.stripe.sessions.get(id))
    {
        value["line_items"] = items_list(session);
    }
    if form.expands("payment_intent")
        && let Some(intent) = value["payment_intent"].as_str().and_then(|id| state.stripe.payment_intents.get(id))
    {
        value["payment_intent"] = intent.clone();
    }
    value
}

fn items_list(session: &Session) -> Value {
    let id = session.value["id"].as_str().unwrap_or("");
    json!({
        "object": "list",
        "data": session.line_items,
        "has_more": false,
        "url": format!("/v1/checkout/sessions/{id}/line_items"),
    })
}

pub(crate) fn line_items(state: &State, id: &str, form: &Form) -> Result<Value, StripeError> {
    listing::allow(form, &[])?;
    known(state, id).map(items_list)
}

pub(crate) fn expire(state: &mut State, id: &str, form: &Form, now: Timestamp) -> Result<Value, StripeError> {
    form.allow(&["expand.#"])?;
    state.stripe.sessions.expire_old(now);
    let Some(session) = state.stripe.sessions.by_id.get_mut(id) else {
        return Err(StripeError::missing("checkout.session", id, None));
    };
    if session.value["status"] != "open" {
        return Err(StripeError::invalid("Only Checkout Sessions with a status in [\"open\"] can be expired."));
    }
    close(&mut session.value);
    Ok(session.value.clone())
}

pub(crate) fn list(state: &mut State, form: &Form, now: Timestamp) -> Result<Value, StripeError> {
    listing::allow_dated(form, &["status", "payment_intent", "customer_details.email"])?;
    let status = form.get("status");
    if let Some(status) = status
        && !["open", "complete", "expired"].contains(&status)
    {
        return Err(StripeError::param(None, "status", "Invalid status: must be one of open, complete, or expired"));
    }
    state.stripe.sessions.expire_old(now);
    let mut found = Vec::new();
    for session in state.stripe.sessions.by_id.values() {
        let value = &session.value;
        let named = status.is_none_or(|status| value["status"] == status)
            && form.get("payment_intent").is_none_or(|id| value["payment_intent"] == id)
            && form.get("customer_details[email]").is_none_or(|email| value["customer_details"]["email"] == email);
        if named && listing::created_within(value, form)? {
            found.push(session);
        }
    }
    found.sort_by_key(|session| std::cmp::Reverse((session.value["created"].as_i64(), session.order)));
    let items: Vec<Value> = found.into_iter().map(|session| session.value.clone()).collect();
    listing::page(&items, "checkout.session", form, "/v1/checkout/sessions")
}

/// Why a session cannot be paid.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PayError {
    #[error("no session {0}")]
    Unknown(String),
    #[error("session {id} is {status}, only an open one can be paid")]
    NotOpen { id: String, status: String },
    #[error("{0:?} is not an e-mail address")]
    Email(String),
}

/// Pays an open session and returns the completed session.
pub(crate) fn pay(state: &mut State, id: &str, email: Option<&str>, now: Timestamp) -> Result<Value, PayError> {
    state.stripe.sessions.expire_old(now);
    let session = state.stripe.sessions.get(id);
    let session = session.ok_or_else(|| PayError::Unknown(id.to_owned()))?;
    let status = session.value["status"].as_str().unwrap_or("");
    if status != "open" {
        return Err(PayError::NotOpen { id: id.to_owned(), status: status.to_owned() });
    }
    let email = email.or_else(|| session.value["customer_email"].as_str()).unwrap_or("customer@example.com").to_owned();
    if !is_email(&email) {
        return Err(PayError::Email(email));
    }
    let mut value = session.value.clone();
    let free = value["amount_total"] == 0;
    if value["mode"] == "subscription" {
        let (line, metadata) =
            (session.line_items.first().cloned().unwrap_or_default(), session.intent_metadata.clone());
        let begun = subscriptions::begin(state, &value, &line, metadata);
        value["customer"] = json!(begun.customer);
        value["subscription"] = json!(begun.subscription);
        value["invoice"] = json!(begun.invoice);
    } else if !free {
        let metadata = session.intent_metadata.clone();
        value["payment_intent"] = json!(plant_intent(state, &value, metadata, now));
    }
    let paid = if free { "no_payment_required" } else { "paid" };
    value["payment_status"] = json!(paid);
    value["status"] = json!("complete");
    value["url"] = Value::Null;
    value["customer_details"] = whole("customer_details", json!({ "email": email }));
    if let Some(session) = state.stripe.sessions.by_id.get_mut(id) {
        session.value = value.clone();
    }
    Ok(value)
}

/// Creates the payment intent of a paid session and returns its id.
fn plant_intent(state: &mut State, session: &Value, metadata: Map<String, Value>, now: Timestamp) -> String {
    let known = session["payment_intent"].as_str().map(str::to_owned);
    let id = known.unwrap_or_else(|| state.identifiers.prefixed("pi_3", 23));
    let given = json!({
        "id": id,
        "amount": session["amount_total"],
        "amount_received": session["amount_total"],
        "created": now.as_second(),
        "currency": session["currency"],
        "latest_charge": state.identifiers.prefixed("ch_3", 23),
        "metadata": metadata,
    });
    state.stripe.payment_intents.insert(id.clone(), whole("payment_intent", given));
    id
}

/// Creates the payment intent of a session whose customer has finished and that is not paid.
fn plant_unpaid_intent(state: &mut State, session: &Value, status: &str, now: Timestamp) {
    let id = plant_intent(state, session, Map::new(), now);
    if let Some(intent) = state.stripe.payment_intents.get_mut(&id) {
        intent["status"] = json!(status);
        intent["amount_received"] = json!(0);
    }
}

/// Plants a session as Stripe would return it, with missing fields completed. It replaces one with the same id.
pub(crate) fn plant(state: &mut State, given: Map<String, Value>, now: Timestamp) -> Value {
    let mut given = given;
    if !given.get("id").is_some_and(Value::is_string) {
        let id = state.identifiers.prefixed("cs_test_a1", 56);
        given.insert("id".to_owned(), json!(id));
    }
    let status_given = given.contains_key("status");
    let url_given = given.contains_key("url");
    let intent_given = given.contains_key("payment_intent");
    let mut value = completed_fields(Value::Object(given), now);
    let paid = value["payment_status"] == "paid";
    if !status_given && value["payment_status"] != "unpaid" {
        value["status"] = json!("complete");
    }
    if !url_given && value["status"] == "open" {
        let id = value["id"].as_str().unwrap_or("");
        value["url"] = json!(format!("{}/stripe/pay/{id}", state.public_url));
    }
    // A paid session has an intent, unless it is explicitly null.
    if paid && (!intent_given || value["payment_intent"].is_string()) {
        value["payment_intent"] = json!(plant_intent(state, &value, Map::new(), now));
    }
    let is_in_process = value["payment_status"] == "unpaid" && value["status"] == "complete";
    if is_in_process && value["payment_intent"].is_string() {
        plant_unpaid_intent(state, &value, "processing", now);
    }
    let sessions = &mut state.stripe.sessions;
    sessions.insert(value.clone(), Vec::new(), Map::new());
    value
}

/// Makes the session of an event known to Stripe. An unknown session is planted; a known one gets the event's payment
/// status and otherwise stays unchanged. Its payment ends as the event says.
pub(crate) fn record_event(state: &mut State, kind: &str, object: &Map<String, Value>, now: Timestamp) {
    let Some(id) = object.get("id").and_then(Value::as_str) else {
        return;
    };
    let Some(session) = state.stripe.sessions.by_id.get_mut(id) else {
        let planted = plant(state, object.clone(), now);
        return end_payment(state, kind, &planted, Map::new(), now);
    };
    for field in ["payment_status", "status", "payment_intent", "customer_details"] {
        if let Some(value) = object.get(field)
            && !value.is_null()
        {
            session.value[field] = value.clone();
        }
    }
    if session.value["customer_details"].is_object() {
        session.value["customer_details"] = whole("customer_details", session.value["customer_details"].take());
    }
    if session.value["status"] != "open" {
        session.value["url"] = Value::Null;
    }
    let value = session.value.clone();
    let metadata = session.intent_metadata.clone();
    end_payment(state, kind, &value, metadata, now);
}

/// Ends the payment of a session as an event about it says.
fn end_payment(state: &mut State, kind: &str, session: &Value, metadata: Map<String, Value>, now: Timestamp) {
    let Some(intent) = session["payment_intent"].as_str() else {
        return;
    };
    let succeeded = state.stripe.payment_intents.get(intent).is_some_and(|intent| intent["status"] == "succeeded");
    if session["payment_status"] == "paid" && !succeeded {
        plant_intent(state, session, metadata, now);
    } else if kind == "checkout.session.async_payment_failed" {
        plant_unpaid_intent(state, session, "requires_payment_method", now);
    }
}
