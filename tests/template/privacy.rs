//! What must not leak: secrets in parameters, session ids in logs.

use crate::{
    assert_rule,
    model::{Template, list, pairs, target},
};

/// What an access log may hold. Path and query carry the session id, which is what entitles to read a verdict; the
/// address of the caller is personal data.
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
    assert_rule(rule, "$context.resourcePath", "$context.path", "holds path");
    assert_rule(rule, "$context.status", "$context.identity.sourceIp", "identity.sourceIp");
    assert_rule(rule, "DataTraceEnabled: false", "DataTraceEnabled: true", "hold bodies");
    assert_rule(rule, "TracingEnabled: false", "TracingEnabled: true", "traces");
}

/// Parameters whose values identify but do not entitle.
const PUBLIC: [&str; 2] = ["GraphTenantId", "GraphClientId"];

fn secrets_are_not_echoed(template: &Template) -> Vec<String> {
    let parameters = template.section("Parameters");
    let mut found = Vec::new();
    for (id, secret) in template.of_type("AWS::SecretsManager::Secret") {
        let text = secret["Properties"]["SecretString"].to_string();
        let names = parameters.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        for name in
            names.filter(|name| text.contains(&format!("${{{name}}}")) || text.contains(&format!("\"Ref\":\"{name}\"")))
        {
            if parameters[name]["NoEcho"] != true && !PUBLIC.contains(&name) {
                found.push(format!("{id}: {name} is echoed"));
            }
        }
    }
    // A secret is read from Secrets Manager; in an environment variable everybody with console access could read it.
    for (id, function) in template.functions() {
        for (name, value) in pairs(&function["Properties"]["Environment"]) {
            if target(value).is_some_and(|target| parameters[target]["NoEcho"] == true) {
                found.push(format!("{id}: {name} holds a secret itself"));
            }
        }
    }
    found
}

#[test]
fn secrets_are_neither_echoed_nor_in_the_environment() {
    let rule = secrets_are_not_echoed;
    assert_rule(
        rule,
        "GeminiApiKey: {Type: String, NoEcho: true,",
        "GeminiApiKey: {Type: String,",
        "GeminiApiKey is echoed",
    );
    assert_rule(
        rule,
        "STRIPE_BASE_URL: !Ref StripeBaseUrl",
        "STRIPE_KEY: !Ref StripeSecretKey",
        "holds a secret itself",
    );
}
