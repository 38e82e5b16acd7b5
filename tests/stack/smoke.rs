//! The smoke test, run by the command line and by its function against the deployed stack.

use crate::{
    operators::oracle,
    world::{SOON, World},
};
use serde_json::{Value, json};
use tests::eventually;

/// What `oracle smoke --json` found, with its exit code.
fn smoke(world: &World, arguments: &[&str]) -> (Option<i32>, Value) {
    let mut all = vec!["smoke", "--json"];
    all.extend(arguments);
    let output = oracle(world, &all);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{errors}")))
}

fn statuses(report: &Value) -> Vec<&str> {
    let stages = report["stages"].as_array().expect("stages");
    stages.iter().map(|stage| stage["status"].as_str().expect("a status")).collect()
}

/// Verification criteria 1 and 5: ten passes, a broadcast, and nothing left behind.
#[tokio::test]
async fn a_healthy_stack_passes_and_is_left_as_it_was() {
    let world = World::alone().await;
    let heard = world.aws.subscribe("OpsTopicArn").await;
    let critical = world.aws.subscribe("CriticalTopicArn").await;
    let before = world.get("/health").await.json()["cache"]["entries"].clone();
    for _ in 0..2 {
        let (code, report) = smoke(&world, &[]);
        assert_eq!((code, statuses(&report)), (Some(0), vec!["PASS"; 10]), "{report}");
        let session = report["session_id"].as_str().expect("a session").to_owned();
        assert!(world.aws.document(&session, "VERDICT").await.is_none(), "the entry is gone");
        assert_eq!(world.verdict(&session).await.status, 404);
        let sale = world.aws.document(&session, "SALE").await.expect("a sale");
        assert_eq!((&sale["smoke"], &sale["mail"]["state"]), (&json!(true), &json!("sent")));
        assert!(world.aws.keys("ArchiveBucket", &session).await.is_empty(), "nothing is archived");
        let records = world.records(&session).await;
        assert!(!records.is_empty() && records.iter().all(|record| record["smoke"] == true), "{records:?}");
    }
    assert_eq!(world.get("/health").await.json()["cache"]["entries"], before, "the counters are as they were");
    assert_eq!(world.mails("oracle-smoke-test@42sisters.ai").await.len(), 2);
    let told = eventually("two broadcasts", SOON, async || {
        let told = world.aws.alerts(&heard).await;
        let runs = told.iter().filter(|line| line.contains("[SMOKE] Oracle pipeline: 10/10 PASS (")).count();
        (runs >= 2).then_some(told)
    });
    told.await;
    let alerts = world.aws.alerts(&critical).await;
    assert!(alerts.is_empty(), "{alerts:?}");
    let keys = world.aws.keys("AuditBucket", "/function/smoke-test/").await;
    let last = world.aws.text("AuditBucket", keys.last().expect("a record of the run")).await;
    assert!(last.contains("\"event\":\"smoke_test\"") && last.contains("\"passed\":10"), "{last}");
}

/// Verification criteria 2 and 4, with the model down: the spec's own example.
#[tokio::test]
async fn a_model_that_is_down_fails_stage_five_and_a_run_that_nobody_watches_alerts() {
    let world = World::alone().await;
    let heard = world.aws.subscribe("CriticalTopicArn").await;
    world.stack.faults("gemini", json!(vec![json!({ "status": 400 }); 1])).await;
    let (code, report) = smoke(&world, &["--cron"]);
    let expected = ["PASS", "PASS", "PASS", "PASS", "FAIL", "SKIP", "SKIP", "SKIP", "SKIP", "SKIP"];
    assert_eq!((code, statuses(&report)), (Some(1), expected.to_vec()), "{report}");
    let alerts = eventually("the alert", SOON, async || {
        let alerts = world.aws.alerts(&heard).await;
        (!alerts.is_empty()).then_some(alerts)
    })
    .await;
    let line = "ORACLE SMOKE FAIL — Stage 5 (webhook simulation) — no verdict: ";
    assert!(alerts.iter().any(|alert| alert.contains(line)), "{alerts:?}");
    assert_eq!(alerts.len(), 1, "the sale itself alerts nobody: {alerts:?}");
    let (code, report) = smoke(&world, &[]);
    assert_eq!((code, statuses(&report)), (Some(0), vec!["PASS"; 10]), "{report}");
}

#[tokio::test]
async fn a_mailbox_that_is_down_fails_its_own_stages() {
    let world = World::alone().await;
    world.stack.faults("graph", json!(vec![json!({ "status": 503 }); 3])).await;
    let (code, report) = smoke(&world, &[]);
    let expected = ["PASS", "PASS", "FAIL", "PASS", "PASS", "PASS", "PASS", "FAIL", "PASS", "PASS"];
    assert_eq!((code, statuses(&report)), (Some(1), expected.to_vec()), "{report}");
    world.faults_are_used_up().await;
    world.drained().await;
    assert!(world.aws.keys("ArchiveBucket", "dead-letters/").await.iter().all(|key| !key.contains("cs_test_smoke")));
}

/// Invariant 1, verification criterion 3.
#[tokio::test]
async fn a_production_key_calls_nobody() {
    let world = World::alone().await;
    let secret = world.aws.secret("stripe-smoke").await;
    let signing = secret["signing_secret"].clone();
    world.aws.set_secret("stripe-smoke", &json!({ "secret_key": "sk_live_x", "signing_secret": signing })).await;
    let (code, report) = smoke(&world, &[]);
    world.aws.set_secret("stripe-smoke", &secret).await;
    assert_eq!(code, Some(2), "{report}");
    assert_eq!(report["stages"][0]["error"], "FATAL: production Stripe key in smoke test — aborting.");
    assert_eq!(statuses(&report)[1..], ["SKIP"; 9]);
    let (_, calls) = world.stack.get(&format!("{}/control/calls", world.stack.sandbox)).await;
    assert_eq!(calls, json!([]), "not one vendor call");
}

/// The function, as its schedule starts it.
#[tokio::test]
async fn the_function_runs_the_same_test() {
    let world = World::alone().await;
    let heard = world.aws.subscribe("OpsTopicArn").await;
    world.aws.invoke("SmokeTestFunctionName", &json!({ "source": "aws.events" })).await;
    eventually("the broadcast", SOON, async || {
        let told = world.aws.alerts(&heard).await;
        told.iter().any(|line| line.contains("[SMOKE] Oracle pipeline: 10/10 PASS (")).then_some(())
    })
    .await;
    let keys = world.aws.keys("AuditBucket", "/function/smoke-test/").await;
    let last = world.aws.text("AuditBucket", keys.last().expect("a record")).await;
    assert!(last.contains("\"trigger\":\"cron\"") && last.contains("\"passed\":10"), "{last}");
}
