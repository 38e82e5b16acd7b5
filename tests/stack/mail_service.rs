//! Mails through Amazon SES in place of the mailbox: sent once, never twice, and replies still arrive.

use crate::{
    followup::with_followup,
    inbox::Watched,
    operators::listed,
    world::{Sale, World},
};
use serde_json::{Value, json};
use tests::unique;

const SENDERS: [&str; 2] = ["EmailSenderFunctionName", "EmailRetryFunctionName"];

/// Once the queues are empty: a function that is configured while it works dies, and its message is hidden for minutes.
async fn send_through(world: &World, vendor: &str) {
    for function in SENDERS {
        world.aws.configure(function, "MAIL_VENDOR", vendor).await;
    }
}

/// The requests to SES for a sale's buyer.
async fn requests(world: &World, sale: &Sale) -> Vec<Value> {
    world.calls("ses", &sale.email).await
}

#[tokio::test]
async fn a_verdict_is_one_request_and_a_reply_to_it_asks_the_follow_up() {
    let watched = Watched::seeded().await;
    let world = &watched.world;
    send_through(world, "ses").await;
    let sale = world.bought("strategy").await;
    let mails = world.mails(&sale.email).await;
    assert_eq!((mails.len(), requests(world, &sale).await.len()), (1, 1));
    assert_eq!(world.calls("graph", sale.mark()).await.len(), 0, "the mailbox has no part in it");
    assert!(mails[0]["body"].as_str().is_some_and(|body| body.contains(&sale.question)), "{}", mails[0]);
    for item in world.aws.table().await {
        assert!(!(item.contains("DRAFT#") && item.contains(sale.mark())), "a sent draft has no text: {item}");
    }

    let asked = format!("And what if the keeper moves out? {}", unique());
    let reply = json!({
        "from": sale.email, "subject": "Re: Your 42 Sisters AI Verdict", "body": asked,
        "inReplyTo": mails[0]["internet_message_id"],
    });
    watched.put(reply).await;
    watched.look().await;
    assert_eq!(with_followup(world, &sale).await["followup"]["query"], json!(asked));
    world.settled(&format!("{}-followup", sale.session)).await;
    world.drained().await;
    send_through(world, "graph").await;
}

/// SES refuses for a moment: the same draft is handed over again.
#[tokio::test]
async fn a_refusal_is_tried_again() {
    let world = World::alone().await;
    send_through(&world, "ses").await;
    world.stack.faults("ses", json!([{ "status": 503 }, { "status": 503 }])).await;
    let sale = world.bought("quick").await;
    assert_eq!((world.mails(&sale.email).await.len(), requests(&world, &sale).await.len()), (1, 3));
    world.faults_are_used_up().await;
    world.drained().await;
    send_through(&world, "graph").await;
}

/// SES accepts a mail and its reply is lost: the mail is never handed over again, and a person decides.
#[tokio::test]
async fn after_a_lost_reply_a_person_decides() {
    let world = World::alone().await;
    send_through(&world, "ses").await;
    let sale = world.buy_despite("ses", json!([{ "drop": true }]), "quick").await;
    let settled = world.settled(&sale.session).await;
    assert_eq!(settled["mail"]["state"], "unknown", "{settled}");
    assert_eq!((world.mails(&sale.email).await.len(), requests(&world, &sale).await.len()), (1, 1));
    listed(&world, &["list"], &sale.session, true).await;
    assert_eq!(world.answered(&sale.session).await.status, 200, "the page has the verdict");
    world.drained().await;
    send_through(&world, "graph").await;
}
