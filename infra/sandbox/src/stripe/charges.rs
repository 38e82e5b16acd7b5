//! Charges and Stripe's search of them, to the extent that operators use it. Every purchase here is made with the same
//! card.

use serde_json::{Value, json};

use super::{error::StripeError, form::Form, objects::whole, refund_status};
use crate::state::State;

/// The last digits of the card for all payments.
const LAST4: &str = "4242";

/// Searches charges. `query` consists of clauses joined by AND: `field:'text'`, `field:number`, `field>number`,
/// `field>=number`.
pub(crate) fn search(state: &State, form: &Form) -> Result<Value, StripeError> {
    form.allow(&["query", "limit", "page", "expand.#"])?;
    let clauses = form.required("query")?.split(" AND ").map(Clause::parse).collect::<Result<Vec<_>, _>>()?;
    let mut found = Vec::new();
    for intent in state.stripe.payment_intents.values().filter(|intent| intent["status"] == "succeeded") {
        let charge = charge(state, intent);
        if clauses.iter().all(|clause| clause.holds(&charge)) {
            found.push(charge);
        }
    }
    found.sort_by_key(|charge| std::cmp::Reverse(charge["created"].as_i64()));
    Ok(json!({
        "object": "search_result", "url": "/v1/charges/search", "has_more": false, "next_page": null, "data": found,
    }))
}

/// The charge of a payment in its current state.
pub(super) fn charge(state: &State, intent: &Value) -> Value {
    let returned = intent["id"].as_str().map_or(0, |id| refunded(state, id));
    let disputed = state.stripe.disputes.iter().any(|dispute| dispute["charge"] == intent["latest_charge"]);
    let given = json!({
        "id": intent["latest_charge"],
        "amount": intent["amount"],
        "amount_captured": intent["amount"],
        "amount_refunded": returned,
        "created": intent["created"],
        "currency": intent["currency"],
        "disputed": disputed,
        "payment_intent": intent["id"],
        "payment_method_details": { "type": "card", "card": whole("card", json!({ "last4": LAST4 })) },
        "refunded": intent["amount"].as_i64().is_some_and(|amount| returned >= amount),
    });
    whole("charge", given)
}

pub(super) fn refunded(state: &State, intent_id: &str) -> i64 {
    let refunds = state.stripe.refunds.iter();
    refunds
        .filter(|refund| refund["payment_intent"] == intent_id && refund_status::counts(refund))
        .filter_map(|refund| refund["amount"].as_i64())
        .sum()
}

struct Clause<'a> {
    path: &'a str,
    test: &'a str,
    value: &'a str,
}

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Result<Self, StripeError> {
        let known = ["payment_method_details.card.last4", "status", "created", "amount", "currency"];
        [">=", ":", ">"]
            .into_iter()
            .find_map(|test| text.split_once(test).map(|(path, value)| Self { path, test, value }))
            .filter(|clause| known.contains(&clause.path))
            .ok_or_else(|| StripeError::invalid(format!("We were unable to parse your search query: {text}")))
    }

    fn holds(&self, charge: &Value) -> bool {
        let field = self.path.split('.').fold(charge, |value, name| &value[name]);
        match (self.test, field) {
            (":", Value::String(text)) => format!("'{text}'") == self.value,
            (test, Value::Number(number)) => {
                let (number, value) = (number.as_i64(), self.value.parse::<i64>().ok());
                match test {
                    ":" => number == value,
                    ">" => number > value,
                    _ => number >= value,
                }
            }
            _ => false,
        }
    }
}
