//! The human lock with the operators' commands: what two physicians allow is answered, what one of them rejects is
//! refunded, and what is locked nobody may allow.

use crate::{
    operators::{asked, listed, mailed_once, oracle},
    world::{Sale, World, email},
};
use domain::texts;
use serde_json::{Value, json};
use tests::{SOON, eventually};

/// Buys an answer to this question through a Payment Link, whose question the gate sees after the payment only.
async fn declined(world: &World, question: &str) -> Sale {
    let email = email();
    let session = world.stack.sell_by_payment_link("quick", question, &email).await;
    let sale = Sale { session, question: question.to_owned(), email };
    world.until(&sale.session, "the refusal", |sale| sale["fulfilment"]["state"] == "failed").await;
    assert_eq!(world.verdict(&sale.session).await.status, 422);
    sale
}

/// When the gate declined a sale, as the list for its approvers shows it.
async fn decided_at(world: &World, sale: &Sale) -> String {
    listed(world, &["authority", "queue"], &sale.session, true).await;
    let (code, rows) = asked(world, &["authority", "queue"]);
    assert_eq!(code, Some(0));
    let row = rows.as_array().expect("rows").iter().find(|row| row["session_id"] == sale.session.as_str());
    row.expect("the sale's row")["decided"].as_str().expect("a time").to_owned()
}

/// A physician decides; the exit code, the decision in the answer, and all that the command wrote.
fn decide(
    world: &World,
    verb: &str,
    sale: &Sale,
    decided: &str,
    (name, number): (&str, &str),
) -> (Option<i32>, Value, String) {
    let credential = format!("npi_registry:{number}");
    let output = oracle(
        world,
        &[
            "authority",
            verb,
            &sale.session,
            "--role",
            "physician",
            "--credential",
            &credential,
            "--decided",
            decided,
            "--by",
            name,
            "--reason",
            "read it",
            "--yes",
            "--json",
        ],
    );
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.code(), answer["decision"].clone(), text)
}

const DANA: (&str, &str) = ("dana", "1234567893");
const EVE: (&str, &str) = ("eve", "1987654320");

#[tokio::test]
async fn what_two_physicians_allow_is_answered_and_mailed_once() {
    let world = World::alone().await;
    let sale = declined(&world, "Should I stop taking metformin?").await;
    let decided = decided_at(&world, &sale).await;
    let reply = json!({ "verdict": "GREEN", "summary": "Change it once a physician has agreed." });
    world.stack.next_verdict(reply.clone()).await;
    let (code, _, text) = decide(&world, "approve", &sale, "2026-01-01T00:00:00.000Z", DANA);
    assert_eq!(code, Some(1), "another decision than was read: {text}");
    for (physician, word) in [(DANA, "counted"), (EVE, "approved")] {
        let (code, decision, text) = decide(&world, "approve", &sale, &decided, physician);
        assert_eq!((code, decision), (Some(0), json!(word)), "{text}");
    }
    mailed_once(&world, &sale).await;
    let page = world.verdict(&sale.session).await.json();
    assert_eq!(page["verdict"]["summary"], reply["summary"], "{page}");
    assert!(page["notice"].is_string(), "a narrative answer: {page}");
    listed(&world, &["authority", "queue"], &sale.session, false).await;
    let records = world.records(&sale.session).await;
    for (name, number, count) in [(DANA.0, DANA.1, 1), (EVE.0, EVE.1, 2)] {
        let action = format!("authority approve {count} of 2 as physician by npi_registry:{number}");
        let is_recorded = records.iter().any(|record| record["by"] == name && record["action"] == action.as_str());
        assert!(is_recorded, "{action}: {records:?}");
    }
    let (code, _, text) = decide(&world, "reject", &sale, &decided, DANA);
    assert_eq!(code, Some(1), "it is answered: {text}");
}

#[tokio::test]
async fn what_a_physician_rejects_is_refunded() {
    let world = World::alone().await;
    let sale = declined(&world, "Should I stop taking metformin?").await;
    let decided = decided_at(&world, &sale).await;
    let (code, decision, text) = decide(&world, "reject", &sale, &decided, DANA);
    assert_eq!((code, decision), (Some(0), json!("rejected")), "{text}");
    eventually("the refund", SOON, async || {
        world.aws.invoke("DeadlinesFunctionName", &json!({})).await;
        let sale = world.aws.document(&sale.session, "SALE").await?;
        (sale["money"]["state"] == "refunded").then_some(())
    })
    .await;
    assert_eq!(world.stack.mail_to(&sale.email).await["subject"], texts::DECLINED_SUBJECT);
    let (code, _, text) = decide(&world, "approve", &sale, &decided, EVE);
    assert_eq!(code, Some(1), "its money went back: {text}");
    world.drained().await;
    assert_eq!(world.mails(&sale.email).await.len(), 1);
}

#[tokio::test]
async fn an_attempt_to_allow_what_is_locked_is_refused_recorded_and_alerted() {
    let world = World::alone().await;
    let critical = world.aws.subscribe("CriticalTopicArn").await;
    let sale = declined(&world, "I'm 15. I don't want to be here anymore. No one would miss me.").await;
    let (code, _, text) = decide(&world, "approve", &sale, "2026-01-01T00:00:00.000Z", DANA);
    assert_eq!((code, text.contains("not subject to human lock")), (Some(1), true), "{text}");
    eventually("the alert", SOON, async || {
        let alerts = world.aws.alerts(&critical).await;
        alerts.into_iter().find(|line| line.contains("| OVERRIDE |"))
    })
    .await;
    let records = world.records(&sale.session).await;
    let refused = |record: &Value| {
        record["action"].as_str().is_some_and(|action| action.starts_with("authority override refused"))
    };
    assert!(records.iter().any(refused), "{records:?}");
    let (code, escalations) = asked(&world, &["authority", "escalations"]);
    let own =
        escalations.as_array().expect("a list").iter().find(|one| one["record"].to_string().contains(&sale.session));
    let own = own.unwrap_or_else(|| panic!("{escalations}"));
    assert_eq!((code, &own["reason"]), (Some(0), &json!("imminent_harm_signal_minor")));
    world.settled(&sale.session).await;
    world.drained().await;
}
