//! The smoke test on the deployed stack, run by the command line and by its function.

use crate::{cache_health::check, operators::asked, world::World};
use serde_json::{Value, json};
use tests::{SOON, eventually};

/// The result of `oracle smoke --json` and its exit code.
fn smoke(world: &World, arguments: &[&str]) -> (Option<i32>, Value) {
    asked(world, &[&["smoke"], arguments].concat())
}

fn statuses(report: &Value) -> Vec<&str> {
    let stages = report["stages"].as_array().expect("stages");
    stages.iter().map(|stage| stage["status"].as_str().expect("a status")).collect()
}

/// A stack with a recent cache check: without one its health is degraded, and no checks are scheduled while tests run.
async fn looked_after() -> World {
    let world = World::alone().await;
    check(&world).await;
    world
}

/// Smoke Test, verification criteria 1 and 5: ten passes, a broadcast, and nothing left behind.
#[tokio::test]
async fn a_healthy_stack_passes_and_is_left_as_it_was() {
    let world = looked_after().await;
    let heard = world.aws.subscribe("OpsTopicArn").await;
    let critical = world.aws.subscribe("CriticalTopicArn").await;
    let before = world.aws.cache_totals().await;
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let (code, report) = smoke(&world, &[]);
        assert_eq!((code, statuses(&report)), (Some(0), vec!["PASS"; 10]), "{report}");
        let session = report["session_id"].as_str().expect("a session").to_owned();
        assert!(world.aws.document(&session, "VERDICT").await.is_none(), "the entry is gone");
        assert_eq!(world.verdict(&session).await.status, 404);
        let sale = world.aws.document(&session, "SALE").await.expect("a sale");
        assert_eq!((&sale["smoke"], &sale["mail"]["state"]), (&json!(true), &json!("sent")));
        assert!(world.aws.keys("ArchiveBucket", &session).await.is_empty(), "nothing is archived");
        sessions.push(session.clone());
        let records = world.records(&session).await;
        assert!(!records.is_empty() && records.iter().all(|record| record["smoke"] == true), "{records:?}");
    }
    assert_eq!(world.aws.cache_totals().await, before, "the counters are as they were");
    assert_eq!(world.mails("oracle-smoke-test@42sisters.ai").await.len(), 2);
    let broadcasts = eventually("two broadcasts", SOON, async || {
        let alerts = world.aws.alerts(&heard).await;
        let runs = alerts.iter().filter(|line| line.contains("[SMOKE] Oracle pipeline: 10/10 PASS (")).count();
        (runs >= 2).then_some(alerts)
    });
    broadcasts.await;
    let alerts = world.aws.alerts(&critical).await;
    assert!(alerts.is_empty(), "{alerts:?}");
    let runs = world.function_records("smoke-test", "smoke_test").await;
    for session in sessions {
        let prefix = session.get(..12).expect("a whole session id");
        let own = runs.iter().find(|run| run["session"] == prefix);
        let own = own.unwrap_or_else(|| panic!("no record of {prefix}: {runs:?}"));
        assert_eq!((&own["trigger"], &own["passed"], &own["exit_code"]), (&json!("manual"), &json!(10), &json!(0)));
    }
}

/// Smoke Test, verification criteria 2 and 4, with the model down: the spec's own example. The later stages still run.
#[tokio::test]
async fn a_model_that_is_down_fails_stage_five_and_a_run_that_nobody_watches_alerts() {
    let world = looked_after().await;
    let heard = world.aws.subscribe("CriticalTopicArn").await;
    world.stack.faults("gemini", json!(vec![json!({ "status": 400 }); 1])).await;
    let (code, report) = smoke(&world, &["--cron"]);
    let expected = ["PASS", "PASS", "PASS", "PASS", "FAIL", "FAIL", "FAIL", "FAIL", "SKIP", "SKIP"];
    assert_eq!((code, statuses(&report)), (Some(1), expected.to_vec()), "{report}");
    let heard = async || Some(world.aws.alerts(&heard).await).filter(|alerts| !alerts.is_empty());
    let alerts = eventually("the alert", SOON, heard).await;
    let line = "ORACLE SMOKE FAIL — Stage 5 (webhook simulation) — no verdict: ";
    assert!(alerts.iter().any(|alert| alert.contains(line)), "{alerts:?}");
    assert_eq!(alerts.len(), 1, "the sale itself alerts nobody: {alerts:?}");
    let (code, report) = smoke(&world, &[]);
    assert_eq!((code, statuses(&report)), (Some(0), vec!["PASS"; 10]), "{report}");
}

#[tokio::test]
async fn a_mailbox_that_is_down_fails_its_own_stages() {
    let world = looked_after().await;
    world.stack.faults("graph", json!(vec![json!({ "status": 503 }); 3])).await;
    let (code, report) = smoke(&world, &[]);
    let expected = ["PASS", "PASS", "FAIL", "PASS", "PASS", "PASS", "PASS", "FAIL", "PASS", "PASS"];
    assert_eq!((code, statuses(&report)), (Some(1), expected.to_vec()), "{report}");
    world.faults_are_used_up().await;
    world.drained().await;
    let session = report["session_id"].as_str().expect("a session");
    let letters = world.aws.keys("ArchiveBucket", "dead-letters/").await;
    assert!(letters.iter().all(|key| !key.contains(session)), "{letters:?}");
}

/// Smoke Test, invariant 1, verification criterion 3.
#[tokio::test]
async fn a_production_key_calls_nobody() {
    let world = looked_after().await;
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

/// The function, invoked as its schedule does.
#[tokio::test]
async fn the_function_runs_the_same_test() {
    let world = looked_after().await;
    let heard = world.aws.subscribe("OpsTopicArn").await;
    let before = world.function_records("smoke-test", "smoke_test").await.len();
    world.aws.invoke("SmokeTestFunctionName", &json!({ "source": "aws.events" })).await;
    eventually("the broadcast", SOON, async || {
        let alerts = world.aws.alerts(&heard).await;
        alerts.iter().any(|line| line.contains("[SMOKE] Oracle pipeline: 10/10 PASS (")).then_some(())
    })
    .await;
    // The test has the table for itself, so the new records are this run's; the records of a day are in the order of
    // their numbers.
    let runs = world.function_records("smoke-test", "smoke_test").await;
    let own: Vec<&Value> = runs.iter().skip(before).collect();
    assert!(own.iter().any(|run| run["trigger"] == "cron" && run["passed"] == 10), "{own:?}");
}
