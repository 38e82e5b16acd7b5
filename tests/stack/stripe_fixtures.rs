//! Stripe's own fixtures through the deployed webhook: objects that we did not write, with fields that we do not read.

use crate::world::{Sale, World, email, question};
use serde_json::{Value, json};
use tests::unique;

const DEAD_LETTERS: [&str; 3] = ["OrdersDeadLettersUrl", "NoticesDeadLettersUrl", "PaymentsDeadLettersUrl"];

/// One of the objects in stripe_fixtures.json, or a minimal one.
fn fixture(kind: &str) -> Value {
    // Of an object that our checkout did not make, the function reads only the type.
    if ["subscription", "invoice"].contains(&kind) {
        return json!({ "object": kind, "metadata": {}, "parent": null });
    }
    let all: Value = serde_json::from_str(include_str!("stripe_fixtures.json")).expect("fixtures are JSON");
    all.get(kind).unwrap_or_else(|| panic!("no fixture of a {kind}")).clone()
}

/// The kind of object in an event of this type.
fn kind_of(event: &str) -> &'static str {
    match event.split('.').collect::<Vec<_>>().as_slice() {
        ["checkout", "session", ..] => "checkout.session",
        ["charge", "dispute", ..] => "dispute",
        ["refund", ..] | ["charge", "refund", ..] => "refund",
        ["charge", ..] => "charge",
        ["customer", "subscription", ..] => "subscription",
        ["invoice", ..] => "invoice",
        _ => panic!("{event} is about nothing that has a fixture"),
    }
}

fn event(kind: &str, object: &Value) -> Value {
    json!({
        "id": format!("evt_{}", unique()), "object": "event", "api_version": stripe::API_VERSION, "created": 1_234_567_890,
        "data": { "object": object }, "livemode": false, "pending_webhooks": 0,
        "request": { "id": null, "idempotency_key": null }, "type": kind,
    })
}

/// Every handled event type is acknowledged with Stripe's own object, and an object that was not bought here causes no
/// work.
#[tokio::test]
async fn every_handled_event_about_somebody_elses_payment_is_acknowledged() {
    let world = World::alone().await;
    for queue in DEAD_LETTERS {
        world.aws.purge(queue).await;
    }
    for kind in stripe::HANDLED {
        let body = event(kind, &fixture(kind_of(kind))).to_string();
        let reply = world.deliver(body.as_bytes()).await;
        assert_eq!((reply.status, reply.text.as_str()), (200, r#"{"received":true}"#), "{kind}");
    }
    world.drained().await;
    for queue in DEAD_LETTERS {
        assert_eq!(world.aws.held(queue).await, 0, "{queue}");
    }
    let session = fixture("checkout.session");
    let session = session["id"].as_str().expect("an id");
    assert_eq!(world.aws.document(session, "SALE").await, None, "an unpaid session is no sale");
}

/// A session fixture with the data of a purchase here becomes a sale, whatever other fields it has.
#[tokio::test]
async fn the_session_of_the_fixtures_becomes_a_sale() {
    let world = World::beside_others().await;
    let (question, email) = (question(), email());
    let mut object = fixture("checkout.session");
    object["id"] = json!(format!("cs_test_a1{}", unique()));
    object["payment_intent"] = json!(format!("pi_{}", unique()));
    for (field, value) in [
        ("status", json!("complete")),
        ("payment_status", json!("paid")),
        ("amount_subtotal", json!(100)),
        ("amount_total", json!(100)),
        ("currency", json!("cad")),
        // The payment is in the currency of the price.
        ("currency_conversion", Value::Null),
        ("metadata", json!({ "tier": "quick", "q0": question, "qn": "1" })),
    ] {
        object[field] = value;
    }
    object["customer_details"]["email"] = json!(email);
    let session = world.stack.plant(&object).await;
    let reply = world.deliver(event("checkout.session.completed", &object).to_string().as_bytes()).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    world.delivered(&Sale { session, question, email }).await;
}
