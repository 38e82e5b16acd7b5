//! Refunds: whole or in part, never more than was paid.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::error::StripeError;
use super::form::Form;
use super::listing;
use crate::state::State;

const REASONS: [&str; 3] = ["duplicate", "fraudulent", "requested_by_customer"];

pub(crate) fn create(state: &mut State, form: &Form, now: Timestamp) -> Result<Value, StripeError> {
    form.allow(&["payment_intent", "charge", "amount", "reason", "metadata.@", "instructions_email", "expand.#"])?;
    let metadata = form.metadata("metadata")?;
    let reason = form.get("reason");
    if let Some(reason) = reason
        && !REASONS.contains(&reason)
    {
        return Err(StripeError::param(
            None,
            "reason",
            "Invalid reason: must be one of duplicate, fraudulent, or requested_by_customer",
        ));
    }
    let amount = form.integer("amount")?;
    let intent_id = paid_intent(state, form)?;
    let Some(intent) = state.stripe.payment_intents.get_mut(&intent_id) else {
        return Err(StripeError::missing("payment_intent", &intent_id, Some("payment_intent")));
    };
    let charge = intent["latest_charge"].as_str().unwrap_or("").to_owned();
    let refunded: i64 = state
        .stripe
        .refunds
        .iter()
        .filter(|refund| refund["payment_intent"] == intent_id.as_str())
        .filter_map(|refund| refund["amount"].as_i64())
        .sum();
    let left = intent["amount_received"].as_i64().unwrap_or(0) - refunded;
    if left <= 0 {
        return Err(StripeError {
            code: Some("charge_already_refunded"),
            ..StripeError::invalid(format!("Charge {charge} has already been refunded."))
        });
    }
    let amount = amount.unwrap_or(left);
    if amount < 1 {
        return Err(StripeError::param(
            "parameter_invalid_integer",
            "amount",
            "This value must be greater than or equal to 1.",
        ));
    }
    if amount > left {
        return Err(StripeError::param(
            None,
            "amount",
            format!("Refund amount ({amount}) is greater than unrefunded amount on charge ({left})."),
        ));
    }
    let currency = intent["currency"].clone();
    let refund = json!({
        "id": state.identifiers.prefixed("re_", 24),
        "object": "refund",
        "amount": amount,
        "charge": charge,
        "created": now.as_second(),
        "currency": currency,
        "metadata": metadata,
        "payment_intent": intent_id,
        "reason": reason,
        "receipt_number": null,
        "status": "succeeded",
    });
    state.stripe.refunds.push(refund.clone());
    Ok(refund)
}

/// The payment intent that `payment_intent` or `charge` names.
fn paid_intent(state: &State, form: &Form) -> Result<String, StripeError> {
    match (form.get("payment_intent"), form.get("charge")) {
        (Some(_), None) => form.required("payment_intent").map(str::to_owned),
        (None, Some(charge)) => state
            .stripe
            .payment_intents
            .values()
            .find(|intent| intent["latest_charge"] == charge)
            .and_then(|intent| intent["id"].as_str().map(str::to_owned))
            .ok_or_else(|| StripeError::missing("charge", charge, Some("charge"))),
        (None, None) => Err(StripeError::param(
            "parameter_missing",
            "payment_intent",
            "One of the following params should be provided for this request: payment_intent or charge.",
        )),
        (Some(_), Some(_)) => {
            Err(StripeError::invalid("You may only specify one of these parameters: payment_intent, charge."))
        }
    }
}

pub(crate) fn list(state: &State, form: &Form) -> Result<Value, StripeError> {
    let mut parameters = vec!["payment_intent", "charge"];
    parameters.extend(listing::PARAMETERS);
    parameters.extend(listing::CREATED);
    form.allow(&parameters)?;
    let mut items = Vec::new();
    for refund in state.stripe.refunds.iter().rev() {
        let named =
            ["payment_intent", "charge"].into_iter().all(|name| form.get(name).is_none_or(|id| refund[name] == id));
        if named && listing::created_within(refund, form)? {
            items.push(refund.clone());
        }
    }
    listing::page(&items, "refund", form, "/v1/refunds")
}

pub(crate) fn retrieve(state: &State, id: &str, form: &Form) -> Result<Value, StripeError> {
    form.allow(&["expand.#"])?;
    let found = state.stripe.refunds.iter().find(|refund| refund["id"] == id);
    found.cloned().ok_or_else(|| StripeError::missing("refund", id, None))
}
