//! Functions that are killed at work: nothing is lost and nothing is done twice.
//!
//! A killed worker's claim ends with its lease, minutes later, and only then may another worker continue. Each test
//! moves the end of the lease in the table into the past, as if the time had passed, so that it need not wait. It
//! changes nothing else of the sale, and the message that it sends again is the one that the queue would deliver by
//! then.

use crate::redelivery::{mail_order, order};
use crate::world::{Sale, World, question};
use serde_json::{Value, json};
use std::{fs, process::Command};
use tests::{SOON, eventually};

/// Kills all processes of a function of this stack; returns their number.
fn kill(world: &World, function: &str) -> usize {
    let name = format!("AWS_LAMBDA_FUNCTION_NAME={}", world.aws.output(function));
    let mut killed = 0;
    for process in fs::read_dir("/proc").expect("/proc").flatten() {
        let path = process.path();
        let is_ours = fs::read_link(path.join("exe")).is_ok_and(|program| program.starts_with(&world.stack.directory));
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        if is_ours && environment.split(|byte| *byte == 0).any(|variable| variable == name.as_bytes()) {
            let id = process.file_name().into_string().expect("a process id");
            let status = Command::new("sh").args(["-c", &format!("kill -9 {id}")]).status().expect("a shell");
            killed += usize::from(status.success());
        }
    }
    killed
}

/// Ends the lease of a dead worker's claim, which is in `part` of the sale.
async fn end_lease(world: &World, session: &str, part: &str) {
    let change = |_: &mut _, sale: &mut Value| {
        assert!(sale[part]["lease_until"].is_number(), "nobody holds a claim: {sale}");
        sale[part]["lease_until"] = json!(1);
    };
    world.aws.change_sale(session, change).await;
}

/// Waits for this many vendor calls that contain `part`.
async fn calls(world: &World, target: &str, part: &str, count: usize) {
    eventually(&format!("call {count} of {target}"), SOON, async || {
        (world.calls(target, part).await.len() >= count).then_some(())
    })
    .await;
}

async fn assert_delivered_once(world: &World, sale: &Sale) {
    world.delivered(sale).await;
    assert_eq!(world.mails(&sale.email).await.len(), 1);
    assert_eq!(world.count(&sale.session, "webhook", "OK").await, 1);
    assert_eq!(world.count(&sale.session, "webhook", "ERROR").await, 0);
    assert_eq!(world.count(&sale.session, "email_service", "EMAIL_SENT").await, 1);
    assert_eq!(world.aws.keys("ArchiveBucket", &sale.session).await.len(), 1);
    world.faults_are_used_up().await;
}

#[tokio::test]
async fn a_verdict_function_killed_during_the_model_call_leads_to_one_delivery() {
    for by_page in [true, false] {
        let world = World::alone().await;
        let sale = world.buy_despite("gemini", json!([{ "delay_ms": 4000 }]), "full").await;
        calls(&world, "gemini", sale.mark(), 1).await;
        assert!(kill(&world, "VerdictFunctionName") > 0, "no process of the verdict function");
        let early = world.verdict(&sale.session).await;
        assert_eq!((early.status, early.json()), (202, json!({ "status": "pending" })), "the lease still holds");

        end_lease(&world, &sale.session, "fulfilment").await;
        if !by_page {
            world.aws.send("OrdersQueueUrl", &order(&sale.session)).await;
        }
        assert_delivered_once(&world, &sale).await;
        assert_eq!(world.model_calls(&sale).await, 2, "the killed call, and the one that took its place");
    }
}

/// Killed before the sale has a verdict, while the function asks Stripe whether the session is paid.
#[tokio::test]
async fn a_verdict_function_killed_while_it_asks_stripe_leads_to_one_delivery() {
    let world = World::alone().await;
    let sale = world.open("quick", question()).await;
    world.stack.faults("stripe", json!([{ "delay_ms": 4000 }])).await;
    world.pay(&sale, 1).await;
    calls(&world, "stripe", &format!("/v1/checkout/sessions/{}", sale.session), 1).await;
    assert!(kill(&world, "VerdictFunctionName") > 0, "no process of the verdict function");

    end_lease(&world, &sale.session, "fulfilment").await;
    assert_delivered_once(&world, &sale).await;
    assert_eq!(world.model_calls(&sale).await, 1);
}

/// The draft exists but was not recorded: it is never sent; another draft is sent instead.
#[tokio::test]
async fn a_mail_function_killed_while_it_creates_the_draft_leads_to_one_mail() {
    let world = World::alone().await;
    let sale = world.buy_despite("graph", json!([{ "delay_ms": 4000 }]), "quick").await;
    calls(&world, "graph", "/messages", 1).await;
    assert!(kill(&world, "EmailSenderFunctionName") > 0, "no process of the mail function");
    assert_eq!(world.answered(&sale.session).await.status, 200, "the page does not wait for the mail");

    end_lease(&world, &sale.session, "mail").await;
    world.aws.send("EmailQueueUrl", &mail_order(&sale.session)).await;
    assert_delivered_once(&world, &sale).await;
    assert_eq!(world.model_calls(&sale).await, 1);
}

/// The mail was sent but not recorded: the function finds it in the sent items and does not send it again.
#[tokio::test]
async fn a_mail_function_killed_while_it_sends_sends_no_second_mail() {
    let world = World::alone().await;
    let sale = world.buy_despite("graph", json!([{}, { "delay_ms": 4000 }]), "quick").await;
    calls(&world, "graph", "/send", 1).await;
    assert!(kill(&world, "EmailSenderFunctionName") > 0, "no process of the mail function");
    assert_eq!(world.mails(&sale.email).await.len(), 1, "the mailbox has accepted it");

    end_lease(&world, &sale.session, "mail").await;
    world.aws.send("EmailQueueUrl", &mail_order(&sale.session)).await;
    assert_delivered_once(&world, &sale).await;
    assert_eq!(world.calls("graph", "/send").await.len(), 1);
}
