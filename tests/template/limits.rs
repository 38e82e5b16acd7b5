//! Limits: a flood can neither cause costs nor block sales, and one function cannot use up another's capacity.

use crate::{
    assert_rule, finder,
    model::{Template, list, number, target},
    patch::{change, edit, omit, property, remove, set},
};
use serde_json::{Value, json};

/// The routes with limits of their own. The limit for Stripe's events is higher than that of each browser route.
const ROUTES: [(&str, &str); 5] = [
    ("POST", "/~1api~1checkout"),
    ("POST", "/~1api~1webhook"),
    ("GET", "/~1api~1verdict"),
    ("GET", "/~1api~1chat~1exchanges~1{id}"),
    ("POST", "/~1api~1authority~1evaluate"),
];

fn routes_are_throttled(template: &Template) -> Vec<String> {
    let settings = list(&template.resource("Api")["Properties"]["MethodSettings"]);
    let rate = |method: &str, path: &str| {
        let its = settings.iter().find(|it| it["HttpMethod"] == method && it["ResourcePath"] == path);
        its.and_then(|it| number(&it["ThrottlingRateLimit"]))
    };
    let mut found = Vec::new();
    for (method, path) in ROUTES {
        if rate(method, path).is_none() {
            found.push(format!("{method} {path}: no limit of its own"));
        }
    }
    if rate("*", "/*").is_none() {
        found.push("other routes: no limit".to_owned());
    }
    let browsers = ROUTES.into_iter().filter(|(_, path)| *path != "/~1api~1webhook");
    if rate("POST", "/~1api~1webhook") <= browsers.map(|(method, path)| rate(method, path)).max().flatten() {
        found.push("Stripe's events have less room than browsers".to_owned());
    }
    found
}

#[test]
fn every_route_is_throttled_and_stripe_has_the_most_room() {
    let rule = routes_are_throttled;
    let setting = |index: usize, name: &str| property("Api", &format!("MethodSettings/{index}/{name}"));
    assert_rule(rule, set(&setting(1, "ResourcePath"), json!("/api/checkout")), "POST /~1api~1checkout: no limit");
    assert_rule(rule, remove(&setting(0, "ThrottlingRateLimit")), "other routes: no limit");
    assert_rule(rule, remove(&setting(5, "ThrottlingRateLimit")), "POST /~1api~1authority~1evaluate: no limit");
    assert_rule(rule, set(&setting(2, "ThrottlingRateLimit"), json!(10)), "less room than browsers");
    assert_rule(rule, set(&setting(4, "ThrottlingRateLimit"), json!(100)), "less room than browsers");
}

/// The rules of the managed group that check bodies or the browser's name, which only count: a question may look like
/// markup and have 20,000 characters, and our own probes send no browser name.
const COUNTED: [&str; 6] = [
    "SizeRestrictions_BODY",
    "CrossSiteScripting_BODY",
    "GenericLFI_BODY",
    "GenericRFI_BODY",
    "EC2MetaDataSSRF_BODY",
    "NoUserAgent_HEADER",
];

fn the_firewall_stands_before_browsers_alone(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let firewall = template.resource("SiteFirewall");
    let rules = list(&firewall["Properties"]["Rules"]);
    let statement = |kind: &str| rules.iter().map(|rule| &rule["Statement"][kind]).find(|it| !it.is_null());
    let rate = statement("RateBasedStatement").unwrap_or(&Value::Null);
    if rate["AggregateKeyType"] != "IP" || target(&rate["Limit"]).is_none() {
        found.push("no limit for one address".to_owned());
    }
    let core = statement("ManagedRuleGroupStatement").unwrap_or(&Value::Null);
    if core["Name"] != "AWSManagedRulesCommonRuleSet" || core["VendorName"] != "AWS" {
        found.push("no managed rules".to_owned());
    }
    for name in COUNTED {
        let counts = |it: &&Value| it["Name"] == name && it["ActionToUse"] == json!({ "Count": {} });
        if !list(&core["RuleActionOverrides"]).iter().any(counts) {
            found.push(format!("{name} refuses customers or our own probes"));
        }
    }
    for kind in [rate, core] {
        let but = &kind["ScopeDownStatement"]["NotStatement"]["Statement"]["OrStatement"]["Statements"];
        let but: Vec<_> = list(but).into_iter().map(|one| &one["ByteMatchStatement"]).collect();
        for path in ["/api/webhook", "/live/api/webhook"] {
            if !but.iter().any(|one| one["SearchString"] == path) {
                found.push(format!("Stripe's events to {path} can be refused"));
            }
        }
        if but.iter().any(|one| one["PositionalConstraint"] != "EXACTLY") {
            found.push("an address that only looks like the webhook's passes the firewall".to_owned());
        }
    }
    found.extend(forged_events_are_limited(&rules));
    let kept = rules.iter().map(|rule| &rule["VisibilityConfig"]).chain([&firewall["Properties"]["VisibilityConfig"]]);
    if kept.into_iter().any(|it| it["SampledRequestsEnabled"] != false) {
        found.push("samples of requests hold session ids".to_owned());
    }
    let association = template.resource("SiteFirewallAssociation");
    if target(&association["Properties"]["WebACLArn"]) != Some("SiteFirewall") {
        found.push("the firewall stands before nothing".to_owned());
    }
    if firewall["Condition"] != "HasFirewall" || association["Condition"] != "HasFirewall" {
        found.push("no parameter turns the firewall off".to_owned());
    }
    found
}

/// The range of the webhook's limit for each address in five minutes: low enough that one address cannot fill the route, high
/// enough for Stripe.
const EVENTS_OF_AN_ADDRESS: std::ops::RangeInclusive<u64> = 5_000..=15_000;

fn forged_events_are_limited(rules: &[&Value]) -> Vec<String> {
    let limit = limit_of_an_address(rules, &["/api/webhook", "/live/api/webhook"]);
    if limit.is_some_and(|limit| EVENTS_OF_AN_ADDRESS.contains(&limit)) {
        return Vec::new();
    }
    vec!["one address can use up the room of Stripe's events, or Stripe has too little".to_owned()]
}

/// The limit in five minutes for each address that asks for exactly these paths.
fn limit_of_an_address(rules: &[&Value], paths: &[&str]) -> Option<u64> {
    rules.iter().find_map(|rule| {
        let rate = &rule["Statement"]["RateBasedStatement"];
        let its = list(&rate["ScopeDownStatement"]["OrStatement"]["Statements"]);
        let is_exactly = |path: &&str| {
            let mut matches = its.iter().map(|one| &one["ByteMatchStatement"]);
            matches.any(|one| one["SearchString"] == *path && one["PositionalConstraint"] == "EXACTLY")
        };
        let blocks = !rule["Action"]["Block"].is_null() && rate["AggregateKeyType"] == "IP";
        let is_it = blocks && rate["EvaluationWindowSec"] == 300;
        (is_it && its.len() == paths.len() && paths.iter().all(is_exactly)).then(|| number(&rate["Limit"]))?
    })
}

/// The paths of the checkout and of the evaluation, under a custom domain and below the API's stage.
const CHECKOUT_PATHS: [&str; 4] =
    ["/api/checkout", "/live/api/checkout", "/api/authority/evaluate", "/live/api/authority/evaluate"];

/// The fewest purchases in five minutes that the customers behind one address can begin.
const PURCHASES_OF_AN_ADDRESS: u64 = 100;

fn one_address_cannot_fill_the_checkout(template: &Template) -> Vec<String> {
    let rules = list(&template.resource("SiteFirewall")["Properties"]["Rules"]);
    let Some(limit) = limit_of_an_address(&rules, &CHECKOUT_PATHS) else {
        return vec!["the checkout has no limit for one address".to_owned()];
    };
    let mut found = Vec::new();
    if limit < PURCHASES_OF_AN_ADDRESS {
        found.push("customers behind one address cannot buy".to_owned());
    }
    for route in ["/~1api~1checkout", "/~1api~1authority~1evaluate"] {
        let settings = list(&template.resource("Api")["Properties"]["MethodSettings"]);
        let its = settings.iter().find(|it| it["HttpMethod"] == "POST" && it["ResourcePath"] == route);
        let rate = its.and_then(|it| number(&it["ThrottlingRateLimit"])).unwrap_or_default();
        if limit > rate * 300 / 3 {
            found.push(format!("{route}: one address can use up more than a third of it"));
        }
    }
    found
}

#[test]
fn an_address_cannot_keep_others_from_buying() {
    let finds = finder(one_address_cannot_fill_the_checkout);
    let part = |name: &str| property("SiteFirewall", &format!("Rules/3/{name}"));
    let limit = part("Statement/RateBasedStatement/Limit");
    finds(set(&part("Action"), json!({ "Count": {} })), "no limit for one address");
    finds(set(&limit, json!(50)), "cannot buy");
    finds(set(&limit, json!(1_001)), "/~1api~1checkout: one address");
    finds(set(&property("Api", "MethodSettings/5/ThrottlingRateLimit"), json!(2)), "evaluate: one address");
    let last = "Statement/RateBasedStatement/ScopeDownStatement/OrStatement/Statements/3/ByteMatchStatement";
    finds(set(&part(&format!("{last}/SearchString")), json!("/api/other")), "no limit for one address");
}

#[test]
fn the_firewall_limits_addresses_and_lets_stripe_and_questions_through() {
    let finds = finder(the_firewall_stands_before_browsers_alone);
    let part = |name: &str| property("SiteFirewall", &format!("Rules/{name}"));
    finds(set(&part("0/Statement"), json!({})), "no limit for one address");
    finds(set(&part("1/Statement/ManagedRuleGroupStatement/Name"), json!("Other")), "no managed rules");
    let overrides = part("1/Statement/ManagedRuleGroupStatement/RuleActionOverrides/1/ActionToUse");
    finds(set(&overrides, json!({ "Block": {} })), "CrossSiteScripting_BODY refuses");
    finds(
        remove(&part("0/Statement/RateBasedStatement/ScopeDownStatement")),
        "events to /live/api/webhook can be refused",
    );
    let exactly = "0/Statement/RateBasedStatement/ScopeDownStatement/NotStatement/Statement/OrStatement/Statements/0";
    let exactly = part(&format!("{exactly}/ByteMatchStatement/PositionalConstraint"));
    finds(set(&exactly, json!("ENDS_WITH")), "only looks like the webhook's");
    let of_webhook = "2/Statement/RateBasedStatement";
    finds(set(&part("2/Action"), json!({ "Count": {} })), "use up the room of Stripe's events");
    for limit in [1_000, 100_000] {
        let changed = set(&part(&format!("{of_webhook}/Limit")), json!(limit));
        finds(changed, "use up the room of Stripe's events");
    }
    let second = format!("{of_webhook}/ScopeDownStatement/OrStatement/Statements/1/ByteMatchStatement/SearchString");
    finds(set(&part(&second), json!("/api/other")), "use up the room of Stripe's events");
    finds(set(&part("0/VisibilityConfig/SampledRequestsEnabled"), json!(true)), "hold session ids");
    finds(remove("/Resources/SiteFirewall/Condition"), "no parameter turns");
}

/// The functions behind the site: those that a flood invokes, and those that must not wait because of it.
const BEHIND_THE_SITE: [&str; 6] = ["Checkout", "Webhook", "Verdict", "Result", "Toll", "Chat"];

fn concurrency_can_be_reserved(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for name in BEHIND_THE_SITE {
        let parameter = format!("{name}ReservedConcurrency");
        let condition = format!("Reserves{name}");
        let reserved = &template.resource(&format!("{name}Function"))["Properties"]["ReservedConcurrentExecutions"];
        let wanted = json!({ "Fn::If": [condition, { "Ref": parameter }, { "Ref": "AWS::NoValue" }] });
        // A new account cannot reserve anything: 100 must remain unreserved.
        let is_none = &template.section("Parameters")[&parameter]["Default"];
        let off = json!({ "Fn::Not": [{ "Fn::Equals": [{ "Ref": parameter }, "0"] }] });
        if *reserved != wanted || *is_none != 0 || template.section("Conditions")[&condition] != off {
            found.push(format!("{name}Function: no concurrency can be reserved for it, or some must be"));
        }
    }
    found
}

#[test]
fn functions_behind_the_site_can_have_concurrency_of_their_own() {
    let rule = concurrency_can_be_reserved;
    assert_rule(rule, omit("WebhookFunction", "ReservedConcurrentExecutions"), "WebhookFunction");
    assert_rule(rule, omit("TollFunction", "ReservedConcurrentExecutions"), "TollFunction");
    assert_rule(rule, set("/Parameters/ResultReservedConcurrency/Default", json!(50)), "ResultFunction");
}

fn processors_can_be_chosen(template: &Template) -> Vec<String> {
    let chosen = &template.section("Globals")["Function"]["Architectures"];
    let default = &template.section("Parameters")["Architecture"]["Default"];
    let is_right = *chosen == json!([{ "Ref": "Architecture" }]) && default == "arm64";
    if is_right { Vec::new() } else { vec![format!("functions run on {chosen}, {default} by default")] }
}

#[test]
fn functions_run_on_arm_unless_the_machine_is_another() {
    assert_rule(processors_can_be_chosen, set("/Parameters/Architecture/Default", json!("x86_64")), "by default");
}

/// The topics' key: CloudWatch cannot use AWS's own key for SNS, so with that key no alarm would be delivered.
fn alarms_can_use_the_topics_key(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, topic) in template.of_type("AWS::SNS::Topic") {
        if target(&topic["Properties"]["KmsMasterKeyId"]) != Some("AlertKey") {
            found.push(format!("{id}: alerts lie there in the clear, or under a key that shuts alarms out"));
        }
    }
    let statements = list(&template.resource("AlertKey")["Properties"]["KeyPolicy"]["Statement"]);
    let lets = |statement: &Value| {
        let actions = list(&statement["Action"]);
        ["kms:Decrypt", "kms:GenerateDataKey*"].iter().all(|wanted| actions.iter().any(|action| *action == wanted))
    };
    if !statements.iter().any(|it| it["Principal"]["Service"] == "cloudwatch.amazonaws.com" && lets(it)) {
        found.push("AlertKey: CloudWatch cannot use it, so no alarm reaches a topic".to_owned());
    }
    let ours = statements.iter().find(|it| it["Principal"]["AWS"] == "*");
    let condition = ours.map(|it| &it["Condition"]["StringEquals"]).unwrap_or(&Value::Null);
    let through = condition["kms:ViaService"]["Fn::Sub"] == "sns.${AWS::Region}.amazonaws.com";
    if !ours.is_some_and(|it| lets(it)) || !through || target(&condition["kms:CallerAccount"]) != Some("AWS::AccountId")
    {
        found.push("AlertKey: functions cannot use it through SNS, or others can".to_owned());
    }
    found
}

#[test]
fn topics_are_encrypted_with_a_key_that_alarms_can_use() {
    let finds = finder(alarms_can_use_the_topics_key);
    let statement = |index: usize| property("AlertKey", &format!("KeyPolicy/Statement/{index}"));
    finds(change("OpsTopic", "KmsMasterKeyId", "alias/aws/sns"), "OpsTopic: alerts lie");
    finds(set(&statement(1), json!({})), "CloudWatch cannot use it");
    finds(remove(&format!("{}/Condition", statement(2))), "or others can");
    finds(edit(&format!("{}/Condition/StringEquals/kms:ViaService/Fn::Sub", statement(2)), "sns", "sqs"), "SNS");
}
