//! Alarms beyond those of queues and functions (see `delivery`): on our own metrics, and on everything that is silent,
//! slow, throttled or undelivered.

use crate::{
    assert_rule, finder,
    model::{Resource, Template, events, is_ours, list, number, target, watched_metrics},
    patch::{change, property, rename, set},
};
use domain::{Metric, metric::Use};
use serde_json::{Value, json};

/// The allowed thresholds of the alarms on duration, in per cent of the function's timeout.
const NEAR: std::ops::RangeInclusive<u64> = 70..=95;

pub(crate) fn has_event(function: &Value, kind: &str) -> bool {
    events(function).any(|event| event["Type"] == kind)
}

/// All alarms as they are deployed, one JSON object per line, so that a change of an alarm shows in this file's diff.
/// The ignored test `write_the_list_of_alarms` rewrites the file.
const EXPECTED: &str = include_str!("alarms.jsonl");

fn deployed(template: &Template) -> Vec<String> {
    let line = |(id, alarm): Resource<'_>| {
        let mut line = serde_json::Map::from_iter([("alarm".to_owned(), json!(id))]);
        line.extend(alarm["Properties"].as_object().cloned().unwrap_or_default());
        Value::Object(line).to_string()
    };
    template.of_type("AWS::CloudWatch::Alarm").into_iter().map(line).collect()
}

fn alarms_are_the_expected_ones(template: &Template) -> Vec<String> {
    let actual = deployed(template);
    let expected: Vec<&str> = EXPECTED.lines().collect();
    let missing = expected.iter().filter(|line| !actual.contains(&(**line).to_owned()));
    let missing = missing.map(|line| format!("alarms.jsonl has {line}"));
    let surplus = actual.iter().filter(|line| !expected.contains(&line.as_str()));
    missing.chain(surplus.map(|line| format!("template.yaml has {line}"))).collect()
}

#[test]
fn every_alarm_is_the_one_on_the_list() {
    let rule = alarms_are_the_expected_ones;
    assert_rule(rule, change("HeldAlarm", "Threshold", 2), "alarms.jsonl has {\"AlarmActions\"");
    assert_rule(rule, rename("/Resources/HeldAlarm", "KeptAlarm"), "template.yaml has {\"AlarmActions\"");
}

#[test]
#[ignore = "writes the list after an intended change: cargo test -p template -- --ignored"]
fn write_the_list_of_alarms() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/alarms.jsonl");
    std::fs::write(path, deployed(&Template::load()).join("\n") + "\n").expect("alarms.jsonl is writable");
}

const AT_LEAST: &str = "GreaterThanOrEqualToThreshold";
const MORE_THAN: &str = "GreaterThanThreshold";
const LESS_THAN: &str = "LessThanThreshold";

/// The condition for each alarm on our metrics, and its topic. The threshold is a number or a parameter.
const RAISED_BY: [(&str, &str, &str, &str); 28] = [
    (Metric::EventUnreadable.name(), AT_LEAST, "1", "CriticalTopic"),
    (Metric::EventNotQueued.name(), AT_LEAST, "1", "CriticalTopic"),
    (Metric::SignatureRefused.name(), AT_LEAST, "1", "OpsTopic"),
    (Metric::CompletedWithoutPayment.name(), AT_LEAST, "1", "OpsTopic"),
    (Metric::CheckoutUnavailable.name(), AT_LEAST, "3", "CriticalTopic"),
    (Metric::ResultUnavailable.name(), AT_LEAST, "3", "OpsTopic"),
    (Metric::AlertUndelivered.name(), AT_LEAST, "1", "CriticalTopic"),
    (Metric::MessageKeepsFailing.name(), AT_LEAST, "1", "CriticalTopic"),
    (Metric::AuditWriteFailed.name(), AT_LEAST, "1", "CriticalTopic"),
    (Metric::AuthorityEscalated.name(), AT_LEAST, "1", "CriticalTopic"),
    (Metric::Held.name(), AT_LEAST, "1", "OpsTopic"),
    (Metric::VerdictOpposed.name(), AT_LEAST, "3", "OpsTopic"),
    (Metric::TollUnreachable.name(), AT_LEAST, "3", "OpsTopic"),
    (Metric::TollUnanswered.name(), AT_LEAST, "3", "OpsTopic"),
    (Metric::TollCorpusUnreadable.name(), AT_LEAST, "1", "OpsTopic"),
    (Metric::ChatLinkRefused.name(), AT_LEAST, "1", "OpsTopic"),
    (Metric::ChatLinkFailed.name(), AT_LEAST, "3", "OpsTopic"),
    (Metric::ChatMemoryLarge.name(), AT_LEAST, "1", "OpsTopic"),
    (Metric::Reconciled.name(), LESS_THAN, "1", "OpsTopic"),
    (Metric::CacheHealthRan.name(), LESS_THAN, "1", "CriticalTopic"),
    (Metric::Digested.name(), LESS_THAN, "1", "CriticalTopic"),
    (Metric::InboxWatched.name(), LESS_THAN, "1", "CriticalTopic"),
    (Metric::SmokeTested.name(), LESS_THAN, "1", "OpsTopic"),
    (Metric::RefreshTokenAge.name(), AT_LEAST, "5184000", "CriticalTopic"),
    (Metric::BreakerOpen.name(), AT_LEAST, "1", "CriticalTopic"),
    (Metric::MailboxBreakerOpen.name(), AT_LEAST, "1", "OpsTopic"),
    (Metric::CacheEntries.name(), MORE_THAN, "CacheEntryCountCritical", "OpsTopic"),
    (Metric::CacheBudgetUsed.name(), MORE_THAN, "100", "CriticalTopic"),
];

/// The meaning of missing data: for a level, that it was not measured; for an event, that it did not happen.
fn silence(metric: &str, comparison: &str) -> &'static [&'static str] {
    match comparison {
        LESS_THAN => &["breaching"],
        _ if Metric::ALL.into_iter().any(|it| it.name() == metric && it.usage() == Use::Level) => &["ignore"],
        _ => &["notBreaching"],
    }
}

fn own_metrics_raise_alarms(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (metric, comparison, threshold, topic) in RAISED_BY {
        let alarms = template.of_type("AWS::CloudWatch::Alarm");
        let watches = |alarm: &&Value| {
            let watched = |it: &&Value| is_ours(&it["Namespace"]) && it["MetricName"] == metric;
            watched_metrics(alarm).into_iter().any(|it| watched(&it) && it["Dimensions"].is_null())
        };
        let Some(alarm) = alarms.iter().map(|(_, alarm)| &alarm["Properties"]).find(watches) else {
            found.push(format!("the metric {metric} has no alarm"));
            continue;
        };
        // If a parameter can disable the schedule that the metric counts, the threshold is that of the enabled
        // schedule.
        let threshold_of = |value: &Value| number(value).map(|number| number.to_string());
        let at = threshold_of(&alarm["Threshold"]).or_else(|| threshold_of(&alarm["Threshold"]["Fn::If"][1]));
        let at = at.or_else(|| target(&alarm["Threshold"]).map(str::to_owned)).unwrap_or_default();
        if alarm["ComparisonOperator"] != comparison || at != threshold {
            found.push(format!("{metric}: its alarm is raised by something else than {comparison} {threshold}"));
        }
        let missing = alarm["TreatMissingData"].as_str().or_else(|| alarm["TreatMissingData"]["Fn::If"][1].as_str());
        if !missing.is_some_and(|missing| silence(metric, comparison).contains(&missing)) {
            found.push(format!("{metric}: its alarm takes silence for {}", alarm["TreatMissingData"]));
        }
        if list(&alarm["AlarmActions"]).iter().map(|action| target(action)).collect::<Vec<_>>() != [Some(topic)] {
            found.push(format!("{metric}: its alarm does not reach {topic}"));
        }
    }
    let known = |metric: &&str| RAISED_BY.iter().any(|(name, ..)| name == metric);
    let all = Metric::ALL.into_iter().filter(|metric| metric.usage() != Use::Dashboard).map(Metric::name);
    found.extend(all.filter(|metric| !known(metric)).map(|metric| format!("{metric}: nobody says what raises it")));
    found
}

#[test]
fn every_metric_of_ours_raises_its_alarm_for_the_right_reason() {
    let finds = finder(own_metrics_raise_alarms);
    finds(change("EventUnreadableAlarm", "MetricName", "EventUnread"), "metric EventUnreadable has no alarm");
    finds(change("HeldAlarm", "Namespace", "Oracles"), "Held has no alarm");
    finds(change("RefreshTokenAgeAlarm", "Threshold", 7_776_000), "RefreshTokenAge: its alarm is raised by");
    finds(
        change("CacheEntriesAlarm", "Threshold", json!({ "Ref": "CacheEntryCountWarn" })),
        "CacheEntries: its alarm is raised",
    );
    finds(change("BreakerOpenAlarm", "TreatMissingData", "notBreaching"), "BreakerOpen: its alarm takes silence for");
    finds(change("HeldAlarm", "ComparisonOperator", json!(LESS_THAN)), "Held: its alarm is raised by");
}

/// A critical alarm also reports its end to the operators whom it alerted.
fn critical_alarms_report_their_end(template: &Template) -> Vec<String> {
    let reaches = |actions: &Value| list(actions).into_iter().any(|action| target(action) == Some("CriticalTopic"));
    let alarms = template.of_type("AWS::CloudWatch::Alarm").into_iter();
    let silent = alarms.filter(|(_, alarm)| {
        reaches(&alarm["Properties"]["AlarmActions"]) && !reaches(&alarm["Properties"]["OKActions"])
    });
    silent.map(|(id, _)| format!("{id}: critical, and does not report its end")).collect()
}

#[test]
fn a_critical_alarm_reports_its_end() {
    let finds = finder(critical_alarms_report_their_end);
    finds(change("ApiServerErrorsAlarm", "OKActions", json!([{ "Ref": "OpsTopic" }])), "does not report its end");
}

/// An alarm on something that customers wait for, or that they cannot do, is critical.
fn alarms_about_waiting_customers_are_critical(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, metric) in [("OrdersQueueAgeAlarm", "ApproximateAgeOfOldestMessage"), ("ApiServerErrorsAlarm", "5XXError")]
    {
        let alarm = &template.resource(id)["Properties"];
        let critical = list(&alarm["AlarmActions"]).iter().any(|action| target(action) == Some("CriticalTopic"));
        let watches = watched_metrics(alarm).into_iter().any(|watched| watched["MetricName"] == metric);
        if !watches || alarm["ComparisonOperator"] != AT_LEAST || !critical {
            found.push(format!("{id}: no critical alarm, although customers wait"));
        }
    }
    found
}

#[test]
fn waiting_orders_and_a_failing_site_raise_critical_alarms() {
    let finds = finder(alarms_about_waiting_customers_are_critical);
    finds(
        change("ApiServerErrorsAlarm", "Metrics/1/MetricStat/Metric/MetricName", "4XXError"),
        "ApiServerErrorsAlarm: no critical alarm",
    );
    finds(rename("/Resources/OrdersQueueAgeAlarm", "OrdersQueueOldAlarm"), "OrdersQueueAgeAlarm: no critical alarm");
}

/// Work that a timeout ends stays hidden for the whole visibility timeout of its queue.
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
    let finds = finder(slowness_is_seen);
    finds(change("VerdictDurationAlarm", "Threshold", 180_000), "VerdictFunction: no alarm when it takes nearly");
    finds(change("SilentDropFunction", "Timeout", 30), "SilentDropFunction");
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
            let actions = alarm.map(|(.., alarm)| list(&alarm["AlarmActions"])).unwrap_or_default();
            // A topic that cannot deliver cannot deliver this alarm either.
            if actions.is_empty() || actions.into_iter().any(|topic| target(topic) == Some(id)) {
                found.push(format!("{id}: no alarm on {metric} that reaches anybody"));
            }
        }
    }
    // The pages of failed sales are subtracted: no operator can do anything about them any more.
    let is_5xx = |alarm: &Value| {
        let watched = watched_metrics(alarm);
        let counts = |namespace: &dyn Fn(&Value) -> bool, name: &str| {
            watched.iter().any(|metric| namespace(&metric["Namespace"]) && metric["MetricName"] == name)
        };
        counts(&|it| it == "AWS/ApiGateway", "5XXError")
            && counts(&is_ours, Metric::FailedSaleShown.name())
            && alarm["Metrics"][0]["Expression"] == "errors - FILL(shown, 0)"
    };
    if !template.of_type("AWS::CloudWatch::Alarm").iter().any(|(_, alarm)| is_5xx(&alarm["Properties"])) {
        found.push("no alarm on what the API answers with 5xx".to_owned());
    }
    found
}

#[test]
fn throttled_tables_failing_topics_and_a_failing_site_have_alarms() {
    let finds = finder(stores_and_topics_are_watched);
    finds(change("TableWriteThrottlesAlarm", "Metrics", json!([])), "Table: no alarm on WriteThr");
    let metric =
        |place: &str| property("ApiServerErrorsAlarm", &format!("Metrics/{place}/MetricStat/Metric/MetricName"));
    finds(set(&metric("1"), json!("4XXError")), "5xx");
    finds(set(&metric("2"), json!("Held")), "5xx");
    let own = json!([{ "Ref": "CriticalTopic" }]);
    finds(
        change("CriticalTopicFailedAlarm", "AlarmActions", own),
        "CriticalTopic: no alarm on NumberOfNotificationsFailed",
    );
}
