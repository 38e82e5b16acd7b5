//! Functions: they are built as `sam build` and the local stack expect, and have limits.

use crate::{
    assert_rule, finder,
    model::{Template, events, number, root, target},
    patch::{change, omit, set},
};
use serde_json::json;
use std::{collections::BTreeSet, fs};

/// API Gateway's timeout in seconds.
const GATEWAY_LIMIT: u64 = 29;

fn folders() -> BTreeSet<String> {
    let entries = fs::read_dir(root().join("functions")).expect("functions/ is readable");
    entries
        .map(|entry| entry.expect("an entry of functions/"))
        .filter(|entry| entry.path().join("Cargo.toml").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

pub(crate) fn binary(function: &serde_json::Value) -> &str {
    function["Metadata"]["BuildProperties"]["Binary"].as_str().unwrap_or_default()
}

fn functions_are_built(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let folders = folders();
    let mut deployed = BTreeSet::new();
    let shared = &template.section("Globals")["Function"];
    for (id, function) in template.functions() {
        let properties = &function["Properties"];
        deployed.insert(binary(function).to_owned());
        if function["Metadata"]["BuildMethod"] != "rust-cargolambda" || !folders.contains(binary(function)) {
            found.push(format!("{id}: {:?} is no folder of functions/", binary(function)));
        }
        for (setting, expected) in [("CodeUri", "."), ("Runtime", "provided.al2023"), ("Handler", "bootstrap")] {
            let value = if properties[setting].is_null() { &shared[setting] } else { &properties[setting] };
            if value != expected {
                found.push(format!("{id}: {setting} is {value}"));
            }
        }
        if number(&properties["MemorySize"]).is_none() || number(&properties["Timeout"]).is_none() {
            found.push(format!("{id}: memory and time-out must be chosen"));
        }
        let from_api = events(function).any(|event| event["Type"] == "Api");
        if from_api && number(&properties["Timeout"]).is_none_or(|timeout| timeout > GATEWAY_LIMIT) {
            found.push(format!("{id}: outlives the caller's patience"));
        }
        let log = template.resource(target(&properties["LoggingConfig"]["LogGroup"]).unwrap_or_default());
        if number(&log["Properties"]["RetentionInDays"]).is_none() {
            found.push(format!("{id}: its log is kept for ever"));
        }
    }
    found.extend(folders.difference(&deployed).map(|folder| format!("functions/{folder} is not in the template")));
    found
}

#[test]
fn every_function_is_deployed_bounded_and_logs_for_a_while() {
    let finds = finder(functions_are_built);
    finds(
        set("/Resources/WebhookFunction/Metadata/BuildProperties/Binary", json!("webhok")),
        "no folder of functions/",
    );
    finds(
        set("/Resources/WebhookFunction/Metadata/BuildProperties/Binary", json!("checkout")),
        "functions/webhook is not in the template",
    );
    finds(change("ResultFunction", "Timeout", 30), "outlives");
    finds(omit("CheckoutLog", "RetentionInDays"), "kept for ever");
}

fn smoke_reports_are_kept(template: &Template) -> Vec<String> {
    let kept = &template.resource("SmokeTestLog")["Properties"]["RetentionInDays"];
    if number(kept) == Some(30) { Vec::new() } else { vec![format!("SmokeTestLog: reports are kept {kept} days")] }
}

#[test]
fn reports_of_the_smoke_test_are_kept_thirty_days() {
    assert_rule(smoke_reports_are_kept, change("SmokeTestLog", "RetentionInDays", 7), "kept 7 days");
}

/// A store that does not answer must not use up the whole invocation: two calls with all their attempts, and an alert
/// about them, fit into the timeout of every function.
fn store_calls_are_bounded(template: &Template) -> Vec<String> {
    const ALERT_MS: u64 = 5_000;
    // The pauses before repetitions after another process's transaction (shared/platform/aws/src/attempts.rs), which
    // answers within milliseconds.
    const CONFLICTS_MS: u64 = 3 * 50;
    let figure = |value: &serde_json::Value| {
        let default = &template.section("Parameters")[target(value).unwrap_or_default()]["Default"];
        number(value).or_else(|| number(default)).unwrap_or(u64::MAX / 100)
    };
    let shared = &template.section("Globals")["Function"]["Environment"]["Variables"];
    let mut found = Vec::new();
    for (id, function) in template.functions() {
        let own = &function["Properties"]["Environment"]["Variables"];
        let setting = |name: &str| figure(if own[name].is_null() { &shared[name] } else { &own[name] });
        let (timeout, retries) = (setting("CACHE_CONNECT_TIMEOUT_MS"), setting("CACHE_RETRY_COUNT"));
        let call = (retries + 1) * timeout + retries * setting("CACHE_RETRY_DELAY_MS") + CONFLICTS_MS;
        let limit = number(&function["Properties"]["Timeout"]).unwrap_or(0) * 1_000;
        if 2 * call + ALERT_MS > limit {
            found.push(format!("{id}: two calls of a store that does not answer take {} ms of {limit}", 2 * call));
        }
    }
    found
}

#[test]
fn a_store_that_does_not_answer_leaves_time_to_say_so() {
    let rule = store_calls_are_bounded;
    let timeout = "Environment/Variables/CACHE_CONNECT_TIMEOUT_MS";
    // 3,500 would do without the repetitions after a transaction.
    for milliseconds in ["4000", "3500"] {
        assert_rule(rule, change("CheckoutFunction", timeout, milliseconds), "CheckoutFunction: two calls of a store");
    }
}

/// All calls of one order and the waits between them end before the function does, with the largest parameters, too: a
/// function that is ended records no failure, and the sale waits for its lease.
fn model_calls_are_bounded(template: &Template) -> Vec<String> {
    // The longest wait between two calls (functions/verdict/src/settings.rs).
    const LONGEST_WAIT_MS: u64 = 8_000;
    let properties = &template.resource("VerdictFunction")["Properties"];
    let most = |name: &str| {
        let value = &properties["Environment"]["Variables"][name];
        let parameter = &template.section("Parameters")[target(value).unwrap_or_default()];
        number(value).or_else(|| number(&parameter["MaxValue"]))
    };
    let figures = (most("GEMINI_MAX_RETRIES"), most("GEMINI_CALL_TIMEOUT_MS"), most("GEMINI_BACKOFF_BASE_MS"));
    let (Some(calls), Some(call), Some(base)) = figures else {
        return vec![format!("VerdictFunction: a figure of the model's calls has no limit: {figures:?}")];
    };
    let waits: u64 = (1..calls).map(|place| (base * place).min(LONGEST_WAIT_MS)).sum();
    let limit = number(&properties["Timeout"]).unwrap_or(0) * 1_000;
    if calls * call + waits < limit {
        return Vec::new();
    }
    vec![format!("VerdictFunction: {calls} calls and their waits take {} ms of {limit}", calls * call + waits)]
}

#[test]
fn a_model_that_does_not_answer_leaves_time_to_record_it() {
    let rule = model_calls_are_bounded;
    assert_rule(
        rule,
        change("VerdictFunction", "Timeout", 170),
        "VerdictFunction: 3 calls and their waits take 178000 ms",
    );
    assert_rule(rule, set("/Parameters/GeminiCallTimeoutMs/MaxValue", json!(56_000)), "181000 ms of 180000");
    assert_rule(rule, set("/Parameters/GeminiMaxRetries/MaxValue", json!(4)), "4 calls");
}

#[test]
fn every_output_that_others_rely_on_is_there() {
    let template = Template::load();
    let outputs = template.section("Outputs");
    let named = [
        "TableName",
        "AuditBucket",
        "ArchiveBucket",
        "QuarantineBucket",
        "OrdersQueueUrl",
        "EmailQueueUrl",
        "NoticesQueueUrl",
        "OpsTopicArn",
        "CriticalTopicArn",
        "ApiUrl",
        "ApiId",
        "TollPayTo",
        "TollNetwork",
        "TollFacilitatorUrl",
        "TollRpcUrl",
    ];
    for name in named {
        assert!(!outputs[name]["Value"].is_null(), "no output {name}");
    }
    for (id, _) in template.functions() {
        assert!(!outputs[format!("{id}Name")]["Value"].is_null(), "no output with {id}'s name");
    }
}
