//! Queues deliver at least once: a repeated message changes nothing, and an unreadable message blocks no others.

use crate::{
    operators::mailed_once,
    world::{World, by_link, question},
};
use serde_json::{Value, json};
use tests::{SOON, eventually};

/// An order as the webhook sends it to the queue.
pub(crate) fn order(session: &str) -> Value {
    json!({ "kind": "order", "v": 1, "session_id": session, "received_at": 1_763_596_800_000_i64, "ordered_by": "webhook" })
}

/// A mail order as the verdict function sends it to the queue.
pub(crate) fn mail_order(session: &str) -> Value {
    json!({ "kind": "mail", "v": 1, "session_id": session, "ordered_at": 1_763_596_800_000_i64 })
}

#[tokio::test]
async fn messages_that_come_again_after_the_end_change_nothing() {
    let world = World::alone().await;
    let sale = world.buy("strategy").await;
    let page = world.delivered(&sale).await;
    world.drained().await;
    let left = async || {
        (
            world.aws.document(&sale.session, "SALE").await,
            world.aws.document(&sale.session, "VERDICT").await,
            world.lines(&sale.session).await,
            world.mails(&sale.email).await,
            world.model_calls(&sale).await,
            world.calls("graph", "").await.len(),
        )
    };
    let before = left().await;
    for _ in 0..5 {
        world.aws.send("OrdersQueueUrl", &order(&sale.session)).await;
        world.aws.send("EmailQueueUrl", &mail_order(&sale.session)).await;
    }
    world.drained().await;
    assert_eq!(left().await, before);
    assert_eq!(world.verdict(&sale.session).await.json(), page);
}

/// Five orders of one sale at once, none of them the webhook's: one verdict, one mail.
#[tokio::test]
async fn orders_at_once_are_one_sale() {
    let world = World::alone().await;
    let sale = world.open("full", question()).await;
    world.pay(&sale, 0).await;
    for _ in 0..5 {
        world.aws.send("OrdersQueueUrl", &order(&sale.session)).await;
    }
    world.delivered(&sale).await;
    // A second message about the mail waits for the lease of the first one, so the test does not wait for the mail
    // queue.
    let worked_through = async || (world.aws.held("OrdersQueueUrl").await == 0).then_some(());
    eventually("the orders to be worked through", SOON, worked_through).await;
    assert_eq!((world.model_calls(&sale).await, world.mails(&sale.email).await.len()), (1, 1));
    assert_eq!(world.count(&sale.session, "webhook", "OK").await, 1);
}

/// Only Stripe's answer decides whether a session is paid.
#[tokio::test]
async fn an_order_of_an_unpaid_session_makes_no_verdict() {
    let world = World::alone().await;
    let sale = world.open("full", question()).await;
    world.aws.send("OrdersQueueUrl", &order(&sale.session)).await;
    world.drained().await;
    assert_eq!(world.model_calls(&sale).await, 0);
    assert_eq!(world.aws.document(&sale.session, "VERDICT").await, None);
    // After a payment it is a sale like any other.
    world.pay(&sale, 1).await;
    world.delivered(&sale).await;
    assert_eq!(world.model_calls(&sale).await, 1);
}

#[tokio::test]
async fn unreadable_messages_do_not_hold_up_others() {
    let world = World::alone().await;
    for queue in ["OrdersQueueUrl", "EmailQueueUrl"] {
        for body in [json!("no message"), json!({ "kind": "order" }), json!({ "kind": "mail", "v": 99 }), json!([])] {
            world.aws.send(queue, &body).await;
        }
    }
    let sale = world.bought("quick").await;
    assert_eq!((world.model_calls(&sale).await, world.mails(&sale.email).await.len()), (1, 1));
}

/// A paid session whose webhook never came is found by the daily comparison and delivered.
#[tokio::test]
async fn a_sale_without_an_event_is_found() {
    let world = World::alone().await;
    let (sale, mut object) = by_link("quick");
    object["created"] = json!(jiff::Timestamp::now().as_second() - 3600);
    world.stack.plant(&object).await;
    world.aws.invoke("ReconcileFunctionName", &json!({})).await;
    mailed_once(&world, &sale).await;
}
