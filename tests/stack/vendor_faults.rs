//! Trouble with the mailbox and with Stripe.
//!
//! A message that is kept for later comes back when its visibility time-out ends, minutes later. So that no test waits
//! for that, each sends the same message again, which is all that the queue would do.

use crate::redelivery::mail_order;
use crate::world::{SOON, Sale, World, email, question};
use serde_json::{Value, json};
use tests::{eventually, payment_link_session};

async fn has_one_mail(world: &World, sale: &Sale) {
    world.delivered(sale).await;
    assert_eq!(world.mails(&sale.email).await.len(), 1);
    assert_eq!(world.count(&sale.session, "email_service", "EMAIL_SENT").await, 1);
    assert_eq!(world.model_calls(sale).await, 1);
    world.faults_are_used_up().await;
}

/// Waits until the attempt that fails is over: it is recorded, and nobody holds the mail.
async fn failed_attempt(world: &World, sale: &Sale) {
    eventually("a failed attempt", SOON, async || {
        let document = world.aws.document(&sale.session, "SALE").await?;
        let is_over = document["mail"]["state"] == "sending" && document["outbox"] == json!([]);
        (is_over && world.count(&sale.session, "email_service", "EMAIL_FAILED").await == 1).then_some(())
    })
    .await;
}

/// The reply to creating the draft is lost: that draft is never sent, and the next attempt makes its own.
#[tokio::test]
async fn a_lost_reply_to_creating_the_draft() {
    let world = World::alone().await;
    world.stack.faults("graph", json!([{ "drop": true }])).await;
    let sale = world.buy("quick").await;
    failed_attempt(&world, &sale).await;
    assert_eq!(world.mails(&sale.email).await, Vec::<Value>::new());
    assert_eq!(world.answered(&sale.session).await.status, 200, "the page does not wait for the mail");
    world.aws.send("EmailQueueUrl", &mail_order(&sale.session)).await;
    has_one_mail(&world, &sale).await;
}

/// The reply to sending is lost: the mail is found among the sent ones and not sent again.
#[tokio::test]
async fn a_lost_reply_to_sending() {
    let world = World::alone().await;
    world.stack.faults("graph", json!([{}, { "drop": true }])).await;
    let sale = world.buy("quick").await;
    has_one_mail(&world, &sale).await;
    assert_eq!(world.calls("graph", "/send").await.len(), 1);
    world.drained().await;
}

/// The mailbox refuses to send for now: the very draft that was recorded goes out later.
#[tokio::test]
async fn a_busy_mailbox() {
    for status in [503, 429] {
        let world = World::alone().await;
        let busy = json!({ "status": status, "headers": { "Retry-After": 60 } });
        world.stack.faults("graph", json!([{}, busy])).await;
        let sale = world.buy("full").await;
        failed_attempt(&world, &sale).await;
        assert_eq!(world.mails(&sale.email).await, Vec::<Value>::new());
        world.aws.send("EmailQueueUrl", &mail_order(&sale.session)).await;
        has_one_mail(&world, &sale).await;
        let drafts = world.calls("graph", sale.mark()).await;
        assert_eq!(drafts.len(), 1, "the first draft is sent, no second one is made");
    }
}

/// A token that Graph no longer takes is replaced in the same breath.
#[tokio::test]
async fn a_refused_token() {
    let world = World::alone().await;
    world.stack.faults("graph", json!([{ "status": 401 }])).await;
    let sale = world.buy("quick").await;
    has_one_mail(&world, &sale).await;
    assert!(!world.calls("login", "/token").await.is_empty(), "a new token was asked for");
}

/// A refusal for good ends the mail with a record; the verdict stays on the page.
#[tokio::test]
async fn a_mailbox_that_refuses_for_good() {
    let world = World::alone().await;
    world.stack.faults("graph", json!([{ "status": 400 }])).await;
    let sale = world.buy("quick").await;
    assert_eq!(world.answered(&sale.session).await.status, 200);
    assert_eq!(world.settled(&sale.session).await["mail"]["state"], "failed");
    world.drained().await;
    assert_eq!(world.mails(&sale.email).await, Vec::<Value>::new());
    assert_eq!(world.count(&sale.session, "email_service", "EMAIL_FAILED").await, 1);
    world.faults_are_used_up().await;
}

#[tokio::test]
async fn a_session_without_an_address_is_delivered_on_its_page_alone() {
    let world = World::beside_others().await;
    let mut object = payment_link_session("quick", &question(), &email());
    object["customer_details"] = Value::Null;
    let session = world.stack.plant(&object).await;
    let event = json!({ "type": "checkout.session.completed", "data": { "object": object } });
    let answer = world.stack.control("stripe/event", event).await;
    assert_eq!(answer["status"], 200, "{answer}");
    assert_eq!(world.answered(&session).await.status, 200);
    assert_eq!(world.settled(&session).await["mail"]["state"], "no_address");
    let failed: Vec<Value> =
        world.records(&session).await.into_iter().filter(|record| record["status"] == "EMAIL_FAILED").collect();
    assert_eq!(failed.len(), 1);
    assert!(failed[0]["email"].is_null() && failed[0]["error_detail"].is_string(), "{}", failed[0]);
}

/// Stripe is down when the verdict function asks whether the session is paid: no verdict for now, and the page sets it
/// going again.
#[tokio::test]
async fn stripe_down_at_verdict_time() {
    let world = World::alone().await;
    let (question, email) = (question(), email());
    let session = world.order("quick", &question).await;
    let sale = Sale { session, question, email };
    let down = json!({ "status": 500, "headers": { "Stripe-Should-Retry": "false" } });
    world.stack.faults("stripe", json!([down])).await;
    world.pay(&sale.session, &sale.email, 1).await;
    eventually("the verdict function to give its claim back", SOON, async || {
        let document = world.aws.document(&sale.session, "SALE").await?;
        let asked = !world.calls("stripe", &sale.session).await.is_empty();
        let lease = document["fulfilment"]["lease_until"].as_i64()?;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock").as_millis();
        (asked && u128::try_from(lease).expect("a time") <= now).then_some(())
    })
    .await;
    assert_eq!(world.model_calls(&sale).await, 0, "nothing is made of a session that may be unpaid");
    has_one_mail(&world, &sale).await;
    assert_eq!(world.count(&sale.session, "webhook", "OK").await, 1);
}
