//! Converts Stripe's Checkout Session, from an event or a reply, to the domain's.

use crate::payment_objects;
use domain::{CheckoutSession, EmailAddress, PaymentStatus, SessionId, SessionStage, Timestamp};
use reqwest::Url;
use serde_json::Value;
use std::collections::BTreeMap;

/// The key of the Payment Link's custom field with the question (Product Tiers, invariant 8).
pub(crate) const QUESTION_FIELD: &str = "idea";

/// Why an object is not a Checkout Session. Only fields that decide about money are required; the others may be absent
/// or of any type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// It is not a JSON object.
    #[error("the checkout session is not an object")]
    NotAnObject,
    /// It sells a subscription, or sets up a payment method: it is not the sale of a verdict.
    #[error("the checkout session is no single payment")]
    OtherMode,
    /// `id` is missing or not a session id.
    #[error("the checkout session has no valid id")]
    Id,
    /// `payment_status` is missing or unknown.
    #[error("the checkout session has no known payment_status")]
    PaymentStatus,
}

/// Parses a session.
///
/// # Errors
/// [`SessionError`].
pub fn parse(object: &Value) -> Result<CheckoutSession, SessionError> {
    if !object.is_object() {
        return Err(SessionError::NotAnObject);
    }
    if object["mode"].as_str().is_some_and(|mode| mode != "payment") {
        return Err(SessionError::OtherMode);
    }
    let id = object["id"].as_str().and_then(|id| SessionId::parse(id).ok()).ok_or(SessionError::Id)?;
    let payment_status = match object["payment_status"].as_str() {
        Some("paid") => PaymentStatus::Paid,
        Some("unpaid") => PaymentStatus::Unpaid,
        Some("no_payment_required") => PaymentStatus::NoPaymentRequired,
        _ => return Err(SessionError::PaymentStatus),
    };
    Ok(CheckoutSession {
        id,
        payment_status,
        stage: match object["status"].as_str() {
            Some("open") => SessionStage::Open,
            Some("complete") => SessionStage::Complete,
            _ => SessionStage::Over,
        },
        url: pay_address(object),
        metadata: metadata(&object["metadata"]),
        idea: idea(&object["custom_fields"]),
        email: email(object),
        amount_total: object["amount_total"].as_i64(),
        currency: object["currency"].as_str().map(str::to_owned),
        payment: payment_objects::payment(object),
        created: object["created"].as_i64().map(Timestamp::from_seconds),
        locale: locale(object),
    })
}

/// The customer's place: the country that Stripe collected with the payment, or else the language of the payment page.
fn locale(object: &Value) -> Option<String> {
    let country = object["customer_details"]["address"]["country"].as_str();
    let country = country.filter(|code| code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_alphabetic()));
    let page = object["locale"].as_str().filter(|tag| tag.contains('-'));
    country.map(|code| format!("und-{code}")).or_else(|| page.map(str::to_owned))
}

/// The metadata. Stripe's values are strings; other values are skipped.
fn metadata(value: &Value) -> BTreeMap<String, String> {
    let pairs = value.as_object().into_iter().flatten();
    pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

fn idea(custom_fields: &Value) -> Option<String> {
    let field = custom_fields.as_array()?.iter().find(|field| field["key"] == QUESTION_FIELD)?;
    field["text"]["value"].as_str().map(str::to_owned)
}

/// The address. The one that the customer entered at the checkout takes precedence; `customer_email` only prefilled it.
fn email(object: &Value) -> Option<EmailAddress> {
    [&object["customer_details"]["email"], &object["customer_email"]]
        .into_iter()
        .find_map(|value| EmailAddress::parse(value.as_str()?).ok())
}

/// The address where the session can be paid, which it has while it is open.
fn pay_address(object: &Value) -> Option<String> {
    page_address(&object["url"]).filter(|_| object["status"] == "open")
}

/// An address to which a customer's browser may be led.
pub(crate) fn page_address(value: &Value) -> Option<String> {
    let url = Url::parse(value.as_str()?).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then(|| url.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_whole_session_is_read() {
        let session = parse(&json!({
            "id": "cs_test_1", "object": "checkout.session", "payment_status": "paid", "status": "complete",
            "amount_total": 500, "currency": "cad", "created": 1_763_596_800,
            "metadata": {"tier": "full", "q0": "Should I?", "qn": "1"},
            "custom_fields": [
                {"key": "other", "text": {"value": "no"}},
                {"key": "idea", "type": "text", "text": {"value": "From the link"}}
            ],
            "customer_details": {"email": "typed@example.com"}, "customer_email": "prefilled@example.com",
        }))
        .unwrap();
        assert_eq!(session.id.as_str(), "cs_test_1");
        assert_eq!((session.is_paid(), session.stage), (true, SessionStage::Complete));
        assert_eq!(session.metadata["q0"], "Should I?");
        assert_eq!(session.idea.as_deref(), Some("From the link"));
        assert_eq!(session.email.unwrap().expose(), "typed@example.com");
        assert_eq!((session.amount_total, session.currency.as_deref()), (Some(500), Some("cad")));
        assert_eq!(session.created, Some(Timestamp::from_seconds(1_763_596_800)));
    }

    #[test]
    fn the_address_is_the_first_that_is_one() {
        let address = |details: Value, prefilled: Value| {
            let session = json!({"id": "cs_test_1", "payment_status": "paid",
                                 "customer_details": details, "customer_email": prefilled});
            parse(&session).unwrap().email.map(|email| email.expose().to_owned())
        };
        let prefilled = json!("p@example.com");
        assert_eq!(address(json!({"email": "d@example.com"}), prefilled.clone()).unwrap(), "d@example.com");
        for absent in [json!(null), json!({}), json!({"email": null}), json!({"email": " "}), json!("text"), json!([1])]
        {
            assert_eq!(address(absent.clone(), prefilled.clone()).unwrap(), "p@example.com", "{absent}");
            assert_eq!(address(absent, json!(null)), None);
        }
        assert_eq!(address(json!({"email": "a@b\r\nBcc: c@d"}), json!(7)), None);
    }

    #[test]
    fn the_country_of_the_payment_precedes_the_language_of_the_page() {
        let locale = |country: Value, page: Value| {
            let session = json!({"id": "cs_test_1", "payment_status": "paid", "locale": page,
                                 "customer_details": {"address": {"country": country}}});
            parse(&session).unwrap().locale
        };
        assert_eq!(locale(json!("US"), json!("fr-CA")).as_deref(), Some("und-US"));
        for absent in [json!(null), json!(""), json!("USA"), json!("4-"), json!(7)] {
            assert_eq!(locale(absent.clone(), json!("en-GB")).as_deref(), Some("en-GB"), "{absent}");
            for no_place in [json!(null), json!("auto"), json!("fr"), json!(7)] {
                assert_eq!(locale(absent.clone(), no_place), None);
            }
        }
    }

    #[test]
    fn payment_statuses_are_those_of_stripe() {
        let status = |word: Value| parse(&json!({"id": "cs_test_1", "payment_status": word})).map(|s| s.payment_status);
        assert_eq!(status(json!("paid")), Ok(PaymentStatus::Paid));
        assert_eq!(status(json!("unpaid")), Ok(PaymentStatus::Unpaid));
        assert_eq!(status(json!("no_payment_required")), Ok(PaymentStatus::NoPaymentRequired));
        for word in [json!("Paid"), json!(""), json!(null), json!(true), json!(["paid"])] {
            assert_eq!(status(word.clone()), Err(SessionError::PaymentStatus), "{word}");
        }
    }

    #[test]
    fn what_is_not_needed_may_have_any_type() {
        for strange in [json!(null), json!(1.5), json!("x"), json!([[]]), json!({"x": {}}), json!(true)] {
            let mut object = json!({"id": "cs_test_1", "payment_status": "unpaid"});
            for key in [
                "status",
                "metadata",
                "custom_fields",
                "customer_details",
                "amount_total",
                "currency",
                "created",
                "livemode",
                "locale",
            ] {
                object[key] = strange.clone();
            }
            let session = parse(&object).unwrap();
            assert!(session.metadata.is_empty() && session.idea.is_none() && session.email.is_none(), "{strange}");
        }
        let mixed = json!({"id": "cs_1", "payment_status": "paid", "metadata": {"tier": "quick", "n": 1, "x": null}});
        assert_eq!(parse(&mixed).unwrap().metadata, BTreeMap::from([("tier".to_owned(), "quick".to_owned())]));
    }

    #[test]
    fn a_session_that_sells_no_verdict_is_none() {
        for mode in ["subscription", "setup", "tomorrow"] {
            let object =
                json!({"id": "cs_test_1", "payment_status": "paid", "mode": mode, "metadata": {"tier": "full"}});
            assert_eq!(parse(&object).unwrap_err(), SessionError::OtherMode, "{mode}");
        }
        assert!(parse(&json!({"id": "cs_test_1", "payment_status": "paid", "mode": "payment"})).is_ok());
    }

    #[test]
    fn an_object_without_a_session_id_is_none() {
        assert_eq!(parse(&json!([])).unwrap_err(), SessionError::NotAnObject);
        for id in [json!(null), json!(1), json!("pi_1"), json!("cs_../x")] {
            assert_eq!(parse(&json!({"id": id, "payment_status": "paid"})).unwrap_err(), SessionError::Id);
        }
    }
}
