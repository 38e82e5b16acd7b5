//! Webhook events. Delivery is at least once and unordered, so nothing here depends on what came before.

use crate::session::{self, SessionError};
use domain::{
    CheckoutSession,
    money::{PaymentChange, PaymentId},
};
use serde_json::Value;

/// What an event says.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// `checkout.session.completed`: paid at once, or yet to be paid by a slow method.
    SessionCompleted(CheckoutSession),
    /// `checkout.session.async_payment_succeeded`: the slow method paid.
    AsyncPaymentSucceeded(CheckoutSession),
    /// `checkout.session.async_payment_failed`: it did not.
    AsyncPaymentFailed,
    /// `checkout.session.expired`: nobody paid.
    SessionExpired,
    /// `charge.refunded`, `charge.dispute.created` and `charge.dispute.closed`: a payment has changed.
    PaymentChanged {
        /// Which.
        payment: PaymentId,
        /// How.
        change: PaymentChange,
    },
    /// Any other type, and a change of what is no payment of a checkout, by name, cut to [`MAX_TYPE_CHARACTERS`].
    Other(String),
}

/// An event.
#[derive(Clone, Debug)]
pub struct Event {
    /// Stripe's id of the event, for logs. Fulfilment is keyed by the session: two events may report one payment.
    pub id: Option<String>,
    /// What it says.
    pub kind: EventKind,
}

/// The types of events that are handled: what a webhook endpoint has to deliver, and nothing else.
pub const HANDLED: [&str; 10] = [
    "charge.dispute.closed",
    "charge.dispute.created",
    "charge.refund.updated",
    "charge.refunded",
    "checkout.session.async_payment_failed",
    "checkout.session.async_payment_succeeded",
    "checkout.session.completed",
    "checkout.session.expired",
    "refund.failed",
    "refund.updated",
];

/// The longest unknown type that is kept.
pub const MAX_TYPE_CHARACTERS: usize = 100;

/// Why a body is not an event.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// It is not JSON. The source names line and column, never text.
    #[error("the body is not JSON")]
    NotJson(#[source] serde_json::Error),
    /// It nests deeper than 128 levels.
    #[error("the body is nested too deeply")]
    TooDeep,
    /// It is JSON, but not an object with a `type`.
    #[error("the body is not an event")]
    NotAnEvent,
    /// It reports a session that cannot be read.
    #[error("the event's session cannot be read")]
    Session(#[from] SessionError),
}

/// Reads an event whose signature has been verified.
///
/// # Errors
/// [`EventError`]; never because of a field that is not needed.
pub fn parse(raw_body: &[u8]) -> Result<Event, EventError> {
    let body: Value = serde_json::from_slice(raw_body).map_err(|error| {
        // serde_json has no other way to tell this error from a syntax error; a test holds the wording.
        if error.to_string().starts_with("recursion limit exceeded") {
            EventError::TooDeep
        } else {
            EventError::NotJson(error)
        }
    })?;
    let object = &body["data"]["object"];
    let name = body["type"].as_str().ok_or(EventError::NotAnEvent)?;
    let kind = match name {
        "checkout.session.completed" => EventKind::SessionCompleted(session::parse(object)?),
        "checkout.session.async_payment_succeeded" => EventKind::AsyncPaymentSucceeded(session::parse(object)?),
        "checkout.session.async_payment_failed" => EventKind::AsyncPaymentFailed,
        "checkout.session.expired" => EventKind::SessionExpired,
        _ => match (payment(object), payment_change(name, object)) {
            (Some(payment), Some(change)) => EventKind::PaymentChanged { payment, change },
            _ => EventKind::Other(name.chars().filter(|c| !c.is_control()).take(MAX_TYPE_CHARACTERS).collect()),
        },
    };
    Ok(Event { id: body["id"].as_str().map(str::to_owned), kind })
}

/// The payment of a charge or a dispute, by id or expanded. Charges that no checkout made may have none.
fn payment(object: &Value) -> Option<PaymentId> {
    let payment = &object["payment_intent"];
    payment.as_str().or_else(|| payment["id"].as_str()).and_then(|id| PaymentId::parse(id).ok())
}

/// What an event says of its payment, if it is one of those that do.
fn payment_change(name: &str, object: &Value) -> Option<PaymentChange> {
    match name {
        "charge.refunded" => {
            let amounts = || Some(object["amount_refunded"].as_i64()? >= object["amount"].as_i64()?);
            let whole = object["refunded"].as_bool().or_else(amounts)?;
            Some(if whole { PaymentChange::Refunded } else { PaymentChange::PartlyRefunded })
        }
        "refund.failed" => Some(PaymentChange::RefundFailed),
        "charge.refund.updated" | "refund.updated" if object["status"] == "failed" => Some(PaymentChange::RefundFailed),
        "charge.dispute.created" => Some(PaymentChange::DisputeOpened),
        // An inquiry (`warning_…`) that ends without a dispute leaves us the money, as a dispute that was won does.
        "charge.dispute.closed" => match object["status"].as_str() {
            Some("won" | "warning_closed") => Some(PaymentChange::DisputeWon),
            Some("lost") => Some(PaymentChange::DisputeLost),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn parsed(event: &Value) -> Event {
        parse(event.to_string().as_bytes()).unwrap()
    }

    /// Every type that the code names is on the list, and every one of the list is understood.
    #[test]
    fn the_handled_types_are_those_that_are_read() {
        for name in HANDLED {
            let object = json!({ "id": "cs_test_1", "payment_status": "paid", "payment_intent": "pi_1", "refunded": true, "status":
                if name == "charge.dispute.closed" { "lost" } else { "failed" } });
            let event = parsed(&json!({ "type": name, "data": { "object": object } }));
            assert!(!matches!(event.kind, EventKind::Other(_)), "{name}");
        }
        let source =
            include_str!("event.rs").split("pub fn parse").nth(1).unwrap().split("#[cfg(test)]").next().unwrap();
        let quoted = source.split('"').skip(1).step_by(2);
        for name in quoted.filter(|text| text.contains('.') && !text.contains(' ')) {
            assert!(HANDLED.contains(&name), "{name} is handled and not on the list");
        }
    }

    #[test]
    fn the_types_that_matter_are_told_apart() {
        let event = |kind: &str| {
            parsed(&json!({"id": "evt_1", "type": kind,
                           "data": {"object": {"id": "cs_test_1", "payment_status": "paid"}}}))
        };
        let completed = event("checkout.session.completed");
        assert_eq!(completed.id.as_deref(), Some("evt_1"));
        assert!(matches!(completed.kind, EventKind::SessionCompleted(s) if s.id.as_str() == "cs_test_1"));
        assert!(matches!(event("checkout.session.async_payment_succeeded").kind, EventKind::AsyncPaymentSucceeded(_)));
        assert!(matches!(event("checkout.session.async_payment_failed").kind, EventKind::AsyncPaymentFailed));
        assert!(matches!(event("checkout.session.expired").kind, EventKind::SessionExpired));
        assert!(matches!(event("charge.refunded").kind, EventKind::Other(kind) if kind == "charge.refunded"));
    }

    #[test]
    fn changes_of_a_payment_are_told_apart() {
        let change = |name: &str, object: Value| match parsed(&json!({"type": name, "data": {"object": object}})).kind {
            EventKind::PaymentChanged { payment, change } => Some((payment.as_str().to_owned(), change)),
            _ => None,
        };
        let refund = |refunded: Value, amount: i64| {
            json!({"id": "ch_1", "payment_intent": "pi_1", "refunded": refunded,
                   "amount": 500, "amount_refunded": amount})
        };
        let of = |change| Some(("pi_1".to_owned(), change));
        assert_eq!(change("charge.refunded", refund(json!(true), 500)), of(PaymentChange::Refunded));
        assert_eq!(change("charge.refunded", refund(json!(false), 100)), of(PaymentChange::PartlyRefunded));
        assert_eq!(change("charge.refunded", refund(json!(null), 499)), of(PaymentChange::PartlyRefunded));
        assert_eq!(change("charge.refunded", refund(json!(null), 500)), of(PaymentChange::Refunded));
        let dispute = |status: &str| json!({"id": "dp_1", "payment_intent": {"id": "pi_1"}, "status": status});
        assert_eq!(change("charge.dispute.created", dispute("needs_response")), of(PaymentChange::DisputeOpened));
        for (status, expected) in [
            ("won", of(PaymentChange::DisputeWon)),
            ("warning_closed", of(PaymentChange::DisputeWon)),
            ("lost", of(PaymentChange::DisputeLost)),
            ("under_review", None),
        ] {
            assert_eq!(change("charge.dispute.closed", dispute(status)), expected, "{status}");
        }
        for payment in [json!(null), json!("ch_1"), json!({"id": 7}), json!([])] {
            let object = json!({"payment_intent": payment, "refunded": true});
            assert_eq!(change("charge.refunded", object), None, "{payment}");
        }
        assert_eq!(change("charge.refunded", json!({"payment_intent": "pi_1"})), None, "how much, it does not say");
        assert_eq!(change("charge.updated", refund(json!(true), 500)), None);
    }

    #[test]
    fn types_that_do_not_matter_may_carry_anything() {
        for data in [json!(null), json!(1), json!({"object": []}), json!({"object": {"id": 7}})] {
            let event =
                json!({"id": 5, "type": "checkout.session.expired", "data": data, "created": "x", "api_version": []});
            assert!(parsed(&event).id.is_none());
        }
        let long = parsed(&json!({"type": format!("a\n{}", "b".repeat(1000))}));
        assert!(matches!(long.kind, EventKind::Other(kind) if kind.len() == 100 && !kind.contains('\n')));
    }

    #[test]
    fn every_defect_has_its_own_error() {
        for body in ["", "{", "hello", "{\"type\":\"x\"} trailing", "\u{feff}{}"] {
            assert!(matches!(parse(body.as_bytes()), Err(EventError::NotJson(_))), "{body}");
        }
        assert!(matches!(parse(b"\xff\xfe"), Err(EventError::NotJson(_))));
        for body in ["null", "[]", "1", "{}", "{\"type\":null}", "{\"type\":[\"x\"]}"] {
            assert!(matches!(parse(body.as_bytes()), Err(EventError::NotAnEvent)), "{body}");
        }
        for depth in [200, 100_000] {
            let body = format!("{{\"type\":\"x\",\"data\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
            assert!(matches!(parse(body.as_bytes()), Err(EventError::TooDeep)), "{depth}");
        }
        let body = br#"{"type":"checkout.session.completed","data":{"object":{"id":"cs_1"}}}"#;
        assert!(matches!(parse(body), Err(EventError::Session(SessionError::PaymentStatus))));
    }

    #[test]
    fn errors_never_quote_the_body() {
        let error = parse(br#"{"type":"x","data": someone@example.com}"#).unwrap_err();
        let source = std::error::Error::source(&error).unwrap();
        assert!(!format!("{error} {source} {error:?}").contains("someone"));
    }

    proptest! {
        #[test]
        fn no_body_makes_it_panic(body in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&body);
        }
    }
}
