//! samconfig.toml: a deployment takes its parameters from there, so that they must fit the template and the guide.

use crate::model::{Template, number, root};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs};

/// The functions that anybody can call, and those that must run while others are flooded.
const RESERVED: [&str; 6] = ["Webhook", "Verdict", "Checkout", "Result", "Toll", "Chat"];

/// Parameters that a deployment changes for a time, or whose default a release changes: sam keeps the last value of a
/// parameter that is not named.
const NAMED: [&str; 4] = ["TableDeletionProtection", "RollBackOnAlarms", "TrafficShift", "GeminiModel"];

/// The executions that Lambda keeps for functions without a reservation, and the quota that the comment names.
const UNRESERVED: u64 = 100;
const QUOTA: u64 = 250;

fn samconfig() -> String {
    fs::read_to_string(root().join("samconfig.toml")).expect("samconfig.toml is readable")
}

fn overrides(text: &str, environment: &str) -> BTreeMap<String, String> {
    let document: Value = toml::from_str(text).expect("samconfig.toml is TOML");
    let listed = document[environment]["deploy"]["parameters"]["parameter_overrides"].as_array();
    let pair = |value: &Value| {
        let (name, value) = value.as_str()?.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    };
    listed.into_iter().flatten().filter_map(pair).collect()
}

/// Whether a parameter's pattern matches no angle bracket: each class of characters in it excludes them.
fn excludes_brackets(pattern: &str) -> bool {
    let mut classes = pattern.split("[^").skip(1);
    pattern.contains("[^")
        && !pattern.contains('.')
        && classes.all(|class| class.starts_with("<>") || class.starts_with("/<>"))
}

fn violations(text: &str) -> Vec<String> {
    let template = Template::load();
    let mut found = Vec::new();
    for environment in ["staging", "production"] {
        let overrides = overrides(text, environment);
        let known = |name: &&String| !template.section("Parameters")[name.as_str()].is_null();
        let unknown = overrides.keys().filter(|name| !known(name));
        found.extend(unknown.map(|name| format!("{environment}: the template has no parameter {name}")));
        let placeholders = overrides.iter().filter(|(_, value)| value.contains('<')).map(|(name, _)| name);
        let accepted = placeholders.filter(|name| {
            let pattern = &template.section("Parameters")[name.as_str()]["AllowedPattern"];
            !pattern.as_str().is_some_and(excludes_brackets)
        });
        found.extend(accepted.map(|name| format!("{environment}: a placeholder would be deployed as {name}")));
        let stale = NAMED.into_iter().filter(|name| {
            let default = template.section("Parameters")[*name]["Default"].as_str();
            default.is_none() || overrides.get(*name).map(String::as_str) != default
        });
        found.extend(stale.map(|name| format!("{environment}: {name} is not the template's default")));
        // The first deployment has no secrets; the smoke test and what waits for it follow.
        for later in ["SmokeTest", "DeployGate", "Release"] {
            if overrides.contains_key(later) {
                found.push(format!("{environment}: {later} is set before the smoke test's key is"));
            }
        }
    }
    if !text.contains(&format!("a quota of {QUOTA}")) {
        found.push(format!("the comment does not name the quota of {QUOTA}"));
    }
    let overrides = overrides(text, "production");
    let figure = |name: &str| overrides.get(name).and_then(|value| number(&json!(value))).unwrap_or_default();
    let reserved = RESERVED.map(|name| (name, figure(&format!("{name}ReservedConcurrency"))));
    let missing = reserved.iter().filter(|(_, reserved)| *reserved == 0);
    found.extend(missing.map(|(name, _)| format!("production: {name} has no executions of its own")));
    if reserved.iter().map(|(_, reserved)| reserved).sum::<u64>() + UNRESERVED > QUOTA {
        found.push(format!("production: the reservations need a quota of more than {QUOTA}"));
    }
    if figure("VerdictReservedConcurrency") < figure("OrdersConcurrency") {
        found.push("production: orders are delivered to more verdict functions than may run".to_owned());
    }
    found
}

#[test]
fn a_deployment_of_samconfig_is_complete_and_needs_no_optional_key() {
    let text = samconfig();
    assert_eq!(violations(&text), [""; 0]);
    for (from, to, expected) in [
        ("\"OrdersConcurrency=20\"", "\"OrdersConcurrency=20\", \"SmokeTest=ENABLED\"", "SmokeTest is set before"),
        ("\"TollReservedConcurrency=15\",", "", "Toll has no executions"),
        ("ChatReservedConcurrency=30", "ChatReservedConcurrency=31", "a quota of more than 250"),
        ("OrdersConcurrency=20", "OrdersConcurrency=26", "more verdict functions than may run"),
        ("Firewall=off", "Firewal=off", "no parameter Firewal"),
        ("\"TableDeletionProtection=true\",", "", "staging: TableDeletionProtection is not the template's default"),
        ("RollBackOnAlarms=on", "RollBackOnAlarms=off", "RollBackOnAlarms is not"),
        ("TrafficShift=Canary10Percent5Minutes", "TrafficShift=AllAtOnce", "TrafficShift is not"),
        ("GeminiModel=gemini-3.5-flash", "GeminiModel=<model>", "a placeholder would be deployed as GeminiModel"),
        ("GeminiModel=gemini-3.5-flash", "GeminiModel=gemini-2.5-flash", "GeminiModel is not"),
    ] {
        let found = violations(&text.replacen(from, to, 1));
        assert!(found.iter().any(|line| line.contains(expected)), "{from} to {to}: {found:?}");
    }
}
