//! Alerts on the topics, with the rows that deduplicate and count them, against a server that fails as a real service
//! does.

#![allow(clippy::unwrap_used)]

mod server;
#[allow(dead_code, reason = "shared with the tests of the stores")]
mod support;

use aws::{Connection, SnsAlerts};
use domain::{
    Alert, Timestamp,
    alert::Severity,
    ports::{AlertSummaries, Alerts, SaleStore},
};
use server::{Reply, Server, nobody};
use support::{CRITICAL, OPS, assert_alert, down, nothing, published, session, table};

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
        assert_alert(&seen[0], first, &[]);
        assert_alert(&seen[2], second, &[]);
        assert!(!seen[2].contains("copy"), "it is no copy of what nobody has: {}", seen[2]);
    }
}

/// Cache Alert, severity levels: all alerts go to the crew, critical ones to the other topic too; so do their
/// recoveries.
#[tokio::test]
async fn what_is_critical_and_its_end_go_to_both_topics_and_the_rest_to_one() {
    let all_clear = Alert::all_clear("T", Timestamp::from_millis(1), "CACHE_READ", "cache", "works again");
    for (alert, topics, subject) in [
        (alert(Severity::Critical), &[CRITICAL, OPS][..], "Subject=Oracle: CRITICAL"),
        (all_clear, &[CRITICAL, OPS], "Subject=Oracle: all clear"),
        (alert(Severity::Error), &[OPS], "Subject=Oracle: ops"),
    ] {
        let server = Server::start([published(), published()]).await;
        let (_, alerts) = table(&server.url);
        alerts.raise(alert.clone()).await;
        alerts.raise(alert).await;
        let seen = server.seen();
        assert_eq!(seen.len(), topics.len(), "{seen:?}");
        for (request, topic) in seen.iter().zip(topics) {
            assert_alert(request, topic, &[subject]);
            let is_copy = topics.len() == 2 && *topic == OPS;
            assert_eq!(request.contains("Name=copy&"), is_copy, "a reader of both topics reads it once: {request}");
        }
    }
}

/// Cache Alert, invariant 4: S3 names the object that it does not give.
#[tokio::test]
async fn a_whole_session_id_in_a_detail_reaches_no_topic() {
    let server = Server::start([published()]).await;
    let (_, alerts) = table(&server.url);
    let detail = "not authorized on resource: \"arn:aws:s3:::bucket/held/cs_live_abcdefghijklmnop/1.json\"";
    alerts.raise(Alert::about("T", Severity::Error, Timestamp::from_millis(1), "OP", "-", detail)).await;
    let seen = server.seen();
    assert_alert(&seen[0], OPS, &["/held/ijklmnop/1.json"]);
}

/// When every service is unreachable, the caller still gets its reply within the time limit.
#[tokio::test]
async fn an_outage_of_everything_ends_in_the_log_and_blocks_nobody() {
    let (sales, alerts) = table(&nobody().await);
    assert!(SaleStore::load(&sales, &session()).await.is_err());
    alerts.raise(alert(Severity::Critical)).await;
}

/// A separate process with the table that all processes share.
fn process(url: &str) -> SnsAlerts {
    let connection = Connection::from_environment(|name| match name {
        "AWS_ENDPOINT_URL" => Some(url.to_owned()),
        "AWS_REGION" => Some("us-east-1".to_owned()),
        "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => Some("test".to_owned()),
        "TABLE_NAME" => Some("sales".to_owned()),
        "CACHE_RETRY_DELAY_MS" => Some("0".to_owned()),
        // A slow machine must not change the order of the replies.
        "ALERT_TABLE_TIMEOUT_MS" | "ALERT_TOPIC_TIMEOUT_MS" => Some("30000".to_owned()),
        _ => None,
    });
    SnsAlerts::new(connection.unwrap(), OPS.to_owned(), CRITICAL.to_owned())
}

fn storm(severity: Severity) -> Alert {
    Alert::cache(severity, Timestamp::from_millis(0), "CACHE_READ", &session(), "no answer in time")
}

/// The reply to a conditional write that found this row.
fn found(rank: u8, sent: bool, ends_in_seconds: i64) -> Reply {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let ends = i64::try_from(now).unwrap() + ends_in_seconds * 1_000;
    let item = format!(r#"{{"severity":{{"N":"{rank}"}},"told":{{"BOOL":{sent}}},"ends":{{"N":"{ends}"}}}}"#);
    let kind = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException";
    (400, format!(r#"{{"__type":"{kind}","message":"x","Item":{item}}}"#))
}

#[tokio::test]
async fn two_processes_that_see_one_storm_tell_it_once() {
    // The alert's row, the row of its kind, the alert, and that it was sent.
    let server = Server::start([nothing(), nothing(), published(), nothing(), found(1, true, 30)]).await;
    let (first, second) = (process(&server.url), process(&server.url));
    first.raise(storm(Severity::Error)).await;
    second.raise(storm(Severity::Error)).await;
    let seen = server.seen();
    assert_eq!(seen.len(), 5, "{seen:?}");
    assert!(seen[0].contains("ALERT#[ORACLE-CACHE-ALERT]|CACHE_READ|efghijkl"), "{}", seen[0]);
    assert!(seen[0].contains(r##""told":{"BOOL":false}"##) && seen[3].contains(r##""told":{"BOOL":true}"##));
    assert_alert(&seen[2], OPS, &["[ORACLE-CACHE-ALERT] ERROR"]);
    assert_eq!(seen.iter().filter(|body| body.contains("TopicArn=")).count(), 1);
}

#[tokio::test]
async fn the_process_that_was_sending_it_may_have_died() {
    // The row exists, but the alert is never recorded as sent.
    let under_way = || found(1, false, 60);
    let server = Server::start([under_way(), under_way(), under_way(), nothing(), published(), nothing()]).await;
    process(&server.url).raise(storm(Severity::Error)).await;
    assert_alert(&server.seen()[4], OPS, &["[ORACLE-CACHE-ALERT] ERROR"]);
    // It is recorded as sent after a moment.
    let server = Server::start([under_way(), found(1, true, 60)]).await;
    process(&server.url).raise(storm(Severity::Error)).await;
    assert_eq!(server.seen().len(), 2, "it went out, so it is not sent again");
}

#[tokio::test]
async fn a_table_that_is_down_or_closed_to_us_keeps_no_alert_back() {
    let denied = (400, r#"{"__type":"com.amazon.coral.service#AccessDeniedException"}"#.to_owned());
    for refusal in [down(), denied] {
        let replies_of_one = || [refusal.clone(), published(), published(), refusal.clone()];
        let replies = [replies_of_one(), replies_of_one()].concat();
        let server = Server::start(replies).await;
        let (first, second) = (process(&server.url), process(&server.url));
        for process in [&first, &second, &first] {
            process.raise(storm(Severity::Critical)).await;
        }
        let published = server.seen().iter().filter(|body| body.contains("TopicArn=")).count();
        assert_eq!(published, 4, "each process tells it to both topics, and none tells it twice");
    }
}

#[tokio::test]
async fn an_alert_that_no_topic_took_is_sent_when_it_comes_again() {
    let taken = || [nothing(), nothing()];
    let replies = taken().into_iter().chain([down(), down(), down(), down()]);
    let replies = replies.chain(taken()).chain([published(), nothing()]);
    let server = Server::start(replies).await;
    let process = process(&server.url);
    process.raise(storm(Severity::Error)).await;
    process.raise(storm(Severity::Error)).await;
    let seen = server.seen();
    assert_eq!(seen.len(), 10, "{seen:?}");
    assert_alert(&seen[8], OPS, &["[ORACLE-CACHE-ALERT] ERROR"]);
}

/// The row of a storm with this many alerts, as a refused write returns it and a query finds it.
fn storm_row(counted: u32, withheld: u32) -> String {
    let ends = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() + 200_000;
    let (pk, sk) = ("ALERT#storms", "[ORACLE-CACHE-ALERT] CACHE_READ");
    format!(
        r#"{{"pk":{{"S":"{pk}"}},"sk":{{"S":"{sk}"}},"counted":{{"N":"{counted}"}},"withheld":{{"N":"{withheld}"}},
            "ends":{{"N":"{ends}"}},"since":{{"N":"36000000"}}}}"#
    )
}

#[tokio::test]
async fn the_fourth_alert_of_a_kind_is_counted_and_only_a_critical_one_is_sent() {
    let kind = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException";
    let third = (400, format!(r#"{{"__type":"{kind}","message":"x","Item":{}}}"#, storm_row(3, 0)));
    let replies = [nothing(), third, nothing(), nothing(), nothing(), published(), published(), nothing()];
    let server = Server::start(replies).await;
    let process = process(&server.url);
    process.raise(storm(Severity::Error)).await;
    let seen = server.seen();
    assert_eq!(seen.len(), 4, "no topic heard of it: {seen:?}");
    let counted = [r#""counted":{"N":"4"}"#, r#""withheld":{"N":"1"}"#, "ALERT#storms"];
    assert!(counted.iter().all(|part| seen[2].contains(part)), "{}", seen[2]);
    process.raise(storm(Severity::Critical)).await;
    assert_eq!(server.seen().len(), 8);
    assert_alert(&server.seen()[5], CRITICAL, &["[ORACLE-CACHE-ALERT] CRITICAL"]);
}

#[tokio::test]
async fn a_storm_is_one_summary_which_is_sent_again_until_a_topic_takes_it() {
    let rows = || (200, format!(r#"{{"Items":[{}]}}"#, storm_row(30, 27)));
    let replies = [rows(), down(), down(), down(), down(), rows(), published(), nothing()];
    let server = Server::start(replies).await;
    let process = process(&server.url);
    process.send_summaries().await;
    assert_eq!(server.seen().len(), 5, "the row stays as it is");
    process.send_summaries().await;
    let seen = server.seen();
    assert_eq!(seen.len(), 8, "{seen:?}");
    let parts =
        ["[ORACLE-STORM] ERROR | ", "| 27 more of [ORACLE-CACHE-ALERT] CACHE_READ since 10:00 UTC; oracle list"];
    assert_alert(&seen[6], OPS, &parts);
    assert!(seen[7].contains(r#""withheld":{"N":"0"}"#), "{}", seen[7]);
}
