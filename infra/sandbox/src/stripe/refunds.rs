//! Refunds: full or partial, never more than was paid. Each one sends its events.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::charges;
use super::error::StripeError;
use super::form::Form;
use super::objects::whole;
use super::refund_status::{STATUSES, counts};
use crate::state::State;

const REASONS: [&str; 3] = ["duplicate", "fraudulent", "requested_by_customer"];

pub(crate) fn create(state: &mut State, form: &Form, now: Timestamp) -> Result<Value, StripeError> {
    form.allow(&["payment_intent", "charge", "amount", "reason", "metadata.@", "instructions_email", "expand.#"])?;
    let metadata = form.metadata("metadata")?;
    let reason = form.get("reason");
    if let Some(reason) = reason
        && !REASONS.contains(&reason)
    {
        let message = "Invalid reason: must be one of duplicate, fraudulent, or requested_by_customer";
        return Err(StripeError::param(None, "reason", message));
    }
    let amount = form.integer("amount")?;
    let intent_id = paid_intent(state, form)?;
    let status = state.config.stripe_refund_status.clone();
    make(state, &intent_id, New { amount, reason, metadata, status: &status }, now)
}

/// A refund that an operator makes in Stripe's dashboard, or a new status of one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Given {
    /// The refund to update; without it, a new one is made.
    id: Option<String>,
    /// The payment of a new refund.
    payment_intent: Option<String>,
    amount: Option<i64>,
    #[serde(default = "succeeded")]
    status: String,
    /// Whether its events are dropped.
    #[serde(default)]
    pub(crate) lost: bool,
}

fn succeeded() -> String {
    "succeeded".to_owned()
}

/// Makes a refund, or changes the status of one.
pub(crate) fn put(state: &mut State, given: &Given, now: Timestamp) -> Result<Value, String> {
    let status = given.status.as_str();
    if !STATUSES.contains(&status) {
        return Err(format!("status must be one of {}", STATUSES.join(", ")));
    }
    match (&given.id, &given.payment_intent) {
        (Some(id), None) => settle(state, id, status).ok_or_else(|| format!("no refund {id}")),
        (None, Some(payment)) => {
            let new = New { amount: given.amount, reason: None, metadata: Map::new(), status };
            make(state, payment, new, now).map_err(|error| error.message)
        }
        _ => Err("give either the id of a refund or a payment_intent".to_owned()),
    }
}

struct New<'a> {
    amount: Option<i64>,
    reason: Option<&'a str>,
    metadata: Map<String, Value>,
    /// Its status once it is made.
    status: &'a str,
}

fn make(state: &mut State, intent_id: &str, new: New<'_>, now: Timestamp) -> Result<Value, StripeError> {
    let Some(intent) = state.stripe.payment_intents.get(intent_id).cloned() else {
        return Err(StripeError::missing("payment_intent", intent_id, Some("payment_intent")));
    };
    let charge = intent["latest_charge"].as_str().unwrap_or("").to_owned();
    let mut disputes = state.stripe.disputes.iter();
    if disputes.any(|dispute| dispute["charge"] == charge && dispute["is_charge_refundable"] == false) {
        return Err(StripeError {
            code: Some("charge_disputed"),
            ..StripeError::invalid(format!("Charge {charge} has been charged back; cannot issue a refund."))
        });
    }
    let left = intent["amount_received"].as_i64().unwrap_or(0) - charges::refunded(state, intent_id);
    if left <= 0 {
        return Err(StripeError {
            code: Some("charge_already_refunded"),
            ..StripeError::invalid(format!("Charge {charge} has already been refunded."))
        });
    }
    let amount = new.amount.unwrap_or(left);
    if amount < 1 {
        let message = "This value must be greater than or equal to 1.";
        return Err(StripeError::param("parameter_invalid_integer", "amount", message));
    }
    if amount > left {
        let message = format!("Refund amount ({amount}) is greater than unrefunded amount on charge ({left}).");
        return Err(StripeError::param(None, "amount", message));
    }
    let given = json!({
        "id": state.identifiers.prefixed("re_", 24),
        "amount": amount,
        "charge": charge,
        "created": now.as_second(),
        "currency": intent["currency"],
        "metadata": new.metadata,
        "payment_intent": intent_id,
        "reason": new.reason,
        "status": new.status,
    });
    let refund = whole("refund", given);
    state.stripe.refunds.push(refund.clone());
    state.emit_event("refund.created", &refund);
    if counts(&refund) {
        let charge = charges::charge(state, &intent);
        state.emit_event("charge.refunded", &charge);
    } else if new.status == "failed" {
        state.emit_event("refund.failed", &refund);
    }
    Ok(refund)
}

/// Changes the status of a refund, as the customer's bank decided.
fn settle(state: &mut State, id: &str, status: &str) -> Option<Value> {
    let refund = state.stripe.refunds.iter_mut().find(|refund| refund["id"] == id)?;
    refund["status"] = json!(status);
    if status == "failed" {
        refund["failure_reason"] = json!("unknown");
    }
    let refund = refund.clone();
    state.emit_event("refund.updated", &refund);
    if status == "failed" {
        state.emit_event("refund.failed", &refund);
    }
    Some(refund)
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
