//! Failures of the mailbox and of Stripe.

use crate::{
    operators::{send_retry, waiting},
    world::{Sale, World, by_link, question},
};
use serde_json::{Value, json};
use tests::{SOON, eventually};

async fn assert_one_mail(world: &World, sale: &Sale) {
    world.delivered(sale).await;
    assert_eq!(world.mails(&sale.email).await.len(), 1);
    assert_eq!(world.count(&sale.session, "email_service", "EMAIL_SENT").await, 1);
    assert_eq!(world.model_calls(sale).await, 1);
    world.faults_are_used_up().await;
}

/// The next attempt at the mail is that many milliseconds after the last one, within a second.
async fn assert_waits(world: &World, sale: &Sale, expected: i64) {
    let waiting = waiting(world, sale).await;
    let wait = waiting["mail"]["due"].as_i64().expect("a time") - waiting["changed_at"].as_i64().expect("a time");
    assert!((expected - 1_000..=expected + 1_000).contains(&wait), "{waiting}");
}

/// Makes the next attempt due, as if the time had passed.
async fn make_due(world: &World, sale: &Sale) {
    world.aws.change_sale(&sale.session, |_, sale| sale["mail"]["due"] = json!(1)).await;
    send_retry(world, &sale.session).await;
}

/// The reply to creating the draft is lost: that draft is never sent; the next attempt follows at once and creates its
/// own.
#[tokio::test]
async fn a_lost_reply_to_creating_the_draft_leads_to_one_mail_of_another_draft() {
    let world = World::alone().await;
    let sale = world.buy_despite("graph", json!([{ "drop": true }]), "quick").await;
    assert_one_mail(&world, &sale).await;
    assert_eq!(world.count(&sale.session, "email_service", "EMAIL_FAILED").await, 1);
    assert_eq!(world.calls("graph", sale.mark()).await.len(), 2, "two drafts, of which one is sent");
}

/// 504 to sending, and the mail went out nevertheless: it is found in the sent items and not sent again.
#[tokio::test]
async fn a_failure_after_the_work_sends_no_second_mail() {
    let world = World::alone().await;
    let sale = world.buy_despite("graph", json!([{}, { "status": 504, "done": true }]), "quick").await;
    assert_one_mail(&world, &sale).await;
    assert_eq!(world.count(&sale.session, "email_service", "EMAIL_FAILED").await, 0);
    assert_eq!(world.calls("graph", "/send").await.len(), 1);
    world.drained().await;
}

/// The reply to sending is lost and the mailbox still shows the draft: it is left alone for five minutes, whatever the
/// schedule says, and then the mail is found in the sent items.
#[tokio::test]
async fn a_draft_that_is_still_shown_is_not_sent_again() {
    let world = World::alone().await;
    world.stack.control("configure", json!({ "draft_lag_ms": 3_600_000 })).await;
    let sale = world.buy_despite("graph", json!([{}, { "drop": true }]), "quick").await;
    assert_waits(&world, &sale, 300_000).await;
    world.stack.control("configure", json!({ "draft_lag_ms": 0 })).await;
    make_due(&world, &sale).await;
    assert_one_mail(&world, &sale).await;
    assert_eq!(world.calls("graph", "/send").await.len(), 1);
}

/// The mailbox does not exist for a moment, as while it is moved: that is no refusal for good.
#[tokio::test]
async fn a_mailbox_that_is_missing_for_a_moment_gets_the_mail_at_once() {
    let world = World::alone().await;
    let missing = json!({ "error": { "code": "ErrorNonExistentMailbox", "message": "injected by the sandbox" } });
    let sale = world.buy_despite("graph", json!([{ "status": 404, "body": missing }]), "quick").await;
    assert_one_mail(&world, &sale).await;
    assert_eq!(world.count(&sale.session, "email_service", "EMAIL_FAILED").await, 1);
}

/// The reply to sending is lost and the sent copy is not listed yet: the retries check again, and nothing is sent
/// twice.
#[tokio::test]
async fn a_sent_copy_that_appears_late_is_found_and_sent_once() {
    let world = World::alone().await;
    world.stack.control("configure", json!({ "sent_items_lag_ms": 1_500 })).await;
    world.stack.faults("graph", json!([{}, { "drop": true }])).await;
    let sale = world.bought("quick").await;
    world.stack.control("configure", json!({ "sent_items_lag_ms": 0 })).await;
    assert_one_mail(&world, &sale).await;
    assert_eq!(world.calls("graph", "/send").await.len(), 1);
    world.drained().await;
}

/// The mailbox refuses to send for a moment: the recorded draft is sent at once.
#[tokio::test]
async fn a_busy_mailbox_gets_the_recorded_draft_at_once() {
    let world = World::alone().await;
    let sale = world.buy_despite("graph", json!([{}, { "status": 503 }]), "full").await;
    assert_one_mail(&world, &sale).await;
    assert_eq!(world.calls("graph", sale.mark()).await.len(), 1, "the first draft is sent, no second one is made");
}

/// The mailbox is down for longer: the retry function sends the recorded draft (the delays are one second here).
#[tokio::test]
async fn a_mailbox_that_is_down_for_a_while_gets_the_recorded_draft_later() {
    let world = World::alone().await;
    let down = json!({ "status": 503 });
    let sale = world.buy_despite("graph", json!([{}, down, down, down, down]), "full").await;
    assert_eq!(world.answered(&sale.session).await.status, 200, "the page does not wait for the mail");
    assert_one_mail(&world, &sale).await;
    assert_eq!(world.count(&sale.session, "email_service", "EMAIL_FAILED").await, 4);
    assert_eq!(world.calls("graph", sale.mark()).await.len(), 1, "the first draft is sent, no second one is made");
    world.drained().await;
}

/// The mailbox stays down: after the last attempt the mail is a dead letter, and remains one.
#[tokio::test]
async fn a_mailbox_that_stays_down_makes_one_dead_letter() {
    let world = World::alone().await;
    let sale = world.buy_despite("graph", json!(vec![json!({ "status": 503 }); 5]), "quick").await;
    let settled = world.settled(&sale.session).await;
    assert_eq!(settled["mail"]["state"], "dead");
    assert_eq!(settled["mail"]["progress"]["failures"], json!(["503", "503", "503", "503", "503"]));
    world.drained().await;
    world.faults_are_used_up().await;
    assert_eq!(world.mails(&sale.email).await, Vec::<Value>::new());
    assert_eq!(world.count(&sale.session, "email_service", "EMAIL_FAILED").await, 5);
    let letters = world.aws.keys("ArchiveBucket", "dead-letters/").await;
    let own: Vec<&String> = letters.iter().filter(|key| key.contains(&sale.session)).collect();
    assert_eq!(own.len(), 1, "{letters:?}");
    let document = world.aws.text("ArchiveBucket", own[0]).await;
    assert!(document.contains("\"attempt_count\":4") && !document.contains(&sale.email), "{document}");
    assert_eq!(world.answered(&sale.session).await.status, 200, "the page has the verdict all the same");
}

/// A throttled mailbox is not called for at least a minute, whatever the schedule says (Email Retry, VER-05).
#[tokio::test]
async fn a_throttled_mailbox_is_not_called_for_a_minute() {
    let world = World::alone().await;
    let sale = world.buy_despite("graph", json!([{ "status": 429, "headers": { "Retry-After": "5" } }]), "quick").await;
    assert_waits(&world, &sale, 60_000).await;
    assert_eq!(world.mails(&sale.email).await, Vec::<Value>::new());
    make_due(&world, &sale).await;
    assert_one_mail(&world, &sale).await;
}

/// A token that Graph no longer accepts is replaced at once.
#[tokio::test]
async fn a_refused_token_is_replaced_at_once() {
    let world = World::alone().await;
    let sale = world.buy_despite("graph", json!([{ "status": 401 }]), "quick").await;
    assert_one_mail(&world, &sale).await;
    assert!(!world.calls("login", "/token").await.is_empty(), "a new token was asked for");
}

/// A permanent refusal ends the mail with a record; the verdict stays on the page.
#[tokio::test]
async fn a_mailbox_that_refuses_for_good_ends_the_mail_and_the_verdict_stays() {
    let world = World::alone().await;
    let sale = world.buy_despite("graph", json!([{ "status": 400 }]), "quick").await;
    assert_eq!(world.answered(&sale.session).await.status, 200);
    assert_eq!(world.settled(&sale.session).await["mail"]["state"], "dead");
    world.drained().await;
    assert_eq!(world.mails(&sale.email).await, Vec::<Value>::new());
    assert_eq!(world.count(&sale.session, "email_service", "EMAIL_FAILED").await, 1);
    world.faults_are_used_up().await;
}

#[tokio::test]
async fn a_session_without_an_address_is_delivered_on_its_page_alone() {
    let world = World::beside_others().await;
    let (Sale { session, .. }, mut object) = by_link("quick");
    object["customer_details"] = Value::Null;
    world.stack.plant(&object).await;
    world.tell("checkout.session.completed", &object).await;
    assert_eq!(world.answered(&session).await.status, 200);
    assert_eq!(world.settled(&session).await["mail"]["state"], "no_address");
    let failed: Vec<Value> =
        world.records(&session).await.into_iter().filter(|record| record["status"] == "EMAIL_FAILED").collect();
    assert_eq!(failed.len(), 1);
    assert!(failed[0]["email"].is_null() && failed[0]["error_detail"].is_string(), "{}", failed[0]);
}

/// Stripe is down when the verdict function asks whether the session is paid: there is no verdict for now, and the page
/// orders it again.
#[tokio::test]
async fn stripe_down_at_verdict_time_delays_the_verdict() {
    let world = World::alone().await;
    let sale = world.open("quick", question()).await;
    let down = json!({ "status": 500, "headers": { "Stripe-Should-Retry": "false" } });
    world.stack.faults("stripe", json!([down])).await;
    world.pay(&sale, 1).await;
    eventually("the verdict function to give its claim back", SOON, async || {
        let document = world.aws.document(&sale.session, "SALE").await?;
        let asked = !world.calls("stripe", &sale.session).await.is_empty();
        // A later attempt may have made the verdict already, and then there is no lease.
        let lease = document["fulfilment"]["lease_until"].as_i64();
        (asked && lease.is_none_or(|until| until <= jiff::Timestamp::now().as_millisecond())).then_some(())
    })
    .await;
    assert_one_mail(&world, &sale).await;
    let at =
        |call: &Value| call["time"].as_str().and_then(|time| time.parse::<jiff::Timestamp>().ok()).expect("a time");
    let confirmed = world.calls("stripe", &sale.session).await.into_iter().find(|call| call["reply"]["status"] == 200);
    let made = world.calls("gemini", sale.mark()).await;
    assert!(at(&made[0]) >= at(&confirmed.expect("Stripe's word")), "nothing is made of a session that may be unpaid");
    assert_eq!(world.count(&sale.session, "webhook", "OK").await, 1);
}
