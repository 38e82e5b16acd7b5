//! Completes objects with all fields that Stripe always returns: data/stripe_objects.json has those that the sandbox
//! does not use. `cargo xtask test --only vendors` compares the result with Stripe's own types.

use serde_json::{Map, Value};
use std::sync::LazyLock;

static TEMPLATES: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../data/stripe_objects.json")).unwrap_or_default());

/// The given object, completed with the missing fields.
pub(crate) fn whole(kind: &str, given: Value) -> Value {
    let mut object = TEMPLATES.get(kind).cloned().unwrap_or_default();
    if let (Value::Object(fields), Value::Object(given)) = (&mut object, given) {
        fields.extend(given);
    }
    object
}

/// Adds the fields that Stripe returns for every custom field of a session or a payment link.
pub(super) fn complete_custom_fields(object: &mut Value) {
    for field in object["custom_fields"].as_array_mut().into_iter().flatten() {
        *field = whole("custom_field", field.take());
        if field["text"].is_object() {
            field["text"] = whole("custom_field_text", field["text"].take());
        }
    }
}

/// The completed object of an event of this type; an object of an unknown kind stays unchanged.
pub(crate) fn of_event(event: &str, given: &Map<String, Value>) -> Value {
    let named = given.get("object").and_then(Value::as_str);
    let kind = named.unwrap_or(match event.split('.').collect::<Vec<_>>().as_slice() {
        ["checkout", "session", ..] => "checkout.session",
        ["charge", "dispute", ..] => "dispute",
        ["refund", ..] | ["charge", "refund", ..] => "refund",
        ["charge", ..] => "charge",
        _ => "",
    });
    whole(kind, Value::Object(given.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_has_its_template() {
        let kinds =
            ["checkout.session", "payment_intent", "charge", "dispute", "refund", "promotion_code", "item", "price"];
        for kind in kinds {
            assert_eq!(whole(kind, serde_json::json!({ "x": 1 }))["object"], kind);
        }
        assert!(whole("customer_details", Value::Object(Map::new()))["tax_exempt"].is_string());
    }

    #[test]
    fn an_event_says_what_its_object_is() {
        let kind = |event| of_event(event, &Map::new())["object"].clone();
        assert_eq!(kind("checkout.session.expired"), "checkout.session");
        assert_eq!((kind("charge.refunded"), kind("charge.refund.updated")), ("charge".into(), "refund".into()));
        assert_eq!((kind("charge.dispute.closed"), kind("refund.failed")), ("dispute".into(), "refund".into()));
        assert_eq!(kind("a.kind.of.tomorrow"), Value::Null);
    }
}
