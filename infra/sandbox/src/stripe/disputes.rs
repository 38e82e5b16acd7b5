//! Disputes and inquiries of customers' banks: opened and updated by control calls, reported by events.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::objects::whole;
use crate::state::State;

const STATUSES: [&str; 8] = [
    "warning_needs_response",
    "warning_under_review",
    "warning_closed",
    "needs_response",
    "under_review",
    "won",
    "lost",
    "prevented",
];

/// The days in which a bank accepts an answer.
const ANSWER_DAYS: i64 = 9;

/// A request to open or to update a dispute.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Given {
    /// The dispute to update; without it, a new one is opened.
    id: Option<String>,
    /// The payment of a new dispute.
    payment_intent: Option<String>,
    status: String,
    /// The deadline for an answer, in seconds since 1970.
    due_by: Option<i64>,
    /// Whether its events are dropped.
    #[serde(default)]
    pub(crate) lost: bool,
}

/// Opens or updates a dispute.
pub(crate) fn put(state: &mut State, given: &Given, now: Timestamp) -> Result<Value, String> {
    if !STATUSES.contains(&given.status.as_str()) {
        return Err(format!("status must be one of {}", STATUSES.join(", ")));
    }
    let (mut dispute, is_new) = match (&given.id, &given.payment_intent) {
        (Some(id), None) => {
            let known = state.stripe.disputes.iter().find(|dispute| dispute["id"] == id.as_str());
            (known.cloned().ok_or_else(|| format!("no dispute {id}"))?, false)
        }
        (None, Some(payment)) => (opened(state, payment, now)?, true),
        _ => return Err("give either the id of a dispute or a payment_intent".to_owned()),
    };
    dispute["status"] = json!(given.status);
    // An inquiry has taken no money yet: the charge can still be refunded.
    dispute["is_charge_refundable"] = json!(given.status.starts_with("warning_"));
    if let Some(due_by) = given.due_by {
        dispute["evidence_details"]["due_by"] = json!(due_by);
    }
    let is_closed = ["warning_closed", "won", "lost", "prevented"].contains(&given.status.as_str());
    let disputes = &mut state.stripe.disputes;
    match disputes.iter_mut().find(|known| known["id"] == dispute["id"]) {
        Some(known) => *known = dispute.clone(),
        None => disputes.push(dispute.clone()),
    }
    if is_new {
        state.emit_event("charge.dispute.created", &dispute);
    } else if !is_closed {
        state.emit_event("charge.dispute.updated", &dispute);
    }
    if is_closed {
        state.emit_event("charge.dispute.closed", &dispute);
    }
    Ok(dispute)
}

fn opened(state: &mut State, payment: &str, now: Timestamp) -> Result<Value, String> {
    let intent = state.stripe.payment_intents.get(payment).ok_or_else(|| format!("no payment {payment}"))?;
    let (amount, charge, currency) =
        (intent["amount_received"].clone(), intent["latest_charge"].clone(), intent["currency"].clone());
    let given = json!({
        "id": state.identifiers.prefixed("du_1", 23),
        "amount": amount,
        "charge": charge,
        "created": now.as_second(),
        "currency": currency,
        "payment_intent": payment,
    });
    let mut dispute = whole("dispute", given);
    dispute["evidence_details"]["due_by"] = json!(now.as_second() + ANSWER_DAYS * 24 * 3600);
    Ok(dispute)
}
