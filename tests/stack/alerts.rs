//! Alerts, read from the topics that operators subscribe to.

use crate::world::{CANARY, Sale, World, by_link};
use domain::{alert::Severity, ports::Alerts};
use serde_json::{Value, json};
use tests::{SOON, eventually, unique};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The queues of one test, subscribed to the two topics.
struct Topics {
    ops: String,
    critical: String,
}

/// The stack for one test alone, with its queues.
async fn alone() -> (World, Topics) {
    let world = World::alone().await;
    let ops = world.aws.subscribe("OpsTopicArn").await;
    let critical = world.aws.subscribe("CriticalTopicArn").await;
    (world, Topics { ops, critical })
}

/// Waits for the only alert of a topic, and checks its form: `[TAG] SEVERITY | TIME | OPERATION | SESSION | DETAIL`.
async fn expect_alert(world: &World, topic: &str, session: &str, expected: [&str; 3]) {
    let line = eventually("an alert", SOON, async || world.aws.alerts(topic).await.pop()).await;
    let parts: Vec<&str> = line.split(" | ").collect();
    assert_eq!(parts.len(), 5, "{line}");
    assert_eq!([parts[0], parts[2], parts[3]], [expected[0], expected[1], reference(session)], "{line}");
    assert!(parts[4].contains(expected[2]), "{line}");
    assert!(parts[1].len() == 24 && parts[1].ends_with('Z'), "{line}");
    for forbidden in ["@", CANARY, session] {
        assert!(!line.contains(forbidden), "an alert holds {forbidden:?}: {line}");
    }
}

/// The name of a sale in alerts.
fn reference(session: &str) -> &str {
    &session[session.len() - 8..]
}

async fn silent(world: &World, topic: &str) {
    assert_eq!(world.aws.alerts(topic).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_sale_without_trouble_alerts_nobody() {
    let (world, topics) = alone().await;
    world.bought("full").await;
    world.drained().await;
    silent(&world, &topics.ops).await;
    silent(&world, &topics.critical).await;
}

#[tokio::test]
async fn what_cannot_be_delivered_is_critical() {
    let held = json!({ "verdict": { "verdict": "GREEN", "summary": "The CSDM leaves no doubt about it." } });
    for (target, fault, expected) in [
        ("gemini", held, ["[ORACLE-QUARANTINE] CRITICAL", "CONTENT_FILTER", "1 blocked term(s) at gate 1"]),
        ("gemini", json!({ "status": 400 }), ["[ORACLE-VERDICT] CRITICAL", "VERDICT", "GEMINI_BAD_REQUEST"]),
        ("gemini", json!({ "status": 401 }), ["[ORACLE-VERDICT] CRITICAL", "VERDICT", "GEMINI_AUTH_FAILURE"]),
        ("gemini", json!({ "status": 402 }), ["[ORACLE-VERDICT] CRITICAL", "VERDICT", "GEMINI_ACCOUNT_FAILURE"]),
    ] {
        let (world, topics) = alone().await;
        world.stack.faults(target, json!([fault])).await;
        let sale = world.buy("quick").await;
        world.settled(&sale.session).await;
        expect_alert(&world, &topics.critical, &sale.session, expected).await;
        expect_alert(&world, &topics.ops, &sale.session, expected).await;
        world.drained().await;
        world.faults_are_used_up().await;
    }
}

#[tokio::test]
async fn what_is_tried_again_and_what_is_only_odd_is_for_the_day() {
    let (world, topics) = alone().await;
    let down = json!({ "status": 503 });
    let sale = world.buy_despite("graph", json!([down, down]), "quick").await;
    expect_alert(&world, &topics.ops, &sale.session, ["[ORACLE-EMAIL] ERROR", "EMAIL_SEND", "503; again at"]).await;
    silent(&world, &topics.critical).await;
    world.delivered(&sale).await;
    world.faults_are_used_up().await;
    drop(world);

    let (world, topics) = alone().await;
    let (Sale { session, .. }, mut object) = by_link("quick");
    object["customer_details"] = Value::Null;
    world.stack.plant(&object).await;
    world.tell("checkout.session.completed", &object).await;
    world.settled(&session).await;
    expect_alert(&world, &topics.ops, &session, ["[ORACLE-EMAIL] WARN", "EMAIL_SEND", "no e-mail address"]).await;
    silent(&world, &topics.critical).await;
}

/// Email Retry, output 4.
#[tokio::test]
async fn a_dead_letter_alerts_in_the_words_of_the_spec() {
    let (world, topics) = alone().await;
    let sale = world.buy_despite("graph", json!([{ "status": 400 }]), "full").await;
    world.settled(&sale.session).await;
    let line = eventually("an alert", SOON, async || world.aws.alerts(&topics.critical).await.pop()).await;
    let reference = reference(&sale.session);
    let start = format!("[ALERT][oracle-email-retry] DEAD LETTER: session_id={reference} customer=hmac");
    assert!(line.starts_with(&start) && line.ends_with("tier=full attempts=0 last_error=400"), "{line}");
    assert!(!line.contains('@') && !line.contains(CANARY), "{line}");
    let on_ops = async || (world.aws.alerts(&topics.ops).await == [line.as_str()]).then_some(());
    eventually("the same on ops", SOON, on_ops).await;
}

#[tokio::test]
async fn a_lost_cache_entry_alerts() {
    for (damage, critical, severity) in
        [(None, false, "[ORACLE-CACHE-ALERT] ERROR"), (Some("{}"), true, "[ORACLE-CACHE-ALERT] CRITICAL")]
    {
        let (world, topics) = alone().await;
        let sale = world.bought("quick").await;
        world.aws.damage_verdict(&sale.session, damage).await;
        assert_eq!(world.verdict(&sale.session).await.status, 200);
        let topic = if critical { &topics.critical } else { &topics.ops };
        expect_alert(&world, topic, &sale.session, [severity, "CACHE_READ", ""]).await;
    }
}

/// The alert sender of one process, with the table that all processes share.
fn process(world: &World) -> ::aws::SnsAlerts {
    let text = |field: &str| world.stack.description[field].as_str().map(str::to_owned);
    let connection = ::aws::Connection::from_environment(|name| match name {
        "AWS_ENDPOINT_URL" => text("aws_endpoint"),
        "AWS_REGION" => text("region"),
        "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => Some("test".to_owned()),
        "TABLE_NAME" => Some(world.aws.output("TableName").to_owned()),
        // On a slow machine too, a process waits for what the other one does.
        "ALERT_TABLE_TIMEOUT_MS" | "ALERT_TOPIC_TIMEOUT_MS" => Some("30000".to_owned()),
        "CACHE_RETRY_DELAY_MS" => Some("2000".to_owned()),
        _ => None,
    });
    let topic = |name| world.aws.output(name).to_owned();
    ::aws::SnsAlerts::new(connection.expect("settings"), topic("OpsTopicArn"), topic("CriticalTopicArn"))
}

/// Cache Alert, invariant 6, across processes: two processes see the failure at the same moment.
#[tokio::test]
async fn a_storm_in_two_processes_is_sent_once_and_critical_alerts_pass() {
    let (world, topics) = alone().await;
    let (first, second) = (process(&world), process(&world));
    let subject = unique();
    let storm = |severity| {
        let now = domain::Timestamp::from_millis(0);
        domain::Alert::about("ORACLE-CACHE-ALERT", severity, now, "CACHE_READ", &subject[subject.len() - 12..], "down")
    };
    tokio::join!(first.raise(storm(Severity::Error)), second.raise(storm(Severity::Error)));
    first.raise(storm(Severity::Warn)).await;
    assert_eq!(world.aws.alerts(&topics.ops).await.len(), 1);
    tokio::join!(first.raise(storm(Severity::Critical)), second.raise(storm(Severity::Critical)));
    assert_eq!(world.aws.alerts(&topics.critical).await.len(), 1, "no lesser alert swallows it");
    assert_eq!(world.aws.alerts(&topics.ops).await.len(), 2, "ops hears of all of it, and of each once");
}

/// The first three of a kind are sent; the deadlines function reports the others as one line.
#[tokio::test]
async fn thirty_alerts_of_one_kind_are_three_and_a_summary() {
    let (world, topics) = alone().await;
    let process = process(&world);
    let operation = format!("STORM_{}", unique());
    for number in 0..30 {
        let (now, subject) = (domain::Timestamp::from_millis(0), format!("sale {number}"));
        process.raise(domain::Alert::about("ORACLE-VERDICT", Severity::Error, now, &operation, &subject, "x")).await;
    }
    assert_eq!(world.aws.alerts(&topics.ops).await.len(), 3);
    let summary = format!("27 more of [ORACLE-VERDICT] {operation} since ");
    for run in ["the first run", "the second run, which has nothing left to report"] {
        world.aws.invoke("DeadlinesFunctionName", &json!({})).await;
        let lines = world.aws.alerts(&topics.ops).await;
        let heard = lines.iter().filter(|line| line.starts_with("[ORACLE-STORM] ") && line.contains(&summary));
        assert_eq!(heard.count(), 1, "{run}: {lines:?}");
    }
}

/// The functions' roles may write the rows that the previous test wrote with all rights.
#[tokio::test]
async fn a_function_records_its_alerts_for_the_others() {
    let world = World::alone().await;
    let sale = world.buy_despite("gemini", json!([{ "status": 400 }]), "quick").await;
    world.settled(&sale.session).await;
    let subject = format!("|VERDICT|{}", reference(&sale.session));
    eventually("a row of the alert", SOON, async || {
        let rows = world.aws.table().await;
        let is_announced = |row: &String| row.contains("ALERT#[ORACLE-VERDICT]|VERDICT|") && row.contains(&subject);
        rows.iter().any(|row| is_announced(row) && row.contains("Bool(true)")).then_some(())
    })
    .await;
}

/// Reads one request, answers it with 200 and returns its body.
async fn posted(listener: &tokio::net::TcpListener) -> Value {
    tokio::time::timeout(SOON, answered(listener)).await.expect("a request in time")
}

async fn answered(listener: &tokio::net::TcpListener) -> Value {
    let (mut stream, _) = listener.accept().await.expect("a connection");
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let lower = head.to_lowercase();
            let length = lower.split("content-length:").nth(1).and_then(|rest| rest.lines().next());
            let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or_default();
            if body.len() >= length {
                stream
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    .await
                    .expect("sent");
                return serde_json::from_str(body).expect("JSON");
            }
        }
        assert!(stream.read_buf(&mut bytes).await.expect("a request") > 0, "the request ended early");
    }
}

/// The topics post to confirmed subscribers. The deployed option accepts https only; the emulator has no certificates,
/// so the test makes the same subscription over http.
#[tokio::test]
async fn a_webhook_that_has_confirmed_gets_the_line() {
    let world = World::alone().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}/alerts", listener.local_addr().expect("an address"));
    world.aws.subscribe_webhook("CriticalTopicArn", &address).await;
    let confirmation = posted(&listener).await;
    assert_eq!(confirmation["Type"], "SubscriptionConfirmation");
    let url = confirmation["SubscribeURL"].as_str().expect("an address to visit");
    assert!(reqwest::get(url).await.expect("the emulator answers").status().is_success());
    let sale = world.buy_despite("gemini", json!([{ "status": 400 }]), "quick").await;
    world.settled(&sale.session).await;
    let notification = posted(&listener).await;
    assert_eq!(notification["Type"], "Notification");
    let line = notification["Message"].as_str().expect("the line");
    assert!(line.starts_with("[ORACLE-VERDICT] CRITICAL | ") && line.contains(reference(&sale.session)), "{line}");
    world.aws.unsubscribe("CriticalTopicArn", &address).await;
}
