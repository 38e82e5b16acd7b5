//! The right to be forgotten, on a deployed stack: afterwards no store contains data of the customer, and messages that
//! still arrive do not bring the sale back.

use crate::{
    inbox::Watched,
    operators::{asked, decide, decided},
    world::{Sale, World},
};
use domain::erasure::Store;
use serde_json::{Value, json};

/// The counts of a dry run.
fn kept(world: &World, sale: &Sale) -> Value {
    let (code, plan) = asked(world, &["erase", &sale.session, "--dry-run"]);
    assert_eq!(code, Some(0), "{plan}");
    plan["plan"]["removes"].clone()
}

/// The places that still contain the question, the address or anything under the session's name, except the log and its
/// row.
async fn traces(world: &World, sale: &Sale) -> Vec<String> {
    let mut found = Vec::new();
    for item in world.aws.table().await {
        if item.contains(sale.mark()) || item.contains(&sale.email) {
            found.push(item);
        }
    }
    for bucket in ["ArchiveBucket", "QuarantineBucket"] {
        found.extend(world.aws.keys(bucket, &sale.session).await);
    }
    found
}

#[tokio::test]
async fn a_delivered_sale_is_forgotten_whole_and_does_not_come_back() {
    let world = World::alone().await;
    let (sale, other) = (world.buy("strategy").await, world.buy("quick").await);
    world.delivered(&sale).await;
    world.delivered(&other).await;
    let before = kept(&world, &sale);
    for store in [Store::Table, Store::Archive, Store::Mailbox] {
        assert_eq!(before[store.as_str()], 1, "{before}");
    }
    assert!(!traces(&world, &sale).await.is_empty());
    decided(&world, &["erase", &sale.session[sale.session.len() - 8..]]);
    let after = kept(&world, &sale);
    assert!(Store::ALL.iter().all(|store| after[store.as_str()] == 0), "{after}");
    assert_eq!(traces(&world, &sale).await, [""; 0]);
    world.verdict(&sale.session).await.assert_code(410, "erased");
    let records = world.records(&sale.session).await;
    assert!(records.iter().any(|record| record["action"] == "erase" && record["by"] == "dana"), "{records:?}");
    // A late webhook, and everything that processes sales.
    let object = world.stripe_session(&sale.session).await;
    world.tell("checkout.session.completed", &object).await;
    for function in ["DeadlinesFunctionName", "ReconcileFunctionName"] {
        world.aws.invoke(function, &json!({})).await;
    }
    for arguments in [["reattempt", &sale.session], ["erase", &sale.session]] {
        decide(&world, &arguments);
    }
    world.drained().await;
    assert_eq!(world.verdict(&sale.session).await.status, 410);
    assert_eq!((traces(&world, &sale).await.len(), world.mails(&sale.email).await.len()), (0, 1));
    assert_eq!(world.model_calls(&sale).await, 1);
    // Fifteen minutes later the deadlines function checks the row once more, for the last time.
    let long_ago = |item: &mut std::collections::HashMap<String, _>, document: &mut Value| {
        document["fulfilment"]["at"] = json!(0);
        item.insert("due".to_owned(), aws_sdk_dynamodb::types::AttributeValue::N("0".to_owned()));
    };
    world.aws.change_sale(&sale.session, long_ago).await;
    world.aws.invoke("DeadlinesFunctionName", &json!({})).await;
    let row = world.aws.document(&sale.session, "SALE").await.expect("a row");
    assert!(row["fulfilment"]["removed_at"].is_i64(), "{row}");
    assert!(world.records(&sale.session).await.iter().any(|record| record["event"] == "erasure"));
    assert_eq!(world.verdict(&other.session).await.status, 200, "no other sale is touched");
}

/// A reply and its acknowledgement contain the sender's address and subject: the mailbox keeps neither.
#[tokio::test]
async fn a_reply_and_its_acknowledgement_are_forgotten_too() {
    let watched = Watched::seeded().await;
    let world = &watched.world;
    let sale = world.bought("quick").await;
    let mail = world.mails(&sale.email).await.pop().expect("the verdict's mail");
    let answers = json!({ "In-Reply-To": mail["internet_message_id"] });
    watched.put(json!({ "from": sale.email, "subject": "Re: x", "headers": answers })).await;
    watched.look().await;
    assert_eq!(world.mails(&sale.email).await.len(), 2, "the verdict and the acknowledgement");
    assert_eq!(kept(world, &sale)["mailbox"], 3, "both, and the reply");
    decided(world, &["erase", &sale.session]);
    let after = kept(world, &sale);
    assert!(Store::ALL.iter().all(|store| after[store.as_str()] == 0), "{after}");
    assert_eq!(traces(world, &sale).await, [""; 0]);
}

#[tokio::test]
async fn a_held_verdict_is_forgotten_with_its_payload() {
    let world = World::alone().await;
    let sale = world.buy_held().await;
    assert_eq!(kept(&world, &sale)["quarantine"], 1);
    decided(&world, &["erase", &sale.session]);
    assert_eq!((world.verdict(&sale.session).await.status, traces(&world, &sale).await.len()), (410, 0));
}
