//! Data that must not leak: secrets in parameters, session ids in logs.

use crate::{
    assert_rule,
    model::{Template, list, pairs, root},
    patch::{change, edit, property, set},
};

use serde_json::json;
use std::fs;

/// The fields that an access log may contain. Path and query contain the session id, which gives access to a verdict;
/// the caller's address is personal data.
const LOGGABLE: [&str; 9] = [
    "requestId",
    "requestTimeEpoch",
    "httpMethod",
    "resourcePath",
    "status",
    "responseLength",
    "responseLatency",
    "integrationLatency",
    "error.responseType",
];

fn access_log_is_discreet(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, api) in template.of_type("AWS::Serverless::Api") {
        let properties = &api["Properties"];
        let format = properties["AccessLogSetting"]["Format"].as_str().unwrap_or_default();
        if format.is_empty() {
            found.push(format!("{id}: no access log"));
        }
        for variable in format.split("$context.").skip(1) {
            let name = variable.split('"').next().unwrap_or_default();
            if !LOGGABLE.contains(&name) {
                found.push(format!("{id}: the access log holds {name}"));
            }
        }
        if properties["TracingEnabled"] != false {
            found.push(format!("{id}: traces hold addresses with their queries"));
        }
        for settings in list(&properties["MethodSettings"]) {
            if settings["DataTraceEnabled"] != false || settings["LoggingLevel"] != "OFF" {
                found.push(format!("{id}: execution logs hold bodies"));
            }
            if settings["ThrottlingRateLimit"].is_null() || settings["ThrottlingBurstLimit"].is_null() {
                found.push(format!("{id}: no throttling"));
            }
        }
        if list(&properties["MethodSettings"]).is_empty() {
            found.push(format!("{id}: no throttling"));
        }
    }
    found
}

#[test]
fn the_access_log_holds_no_path_query_body_or_address() {
    let rule = access_log_is_discreet;
    let format = property("Api", "AccessLogSetting/Format");
    assert_rule(rule, edit(&format, "$context.resourcePath", "$context.path"), "holds path");
    assert_rule(rule, edit(&format, "$context.status", "$context.identity.sourceIp"), "identity.sourceIp");
    assert_rule(rule, change("Api", "MethodSettings/0/DataTraceEnabled", true), "hold bodies");
    assert_rule(rule, change("Api", "TracingEnabled", true), "traces");
}

/// The transform AWS::LanguageExtensions writes the values of parameters into the processed template, even with NoEcho,
/// and users with access to the stack can read that template. So no secret is a parameter: secrets are created empty,
/// and `oracle secrets set` sets them.
fn secrets_are_no_parameters(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (name, parameter) in template.section("Parameters").as_object().into_iter().flatten() {
        if !parameter["NoEcho"].is_null() {
            found.push(format!("{name}: a secret parameter is in the processed template"));
        }
    }
    let secrets = template.of_type("AWS::SecretsManager::Secret");
    for (id, secret) in &secrets {
        for setting in ["SecretString", "GenerateSecretString"] {
            if !secret["Properties"][setting].is_null() {
                found.push(format!("{id}: a deployment writes its value"));
            }
        }
    }
    // A secret is read from Secrets Manager; in an environment variable all users with console access could read it.
    for (id, function) in template.functions() {
        for (name, value) in pairs(&function["Properties"]["Environment"]) {
            if value.to_string().contains("resolve:secretsmanager") {
                found.push(format!("{id}: {name} holds a secret itself"));
            }
        }
    }
    found
}

#[test]
fn no_secret_is_a_parameter_or_in_the_environment() {
    let rule = secrets_are_no_parameters;
    let key = json!({ "Type": "String", "NoEcho": true });
    assert_rule(rule, set("/Parameters/GeminiApiKey", key), "GeminiApiKey: a secret parameter");
    let value = json!({ "Ref": "GeminiApiKey" });
    assert_rule(rule, change("GeminiSecret", "SecretString", value), "GeminiSecret: a deployment writes");
    let resolved = json!("{{resolve:secretsmanager:oracle/gemini}}");
    let key = property("VerdictFunction", "Environment/Variables/GEMINI_API_KEY");
    assert_rule(rule, set(&key, resolved), "VerdictFunction: GEMINI_API_KEY holds a secret");
}

/// The files that the deployment guide passes to `oracle secrets set`.
fn files_of_keys(guide: &str) -> Vec<&str> {
    let commands = guide.lines().filter(|line| line.trim_start().starts_with("oracle secrets set "));
    let files = commands.filter_map(|line| line.split_once(" < ").or_else(|| line.split_once(" --from ")));
    files.filter_map(|(_, file)| file.split_whitespace().next()).collect()
}

/// The guide asks for commits on a branch of the clone.
#[test]
fn keys_are_made_outside_the_clone_and_git_ignores_them_there() {
    let guide = fs::read_to_string(root().join("infra/README.md")).expect("the guide");
    let ignored = fs::read_to_string(root().join(".gitignore")).expect("a file of the repository");
    let is_ignored = |file: &&str| {
        ignored.lines().filter_map(|line| line.strip_prefix('/')).any(|pattern| match pattern.split_once('*') {
            Some((start, end)) => file.starts_with(start) && file.ends_with(end),
            None => *file == pattern,
        })
    };
    let files = files_of_keys(&guide);
    let missing: Vec<_> = files.iter().filter(|file| !is_ignored(file)).collect();
    assert!(missing.is_empty() && files.len() >= 10, ".gitignore lacks {missing:?} of {files:?}");
    let before = guide.split_once("openssl rand").expect("the first key").0;
    assert!(before.contains("mkdir -p ~/oracle-keys && chmod 700 ~/oracle-keys && cd ~/oracle-keys"));
}
