//! The command line on a deployed stack: how it finds the stack, what the queues contain, and whether anything is
//! wrong.

use crate::{
    operators::{asked, assert_bound, oracle},
    world::{World, email},
};
use serde_json::{Value, json};
use std::{fs, path::PathBuf};
use tests::{SOON, eventually, program, unique};

/// A configuration in the format of the AWS tools: a profile with a region and an endpoint, and its keys in another
/// file.
fn profile(world: &World) -> (PathBuf, PathBuf) {
    let text = |field: &str| world.stack.description[field].as_str().expect("a field").to_owned();
    let directory = std::env::temp_dir().join(format!("oracle-console-{}", unique()));
    fs::create_dir_all(&directory).expect("a directory");
    let (config, credentials) = (directory.join("config"), directory.join("credentials"));
    let settings = format!("[profile ops]\nregion = {}\nendpoint_url = {}\n", text("region"), text("aws_endpoint"));
    fs::write(&config, settings).expect("a configuration");
    fs::write(&credentials, "[ops]\naws_access_key_id = test\naws_secret_access_key = test\n").expect("credentials");
    (config, credentials)
}

#[tokio::test]
async fn a_deployed_stack_is_found_by_its_name_with_a_profile() {
    let world = World::beside_others().await;
    let (config, credentials) = profile(&world);
    let name = world.stack.description["stack"].as_str().expect("a name").to_owned();
    let run = |arguments: &[&str]| {
        let mut command = program();
        command.env("AWS_CONFIG_FILE", &config).env("AWS_SHARED_CREDENTIALS_FILE", &credentials);
        command.args(arguments).output().expect("the command runs")
    };
    let queues = run(&["queues", "list", "--json", "--stack-name", &name, "--profile", "ops"]);
    let queues: Value = serde_json::from_slice(&queues.stdout).unwrap_or_else(|error| panic!("{error}: {queues:?}"));
    assert!(queues.as_array().expect("queues").iter().any(|row| row["queue"] == "orders"), "{queues}");
    let listed = run(&["list", "--json", "--stack-name", &name, "--profile", "ops"]);
    assert_eq!(listed.status.code(), Some(0), "{}", String::from_utf8_lossy(&listed.stderr));
    for (arguments, expected) in [
        (["list", "--stack-name", "no-such-stack", "--profile", "ops"], "no-such-stack"),
        (["list", "--stack-name", &name, "--profile", "nobody"], "nobody"),
    ] {
        let output = run(&arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}

/// Each list reads other tables, indexes and buckets, with the rights of an operator.
#[tokio::test]
async fn every_list_answers_in_json_and_what_is_not_there_is_refused() {
    let world = World::beside_others().await;
    let lists: [&[&str]; 15] = [
        &["list"],
        &["authority", "queue"],
        &["authority", "escalations"],
        &["quarantine", "list"],
        &["findings", "list"],
        &["refunds", "list"],
        &["replies", "list"],
        &["inquiries", "list"],
        &["deadletters", "list"],
        &["queues", "list"],
        &["subscriptions", "list"],
        &["subscriptions", "list", "--all"],
        &["bridge", "list"],
        &["toll", "list"],
        &["toll", "list", "--open"],
    ];
    for list in lists {
        let (code, rows) = asked(&world, list);
        assert!(code == Some(0) && rows.is_array(), "{list:?}: {code:?} {rows}");
    }
    let (code, secrets) = asked(&world, &["secrets", "list"]);
    let names: Vec<_> = secrets.as_array().expect("secrets").iter().map(|secret| &secret["name"]).collect();
    assert!(matches!(code, Some(0 | 1)) && names.contains(&&json!("stripe")), "{code:?}: {names:?}");
    assert!(!secrets.to_string().contains("test_secret"), "the values stay secret");
    let nobody = email();
    let nothing: [&[&str]; 4] = [
        &["subscriptions", "show", "000000000000"],
        &["inquiries", "show", "000000000000"],
        &["bridge", "show", "000000000000"],
        &["memory", "verify", "--customer", &nobody],
    ];
    for one in nothing {
        let output = oracle(&world, &[one, &["--json"]].concat());
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]), "{one:?}: {output:?}");
        assert!(output.stderr.starts_with(b"oracle: refused: "), "{one:?}: {output:?}");
    }
}

#[tokio::test]
async fn what_a_queue_gave_up_is_seen_and_put_back_and_nothing_happens_twice() {
    let world = World::alone().await;
    world.aws.purge("OrdersDeadLettersUrl").await;
    let row = || {
        let (_, rows) = asked(&world, &["queues", "list"]);
        rows.as_array().expect("rows").iter().find(|row| row["queue"] == "orders").cloned().expect("orders")
    };
    let redrive = ["queues", "redrive", "orders", "--by", "dana", "--yes"];
    assert_eq!((&row()["dead_letters"], oracle(&world, &redrive).status.code()), (&json!(0), Some(1)));
    let sale = world.bought("quick").await;
    let order = json!({ "kind": "order", "v": 1, "session_id": sale.session, "received_at": 1,
        "ordered_by": "webhook" });
    // More messages than SQS returns at once.
    for _ in 0..12 {
        world.aws.send("OrdersDeadLettersUrl", &order).await;
    }
    assert_eq!(row()["dead_letters"], 12);
    let (_, shown) = asked(&world, &["queues", "show", "orders"]);
    let shown = shown.as_array().expect("messages").clone();
    let last = shown.last().and_then(|message| message["id"].as_str()).expect("an id");
    let (code, removed) = asked(&world, &["queues", "remove", "orders", last, "--by", "dana", "--yes"]);
    assert_eq!((shown.len(), code, &removed["removed"]), (12, Some(0), &json!(true)), "{removed}");
    assert!(row()["oldest_dead_letter_s"].is_number(), "{}", row());
    let (code, status) = asked(&world, &["status"]);
    let letters = status["checks"].as_array().expect("checks").iter().find(|check| check["what"] == "dead letters");
    assert_eq!((&letters.expect("a check")["state"], code), (&json!("wrong"), Some(1)));
    let unanswered = oracle(&world, &["queues", "redrive", "orders", "--by", "dana"]);
    assert_eq!(unanswered.status.code(), Some(2), "nobody confirmed it");
    let (code, done) = asked(&world, &redrive);
    assert_eq!((code, &done["moved"]), (Some(0), &json!(11)));
    assert_bound(&world, "queues redrive").await;
    eventually("no dead letters", SOON, async || (row()["dead_letters"] == 0).then_some(())).await;
    world.drained().await;
    assert_eq!((world.model_calls(&sale).await, world.mails(&sale.email).await.len()), (1, 1));
}

#[tokio::test]
async fn the_dashboard_and_the_alarms_are_deployed() {
    let world = World::beside_others().await;
    let (_, status) = asked(&world, &["status"]);
    let checks = status["checks"].as_array().expect("checks");
    let what: Vec<&str> = checks.iter().filter_map(|check| check["what"].as_str()).collect();
    for expected in ["dead letters", "alarms", "runs deadlines", "runs reconcile"] {
        assert!(what.contains(&expected), "{what:?}");
    }
    assert!(what.iter().any(|what| what.starts_with("model ")), "{what:?}");
    let alarms = checks.iter().find(|check| check["what"] == "alarms").expect("alarms");
    assert_ne!(alarms["state"], "unknown", "{alarms}");
    let dashboard = world.aws.output("DashboardUrl");
    let part = |name: &str| world.stack.description[name].as_str().expect("a name").to_owned();
    let name = format!("{}-{}", part("stack"), part("region"));
    assert!(dashboard.ends_with(&format!("#dashboards/dashboard/{name}")), "{dashboard}");
}
