//! Parameters: which combinations are allowed, what fits a new account, what the firewall costs, and which outputs a
//! deployment has for DNS.

use crate::{
    assert_rule,
    model::{Template, events, list, number, root, target},
    patch::{change, edit, omit, property, push, remove, set},
};
use serde_json::{Value, json};
use std::fs;

/// A parameter that requires another one: the deployment is refused before it creates anything, not after half an hour.
const NEEDS: [(&str, &str); 2] = [("DomainName", "CertificateArn"), ("CertificateArn", "DomainName")];

fn combinations_are_checked(template: &Template) -> Vec<String> {
    let is_given = |name: &str| json!({ "Fn::Not": [{ "Fn::Equals": [{ "Ref": name }, ""] }] });
    let rules = template.section("Rules").as_object();
    let refuses = |(given, needed): (&str, &str)| {
        rules.into_iter().flatten().any(|(_, rule)| {
            rule["RuleCondition"] == is_given(given) && rule["Assertions"][0]["Assert"] == is_given(needed)
        })
    };
    let missing = NEEDS.into_iter().filter(|pair| !refuses(*pair));
    let mut found: Vec<_> = missing.map(|(given, needed)| format!("{given} without {needed} is found late")).collect();
    let gate = &template.section("Rules")["GateHasRelease"];
    if gate["RuleCondition"] != json!({ "Fn::Equals": [{ "Ref": "DeployGate" }, "on"] }) {
        found.push("DeployGate without Release tries nothing".to_owned());
    }
    let facilitators = list(&template.section("Rules")["FacilitatorServesNetwork"]["Assertions"]);
    let is_refused = |url: &Value| {
        let assert = json!({ "Fn::Not": [{ "Fn::Equals": [{ "Ref": "TollFacilitatorUrl" }, url] }] });
        facilitators.iter().any(|assertion| assertion["Assert"] == assert)
    };
    let default = &template.section("Parameters")["TollFacilitatorUrl"]["Default"];
    // The second redirects to the default.
    if !is_refused(default) || !is_refused(&json!("https://x402.org/facilitator")) {
        found.push(
            "the default facilitator serves no network with money, and every payment would be refused".to_owned(),
        );
    }
    for (output, attribute) in [("DomainTarget", "RegionalDomainName"), ("DomainTargetZone", "RegionalHostedZoneId")] {
        let output = &template.section("Outputs")[output];
        let is_told = output["Value"] == json!({ "Fn::GetAtt": ["ApiDomain", attribute] });
        if !is_told || output["Condition"] != "HasDomain" {
            found.push(format!("no output says the domain's {attribute}, which DNS needs"));
        }
    }
    found
}

#[test]
fn parameters_that_need_each_other_are_checked_first() {
    let rule = combinations_are_checked;
    assert_rule(rule, remove("/Rules/DomainHasCertificate"), "DomainName without CertificateArn is found late");
    assert_rule(rule, remove("/Rules/GateHasRelease"), "DeployGate without Release");
    for mistake in ["", "/Assertions/0/Assert", "/Assertions/1/Assert"] {
        let mistake = remove(&format!("/Rules/FacilitatorServesNetwork{mistake}"));
        assert_rule(rule, mistake, "the default facilitator serves no network");
    }
    assert_rule(rule, remove("/Outputs/DomainTarget"), "RegionalDomainName");
}

/// The number of functions that a new account may run at a time: the mappings must be able to use fewer.
const NEW_ACCOUNT: u64 = 10;

fn mappings_can_be_small(template: &Template) -> Vec<String> {
    let mut fewest = 0;
    let mut found = Vec::new();
    for (id, function) in template.functions() {
        for event in events(function).filter(|event| event["Type"] == "SQS") {
            let most = &event["Properties"]["ScalingConfig"]["MaximumConcurrency"];
            let parameter = &template.section("Parameters")[target(most).unwrap_or_default()];
            match number(most).or_else(|| number(&parameter["MinValue"])) {
                Some(number) => fewest += number,
                None => found.push(format!("{id}: takes as many messages at a time as there are")),
            }
        }
    }
    if fewest > NEW_ACCOUNT {
        found.push(format!("the mappings take at least {fewest} executions, a new account has {NEW_ACCOUNT}"));
    }
    found
}

#[test]
fn a_new_accounts_quota_is_enough() {
    let rule = mappings_can_be_small;
    let most = property("VerdictFunction", "Events/Orders/Properties/ScalingConfig/MaximumConcurrency");
    assert_rule(rule, set(&most, json!(20)), "at least 28 executions");
    assert_rule(rule, set("/Parameters/OrdersConcurrency/MinValue", json!(5)), "at least 13 executions");
}

/// The figures that a deployment has without its operator's doing, and where they are from. The code's own defaults never
/// apply, because every variable is set.
const SPECIFIED: [(&str, u64, &str); 11] = [
    ("GeminiCallTimeoutMs", 45_000, "Gemini Timeout, invariant 1"),
    ("GeminiMaxRetries", 3, "Gemini Timeout, invariant 2"),
    ("GeminiBackoffBaseMs", 1_000, "Gemini Timeout, invariant 3"),
    ("CacheConnectTimeoutMs", 2_000, "Cache Alert, inputs 4"),
    ("CacheRetryCount", 3, "Cache Alert, inputs 4"),
    ("CacheRetryDelayMs", 500, "Cache Alert, inputs 4"),
    ("AlertSuppressionSeconds", 60, "Cache Alert, invariant 6"),
    ("CacheHealthCheckIntervalS", 60, "Cache Health, inputs 4"),
    ("CacheEntryCountWarn", 10_000, "Cache Health, inputs 4"),
    ("CacheEntryCountCritical", 50_000, "Cache Health, inputs 4"),
    ("CacheConsecutiveFailCritical", 2, "Cache Health, inputs 4"),
];

fn defaults_are_the_specs(template: &Template) -> Vec<String> {
    let default = |name: &str| number(&template.section("Parameters")[name]["Default"]);
    let other = SPECIFIED.into_iter().filter(|(name, figure, _)| default(name) != Some(*figure));
    let mut found: Vec<_> = other
        .map(|(name, figure, rule)| format!("{name} is {:?} by default, not {figure} ({rule})", default(name)))
        .collect();
    let interval = &template.section("Parameters")["CacheHealthCheckIntervalS"];
    if (number(&interval["MinValue"]), number(&interval["MaxValue"])) != (Some(30), Some(3_600)) {
        found.push("CacheHealthCheckIntervalS: an interval outside 30 to 3600 seconds is accepted".to_owned());
    }
    found
}

#[test]
fn a_deployment_has_the_specs_figures() {
    let rule = defaults_are_the_specs;
    for (name, figure, _) in SPECIFIED {
        let mistake = set(&format!("/Parameters/{name}/Default"), json!(figure + 1));
        assert_rule(rule, mistake, &format!("{name} is Some({}) by default, not {figure}", figure + 1));
    }
    for end in ["MinValue", "MaxValue"] {
        let mistake = set(&format!("/Parameters/CacheHealthCheckIntervalS/{end}"), json!(1));
        assert_rule(rule, mistake, "an interval outside 30 to 3600 seconds");
    }
}

/// A stack with default parameters must not alert operators without a reason, and must not cost more than necessary.
fn defaults_are_quiet(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    if template.section("Parameters")["SmokeTest"]["Default"] != "DISABLED" {
        found.push("SmokeTest: without its secret it is a critical alert every morning".to_owned());
    }
    for (id, api) in template.of_type("AWS::Serverless::Api") {
        for settings in list(&api["Properties"]["MethodSettings"]) {
            if settings["MetricsEnabled"] == true {
                found.push(format!("{id}: figures by route, which are paid for and which nobody reads"));
            }
        }
    }
    for (id, function) in template.functions() {
        let schedule = events(function).find(|event| event["Type"] == "Schedule");
        let schedule = schedule.map(|event| event["Properties"]["Schedule"].as_str().unwrap_or_default());
        // Lambda keeps a throttled run for six hours by default, whatever the attempts.
        let longest = match schedule {
            Some(rate) if rate.contains("minute") => 60,
            Some(_) => 3600,
            // CodeDeploy's hook, which nobody waits for either.
            None if id == "AnvilFunction" => 3600,
            None => continue,
        };
        let invoked = &function["Properties"]["EventInvokeConfig"];
        if invoked["MaximumRetryAttempts"] != 0 {
            found.push(format!("{id}: a run that nobody waits for and that fails is started twice more"));
        }
        if invoked["MaximumEventAgeInSeconds"].as_u64().is_none_or(|age| age > longest) {
            found.push(format!("{id}: the runs of hours without capacity are made up for all at once"));
        }
    }
    found
}

#[test]
fn a_stack_that_is_not_set_up_yet_is_quiet() {
    let rule = defaults_are_quiet;
    assert_rule(rule, set("/Parameters/SmokeTest/Default", json!("ENABLED")), "SmokeTest: without its secret");
    assert_rule(rule, change("Api", "MethodSettings/0/MetricsEnabled", true), "paid for");
    assert_rule(rule, omit("ReconcileFunction", "EventInvokeConfig"), "ReconcileFunction: a run that");
    for (id, too_long) in [("CacheHealthFunction", 3600), ("AuditDigestFunction", 21600), ("AnvilFunction", 21600)] {
        let age = property(id, "EventInvokeConfig/MaximumEventAgeInSeconds");
        assert_rule(rule, set(&age, json!(too_long)), &format!("{id}: the runs of hours"));
    }
}

/// A web ACL costs 5 USD a month, and each of its rules 1.
fn the_firewall_is_priced_with_all_its_rules(template: &Template) -> Vec<String> {
    let month = 5 + list(&template.resource("SiteFirewall")["Properties"]["Rules"]).len();
    let prices = fs::read_to_string(root().join("infra/prices.toml")).expect("the prices");
    let guide = fs::read_to_string(root().join("infra/README.md")).expect("the guide");
    let parameter = template.section("Parameters")["Firewall"]["Description"].as_str().unwrap_or_default();
    let texts = [
        ("infra/prices.toml", prices.as_str(), format!("firewall_month = {month}.00")),
        ("infra/README.md", guide.as_str(), format!("saves about {month} USD a month")),
        ("the parameter Firewall", parameter, format!("about {month} USD a month")),
    ];
    let without = texts.into_iter().filter(|(_, text, price)| !text.contains(price));
    without.map(|(place, _, price)| format!("{place} does not say {price:?}")).collect()
}

#[test]
fn texts_and_prices_name_what_the_firewall_costs() {
    let rule = the_firewall_is_priced_with_all_its_rules;
    for place in ["infra/prices.toml", "infra/README.md", "the parameter Firewall"] {
        assert_rule(rule, push(&property("SiteFirewall", "Rules"), json!({})), place);
    }
    assert_rule(rule, edit("/Parameters/Firewall/Description", "about 9 USD", "about 8 USD"), "the parameter Firewall");
}
