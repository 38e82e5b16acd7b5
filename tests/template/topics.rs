//! The topics: who can subscribe to them, and what else an alert needs.

use crate::{
    assert_rule,
    model::{Template, list, target},
    patch::{change, omit, set},
};
use serde_json::{Value, json};

/// Operators can get alerts by mail and by webhook from both topics; a queue stores what the webhook does not accept.
fn topics_reach_somebody(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, _) in template.of_type("AWS::SNS::Topic") {
        for protocol in ["email", "https"] {
            let subscribes = |subscription: &Value| {
                subscription["Protocol"] == protocol && target(&subscription["TopicArn"]) == Some(id)
            };
            let all = template.of_type("AWS::SNS::Subscription");
            match all.iter().find(|(_, subscription)| subscribes(&subscription["Properties"])) {
                None => found.push(format!("{id}: nobody can subscribe to it by {protocol}")),
                Some((name, subscription)) if protocol == "https" => {
                    let queue = target(&subscription["Properties"]["RedrivePolicy"]["deadLetterTargetArn"]);
                    if queue.is_none_or(|queue| template.resource(queue)["Type"] != "AWS::SQS::Queue") {
                        found.push(format!("{name}: what it does not take is lost"));
                    }
                }
                Some(_) => {}
            }
        }
    }
    // A filter with `exists: false` matches only messages with at least one attribute, and alarms have none: they would
    // reach no operator.
    for (id, subscription) in template.of_type("AWS::SNS::Subscription") {
        if !subscription["Properties"]["FilterPolicy"].is_null() {
            found.push(format!("{id}: a filter keeps alerts and alarms from it"));
        }
    }
    let pattern = template.section("Parameters")["AlertWebhookUrl"]["AllowedPattern"].as_str().unwrap_or_default();
    if !pattern.starts_with("^(https://") {
        found.push("AlertWebhookUrl: alerts go out in the clear".to_owned());
    }
    found
}

#[test]
fn both_topics_can_be_subscribed_to_by_mail_and_by_webhook() {
    let rule = topics_reach_somebody;
    assert_rule(rule, change("OpsWebhook", "Protocol", "http"), "OpsTopic: nobody can subscribe to it by https");
    assert_rule(rule, omit("OpsWebhook", "RedrivePolicy"), "is lost");
    assert_rule(rule, set("/Parameters/AlertWebhookUrl/AllowedPattern", json!("^(https?://.+)?$")), "in the clear");
    let filter = json!({ "copy": [{ "exists": false }] });
    assert_rule(rule, change("OpsSubscription", "FilterPolicy", filter), "OpsSubscription: a filter keeps");
}

/// The processes record the alerts that they sent in the table: a role that may publish an alert must be able to write
/// there.
fn alerts_are_sent_once(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, role) in template.of_type("AWS::IAM::Role") {
        let policies = list(&role["Properties"]["Policies"]);
        let statements = || policies.iter().flat_map(|policy| list(&policy["PolicyDocument"]["Statement"]));
        let allows = |statement: &Value, action: &str| list(&statement["Action"]).iter().any(|it| **it == action);
        let records = |statement: &Value| {
            let keys = list(&statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]);
            let open = keys.is_empty() || keys.iter().any(|key| **key == "ALERT#*");
            allows(statement, "dynamodb:PutItem")
                && list(&statement["Resource"]).into_iter().any(|it| target(it) == Some("Table"))
                && open
        };
        if statements().any(|it| allows(it, "sns:Publish")) && !statements().any(records) {
            found.push(format!(
                "{id}: may publish alerts and may not record them under ALERT#*, so each process announces a storm"
            ));
        }
    }
    found
}

#[test]
fn a_role_that_publishes_alerts_can_record_them_for_the_others() {
    let rule = alerts_are_sent_once;
    let keys = "Policies/0/PolicyDocument/Statement/2/Condition/ForAllValues:StringLike/dynamodb:LeadingKeys";
    assert_rule(rule, change("BootProbeRole", keys, json!(["NOTE#boot-probe"])), "BootProbeRole: may publish alerts");
}
