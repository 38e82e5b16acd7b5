//! Queues: no accepted message is lost, and dead letters raise an alarm.

use crate::{
    assert_rule, finder,
    model::{Resource, Template, events, list, number, pairs, target},
    patch::{change, omit, property, set},
};
use serde_json::{Value, json};

/// SQS's limit for DelaySeconds; the local emulator does not enforce it.
const LONGEST_DELAY: u64 = 900;
/// SQS's default retention, in seconds.
const DEFAULT_RETENTION: u64 = 345_600;
const FEWEST_RECEIVES: u64 = 10;

/// All event source mappings as (function, its timeout, the mapping's properties).
fn mappings<'a>(template: &'a Template) -> Vec<(&'a str, u64, &'a Value)> {
    let of = |(id, function): Resource<'a>| {
        let timeout = number(&function["Properties"]["Timeout"]).unwrap_or(u64::MAX);
        let queues = events(function).filter(|event| event["Type"] == "SQS");
        queues.map(move |event| (id, timeout, &event["Properties"]))
    };
    template.functions().into_iter().flat_map(of).collect()
}

fn dead_letters(queue: &Value) -> Option<&str> {
    target(&queue["Properties"]["RedrivePolicy"]["deadLetterTargetArn"])
}

fn retention(queue: &Value) -> u64 {
    number(&queue["Properties"]["MessageRetentionPeriod"]).unwrap_or(DEFAULT_RETENTION)
}

fn mappings_report_failures(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, timeout, mapping) in mappings(template) {
        let queue = target(&mapping["Queue"]).unwrap_or_default();
        if !list(&mapping["FunctionResponseTypes"]).iter().any(|kind| **kind == "ReportBatchItemFailures") {
            found.push(format!("{id}: without ReportBatchItemFailures a failed message is deleted"));
        }
        let visibility = number(&template.resource(queue)["Properties"]["VisibilityTimeout"]).unwrap_or(30);
        if visibility < timeout.saturating_mul(6) {
            found.push(format!("{queue}: visibility {visibility} s is less than six times {id}'s {timeout} s"));
        }
        if dead_letters(template.resource(queue)).is_none() {
            found.push(format!("{queue}: has a consumer and no dead letters"));
        }
    }
    found
}

#[test]
fn every_mapping_reports_failures_and_leaves_time_for_them() {
    assert!(mappings(&Template::load()).len() >= 2, "the rule must have something to look at");
    let rule = mappings_report_failures;
    assert_rule(
        rule,
        omit("VerdictFunction", "Events/Orders/Properties/FunctionResponseTypes"),
        "without ReportBatchItemFailures",
    );
    assert_rule(rule, change("OrdersQueue", "VisibilityTimeout", 1079), "less than six times");
}

/// A consumer sends unreadable bodies to the dead letters of the queue that it consumes.
fn consumers_know_their_dead_letters(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, _, mapping) in mappings(template) {
        let queue = target(&mapping["Queue"]).unwrap_or_default();
        let variables = &template.resource(id)["Properties"]["Environment"]["Variables"];
        let handed = target(&variables["DEAD_LETTERS_QUEUE_URL"]);
        if handed != dead_letters(template.resource(queue)) {
            found.push(format!("{id}: consumes {queue} and sends unreadable messages to {handed:?}"));
        }
    }
    found
}

#[test]
fn unreadable_messages_go_to_the_dead_letters_of_their_own_queue() {
    let variable = property("VerdictFunction", "Environment/Variables/DEAD_LETTERS_QUEUE_URL");
    let other = set(&variable, json!({ "Ref": "EmailDeadLetters" }));
    assert_rule(consumers_know_their_dead_letters, other, "VerdictFunction: consumes OrdersQueue and sends");
}

fn dead_letters_outlive_their_source(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, queue) in template.of_type("AWS::SQS::Queue") {
        let Some(target) = dead_letters(queue) else { continue };
        if retention(template.resource(target)) <= retention(queue) {
            found.push(format!("{target}: a letter arrives with its age and may be gone at once"));
        }
        let receives = number(&queue["Properties"]["RedrivePolicy"]["maxReceiveCount"]).unwrap_or_default();
        if receives < FEWEST_RECEIVES {
            found.push(format!("{id}: {receives} receives are used up by throttling alone"));
        }
    }
    found
}

#[test]
fn dead_letters_are_kept_longer_and_only_after_ten_receives() {
    let rule = dead_letters_outlive_their_source;
    assert_rule(rule, change("OrdersDeadLetters", "MessageRetentionPeriod", 345_600), "may be gone at once");
    assert_rule(rule, change("OrdersQueue", "RedrivePolicy/maxReceiveCount", 3), "3 receives");
}

fn queues_as_sqs_allows(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, resource) in template.resources() {
        for (key, value) in pairs(resource) {
            if key == "DelaySeconds" && number(value).is_none_or(|seconds| seconds > LONGEST_DELAY) {
                found.push(format!("{id}: DelaySeconds {value}"));
            }
        }
        if resource["Type"] == "AWS::SQS::Queue" && resource["Properties"]["SqsManagedSseEnabled"] != true {
            found.push(format!("{id}: not encrypted"));
        }
    }
    found
}

#[test]
fn queues_stay_within_what_sqs_accepts() {
    let rule = queues_as_sqs_allows;
    assert_rule(rule, change("OrdersQueue", "DelaySeconds", 901), "DelaySeconds 901");
    assert_rule(rule, omit("EmailDeadLetters", "SqsManagedSseEnabled"), "not encrypted");
}

fn everything_lost_is_noticed(template: &Template) -> Vec<String> {
    let alarms = template.alarms();
    let is_topic = |action: &Value| target(action).is_some_and(|id| template.resource(id)["Type"] == "AWS::SNS::Topic");
    let mut found = Vec::new();
    let mut expect = |metric: &str, watched: &str| {
        let alarm = alarms.iter().find(|(name, target, _)| *name == metric && *target == watched);
        match alarm {
            None => found.push(format!("{watched}: no alarm on {metric}")),
            Some((_, _, properties)) => {
                let actions = list(&properties["AlarmActions"]);
                if actions.is_empty() || !actions.into_iter().all(is_topic) {
                    found.push(format!("{watched}: the alarm on {metric} reaches nobody"));
                }
                let raised = properties["ComparisonOperator"] == "GreaterThanOrEqualToThreshold";
                let threshold = number(&properties["Threshold"]);
                let raised = match metric {
                    "ApproximateAgeOfOldestMessage" => raised && threshold.is_some_and(|seconds| seconds > 0),
                    _ => raised && threshold == Some(1),
                };
                if !raised {
                    found.push(format!("{watched}: the first of {metric} must raise the alarm"));
                }
            }
        }
    };
    for (id, queue) in template.of_type("AWS::SQS::Queue") {
        match dead_letters(queue) {
            Some(_) => expect("ApproximateAgeOfOldestMessage", id),
            None => expect("ApproximateNumberOfMessagesVisible", id),
        }
    }
    for (id, _) in template.functions() {
        expect("Errors", id);
        expect("Throttles", id);
    }
    found
}

#[test]
fn every_queue_and_function_has_its_alarms() {
    let finds = finder(everything_lost_is_noticed);
    finds(change("OrdersDeadLettersAlarm", "MetricName", "NumberOfMessagesSent"), "no alarm on Approx");
    finds(change("CheckoutThrottlesAlarm", "MetricName", "Errors"), "no alarm on Throttles");
    finds(change("OrdersDeadLettersAlarm", "AlarmActions", json!([])), "reaches nobody");
    finds(change("OrdersDeadLettersAlarm", "Threshold", 2), "OrdersDeadLetters: the first of Approx");
    finds(
        change("CheckoutErrorsAlarm", "ComparisonOperator", "LessThanThreshold"),
        "CheckoutFunction: the first of Errors",
    );
}
