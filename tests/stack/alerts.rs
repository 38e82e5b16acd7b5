//! What operators are told, through the topics they read.

use crate::world::{CANARY, SOON, World, email, question};
use serde_json::{Value, json};
use tests::{eventually, payment_link_session};

/// The queues of one test behind the two topics.
struct Topics {
    ops: String,
    critical: String,
}

impl Topics {
    async fn of(world: &World) -> Self {
        Self { ops: world.aws.subscribe("OpsTopicArn").await, critical: world.aws.subscribe("CriticalTopicArn").await }
    }
}

/// Waits for the one alert of a topic, and checks its form: `[TAG] SEVERITY | TIME | OPERATION | SESSION | DETAIL`.
async fn told(world: &World, topic: &str, session: &str, expected: [&str; 3]) {
    let line = eventually("an alert", SOON, async || world.aws.alerts(topic).await.pop()).await;
    let parts: Vec<&str> = line.split(" | ").collect();
    assert_eq!(parts.len(), 5, "{line}");
    assert_eq!([parts[0], parts[2], parts[3]], [expected[0], expected[1], &session[..12]], "{line}");
    assert!(parts[4].contains(expected[2]), "{line}");
    assert!(parts[1].len() == 24 && parts[1].ends_with('Z'), "{line}");
    for forbidden in ["@", CANARY, session] {
        assert!(!line.contains(forbidden), "an alert holds {forbidden:?}: {line}");
    }
}

async fn silent(world: &World, topic: &str) {
    assert_eq!(world.aws.alerts(topic).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_sale_without_trouble_alerts_nobody() {
    let world = World::alone().await;
    let topics = Topics::of(&world).await;
    let sale = world.buy("full").await;
    world.delivered(&sale).await;
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
    ] {
        let world = World::alone().await;
        let topics = Topics::of(&world).await;
        world.stack.faults(target, json!([fault])).await;
        let sale = world.buy("quick").await;
        world.settled(&sale.session).await;
        told(&world, &topics.critical, &sale.session, expected).await;
        silent(&world, &topics.ops).await;
        world.drained().await;
        world.faults_are_used_up().await;
    }
}

#[tokio::test]
async fn what_is_tried_again_and_what_is_only_odd_is_for_the_day() {
    let world = World::alone().await;
    let topics = Topics::of(&world).await;
    let down = json!({ "status": 503 });
    world.stack.faults("graph", json!([down, down])).await;
    let sale = world.buy("quick").await;
    told(&world, &topics.ops, &sale.session, ["[ORACLE-EMAIL] ERROR", "EMAIL_SEND", "503; again at"]).await;
    silent(&world, &topics.critical).await;
    world.delivered(&sale).await;
    world.faults_are_used_up().await;
    drop(world);

    let world = World::alone().await;
    let topics = Topics::of(&world).await;
    let mut object = payment_link_session("quick", &question(), &email());
    object["customer_details"] = Value::Null;
    let session = world.stack.plant(&object).await;
    let event = json!({ "type": "checkout.session.completed", "data": { "object": object } });
    world.stack.control("stripe/event", event).await;
    world.settled(&session).await;
    told(&world, &topics.ops, &session, ["[ORACLE-EMAIL] WARN", "EMAIL_SEND", "no e-mail address"]).await;
    silent(&world, &topics.critical).await;
}

/// Email Retry, output 4.
#[tokio::test]
async fn a_dead_letter_is_told_in_the_words_of_the_spec() {
    let world = World::alone().await;
    let topics = Topics::of(&world).await;
    world.stack.faults("graph", json!([{ "status": 400 }])).await;
    let sale = world.buy("full").await;
    world.settled(&sale.session).await;
    let line = eventually("an alert", SOON, async || world.aws.alerts(&topics.critical).await.pop()).await;
    let start = format!("[ALERT][oracle-email-retry] DEAD LETTER: session_id={} customer=hmac", sale.session);
    assert!(line.starts_with(&start) && line.ends_with("tier=full attempts=0 last_error=400"), "{line}");
    assert!(!line.contains('@') && !line.contains(CANARY), "{line}");
    silent(&world, &topics.ops).await;
}

#[tokio::test]
async fn a_lost_cache_entry_is_told() {
    for (damage, critical, severity) in
        [(None, false, "[ORACLE-CACHE-ALERT] ERROR"), (Some("{}"), true, "[ORACLE-CACHE-ALERT] CRITICAL")]
    {
        let world = World::alone().await;
        let topics = Topics::of(&world).await;
        let sale = world.buy("quick").await;
        world.delivered(&sale).await;
        world.aws.damage_verdict(&sale.session, damage).await;
        assert_eq!(world.verdict(&sale.session).await.status, 200);
        let topic = if critical { &topics.critical } else { &topics.ops };
        told(&world, topic, &sale.session, [severity, "CACHE_READ", ""]).await;
    }
}
