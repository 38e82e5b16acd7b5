//! Changes of a payment after the sale: refunds that fail, disputes, and changes that Stripe lists but sent no event
//! for.

use crate::{
    operators::{decide, decided, listed},
    world::{Sale, World, by_link},
};
use serde_json::{Value, json};
use tests::{SOON, eventually};

async fn payment(world: &World, sale: &Sale) -> String {
    let session = world.stripe_session(&sale.session).await;
    session["payment_intent"].as_str().expect("a payment").to_owned()
}

/// The sale's record once its money is in this state and the payment's history meets the condition.
async fn becomes(world: &World, sale: &Sale, state: &str, reported: impl Fn(&Value) -> bool) -> Value {
    let is_so = |sale: &Value| sale["money"]["state"] == state && reported(&sale["payment"]);
    world.until(&sale.session, &format!("the money to be {state}"), is_so).await
}

/// Waits for the topic's alert that names Stripe's object.
async fn alerted(world: &World, object: &Value, words: &str) {
    let id = object.as_str().expect("an id");
    eventually(&format!("an alert of {words}"), SOON, async || {
        let (_, alerts) = world.stack.get(&format!("{}/control/alerts", world.stack.sandbox)).await;
        let names_it = |alert: &Value| alert.to_string().contains(id) && alert.to_string().contains(words);
        alerts.as_array().expect("alerts").iter().any(names_it).then_some(())
    })
    .await;
}

/// A refund that the bank returns is an operator's task again, and is issued once more, as another attempt.
#[tokio::test]
async fn a_refund_that_bounces_is_listed_and_issued_again() {
    let world = World::alone().await;
    let sale = world.buy_despite("gemini", json!([{ "status": 400 }]), "strategy").await;
    assert_eq!(world.answered(&sale.session).await.status, 500);
    decide(&world, &["refunds", "issue", &sale.session]);
    let refunds = |payment: &Value| payment["refunds"].as_array().map_or(0, Vec::len);
    let document = becomes(&world, &sale, "refunded", |payment| refunds(payment) == 1).await;
    let first = &document["payment"]["refunds"][0]["id"];
    world.stack.control("stripe/refund", json!({ "id": first, "status": "failed" })).await;
    becomes(&world, &sale, "refund_failed", |payment| payment["refunds"][0]["status"] == "failed").await;
    alerted(&world, first, "a refund came back").await;
    listed(&world, &["list"], &sale.session, true).await;
    listed(&world, &["refunds", "list"], &sale.session, true).await;
    decided(&world, &["refunds", "issue", &sale.session]);
    becomes(&world, &sale, "refunded", |payment| refunds(payment) == 2).await;
    listed(&world, &["list"], &sale.session, false).await;
    let calls = world.calls("stripe", "/v1/refunds").await;
    let bodies: Vec<String> =
        calls.iter().filter(|call| call["method"] == "POST").map(|call| call["request_body"].to_string()).collect();
    assert_eq!(bodies.len(), 2, "{bodies:?}");
    assert!(bodies[1].contains(&format!("refund-{}-1", sale.session)), "another attempt, another key: {bodies:?}");
}

/// An inquiry takes no money; the dispute after its escalation does, until it is decided.
#[tokio::test]
async fn an_inquiry_alerts_and_its_escalation_takes_the_money() {
    let world = World::beside_others().await;
    let sale = world.bought("quick").await;
    let payment = payment(&world, &sale).await;
    let inquiry = json!({ "payment_intent": payment, "status": "warning_needs_response" });
    let inquiry = world.stack.control("stripe/dispute", inquiry).await;
    becomes(&world, &sale, "kept", |payment| payment["disputes"][0]["id"] == inquiry["id"]).await;
    alerted(&world, &inquiry["id"], "asks about the payment").await;
    listed(&world, &["list"], &sale.session, true).await;
    for (status, state) in [("needs_response", "disputed"), ("under_review", "disputed"), ("won", "kept")] {
        world.stack.control("stripe/dispute", json!({ "id": inquiry["id"], "status": status })).await;
        becomes(&world, &sale, state, |payment| payment["disputes"][0]["status"] == status).await;
    }
    // The won dispute raises an alert too, but within a minute of the dispute's own alert it is only in the log.
    listed(&world, &["list"], &sale.session, false).await;
    assert_eq!(world.verdict(&sale.session).await.status, 200);
}

/// Two partial refunds that add up to the full amount.
#[tokio::test]
async fn parts_add_up() {
    let world = World::beside_others().await;
    let sale = world.bought("full").await;
    let payment = payment(&world, &sale).await;
    let part = json!({ "payment_intent": payment, "amount": 200 });
    world.stack.control("stripe/refund", part).await;
    becomes(&world, &sale, "kept", |payment| payment["charge"]["returned"] == 200).await;
    world.stack.control("stripe/refund", json!({ "payment_intent": payment })).await;
    becomes(&world, &sale, "refunded", |payment| payment["charge"]["returned"] == 500).await;
}

/// A Payment Link sale whose coupon reduced the price to zero: no verdict is made; an operator is alerted, and decides.
#[tokio::test]
async fn what_was_completed_without_a_payment_is_a_humans_to_give_away() {
    let world = World::alone().await;
    let (sale, mut object) = by_link("quick");
    object["payment_status"] = json!("no_payment_required");
    object["amount_total"] = json!(0);
    object["payment_intent"] = json!(null);
    world.stack.plant(&object).await;
    world.tell("checkout.session.completed", &object).await;
    let is_failed = |sale: &Value| sale["not_paid"] == "free" && sale["fulfilment"]["state"] == "failed";
    world.until(&sale.session, "the sale to be a human's", is_failed).await;
    listed(&world, &["list"], &sale.session, true).await;
    world.drained().await;
    assert_eq!((world.model_calls(&sale).await, world.verdict(&sale.session).await.status), (0, 402));
    decided(&world, &["reattempt", &sale.session]);
    world.delivered(&sale).await;
    listed(&world, &["list"], &sale.session, false).await;
}

/// The events of a refund and of a dispute are lost: the daily comparison finds both in Stripe's lists.
#[tokio::test]
async fn a_change_without_an_event_is_found_in_stripes_lists() {
    let world = World::alone().await;
    let (refunded, disputed) = (world.buy("quick").await, world.buy("quick").await);
    for sale in [&refunded, &disputed] {
        world.delivered(sale).await;
    }
    let lost = json!({ "payment_intent": payment(&world, &refunded).await, "lost": true });
    world.stack.control("stripe/refund", lost).await;
    let payment = payment(&world, &disputed).await;
    let lost = json!({ "payment_intent": payment, "status": "needs_response", "lost": true });
    let dispute = world.stack.control("stripe/dispute", lost).await;
    world.aws.invoke("ReconcileFunctionName", &json!({})).await;
    becomes(&world, &refunded, "refunded", |payment| payment["refunds"][0]["status"] == "succeeded").await;
    becomes(&world, &disputed, "disputed", |payment| payment["disputes"][0]["status"] == "needs_response").await;
    alerted(&world, &dispute["id"], "disputes the payment").await;
}
