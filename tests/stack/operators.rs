//! The operators' commands on a deployed stack: a decision removes each entry from its list, once.

use crate::world::{Sale, World, by_link};
use serde_json::{Value, json};
use std::process::Output;
use tests::{SOON, eventually, program};

pub(crate) fn oracle(world: &World, arguments: &[&str]) -> Output {
    let mut command = program();
    command.args(arguments).arg("--stack").arg(world.stack.directory.join("stack.json"));
    command.output().expect("the command runs")
}

/// Runs a command that decides something in an operator's name; returns its exit code and output.
pub(crate) fn decide(world: &World, arguments: &[&str]) -> (Option<i32>, String) {
    let mut all = arguments.to_vec();
    all.extend(["--by", "dana", "--reason", "asked for by mail", "--yes", "--json"]);
    let output = oracle(world, &all);
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!text.contains("test_secret") && !text.contains("Bearer"), "{text}");
    (output.status.code(), text)
}

/// Makes a decision that must succeed; returns the output.
pub(crate) fn decided(world: &World, arguments: &[&str]) -> String {
    let (code, text) = decide(world, arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {text}");
    text
}

/// The exit code of a command, and its answer.
pub(crate) fn asked(world: &World, arguments: &[&str]) -> (Option<i32>, Value) {
    let output = oracle(world, &[arguments, &["--json"]].concat());
    let answer = serde_json::from_slice(&output.stdout);
    (output.status.code(), answer.unwrap_or_else(|error| panic!("{arguments:?}: {error}: {output:?}")))
}

/// What a command that must succeed prints for people.
pub(crate) fn printed(world: &World, arguments: &[&str]) -> String {
    let output = oracle(world, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Waits until a list contains the session, or no longer does. The index may lag behind the table.
pub(crate) async fn listed(world: &World, list: &[&str], session: &str, expected: bool) {
    eventually(&format!("{list:?} to name {session}: {expected}"), SOON, async || {
        let output = oracle(world, &[list, &["--json"]].concat());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (text.contains(session) == expected).then_some(())
    })
    .await;
}

/// Checks that the operator's latest decision of this kind is on record, bound to what the command saw before it.
pub(crate) async fn assert_bound(world: &World, action: &str) {
    let decisions = world.function_records("operator", "operator").await;
    let decision = decisions.iter().rfind(|record| record["action"] == action).expect("the decision is on record");
    let evidence = &decision["facts"]["evidence"];
    assert_eq!((&decision["by"], &evidence["operation"]), (&json!("dana"), &json!("correct")));
    for category in ["schema", "constraint", "data_sample"] {
        assert_eq!(evidence["evidence"][category]["fingerprint"].as_str().map(str::len), Some(64), "{decision}");
    }
    for category in ["external_source", "state_snapshot"] {
        assert_eq!(evidence["evidence"][category], json!({ "reason": "not_needed" }), "{decision}");
    }
}

pub(crate) async fn mailed_once(world: &World, sale: &Sale) {
    eventually("a mail", SOON, async || (!world.mails(&sale.email).await.is_empty()).then_some(())).await;
    world.delivered(sale).await;
    world.drained().await;
    assert_eq!(world.mails(&sale.email).await.len(), 1);
}

async fn refunds(world: &World) -> usize {
    let calls = world.calls("stripe", "/v1/refunds").await;
    calls.iter().filter(|call| call["method"] == "POST").count()
}

#[tokio::test]
async fn a_dead_letter_is_sent_on_its_way_again_once() {
    let world = World::alone().await;
    let sale = world.buy_despite("graph", json!([{}, { "status": 400 }]), "quick").await;
    assert_eq!(world.settled(&sale.session).await["mail"]["state"], "dead");
    listed(&world, &["deadletters", "list"], &sale.session, true).await;
    let (code, letters) = asked(&world, &["deadletters", "show", &sale.session]);
    assert_eq!((code, &letters[0]["letter"]), (Some(0), &json!("verdict")), "{letters}");
    listed(&world, &["list"], &sale.session, true).await;
    decided(&world, &["deadletters", "redrive", &sale.session]);
    assert_bound(&world, "deadletters redrive").await;
    mailed_once(&world, &sale).await;
    assert_eq!(world.calls("graph", sale.mark()).await.len(), 1, "the recorded draft is what goes out");
    decide(&world, &["deadletters", "redrive", &sale.session]);
    mailed_once(&world, &sale).await;
    listed(&world, &["deadletters", "list"], &sale.session, false).await;
    assert_eq!(asked(&world, &["deadletters", "show", &sale.session]), (Some(1), json!([])));
    let records = world.records(&sale.session).await;
    let decision = records.iter().find(|record| record["event"] == "operator" && record["by"] == "dana");
    let identity = decision.unwrap_or_else(|| panic!("{records:?}"))["identity"].as_str().unwrap_or_default();
    assert!(identity.starts_with("arn:aws:"), "{records:?}");
    let story = printed(&world, &["show", &sale.session]);
    assert!(story.contains("EMAIL_SENT") && !story.contains(&sale.email), "{story}");
}

#[tokio::test]
async fn a_held_verdict_is_replaced_by_a_clean_one_and_by_no_other() {
    let world = World::alone().await;
    let sale = world.buy_held().await;
    listed(&world, &["quarantine", "list"], &sale.session, true).await;
    let (code, text) = decide(&world, &["quarantine", "approve", &sale.session]);
    assert_eq!(code, Some(1), "what the filter stops cannot be approved: {text}");
    assert!(text.contains("1 blocked term"), "the payload was found and checked: {text}");
    let file = world.stack.directory.join("replacement.json");
    let replacement = |summary: &str| {
        std::fs::write(&file, json!({ "verdict": "GREEN", "summary": summary }).to_string()).expect("a file");
        let path = file.to_string_lossy().into_owned();
        decide(&world, &["quarantine", "replace", &sale.session, "--file", &path])
    };
    let (code, text) = replacement("The CSDM says so too.");
    assert_eq!(code, Some(1), "nor a replacement that it stops: {text}");
    assert_eq!(world.verdict(&sale.session).await.json(), json!({ "status": "in_review" }));
    let (code, text) = replacement("The numbers leave no doubt about it.");
    assert_eq!(code, Some(0), "{text}");
    mailed_once(&world, &sale).await;
    let page = world.verdict(&sale.session).await;
    assert_eq!(page.json()["verdict"]["summary"], "The numbers leave no doubt about it.");
    assert_eq!(world.model_calls(&sale).await, 1);
    listed(&world, &["quarantine", "list"], &sale.session, false).await;
}

#[tokio::test]
async fn a_verdict_that_is_removed_from_the_cache_comes_back_and_a_sent_mail_has_nothing_to_settle() {
    let world = World::alone().await;
    let sale = world.buy("quick").await;
    let page = world.delivered(&sale).await;
    decided(&world, &["cache", "remove", &sale.session]);
    assert_bound(&world, "cache remove").await;
    let reply = world.verdict(&sale.session).await;
    assert_eq!((reply.status, reply.json()), (200, page), "from the archive");
    let (code, text) = decide(&world, &["deadletters", "settle", &sale.session, "--not-sent"]);
    assert_eq!(code, Some(1), "{text}");
    assert_bound(&world, "deadletters settle").await;
    mailed_once(&world, &sale).await;
}

#[tokio::test]
async fn a_delivered_mail_is_sent_again_once() {
    let world = World::alone().await;
    let sale = world.buy("quick").await;
    mailed_once(&world, &sale).await;
    decided(&world, &["mail", "send-again", &sale.session]);
    assert_bound(&world, "mail send-again").await;
    let mails = eventually("a second mail", SOON, async || {
        Some(world.mails(&sale.email).await).filter(|mails| mails.len() == 2)
    })
    .await;
    assert_eq!(mails[0]["body"], mails[1]["body"]);
    world.delivered(&sale).await;
    world.drained().await;
    let (code, text) = decide(&world, &["mail", "send-again", &sale.session]);
    assert_eq!((code, text.contains("sent again before")), (Some(1), true), "{text}");
    assert_eq!(world.mails(&sale.email).await.len(), 2);
}

#[tokio::test]
async fn a_failed_sale_is_refunded_once() {
    let world = World::alone().await;
    let sale = world.buy_despite("gemini", json!([{ "status": 400 }]), "strategy").await;
    assert_eq!(world.answered(&sale.session).await.status, 500);
    listed(&world, &["refunds", "list"], &sale.session, true).await;
    let refused = oracle(&world, &["refunds", "record", &sale.session, "--by", "dana", "--yes"]);
    let problem = String::from_utf8_lossy(&refused.stderr);
    assert_eq!((refused.status.code(), problem.contains("needs a reason")), (Some(2), true), "{problem}");
    let decisions = world.function_records("operator", "operator").await;
    assert!(decisions.iter().all(|record| record["action"] != "refunds record"), "{decisions:?}");
    for _ in 0..2 {
        decide(&world, &["refunds", "issue", &sale.session]);
    }
    let document = world.aws.document(&sale.session, "SALE").await.expect("a sale");
    assert_eq!(document["money"]["state"], "refunded", "{document}");
    assert_eq!(refunds(&world).await, 1);
    listed(&world, &["refunds", "list"], &sale.session, false).await;
    assert_eq!(world.mails(&sale.email).await, Vec::<Value>::new());
    let records = world.records(&sale.session).await;
    assert!(records.iter().any(|record| record["event"] == "refund" && record["by"] == "dana"), "{records:?}");
}

/// Silent Drop, verification criterion 5.
#[tokio::test]
async fn a_dropped_sale_is_tried_again_with_the_customers_reply() {
    let world = World::alone().await;
    let (sale, mut object) = by_link("quick");
    object["metadata"] = json!({});
    world.stack.plant(&object).await;
    world.tell("checkout.session.completed", &object).await;
    let asked = async || (world.mails(&sale.email).await.len() == 1).then_some(());
    eventually("the customer to be asked", SOON, asked).await;
    let file = world.stack.directory.join("reply.txt");
    std::fs::write(&file, &sale.question).expect("a file");
    let path = file.to_string_lossy().into_owned();
    decided(&world, &["reattempt", &sale.session, "--tier", "full", "--query-file", &path]);
    let page = world.delivered(&sale).await;
    assert!(page["tier"] == "full" && page["verdict"]["breakdown"].is_object(), "{page}");
    assert_eq!(world.mails(&sale.email).await.len(), 2, "the question, and the verdict");
}

/// Stripe reports a refund while a mail waits: the mail is not sent.
#[tokio::test]
async fn a_refund_stops_what_is_still_to_be_sent() {
    let world = World::alone().await;
    let sale = world.buy_despite("graph", json!([{ "status": 429 }]), "quick").await;
    waiting(&world, &sale).await;
    let session = world.stripe_session(&sale.session).await;
    let charge = json!({
        "id": "ch_1", "object": "charge", "payment_intent": session["payment_intent"], "amount": 100,
        "amount_refunded": 100, "refunded": true,
    });
    world.tell("charge.refunded", &charge).await;
    world.until(&sale.session, "the refund to be known", |sale| sale["money"]["state"] == "refunded").await;
    // As if the mail were due: only the refund prevents it.
    world.as_if_long_ago(&sale.session).await;
    send_retry(&world, &sale.session).await;
    let dropped = async || (world.aws.held("EmailRetryQueueUrl").await == 0).then_some(());
    eventually("the retry to be dropped", SOON, dropped).await;
    assert_eq!(world.mails(&sale.email).await, Vec::<Value>::new());
}

/// The sale's record once its mail waits for the next attempt.
pub(crate) async fn waiting(world: &World, sale: &Sale) -> Value {
    world.until(&sale.session, "the mail to wait", |sale| sale["mail"]["state"] == "retrying").await
}

/// Sends the message that asks for the next attempt at the mail of a verdict.
pub(crate) async fn send_retry(world: &World, session: &str) {
    let retry = json!({
        "kind": "mail_retry", "v": 1, "session_id": session, "ordered_at": 1_763_596_800_000_i64, "letter": "verdict",
    });
    world.aws.send("EmailRetryQueueUrl", &retry).await;
}

/// The retry message is lost: the deadlines function notices the delay and orders the mail again.
#[tokio::test]
async fn a_lost_message_is_missed_and_replaced() {
    let world = World::alone().await;
    let sale = world.buy_despite("graph", json!([{ "status": 429 }]), "quick").await;
    waiting(&world, &sale).await;
    eventually("the retry to be queued", SOON, async || {
        (world.aws.delayed("EmailRetryQueueUrl").await == 1).then_some(())
    })
    .await;
    world.aws.purge("EmailRetryQueueUrl").await;
    world.as_if_long_ago(&sale.session).await;
    world.aws.invoke("DeadlinesFunctionName", &json!({})).await;
    mailed_once(&world, &sale).await;
}

/// 24 hours without a decision: refunded by policy, once, however often the function runs.
#[tokio::test]
async fn a_verdict_held_for_a_day_is_refunded_once() {
    let world = World::alone().await;
    let sale = world.buy_held().await;
    world.drained().await;
    world.as_if_long_ago(&sale.session).await;
    for _ in 0..2 {
        world.aws.invoke("DeadlinesFunctionName", &json!({})).await;
    }
    let document = world.aws.document(&sale.session, "SALE").await.expect("a sale");
    assert_eq!(document["money"]["state"], "refunded", "{document}");
    assert_eq!(refunds(&world).await, 1);
    let mail = eventually("the letter about it", SOON, async || world.mails(&sale.email).await.pop()).await;
    assert_eq!(mail["subject"], "Your payment has been refunded");
    let page = world.verdict(&sale.session).await;
    assert_eq!(page.json()["error"], "Analysis failed. Your payment was returned.");
    assert!(page.json()["refunded_at"].is_string(), "{}", page.text);
    world.drained().await;
    assert_eq!(world.mails(&sale.email).await.len(), 1);
}
