//! Subscriptions: sold in a session, renewed by moving the clock, failed, canceled, refunded.

use crate::support::{Receiver, World, ok, read, receiver, world_with};
use sandbox::Config;
use serde_json::{Value, json};

const DAY: i64 = 24 * 3600;

const SOLD: [(&str, &str); 13] = [
    ("mode", "subscription"),
    ("success_url", "https://oracle.example/chat?subscribed=1"),
    ("line_items[0][price_data][currency]", "cad"),
    ("line_items[0][price_data][unit_amount]", "500"),
    ("line_items[0][price_data][recurring][interval]", "month"),
    ("line_items[0][price_data][product_data][name]", "Sisters Chat"),
    ("line_items[0][quantity]", "1"),
    ("adaptive_pricing[enabled]", "false"),
    ("client_reference_id", "somebody"),
    ("metadata[subscriber]", "somebody"),
    ("subscription_data[metadata][subscriber]", "somebody"),
    ("subscription_data[metadata][plan]", "chat"),
    ("customer_email", "a@example.com"),
];

async fn sold() -> (World, Receiver, Value) {
    let receiver = receiver(&[]).await;
    let config = Config { webhook_url: Some(receiver.url.clone()), ..Config::default() };
    let world = world_with(config).await;
    let (status, session) = read(world.stripe_post("checkout/sessions", &SOLD)).await;
    assert_eq!((status, &session["mode"]), (200, &json!("subscription")), "{session}");
    let paid = ok(world.control("stripe/pay", json!({ "session_id": session["id"] }))).await;
    (world, receiver, paid["session"].clone())
}

/// The next events, by their types.
async fn events(receiver: &mut Receiver, types: &[&str]) -> Vec<Value> {
    let mut left: Vec<&str> = types.to_vec();
    let mut found = Vec::new();
    while !left.is_empty() {
        let received = receiver.received.recv().await.unwrap();
        let event: Value = serde_json::from_str(&received.body).unwrap();
        let place = left.iter().position(|wanted| event["type"] == *wanted);
        left.remove(place.unwrap_or_else(|| panic!("{} came, {left:?} are awaited", event["type"])));
        found.push(event);
    }
    found
}

const BEGUN: [&str; 4] =
    ["checkout.session.completed", "customer.subscription.created", "invoice.paid", "customer.subscription.updated"];

fn object<'a>(events: &'a [Value], kind: &str) -> &'a Value {
    &events.iter().find(|event| event["type"] == kind).unwrap()["data"]["object"]
}

async fn get(world: &World, path: &str) -> Value {
    ok(read(world.stripe_get(path))).await
}

#[tokio::test]
async fn a_month_is_sold_and_every_object_names_the_subscriber() {
    let (world, mut receiver, session) = sold().await;
    let delivered = events(&mut receiver, &BEGUN).await;
    assert!(session["payment_intent"].is_null() && session["subscription"].is_string(), "{session}");
    let invoice = object(&delivered, "invoice.paid");
    assert_eq!(invoice["parent"]["subscription_details"]["metadata"]["subscriber"], "somebody");
    assert_eq!((&invoice["amount_paid"], &invoice["billing_reason"]), (&json!(500), &json!("subscription_create")));
    let subscription = object(&delivered, "customer.subscription.updated");
    assert_eq!((&subscription["status"], &subscription["metadata"]["plan"]), (&json!("active"), &json!("chat")));
    let listed = get(&world, "subscriptions?status=all&limit=100").await;
    assert_eq!(listed["data"][0], *subscription);
    assert_eq!(get(&world, "invoices?status=paid&limit=100").await["data"][0], *invoice);
    let path = format!("subscriptions/{}", subscription["id"].as_str().unwrap());
    assert_eq!(get(&world, &path).await, *subscription);
    let all = get(&world, "invoice_payments?limit=1").await;
    let intent = all["data"][0]["payment"]["payment_intent"].as_str().unwrap();
    let path = format!(
        "invoice_payments?payment[type]=payment_intent&payment[payment_intent]={intent}&limit=1&expand[]=data.invoice"
    );
    assert_eq!(get(&world, &path).await["data"][0]["invoice"], *invoice);
}

#[tokio::test]
async fn the_clock_renews_it_and_a_cancellation_ends_it_with_its_period() {
    let (world, mut receiver, session) = sold().await;
    events(&mut receiver, &BEGUN).await;
    let (status, moved) = world.control("clock", json!({ "advance_s": 31 * DAY })).await;
    assert_eq!((status, &moved["advanced_s"]), (200, &json!(31 * DAY)));
    let delivered = events(&mut receiver, &["invoice.paid", "customer.subscription.updated"]).await;
    let (line, item) = (
        &object(&delivered, "invoice.paid")["lines"]["data"][0],
        &object(&delivered, "customer.subscription.updated")["items"]["data"][0],
    );
    assert_eq!(line["period"]["end"], item["current_period_end"]);
    assert!(delivered[0]["created"].as_i64() < moved["now"].as_i64(), "it renews when it is due");
    let play = |act: &str| json!({ "subscription": session["subscription"], "do": act });
    for act in ["cancel", "resume", "cancel"] {
        assert_eq!(world.control("stripe/subscription", play(act)).await.0, 200);
        let delivered = events(&mut receiver, &["customer.subscription.updated"]).await;
        assert_eq!(delivered[0]["data"]["object"]["cancel_at_period_end"], act == "cancel");
    }
    world.control("clock", json!({ "advance_s": 31 * DAY })).await;
    let delivered = events(&mut receiver, &["customer.subscription.deleted"]).await;
    assert_eq!(delivered[0]["data"]["object"]["status"], "canceled");
    assert_eq!(world.control("stripe/subscription", play("renew")).await.0, 400);
}

#[tokio::test]
async fn a_payment_that_fails_is_tried_again_for_two_weeks() {
    let (world, mut receiver, session) = sold().await;
    events(&mut receiver, &BEGUN).await;
    let play = |act: &str| json!({ "customer": session["customer"], "do": act });
    world.control("stripe/subscription", play("fail_invoice")).await;
    let delivered = events(&mut receiver, &["invoice.payment_failed", "customer.subscription.updated"]).await;
    assert_eq!(object(&delivered, "customer.subscription.updated")["status"], "past_due");
    world.control("clock", json!({ "advance_s": 4 * DAY })).await;
    events(&mut receiver, &["invoice.payment_failed"]).await;
    world.control("stripe/subscription", play("renew")).await;
    let delivered = events(&mut receiver, &["invoice.paid", "customer.subscription.updated"]).await;
    assert_eq!(object(&delivered, "customer.subscription.updated")["status"], "active");
    world.control("stripe/subscription", play("fail_invoice")).await;
    world.control("clock", json!({ "advance_s": 15 * DAY })).await;
    let failures = ["invoice.payment_failed"; 5];
    let ends = ["customer.subscription.updated", "customer.subscription.deleted"];
    events(&mut receiver, &[failures.as_slice(), &ends].concat()).await;
}

#[tokio::test]
async fn the_portal_cancels() {
    let (world, mut receiver, session) = sold().await;
    events(&mut receiver, &BEGUN).await;
    let customer = session["customer"].as_str().unwrap();
    let form = [("customer", customer), ("return_url", "https://oracle.example/chat")];
    let portal = ok(read(world.stripe_post("billing_portal/sessions", &form))).await;
    let url = portal["url"].as_str().unwrap();
    let page = world.client.get(url).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("CA$5.00 a month") && page.contains("Cancel the subscription"), "{page}");
    let body = format!("subscription={}", session["subscription"].as_str().unwrap());
    let form = world.client.post(url).header("Content-Type", "application/x-www-form-urlencoded").body(body);
    assert_eq!(form.send().await.unwrap().status(), 303);
    let delivered = events(&mut receiver, &["customer.subscription.updated"]).await;
    assert_eq!(delivered[0]["data"]["object"]["cancel_at_period_end"], true);
    assert_eq!(read(world.stripe_post("billing_portal/sessions", &[("customer", "cus_nobody")])).await.0, 400);
}

#[tokio::test]
async fn a_deleted_customer_is_unknown() {
    let (world, mut receiver, session) = sold().await;
    events(&mut receiver, &BEGUN).await;
    let customer = session["customer"].as_str().unwrap();
    let mut sale: Vec<_> = SOLD.into_iter().filter(|(name, _)| *name != "customer_email").collect();
    sale.push(("customer", customer));
    assert_eq!(read(world.stripe_post("checkout/sessions", &sale)).await.0, 200);
    let deletion = json!({ "customer": customer, "do": "delete_customer" });
    assert_eq!(world.control("stripe/subscription", deletion).await.0, 200);
    events(&mut receiver, &["customer.subscription.deleted"]).await;
    let portal = vec![("customer", customer)];
    for (path, form) in [("checkout/sessions", sale), ("billing_portal/sessions", portal)] {
        let (status, body) = read(world.stripe_post(path, &form)).await;
        assert_eq!((status, &body["error"]["code"]), (400, &json!("resource_missing")), "{path}");
    }
}

#[tokio::test]
async fn what_stripe_refuses_of_a_subscription_is_refused() {
    let (world, _receiver, _) = sold().await;
    for (name, value) in [
        ("line_items[0][price_data][recurring][interval]", "year"),
        ("payment_intent_data[metadata][x]", "1"),
        ("customer", "cus_1"),
    ] {
        let mut form = SOLD.to_vec();
        form.push((name, value));
        let (status, body) = read(world.stripe_post("checkout/sessions", &form)).await;
        assert_eq!(status, 400, "{name}: {body}");
    }
    let without: Vec<_> = SOLD.into_iter().filter(|(name, _)| !name.contains("recurring")).collect();
    assert_eq!(read(world.stripe_post("checkout/sessions", &without)).await.0, 400);
    assert_eq!(read(world.stripe_get("subscriptions?status=gone")).await.0, 400);
}
