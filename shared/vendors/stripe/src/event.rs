//! Parses webhook events. They are delivered at least once and in any order, so nothing here depends on earlier events.

use crate::{
    billing_objects::{self, BillingError, Collected},
    payment_objects,
    reply::reduced,
    session::{self, SessionError},
};
use domain::{
    CheckoutSession, Timestamp,
    chat::{BillingReport, SubscriberId},
    money::{ObjectId, PaymentId, PaymentReport},
};
use serde_json::Value;

/// The content of an event.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// `checkout.session.completed`: paid at once, or to be paid later by a slow method.
    SessionCompleted(CheckoutSession),
    /// `checkout.session.async_payment_succeeded`: the slow method paid.
    AsyncPaymentSucceeded(CheckoutSession),
    /// `checkout.session.async_payment_failed`: the slow method failed.
    AsyncPaymentFailed,
    /// `checkout.session.expired`: the session was not paid.
    SessionExpired,
    /// `charge.refunded`, `refund.…` and `charge.dispute.…`: a change of a payment.
    PaymentReported {
        /// The payment.
        payment: PaymentId,
        /// Stripe's report.
        report: PaymentReport,
    },
    /// `customer.subscription.…` and `invoice.…` of a subscription to the chat.
    BillingReported {
        /// The subscriber.
        subscriber: SubscriberId,
        /// Stripe's report.
        report: BillingReport,
    },
    /// The same for a subscription or an invoice that our checkout did not make: its payer may get nothing for it.
    ForeignSubscription,
    /// Any other type, or a change that concerns no payment of a checkout; by name, cut to [`MAX_TYPE_CHARACTERS`].
    Other(String),
}

/// An event.
#[derive(Clone, Debug)]
pub struct Event {
    /// Stripe's id of the event, for logs. Fulfilment is keyed by the session: two events may report one payment.
    pub id: Option<String>,
    /// When Stripe created it, in whole seconds.
    pub created: Option<Timestamp>,
    /// Its content.
    pub kind: EventKind,
}

/// The types of events that are handled: a webhook endpoint has to deliver exactly these.
pub const HANDLED: [&str; 17] = [
    "charge.dispute.closed",
    "charge.dispute.created",
    "charge.dispute.updated",
    "charge.refund.updated",
    "charge.refunded",
    "checkout.session.async_payment_failed",
    "checkout.session.async_payment_succeeded",
    "checkout.session.completed",
    "checkout.session.expired",
    "customer.subscription.created",
    "customer.subscription.deleted",
    "customer.subscription.updated",
    "invoice.paid",
    "invoice.payment_failed",
    "refund.created",
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
    /// It reports a refund or a dispute of a payment that cannot be read, such as one with a new status.
    #[error(
        "the event's refund or dispute {object} cannot be read: its id or its status ({}) is not known",
        .status.as_deref().unwrap_or("missing")
    )]
    Payment {
        /// Stripe's id of the refund or the dispute.
        object: ObjectId,
        /// Its status, reduced to the characters of a code.
        status: Option<String>,
    },
    /// It reports a subscription of ours that cannot be read.
    #[error("the event's subscription cannot be read")]
    Billing(#[source] BillingError),
}

/// Parses an event whose signature has been verified.
///
/// # Errors
/// [`EventError`]; never because of a field that is not needed.
pub fn parse(raw_body: &[u8]) -> Result<Event, EventError> {
    let body: Value = serde_json::from_slice(raw_body).map_err(|error| {
        // serde_json offers no other way to distinguish this error from a syntax error; a test pins the wording.
        if error.to_string().starts_with("recursion limit exceeded") {
            EventError::TooDeep
        } else {
            EventError::NotJson(error)
        }
    })?;
    let object = &body["data"]["object"];
    let name = body["type"].as_str().ok_or(EventError::NotAnEvent)?;
    let kind = match name {
        // A session that sells a subscription is ignored, because the subscription's own events and invoices are read.
        _ if is_of_other_mode(name, object) => EventKind::Other(cut(name)),
        "checkout.session.completed" => EventKind::SessionCompleted(session::parse(object)?),
        "checkout.session.async_payment_succeeded" => EventKind::AsyncPaymentSucceeded(session::parse(object)?),
        "checkout.session.async_payment_failed" => EventKind::AsyncPaymentFailed,
        "checkout.session.expired" => EventKind::SessionExpired,
        "customer.subscription.created" | "customer.subscription.updated" | "customer.subscription.deleted" => {
            billing(billing_objects::subscription(object, created(&body)))?
        }
        "invoice.paid" => billing(billing_objects::invoice(object, Collected::Paid, created(&body)))?,
        "invoice.payment_failed" => billing(billing_objects::invoice(object, Collected::Failed, created(&body)))?,
        _ => payment(name, object, created(&body))?,
    };
    let created = body["created"].as_i64().map(Timestamp::from_seconds);
    Ok(Event { id: body["id"].as_str().map(str::to_owned), created, kind })
}

/// A type in a form that may be logged.
fn cut(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(MAX_TYPE_CHARACTERS).collect()
}

fn is_of_other_mode(name: &str, object: &Value) -> bool {
    let is_sold = ["checkout.session.completed", "checkout.session.async_payment_succeeded"].contains(&name);
    is_sold && matches!(session::parse(object), Err(SessionError::OtherMode))
}

/// The content of a subscription's event.
fn billing(read: Result<(SubscriberId, BillingReport), BillingError>) -> Result<EventKind, EventError> {
    match read {
        Ok((subscriber, report)) => Ok(EventKind::BillingReported { subscriber, report }),
        Err(BillingError::Foreign) => Ok(EventKind::ForeignSubscription),
        Err(error) => Err(EventError::Billing(error)),
    }
}

/// When Stripe created the event: its objects have their state of that time.
fn created(body: &Value) -> Timestamp {
    let seconds = body["created"].as_i64().or_else(|| body["data"]["object"]["created"].as_i64());
    Timestamp::from_seconds(seconds.unwrap_or_default())
}

/// The content of an event about a payment, and of every other event. A refund or a dispute that names a payment and
/// cannot be read is an error: Stripe delivers it again for three days, in which a version can be deployed that reads it.
/// A refund without a status reports nothing.
fn payment(name: &str, object: &Value, at: Timestamp) -> Result<EventKind, EventError> {
    let report = match name {
        // A refund's own events follow those of its charge.
        "charge.refunded" => Ok(payment_objects::charge(object, at)),
        "refund.created" | "refund.updated" | "refund.failed" | "charge.refund.updated" => {
            payment_objects::refund(object, at)
        }
        "charge.dispute.created" | "charge.dispute.updated" | "charge.dispute.closed" => {
            payment_objects::dispute(object, at).map(Some)
        }
        _ => return Ok(EventKind::Other(cut(name))),
    };
    match (payment_objects::payment(object), report) {
        (Some(payment), Ok(Some(report))) => Ok(EventKind::PaymentReported { payment, report }),
        (Some(_), Err(payment_objects::Unreadable)) => Err(EventError::Payment {
            object: payment_objects::name(object),
            status: object["status"].as_str().map(reduced),
        }),
        _ => Ok(EventKind::Other(cut(name))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::money::{DisputeStatus, RefundStatus};
    use proptest::prelude::*;
    use serde_json::json;

    fn parsed(event: &Value) -> Event {
        parse(event.to_string().as_bytes()).unwrap()
    }

    /// Every type that the code names is in the list, and every type in the list is parsed.
    #[test]
    fn the_handled_types_are_those_that_are_read() {
        for name in HANDLED {
            let status = if name.starts_with("charge.dispute.") { "lost" } else { "failed" };
            let status = if name.starts_with("customer.") { "active" } else { status };
            let metadata = json!({ "subscriber": "a".repeat(64), "plan": "chat" });
            let object = json!({ "id": "cs_test_1", "payment_status": "paid", "payment_intent": "pi_1",
                                 "refunded": true, "status": status, "customer": "cus_1", "metadata": metadata,
                                 "amount_paid": 500, "amount_due": 500,
                                 "lines": { "data": [{ "period": { "end": 1 } }] },
                                 "parent": { "subscription_details": {
                                     "subscription": "sub_1", "metadata": metadata } } });
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
    fn the_types_that_matter_are_distinguished() {
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
    fn a_subscription_is_no_sale_and_an_unreadable_one_is_an_error() {
        for name in ["checkout.session.completed", "checkout.session.async_payment_succeeded"] {
            let object = json!({ "id": "cs_test_1", "payment_status": "paid", "mode": "subscription",
                                 "metadata": { "tier": "full", "q0": "x", "qn": "1" } });
            let event = parsed(&json!({ "type": name, "data": { "object": object } }));
            assert!(matches!(event.kind, EventKind::Other(kind) if kind == name));
        }
        let subscription_event = |metadata: Value| {
            let object = json!({ "id": "sub_1", "customer": "cus_1", "status": "active", "metadata": metadata });
            let event = json!({ "type": "customer.subscription.updated", "created": 7, "data": { "object": object } });
            parse(event.to_string().as_bytes())
        };
        let ours = subscription_event(json!({ "subscriber": "a".repeat(64), "plan": "pro" })).unwrap();
        assert!(matches!(ours.kind, EventKind::BillingReported { subscriber, .. } if subscriber.as_str().len() == 64));
        assert!(matches!(subscription_event(json!({})).unwrap().kind, EventKind::ForeignSubscription));
        let broken = subscription_event(json!({ "subscriber": "a".repeat(64), "plan": "gold" }));
        assert!(matches!(broken, Err(EventError::Billing(_))), "Stripe keeps what we cannot read");
    }

    #[test]
    fn reports_of_a_payment_are_distinguished() {
        type Read = Result<Option<(String, PaymentReport)>, String>;
        let at = Timestamp::from_seconds(1_763_596_800);
        let parsed = |name: &str, object: Value| -> Read {
            let event = json!({"type": name, "created": 1_763_596_800, "data": {"object": object}});
            let event = parse(event.to_string().as_bytes()).map_err(|error| error.to_string())?;
            Ok(match event.kind {
                EventKind::PaymentReported { payment, report } => Some((payment.as_str().to_owned(), report)),
                _ => None,
            })
        };
        let of = |report| -> Read { Ok(Some(("pi_1".to_owned(), report))) };
        let unreadable = |id: &str, status: &str| -> Read {
            Err(format!(
                "the event's refund or dispute {id} cannot be read: its id or its status ({status}) is not known"
            ))
        };
        let charge = |refunded: Value, amount: i64| {
            json!({"id": "ch_1", "payment_intent": "pi_1", "refunded": refunded,
                   "amount": 500, "amount_refunded": amount})
        };
        for (refunded, amount, whole) in
            [(json!(true), 500, true), (json!(false), 100, false), (json!(null), 499, false), (json!(null), 500, true)]
        {
            let report = PaymentReport::Charge { returned: amount, whole, at };
            assert_eq!(parsed("charge.refunded", charge(refunded, amount)), of(report), "{amount}");
        }
        let id = |text: &str| ObjectId::parse(text).unwrap();
        for (status, expected) in [
            ("pending", Some(RefundStatus::Pending)),
            ("requires_action", Some(RefundStatus::Pending)),
            ("succeeded", Some(RefundStatus::Succeeded)),
            ("failed", Some(RefundStatus::Failed)),
            ("canceled", Some(RefundStatus::Canceled)),
            ("lost", None),
        ] {
            let refund = json!({"id": "re_1", "payment_intent": "pi_1", "status": status, "amount": 500});
            let of_status = |status| of(PaymentReport::Refund { id: id("re_1"), amount: Some(500), status, at });
            let report = expected.map_or_else(|| unreadable("re_1", status), of_status);
            for name in ["refund.created", "refund.updated", "refund.failed", "charge.refund.updated"] {
                assert_eq!(parsed(name, refund.clone()), report, "{name} {status}");
            }
        }
        for refund in [json!({"payment_intent": "pi_1", "status": null}), json!({"payment_intent": "pi_1"})] {
            assert_eq!(parsed("refund.updated", refund), Ok(None), "no status is no report");
        }
        for (status, expected) in [
            ("warning_needs_response", Some(DisputeStatus::WarningNeedsResponse)),
            ("warning_under_review", Some(DisputeStatus::WarningUnderReview)),
            ("warning_closed", Some(DisputeStatus::WarningClosed)),
            ("needs_response", Some(DisputeStatus::NeedsResponse)),
            ("under_review", Some(DisputeStatus::UnderReview)),
            ("won", Some(DisputeStatus::Won)),
            ("lost", Some(DisputeStatus::Lost)),
            ("prevented", Some(DisputeStatus::Prevented)),
            ("forgiven", None),
        ] {
            let dispute = json!({"id": "du_1", "payment_intent": {"id": "pi_1"}, "status": status,
                                 "evidence_details": {"due_by": 1_764_000_000}});
            let respond_by = Some(Timestamp::from_seconds(1_764_000_000));
            let of_status = |status| of(PaymentReport::Dispute { id: id("du_1"), status, respond_by, at });
            let report = expected.map_or_else(|| unreadable("du_1", status), of_status);
            for name in ["created", "updated", "closed"] {
                assert_eq!(parsed(&format!("charge.dispute.{name}"), dispute.clone()), report, "{name} {status}");
            }
        }
        for payment in [json!(null), json!("ch_1"), json!({"id": 7}), json!([])] {
            let object = json!({"payment_intent": payment, "refunded": true});
            assert_eq!(parsed("charge.refunded", object), Ok(None), "{payment}");
        }
        let without_amount = parsed("charge.refunded", json!({"payment_intent": "pi_1"}));
        assert_eq!(without_amount, Ok(None), "how much, it does not say");
        assert_eq!(parsed("charge.updated", charge(json!(true), 500)), Ok(None));
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
        let object = json!({"id": "re_1", "payment_intent": "pi_1", "status": "a@b.example ".repeat(99)});
        let event = json!({"type": "refund.updated", "data": {"object": object}});
        let text = parse(event.to_string().as_bytes()).unwrap_err().to_string();
        assert!(text.contains(" re_1 ") && !text.contains('@') && text.len() < 150, "{text}");
    }

    proptest! {
        #[test]
        fn no_body_makes_it_panic(body in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&body);
        }
    }
}
