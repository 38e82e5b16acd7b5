//! The queues and their dead letters, against a server that fails as a real service does.

#![allow(clippy::unwrap_used)]

mod server;
#[allow(dead_code, reason = "shared with the tests of alerts")]
mod support;

use aws::{QueueAdmin, SnsAlerts, SqsQueue};
use domain::{Timestamp, message::Message, ports::Queue};
use serde_json::{Value, json};
use server::{Reply, Server};
use support::{CRITICAL, OPS, assert_alert, connection, down, published, session};

const DEAD: &str = "http://127.0.0.1/1/orders-dead-letters";
const LIVE: &str = "http://127.0.0.1/1/orders";

fn answered(body: &str) -> Reply {
    (200, body.to_owned())
}

fn attributes(queue: &str) -> Reply {
    answered(&format!(r#"{{"Attributes":{{"QueueArn":"arn:aws:sqs:us-east-1:1:{queue}"}}}}"#))
}

fn both_queues() -> [Reply; 2] {
    [attributes("orders-dead-letters"), attributes("orders")]
}

#[tokio::test]
async fn sqs_moves_dead_letters_where_it_can_and_says_so_where_it_cannot() {
    let server = Server::start(both_queues().into_iter().chain([answered(r#"{"TaskHandle":"t"}"#)])).await;
    let moved = QueueAdmin::new(connection(&server.url)).start_move(DEAD, LIVE).await.unwrap();
    assert_eq!(moved.as_deref(), Some("arn:aws:sqs:us-east-1:1:orders-dead-letters"));
    let seen = server.seen();
    assert!(seen[0].contains(DEAD) && seen[1].contains(LIVE), "{seen:?}");
    let request: Value = serde_json::from_str(&seen[2]).unwrap();
    let expected = json!({
        "SourceArn": "arn:aws:sqs:us-east-1:1:orders-dead-letters",
        "DestinationArn": "arn:aws:sqs:us-east-1:1:orders",
    });
    assert_eq!(request, expected, "SQS does not know where an unreadable message came from");
    let unknown = (400, r#"{"__type":"com.amazonaws.sqs#UnsupportedOperation"}"#.to_owned());
    let server = Server::start(both_queues().into_iter().chain([unknown])).await;
    assert_eq!(QueueAdmin::new(connection(&server.url)).start_move(DEAD, LIVE).await.unwrap(), None);
    assert_eq!(server.seen().len(), 3, "that is an answer, which is not asked for again");
}

/// Cache Alert, alert payload and invariant 4: `oracle show` finds the sale by what the alert names.
#[tokio::test]
async fn a_message_that_its_queue_refuses_is_alerted_with_the_reference_of_its_sale() {
    for (session_id, reference) in [(session(), "efghijkl"), (session().followup(), "efghijkl-followup")] {
        let server = Server::start([down(), down(), down(), down(), published()]).await;
        let connection = connection(&server.url);
        let _alerts = SnsAlerts::new(connection.clone(), OPS.to_owned(), CRITICAL.to_owned());
        let notice = Message::Notice { v: 1, session_id, received_at: Timestamp::from_millis(1) };
        assert!(SqsQueue::new(connection, LIVE.to_owned()).send(&notice).await.is_err());
        let line = format!(" | QUEUE_SEND | {reference} | queue send: answered 500, 4 attempts");
        assert_alert(&server.seen()[4], OPS, &["[ORACLE-STORE] ERROR | ", &line]);
    }
}

#[tokio::test]
async fn only_what_the_queue_has_taken_is_removed_from_the_dead_letters() {
    let received = answered(
        r#"{"Messages":[{"MessageId":"a","ReceiptHandle":"handle-a","Body":"A"},
            {"MessageId":"b","ReceiptHandle":"handle-b","Body":"B"}]}"#,
    );
    let sent = answered(
        r#"{"Successful":[{"Id":"1","MessageId":"x","MD5OfMessageBody":"m"}],
            "Failed":[{"Id":"0","SenderFault":false,"Code":"InternalError"}]}"#,
    );
    let deleted = answered(r#"{"Successful":[{"Id":"1"}],"Failed":[]}"#);
    let server = Server::start([received, sent, deleted, answered("{}")]).await;
    let admin = QueueAdmin::new(connection(&server.url));
    assert_eq!(admin.move_some(DEAD, LIVE).await.unwrap(), 1);
    let seen = server.seen();
    assert!(seen[1].contains(LIVE) && seen[1].contains("\"A\"") && seen[1].contains("\"B\""), "{}", seen[1]);
    assert!(seen[2].contains(DEAD) && seen[2].contains("handle-b") && !seen[2].contains("handle-a"), "{}", seen[2]);
    assert_eq!(admin.move_some(DEAD, LIVE).await.unwrap(), 0, "there is nothing left");
}

fn received(ids: &[&str]) -> Reply {
    let message = |id: &&str| json!({ "MessageId": id, "ReceiptHandle": format!("handle-{id}"), "Body": "{}" });
    answered(&json!({ "Messages": ids.iter().map(message).collect::<Vec<_>>() }).to_string())
}

/// Visible ones could come again and again, and others never.
#[tokio::test]
async fn dead_letters_are_hidden_while_the_others_are_read_and_no_longer() {
    let shown = || answered(r#"{"Successful":[],"Failed":[]}"#);
    let replies = [received(&["a", "b"]), received(&["c"]), answered("{}"), shown(), shown()];
    let server = Server::start(replies).await;
    let found = QueueAdmin::new(connection(&server.url)).look(DEAD, usize::MAX).await.unwrap();
    assert_eq!(found.iter().map(|message| message.id.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    let requests: Vec<Value> = server.seen().iter().map(|body| serde_json::from_str(body).unwrap()).collect();
    assert!(requests[..3].iter().all(|receive| receive["VisibilityTimeout"] == 120), "{requests:?}");
    let shown_again = |id: &str, handle: &str| json!({ "Id": id, "ReceiptHandle": handle, "VisibilityTimeout": 0 });
    assert_eq!(requests[3]["Entries"], json!([shown_again("0", "handle-a"), shown_again("1", "handle-b")]));
    assert_eq!(requests[4]["Entries"], json!([shown_again("0", "handle-c")]));
}

#[tokio::test]
async fn a_dead_letter_that_sqs_returns_last_is_deleted_and_the_others_stay_visible() {
    let done = || answered(r#"{"Successful":[],"Failed":[]}"#);
    let server = Server::start([received(&["a", "b"]), received(&["c"]), answered("{}"), done(), done()]).await;
    assert!(QueueAdmin::new(connection(&server.url)).delete(DEAD, "c").await.unwrap());
    let seen = server.seen();
    assert!(seen[2].contains("handle-c") && !seen[2].contains("handle-a"), "{seen:?}");
    assert!(seen[3].contains("handle-a") && seen[3].contains("handle-b"), "{seen:?}");
}

/// A message that comes meanwhile was not shown to the operator who decided.
#[tokio::test]
async fn only_the_named_dead_letters_are_deleted_and_the_others_stay_visible() {
    let deleted = |entries: Value| answered(&json!({ "Successful": entries, "Failed": [] }).to_string());
    let one = || deleted(json!([{ "Id": "0" }]));
    let server = Server::start([received(&["a", "new"]), one(), received(&["b"]), one(), deleted(json!([]))]).await;
    let wanted = ["a", "b"].map(str::to_owned).into();
    assert_eq!(QueueAdmin::new(connection(&server.url)).delete_these(DEAD, &wanted).await.unwrap(), 2);
    let seen = server.seen();
    assert!(seen[1].contains("handle-a") && !seen[1].contains("handle-new"), "{seen:?}");
    assert!(seen[3].contains("handle-b") && seen[4].contains("handle-new"), "{seen:?}");
    assert!(!seen[4].contains("handle-a") && !seen[4].contains("handle-b"), "{seen:?}");
}

/// Another reader hides it, or SQS refuses to delete it.
#[tokio::test]
async fn a_dead_letter_that_is_not_deleted_does_not_count() {
    let refused = r#"{"Successful":[{"Id":"0"}],
        "Failed":[{"Id":"1","SenderFault":false,"Code":"InternalError"}]}"#;
    let server = Server::start([received(&["a", "b"]), answered(refused), answered("{}")]).await;
    let wanted = ["a", "b", "hidden"].map(str::to_owned).into();
    assert_eq!(QueueAdmin::new(connection(&server.url)).delete_these(DEAD, &wanted).await.unwrap(), 1);
}

#[tokio::test]
async fn a_look_that_fails_hides_nothing_either() {
    let shown = answered(r#"{"Successful":[],"Failed":[]}"#);
    let server = Server::start([received(&["a"]), down(), down(), down(), down(), shown]).await;
    assert!(QueueAdmin::new(connection(&server.url)).look(DEAD, usize::MAX).await.is_err());
    assert!(server.seen()[5].contains("handle-a"), "{:?}", server.seen());
}
