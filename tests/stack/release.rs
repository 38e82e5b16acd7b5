//! The verdict on a deployment, requested by hand: the emulator has no CodeDeploy and evaluates no alarms.

use crate::{operators::oracle, world::World};
use serde_json::{Value, json};
use tests::{SOON, eventually};

fn entries(world: &World, arguments: &[&str]) -> Vec<Value> {
    let output = oracle(world, arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {errors}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    lines.map(|line| line.unwrap_or_else(|error| panic!("{error}: {text}"))).collect()
}

#[tokio::test]
async fn a_deployment_is_judged_by_what_is_observed_and_two_people_can_override() {
    let world = World::alone().await;
    let critical = world.aws.subscribe("CriticalTopicArn").await;
    world.aws.invoke("SmokeTestFunctionName", &json!({ "source": "aws.events" })).await;
    world.aws.invoke("AnvilFunctionName", &json!({})).await;
    let judged = world.function_records("anvil", "deployment_judged").await;
    let last = judged.last().expect("a verdict on record");
    let reasons = last["reasons"].to_string();
    assert_eq!(last["evidence"]["operation"], "calculate");
    for observed in ["Smoke test 10/10", "No alarm is raised.", "The canary failed", "No resource with data"] {
        assert!(reasons.contains(observed), "{observed}: {reasons}");
    }
    // All figures were observed. Failures that other tests cause count as the canary's errors.
    assert!(!reasons.contains("Not observed"), "{reasons}");
    assert_ne!(last["verdict"], "NULL");
    let versions = last["versions"].to_string();
    assert!(versions.contains("-checkout:1") && last["deployment"].is_null(), "{last}");
    let release = last["release"].as_str().expect("a release").to_owned();
    let listed = entries(&world, &["anvil", "report", "--json"]);
    assert_eq!(listed.last().expect("an entry")["verdict"], last["verdict"]);
    let alone = ["anvil", "override", "--release", &release, "--by", "dana", "--second", "Dana", "--reason", "known"];
    assert_eq!(oracle(&world, &alone).status.code(), Some(1), "one person alone is refused");
    let two =
        ["anvil", "override", "--release", &release, "--by", "dana", "--second", "kim", "--reason", "known", "--json"];
    assert_eq!(entries(&world, &two)[0]["second"], "kim");
    let granted = world.function_records("anvil", "override_granted").await.pop().expect("the override is on record");
    assert_eq!([&granted["by"], &granted["second"], &granted["reason"]], ["dana", "kim", "known"]);
    let is_alert = |line: &String| line.contains(&format!("dana and kim let release {release} go live"));
    eventually("an alert", SOON, async || world.aws.alerts(&critical).await.into_iter().find(is_alert)).await;
    world.aws.invoke("AnvilFunctionName", &json!({})).await;
    let judged = world.function_records("anvil", "deployment_judged").await;
    assert_eq!(judged.last().expect("a verdict")["overridden"]["by"], "dana");
    // Four hours later, as the table then has it.
    let mut note = world.aws.note("anvil").await.expect("the gate's state");
    let until = note["memory"]["overrides"][0]["until"].as_i64().expect("when the override expires");
    note["memory"]["overrides"][0]["until"] = json!(until - 4 * 3600 * 1000);
    world.aws.replace_note("anvil", &note).await;
    world.aws.invoke("AnvilFunctionName", &json!({})).await;
    let judged = world.function_records("anvil", "deployment_judged").await;
    assert_eq!(judged.last().expect("a verdict")["overridden"], Value::Null, "an expired override applies no more");
}
