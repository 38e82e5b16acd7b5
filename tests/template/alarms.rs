//! Alarms beyond those of queues and functions (see `delivery`): what is silent, slow, throttled or undelivered.

use crate::{
    assert_rule,
    model::{Template, list, number, target},
};
use serde_json::Value;

/// What a function may take of its time-out before somebody looks, per cent.
const NEAR: std::ops::RangeInclusive<u64> = 70..=95;

fn has_event(function: &Value, kind: &str) -> bool {
    let events = function["Properties"]["Events"].as_object().into_iter().flatten();
    events.into_iter().any(|(_, event)| event["Type"] == kind)
}

/// Whether an alarm is raised by silence; a condition may switch that off with the schedule itself.
fn hears_silence(alarm: &Value) -> bool {
    let missing = &alarm["TreatMissingData"];
    let breaching = missing == "breaching" || missing["Fn::If"][1] == "breaching";
    breaching && alarm["ComparisonOperator"] == "LessThanThreshold"
}

fn schedules_are_heard(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, _) in template.functions().into_iter().filter(|(_, function)| has_event(function, "Schedule")) {
        let name = format!("{}MissingAlarm", id.trim_end_matches("Function"));
        let alarm = &template.resource(&name)["Properties"];
        let watches = target(&alarm["Dimensions"][0]["Value"]) == Some(id) && alarm["MetricName"] == "Invocations";
        // A heartbeat of its own, sent at the end of a whole run, tells more.
        let heartbeat = alarm["Namespace"] == domain::metric::NAMESPACE;
        if !(watches || heartbeat) || !hears_silence(alarm) {
            found.push(format!("{id}: runs on a schedule, and no {name} tells that it did not run"));
        }
    }
    found
}

#[test]
fn every_schedule_that_falls_silent_is_heard() {
    let rule = schedules_are_heard;
    assert_rule(rule, "  DeadlinesMissingAlarm:", "  DeadlinesQuietAlarm:", "DeadlinesFunction: runs on a schedule");
    assert_rule(rule, "TreatMissingData: breaching", "TreatMissingData: notBreaching", "tells that it did not run");
    assert_rule(rule, "[ProbesBoot, breaching, notB", "[ProbesBoot, missing, notB", "BootProbeFunction");
}

/// Work that a time-out cuts off stays hidden for the whole visibility time-out of its queue.
fn slowness_is_seen(template: &Template) -> Vec<String> {
    let alarms = template.alarms();
    let mut found = Vec::new();
    for (id, function) in template.functions().into_iter().filter(|(_, function)| has_event(function, "SQS")) {
        let limit = number(&function["Properties"]["Timeout"]).unwrap_or_default() * 1_000;
        let alarm = alarms.iter().find(|(metric, watched, _)| *metric == "Duration" && *watched == id);
        let share = alarm.and_then(|(.., alarm)| number(&alarm["Threshold"])).map(|most| most * 100 / limit.max(1));
        if !share.is_some_and(|share| NEAR.contains(&share)) {
            found.push(format!("{id}: no alarm when it takes nearly its {limit} ms"));
        }
    }
    found
}

#[test]
fn functions_behind_queues_that_run_into_their_time_outs_are_seen() {
    let rule = slowness_is_seen;
    assert_rule(rule, "Threshold: 162000", "Threshold: 180000", "VerdictFunction: no alarm when it takes nearly");
    assert_rule(rule, "Timeout: 60", "Timeout: 30", "SilentDropFunction");
}

fn stores_and_topics_are_watched(template: &Template) -> Vec<String> {
    let wanted = |kind: &str| -> &[&str] {
        match kind {
            "AWS::DynamoDB::Table" => &["ReadThrottleEvents", "WriteThrottleEvents"],
            "AWS::SNS::Topic" => &["NumberOfNotificationsFailed"],
            _ => &[],
        }
    };
    let alarms = template.alarms();
    let mut found = Vec::new();
    for (id, resource) in template.resources() {
        for metric in wanted(resource["Type"].as_str().unwrap_or_default()) {
            let alarm = alarms.iter().find(|(name, watched, _)| name == metric && *watched == id);
            let told = alarm.map(|(.., alarm)| list(&alarm["AlarmActions"])).unwrap_or_default();
            // A topic that cannot deliver cannot tell of it either.
            if told.is_empty() || told.into_iter().any(|topic| target(topic) == Some(id)) {
                found.push(format!("{id}: no alarm on {metric} that reaches anybody"));
            }
        }
    }
    let is_5xx = |alarm: &Value| alarm["MetricName"] == "5XXError" && alarm["Namespace"] == "AWS/ApiGateway";
    if !template.of_type("AWS::CloudWatch::Alarm").iter().any(|(_, alarm)| is_5xx(&alarm["Properties"])) {
        found.push("no alarm on what the API answers with 5xx".to_owned());
    }
    found
}

#[test]
fn throttled_tables_failing_topics_and_a_failing_site_are_told() {
    let rule = stores_and_topics_are_watched;
    assert_rule(rule, "MetricName: WriteThrottleEvents", "MetricName: SystemErrors", "Table: no alarm on WriteThr");
    assert_rule(rule, "MetricName: 5XXError", "MetricName: 4XXError", "5xx");
    let critical = "!GetAtt CriticalTopic.TopicName}]\n      Statistic: Sum\n      Period: 300\n      \
        EvaluationPeriods: 1\n      Threshold: 1\n      ComparisonOperator: GreaterThanOrEqualToThreshold\n      \
        TreatMissingData: notBreaching\n      AlarmActions: [!Ref ";
    let (right, wrong) = (format!("{critical}OpsTopic]"), format!("{critical}CriticalTopic]"));
    assert_rule(rule, &right, &wrong, "CriticalTopic: no alarm on NumberOfNotificationsFailed");
}

/// Operators can be told by mail and by webhook, each on both topics; what the webhook does not take is kept.
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
    let pattern = template.section("Parameters")["AlertWebhookUrl"]["AllowedPattern"].as_str().unwrap_or_default();
    if !pattern.starts_with("^(https://") {
        found.push("AlertWebhookUrl: alerts go out in the clear".to_owned());
    }
    found
}

#[test]
fn both_topics_can_be_subscribed_to_by_mail_and_by_webhook() {
    let rule = topics_reach_somebody;
    assert_rule(rule, "Protocol: https", "Protocol: http", "OpsTopic: nobody can subscribe to it by https");
    assert_rule(rule, "      RedrivePolicy: {deadLetterTargetArn: !GetAtt AlertDeadLetters.Arn}\n", "", "is lost");
    assert_rule(rule, "^(https://", "^(https?://", "in the clear");
}

/// What several processes have told is noted in the table: whoever may publish an alert must be able to note it.
fn alerts_are_told_once(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, role) in template.of_type("AWS::IAM::Role") {
        let policies = list(&role["Properties"]["Policies"]);
        let statements = || policies.iter().flat_map(|policy| list(&policy["PolicyDocument"]["Statement"]));
        let allows = |statement: &Value, action: &str| list(&statement["Action"]).iter().any(|it| **it == action);
        let notes = |statement: &Value| {
            let keys = list(&statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]);
            let open = keys.is_empty() || keys.iter().any(|key| **key == "ALERT#*");
            allows(statement, "dynamodb:PutItem")
                && list(&statement["Resource"]).into_iter().any(|it| target(it) == Some("Table"))
                && open
        };
        if statements().any(|it| allows(it, "sns:Publish")) && !statements().any(notes) {
            found
                .push(format!("{id}: may tell alerts and may not note them under ALERT#*, so storms are told by each"));
        }
    }
    found
}

#[test]
fn whoever_tells_alerts_can_note_them_for_the_others() {
    let rule = alerts_are_told_once;
    assert_rule(rule, "[\"NOTE#boot-probe\", \"ALERT#*\"]", "[\"NOTE#boot-probe\"]", "BootProbeRole: may tell alerts");
}
