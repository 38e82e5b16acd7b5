//! The stores against a server that fails in ways a service does: what is tried again, and what operators are told.

#![allow(clippy::unwrap_used)]

mod server;

use aws::{Connection, DynamoSales, S3Archive, SnsAlerts};
use domain::{
    Alert, SessionId, Timestamp,
    alert::Severity,
    ports::{Alerts, CacheEntry, Randomness, SaleStore, VerdictArchive},
};
use server::{Reply, Server, nobody};
use std::sync::Arc;

const OPS: &str = "arn:aws:sns:us-east-1:1:ops";
const CRITICAL: &str = "arn:aws:sns:us-east-1:1:critical";

struct Tokens;

impl Randomness for Tokens {
    fn fraction(&self) -> f64 {
        0.5
    }
    fn token(&self) -> String {
        "0123456789abcdef0123456789abcdef".to_owned()
    }
}

fn connection(url: &str) -> Connection {
    Connection::from_environment(|name| match name {
        "AWS_ENDPOINT_URL" => Some(url.to_owned()),
        "AWS_REGION" => Some("us-east-1".to_owned()),
        "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => Some("test".to_owned()),
        "CACHE_RETRY_DELAY_MS" => Some("0".to_owned()),
        _ => None,
    })
    .unwrap()
}

/// A table and the topics that its failures are told on.
fn table(url: &str) -> (DynamoSales, SnsAlerts) {
    let connection = connection(url);
    let alerts = SnsAlerts::new(connection.clone(), OPS.to_owned(), CRITICAL.to_owned());
    (DynamoSales::new(connection, "sales".to_owned(), Arc::new(Tokens)), alerts)
}

fn session() -> SessionId {
    SessionId::parse("cs_live_abcdefghijkl").unwrap()
}

fn down() -> Reply {
    (500, "{}".to_owned())
}

fn nothing() -> Reply {
    (200, "{}".to_owned())
}

fn published() -> Reply {
    let result = "<PublishResult><MessageId>1</MessageId></PublishResult>";
    (200, format!("<PublishResponse xmlns=\"http://sns.amazonaws.com/doc/2010-03-31/\">{result}</PublishResponse>"))
}

fn is_alert(body: &str, topic: &str, parts: &[&str]) {
    assert!(body.contains(&format!("TopicArn={topic}&")), "{body}");
    for part in parts {
        assert!(body.contains(part), "no {part:?} in {body}");
    }
    assert!(!body.contains("cs_live_abcde"), "more than the prefix: {body}");
}

#[tokio::test]
async fn a_call_that_succeeds_tells_nobody() {
    let server = Server::start([nothing()]).await;
    let (sales, _alerts) = table(&server.url);
    assert_eq!(SaleStore::load(&sales, &session()).await.unwrap(), None);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_call_that_recovers_is_a_warning() {
    let server = Server::start([down(), down(), nothing(), published()]).await;
    let (sales, _alerts) = table(&server.url);
    assert_eq!(SaleStore::load(&sales, &session()).await.unwrap(), None);
    let seen = server.seen();
    assert_eq!(seen.len(), 4);
    is_alert(
        &seen[3],
        OPS,
        &["[ORACLE-CACHE-ALERT] WARN | ", " | CACHE_READ | cs_live_abcd | sale read: attempt 3 succeeded"],
    );
}

#[tokio::test]
async fn a_call_that_fails_four_times_is_an_error_told_once_a_minute() {
    let server = Server::start([down(), down(), down(), down(), published(), down(), down(), down(), down()]).await;
    let (sales, _alerts) = table(&server.url);
    for _ in 0..2 {
        assert_eq!(SaleStore::load(&sales, &session()).await.unwrap_err().operation, "sale read");
    }
    let seen = server.seen();
    assert_eq!(seen.len(), 9, "the second failure was within the window of the first");
    is_alert(&seen[4], OPS, &["[ORACLE-CACHE-ALERT] ERROR | ", " | sale read: answered 500, 4 attempts"]);
}

#[tokio::test]
async fn what_the_service_refuses_for_a_reason_is_no_failure() {
    let exists = "{\"__type\":\"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException\"}";
    let server = Server::start([(400, exists.to_owned())]).await;
    let (sales, _alerts) = table(&server.url);
    let sale = domain::Sale::ordered(session(), Timestamp::from_millis(1));
    let saved = SaleStore::save(&sales, &sale, 0, None).await;
    assert!(matches!(saved, Err(domain::ports::SaveError::Conflict)), "{saved:?}");
    assert_eq!(server.seen().len(), 1, "a conflict is an answer: it is neither repeated nor told");
}

#[tokio::test]
async fn a_corrupt_entry_is_set_aside_and_critical() {
    let items = r#"{"Items":[{"pk":{"S":"SESSION#cs_live_abcdefghijkl"},"sk":{"S":"VERDICT"},"document":{"S":"{}"}}]}"#;
    let server = Server::start([(200, items.to_owned()), nothing(), published()]).await;
    let (sales, _alerts) = table(&server.url);
    assert_eq!(sales.load_with_verdict(&session()).await.unwrap().1, CacheEntry::Corrupt);
    let seen = server.seen();
    let moved = ["CORRUPT#VERDICT#", "set_aside_at", "document = :found", "0123456789abcdef"];
    assert!(moved.iter().all(|part| seen[1].contains(part)), "{}", seen[1]);
    is_alert(&seen[2], CRITICAL, &["[ORACLE-CACHE-ALERT] CRITICAL | ", " | CACHE_READ | cs_live_abcd | corrupt entry"]);
}

#[tokio::test]
async fn a_corrupt_sale_is_critical_and_stays() {
    let item = r#"{"Item":{"document":{"S":"{"},"version":{"N":"3"}}}"#;
    let server = Server::start([(200, item.to_owned()), published()]).await;
    let (sales, _alerts) = table(&server.url);
    assert!(SaleStore::load(&sales, &session()).await.is_err());
    is_alert(&server.seen()[1], CRITICAL, &[" CRITICAL | ", "corrupt sale record"]);
}

#[tokio::test]
async fn a_corrupt_archived_verdict_is_critical_and_counts_as_none() {
    let server = Server::start([(200, "not JSON".to_owned()), published()]).await;
    let connection = connection(&server.url);
    let _alerts = SnsAlerts::new(connection.clone(), OPS.to_owned(), CRITICAL.to_owned());
    let archive = S3Archive::new(connection, "archive".to_owned());
    assert_eq!(archive.find(&session()).await.unwrap(), None);
    is_alert(&server.seen()[1], CRITICAL, &[" CRITICAL | ", " | ARCHIVE_READ | ", "corrupt archived verdict"]);
}

fn alert(severity: Severity) -> Alert {
    Alert::cache(severity, Timestamp::from_millis(1), "CACHE_READ", &session(), "x")
}

#[tokio::test]
async fn an_alert_that_its_topic_refuses_goes_to_the_other() {
    for (severity, first, second) in [(Severity::Critical, CRITICAL, OPS), (Severity::Warn, OPS, CRITICAL)] {
        let server = Server::start([down(), down(), published()]).await;
        let (_, alerts) = table(&server.url);
        alerts.raise(alert(severity)).await;
        let seen = server.seen();
        assert_eq!(seen.len(), 3);
        is_alert(&seen[0], first, &[]);
        is_alert(&seen[2], second, &[]);
    }
}

/// With nobody at the other end of anything, the caller still gets its answer, within the budget.
#[tokio::test]
async fn an_outage_of_everything_ends_in_the_log_and_blocks_nobody() {
    let (sales, alerts) = table(&nobody().await);
    assert!(SaleStore::load(&sales, &session()).await.is_err());
    alerts.raise(alert(Severity::Critical)).await;
}

/// Smoke Test, invariant 8: a deployment is answered, also where the first attempts get lost.
#[tokio::test]
async fn a_deployment_hears_how_its_hook_has_ended() {
    for (succeeded, status) in [(true, "Succeeded"), (false, "Failed")] {
        let reply = (200, r#"{"lifecycleEventHookExecutionId":"e-1"}"#.to_owned());
        let server = Server::start([down(), reply]).await;
        let deployments = aws::CodeDeploy::new(connection(&server.url));
        deployments.answer("d-1", "e-1", succeeded).await.unwrap();
        let seen = server.seen();
        assert_eq!(seen.len(), 2, "{seen:?}");
        let asked: serde_json::Value = serde_json::from_str(&seen[1]).unwrap();
        let expected = serde_json::json!({
            "deploymentId": "d-1", "lifecycleEventHookExecutionId": "e-1", "status": status,
        });
        assert_eq!(asked, expected);
    }
    let server = Server::start([]).await;
    let deployments = aws::CodeDeploy::new(connection(&server.url));
    assert!(deployments.answer("d-1", "e-1", true).await.is_err(), "nobody took the answer");
}
