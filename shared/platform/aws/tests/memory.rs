//! The memory's logs and keys over the network: the requests to DynamoDB and the key service, and the handling of
//! refusals.

#![allow(clippy::unwrap_used)]

mod server;
#[allow(dead_code, reason = "shared with the tests of the other stores")]
mod support;

use aws::{DynamoMemoryLogs, DynamoSales, KmsSubjectKeys};
use domain::ports::{MemoryAppend, MemoryLogs, MemoryRecord, SubjectKey, SubjectKeys};
use serde_json::{Value, json};
use server::{Reply, Server};
use std::sync::Arc;
use support::{Tokens, connection};

fn table(url: &str) -> DynamoSales {
    DynamoSales::new(connection(url), "table".to_owned(), Arc::new(Tokens))
}

fn record(seq: u64) -> MemoryRecord {
    MemoryRecord { seq, prev: [1; 32], hash: [2; 32], body: b"Ssealed".to_vec() }
}

fn base64_of(byte: u8) -> &'static str {
    if byte == 1 {
        "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
    } else {
        "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="
    }
}

fn stored(seq: u64, hash: u8) -> Value {
    json!({"pk": {"S": "MEMORY#log"}, "sk": {"S": format!("R#{seq:012}")}, "prev": {"B": base64_of(1)},
        "hash": {"B": base64_of(hash)}, "body": {"B": "U3NlYWxlZA=="}})
}

fn reply(body: &Value) -> Reply {
    (200, body.to_string())
}

fn cancelled() -> Reply {
    let reasons = json!([{"Code": "ConditionalCheckFailed"}, {"Code": "None"}]);
    let kind = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException";
    (400, json!({"__type": kind, "message": "cancelled", "CancellationReasons": reasons}).to_string())
}

#[tokio::test]
async fn a_record_and_the_head_are_one_conditional_transaction() {
    let server = Server::start([reply(&json!({})), reply(&json!({}))]).await;
    let sales = table(&server.url);
    let logs = DynamoMemoryLogs(&sales);
    assert_eq!(logs.append("log", &[record(1)]).await.unwrap(), MemoryAppend::Written);
    assert_eq!(logs.append("log", &[record(2)]).await.unwrap(), MemoryAppend::Written);
    let asked: Vec<Value> = server.seen().iter().map(|body| serde_json::from_str(body).unwrap()).collect();
    let puts = |asked: &Value| [asked["TransactItems"][0]["Put"].clone(), asked["TransactItems"][1]["Put"].clone()];
    let [first, head] = puts(&asked[0]);
    assert_eq!(
        (&first["Item"]["pk"]["S"], &first["Item"]["sk"]["S"]),
        (&json!("MEMORY#log"), &json!("R#000000000001"))
    );
    assert_eq!(first["ConditionExpression"], "attribute_not_exists(pk)");
    assert_eq!(
        (&head["Item"]["sk"]["S"], &head["ConditionExpression"]),
        (&json!("HEAD"), &json!("attribute_not_exists(pk)"))
    );
    let [_, head] = puts(&asked[1]);
    assert_eq!(head["ConditionExpression"], "log_seq = :seq AND log_head = :head");
    assert_eq!(head["ExpressionAttributeValues"][":seq"]["N"], "1");
    assert_eq!(head["ExpressionAttributeValues"][":head"]["B"], base64_of(1));
    assert_eq!((&head["Item"]["log_seq"]["N"], &head["Item"]["log_head"]["B"]), (&json!("2"), &json!(base64_of(2))));
}

#[tokio::test]
async fn several_records_and_the_head_are_one_transaction() {
    let server = Server::start([reply(&json!({}))]).await;
    let sales = table(&server.url);
    let appended = DynamoMemoryLogs(&sales).append("log", &[record(2), record(3), record(4)]).await;
    assert_eq!(appended.unwrap(), MemoryAppend::Written);
    let asked: Value = serde_json::from_str(&server.seen()[0]).unwrap();
    let puts: Vec<&Value> = asked["TransactItems"].as_array().unwrap().iter().map(|item| &item["Put"]).collect();
    let sorts: Vec<&Value> = puts.iter().map(|put| &put["Item"]["sk"]["S"]).collect();
    assert_eq!(sorts, ["R#000000000002", "R#000000000003", "R#000000000004", "HEAD"]);
    assert!(puts[..3].iter().all(|put| put["ConditionExpression"] == "attribute_not_exists(pk)"));
    assert_eq!(puts[3]["ExpressionAttributeValues"][":seq"]["N"], "1", "it follows the record before the first");
    assert_eq!(puts[3]["ExpressionAttributeValues"][":head"]["B"], base64_of(1));
    assert_eq!(puts[3]["Item"]["log_seq"]["N"], "4");
}

#[tokio::test]
async fn a_refused_append_is_a_retry_or_somebody_elses() {
    for (found, expected) in [
        (json!({"Item": stored(3, 2)}), MemoryAppend::AlreadyThere),
        (json!({"Item": stored(3, 1)}), MemoryAppend::Taken),
        (json!({}), MemoryAppend::Taken),
    ] {
        let server = Server::start([cancelled(), reply(&found)]).await;
        let sales = table(&server.url);
        assert_eq!(DynamoMemoryLogs(&sales).append("log", &[record(3)]).await.unwrap(), expected);
    }
}

#[tokio::test]
async fn records_and_head_are_read_consistently() {
    let head = json!({"Item": {"log_seq": {"N": "3"}, "log_head": {"B": base64_of(2)}}});
    let server = Server::start([
        reply(&json!({"Items": [stored(3, 2)], "Count": 1})),
        reply(&head),
        reply(&json!({})),
        reply(&json!({"Items": [{"sk": {"S": "R#000000000004"}}], "Count": 1})),
    ])
    .await;
    let sales = table(&server.url);
    let logs = DynamoMemoryLogs(&sales);
    assert_eq!(logs.read("log", 2).await.unwrap(), [record(3)]);
    assert_eq!(logs.head("log").await.unwrap(), Some((3, [2; 32])));
    assert_eq!(logs.head("other").await.unwrap(), None);
    assert!(logs.read("log", 3).await.is_err(), "a malformed record is an error, not the log's end");
    let asked: Value = serde_json::from_str(&server.seen()[0]).unwrap();
    assert_eq!(asked["ConsistentRead"], true);
    assert_eq!(asked["ExpressionAttributeValues"][":from"]["S"], "R#000000000003");
}

#[tokio::test]
async fn a_record_that_is_too_large_is_refused_before_anything_is_sent() {
    let server = Server::start([]).await;
    let sales = table(&server.url);
    let large = MemoryRecord { body: vec![0; 380_001], ..record(1) };
    assert!(DynamoMemoryLogs(&sales).append("log", &[large]).await.is_err());
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_key_is_made_by_the_key_service_and_kept_wrapped() {
    let made = json!({"Plaintext": base64_of(1), "CiphertextBlob": "d3JhcHBlZA==", "KeyId": "arn"});
    let server = Server::start([reply(&json!({})), reply(&made), reply(&json!({}))]).await;
    let sales = table(&server.url);
    let keys = KmsSubjectKeys::new(&sales, connection(&server.url), "arn".to_owned());
    assert_eq!(keys.find_or_create("subject").await.unwrap(), SubjectKey([1; 32]));
    let seen = server.seen();
    let (generate, put): (Value, Value) =
        (serde_json::from_str(&seen[1]).unwrap(), serde_json::from_str(&seen[2]).unwrap());
    assert_eq!(generate["EncryptionContext"]["memory-subject"], "subject");
    assert_eq!(
        (&put["Item"]["wrapped"]["B"], &put["ConditionExpression"]),
        (&json!("d3JhcHBlZA=="), &json!("attribute_not_exists(pk)"))
    );
    assert!(!seen[2].contains(base64_of(1)), "the plain key is never stored");
}

#[tokio::test]
async fn a_key_that_another_call_made_first_is_the_key() {
    let made = json!({"Plaintext": base64_of(1), "CiphertextBlob": "d3JhcHBlZA==", "KeyId": "arn"});
    let kept = json!({"Item": {"wrapped": {"B": "b3RoZXI="}}});
    let kind = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException";
    let refused = (400, json!({"__type": kind, "message": "refused"}).to_string());
    let opened = json!({"Plaintext": base64_of(2), "KeyId": "arn"});
    let server =
        Server::start([reply(&json!({})), reply(&made), refused, reply(&kept), reply(&opened), reply(&json!({}))])
            .await;
    let sales = table(&server.url);
    let keys = KmsSubjectKeys::new(&sales, connection(&server.url), "arn".to_owned());
    assert_eq!(keys.find_or_create("subject").await.unwrap(), SubjectKey([2; 32]));
    keys.destroy("subject").await.unwrap();
    let decrypt: Value = serde_json::from_str(&server.seen()[4]).unwrap();
    assert_eq!(decrypt["EncryptionContext"]["memory-subject"], "subject");
    let put: Value = serde_json::from_str(&server.seen()[5]).unwrap();
    assert_eq!(put["Item"]["pk"]["S"], "MEMORYKEY#subject");
    assert!(put["Item"].get("wrapped").is_none(), "the key is gone");
}

#[tokio::test]
async fn a_destroyed_key_is_not_found_and_no_other_is_made() {
    let made = json!({"Plaintext": base64_of(1), "CiphertextBlob": "d3JhcHBlZA==", "KeyId": "arn"});
    let destroyed = json!({"Item": {"destroyed": {"BOOL": true}}});
    let kind = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException";
    let refused = (400, json!({"__type": kind, "message": "refused"}).to_string());
    let server = Server::start([reply(&destroyed), reply(&destroyed), reply(&made), refused, reply(&destroyed)]).await;
    let sales = table(&server.url);
    let keys = KmsSubjectKeys::new(&sales, connection(&server.url), "arn".to_owned());
    assert_eq!(keys.find("subject").await.unwrap(), None);
    assert!(keys.find_or_create("subject").await.is_err());
}
