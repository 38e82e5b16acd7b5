//! Alarms on missing events, and on figures that CloudWatch omits: schedules that stop, tables that are throttled now
//! and then, messages whose age is no longer counted.

use crate::{
    assert_rule,
    model::{Template, events, is_ours, list, number, target, watched_metrics},
    patch::{change, edit, property, rename, set},
};
use domain::{Metric, backoff::KEEPS_FAILING};
use serde_json::{Value, json};

/// The metric that each schedule sends at the end of a complete run. For deadlines and boot-probe, the start counts.
const HEARTBEATS: [(&str, Metric); 5] = [
    ("ReconcileFunction", Metric::Reconciled),
    ("CacheHealthFunction", Metric::CacheHealthRan),
    ("AuditDigestFunction", Metric::Digested),
    ("InboxWatchFunction", Metric::InboxWatched),
    ("SmokeTestFunction", Metric::SmokeTested),
];

/// The schedule of a function; null if it has none.
fn schedule(function: &Value) -> &Value {
    events(function).find(|event| event["Type"] == "Schedule").map_or(&Value::Null, |event| &event["Properties"])
}

/// Seconds from one run to the next.
fn interval(schedule: &Value) -> u64 {
    let text = schedule["Schedule"].as_str().unwrap_or_default();
    let Some(rate) = text.strip_prefix("rate(") else { return 86_400 };
    let count: u64 = rate.split(' ').next().and_then(|count| count.parse().ok()).unwrap_or_default();
    if rate.contains("hour") { count * 3_600 } else { count * 60 }
}

/// If data points are missing, CloudWatch uses older ones from before the evaluated periods, so the alarm on a daily
/// job that stopped would come days late. `FILL` adds a zero for each period without a run.
fn is_filled(alarm: &Value) -> bool {
    let metrics = list(&alarm["Metrics"]);
    let returned: Vec<_> = metrics.iter().filter(|metric| metric["ReturnData"] != false).collect();
    matches!(returned[..], [only] if only["Expression"] == "FILL(runs, 0)")
}

/// The alarm's window is longer than one interval and at most five; a daily job has two hours of grace.
fn hears_in_time(alarm: &Value, interval: u64) -> bool {
    let stat = list(&alarm["Metrics"]).into_iter().map(|metric| &metric["MetricStat"]).find(|stat| !stat.is_null());
    let period = stat.and_then(|stat| number(&stat["Period"])).unwrap_or_default();
    let window = period * number(&alarm["EvaluationPeriods"]).unwrap_or_default();
    let longest = if interval == 86_400 { 26 * 3_600 } else { interval * 5 };
    period <= 3_600 && window > interval && window <= longest && stat.is_some_and(|stat| stat["Stat"] == "Sum")
}

/// Whether missing runs raise the alarm. If a parameter can disable the schedule, they must not raise it while it is
/// disabled.
fn hears_silence(template: &Template, schedule: &Value, alarm: &Value) -> bool {
    let (missing, threshold) = (&alarm["TreatMissingData"], &alarm["Threshold"]);
    let raised = if schedule["State"].is_null() {
        missing == "breaching" && *threshold == 1
    } else {
        let condition = missing["Fn::If"][0].as_str().unwrap_or_default();
        template.section("Conditions")[condition]["Fn::Equals"] == json!([schedule["State"], "ENABLED"])
            && *missing == json!({ "Fn::If": [condition, "breaching", "notBreaching"] })
            && *threshold == json!({ "Fn::If": [condition, 1, 0] })
    };
    raised && alarm["ComparisonOperator"] == "LessThanThreshold"
}

fn schedules_are_heard(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, function) in template.functions() {
        let schedule = schedule(function);
        if schedule.is_null() {
            continue;
        }
        let name = format!("{}MissingAlarm", id.trim_end_matches("Function"));
        let alarm = &template.resource(&name)["Properties"];
        let watched = watched_metrics(alarm).first().copied().unwrap_or(&Value::Null);
        let starts = target(&watched["Dimensions"][0]["Value"]) == Some(id) && watched["MetricName"] == "Invocations";
        let heartbeat = is_ours(&watched["Namespace"])
            && HEARTBEATS.iter().any(|(function, metric)| *function == id && watched["MetricName"] == metric.name());
        if !(starts || heartbeat) || !hears_silence(template, schedule, alarm) {
            found.push(format!("{id}: runs on a schedule, and no {name} tells that it did not run"));
        }
        if !is_filled(alarm) || !hears_in_time(alarm, interval(schedule)) {
            found.push(format!("{id}: {name} is raised too late, or too early"));
        }
    }
    found
}

#[test]
fn every_schedule_that_falls_silent_is_heard_in_time() {
    let rule = schedules_are_heard;
    let boot = |field: &str| property("BootProbeMissingAlarm", field);
    assert_rule(rule, rename("/Resources/DeadlinesMissingAlarm", "DeadlinesQuietAlarm"), "no DeadlinesMissingAlarm");
    let not_breaching = change("DeadlinesMissingAlarm", "TreatMissingData", "notBreaching");
    assert_rule(rule, not_breaching, "DeadlinesFunction: runs on a schedule");
    assert_rule(rule, set(&boot("TreatMissingData/Fn::If/1"), json!("missing")), "BootProbeFunction: runs");
    assert_rule(rule, set(&boot("TreatMissingData/Fn::If/0"), json!("TestsSmoke")), "BootProbeFunction: runs");
    assert_rule(rule, set(&boot("Threshold"), json!(1)), "BootProbeFunction: runs");
    let other = change("SmokeTestMissingAlarm", "Metrics/1/MetricStat/Metric/MetricName", "Reconciled");
    assert_rule(rule, other, "SmokeTestFunction: runs on a schedule");
    let unfilled = edit(&property("ReconcileMissingAlarm", "Metrics/0/Expression"), "FILL(runs, 0)", "runs");
    assert_rule(rule, unfilled, "ReconcileMissingAlarm is raised too late");
    let days = change("ReconcileMissingAlarm", "Metrics/1/MetricStat/Period", 86_400);
    assert_rule(rule, days, "ReconcileMissingAlarm is raised too late");
    let once = change("AuditDigestMissingAlarm", "EvaluationPeriods", 1);
    assert_rule(rule, once, "AuditDigestMissingAlarm is raised too late, or too early");
}

/// Alarms on AWS/DynamoDB hold their state while data is missing, so each metric must be filled. An index has metrics
/// of its own.
fn throttles_are_counted(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (id, table) in template.of_type("AWS::DynamoDB::Table") {
        let indexes = list(&table["Properties"]["GlobalSecondaryIndexes"]);
        let places = indexes.iter().map(|index| &index["IndexName"]).chain([&Value::Null]);
        for place in places {
            for metric in ["ReadThrottleEvents", "WriteThrottleEvents"] {
                let counted = template.of_type("AWS::CloudWatch::Alarm").into_iter().any(|(_, alarm)| {
                    let metrics = list(&alarm["Properties"]["Metrics"]);
                    let expression =
                        metrics.iter().find_map(|metric| metric["Expression"].as_str()).unwrap_or_default();
                    metrics.iter().any(|entry| {
                        let watched = &entry["MetricStat"]["Metric"];
                        let filled = format!("FILL({}, 0)", entry["Id"].as_str().unwrap_or_default());
                        watched["MetricName"] == metric
                            && target(&watched["Dimensions"][0]["Value"]) == Some(id)
                            && watched["Dimensions"][1]["Value"] == *place
                            && expression.contains(&filled)
                    })
                });
                if !counted {
                    found.push(format!("{id}: no alarm counts {metric} of {place}"));
                }
            }
        }
    }
    found
}

#[test]
fn throttles_of_the_table_and_of_its_indexes_raise_an_alarm_and_end_it() {
    let rule = throttles_are_counted;
    let expression = property("TableWriteThrottlesAlarm", "Metrics/0/Expression");
    assert_rule(rule, edit(&expression, "FILL(ages, 0)", "ages"), "WriteThrottleEvents of \"ages\"");
    let index = property("TableReadThrottlesAlarm", "Metrics/2/MetricStat/Metric/Dimensions/1/Value");
    assert_rule(rule, set(&index, json!("opened")), "ReadThrottleEvents of \"open\"");
}

/// SQS does not count the age of a message that was received three times. The queue's consumer hides a message whose
/// work fails for at most a minute, and counts it as `MessageKeepsFailing` after [`KEEPS_FAILING`] deliveries. The alarm
/// on the age must hold until then.
const COUNTED_RECEIVES: u64 = 3;
const LONGEST_HIDDEN: u64 = 60;

fn ages_are_held(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for (metric, queue, alarm) in template.alarms() {
        if metric != "ApproximateAgeOfOldestMessage" {
            continue;
        }
        let properties = &template.resource(queue)["Properties"];
        let receives = number(&properties["RedrivePolicy"]["maxReceiveCount"]).unwrap_or_default();
        // Messages of the log's bucket have a separate consumer, which hides none.
        let (most, hidden) = if queue == "LogNoticesQueue" {
            (receives, number(&properties["VisibilityTimeout"]).unwrap_or(30))
        } else {
            (receives.min(KEEPS_FAILING.into()), LONGEST_HIDDEN)
        };
        let uncounted = most.saturating_sub(COUNTED_RECEIVES) * hidden;
        let held = number(&alarm["EvaluationPeriods"]).unwrap_or(1) * number(&alarm["Period"]).unwrap_or_default();
        if held < uncounted || alarm["DatapointsToAlarm"] != 1 {
            found.push(format!("{queue}: the alarm on its age ends {uncounted} s before a failing message does"));
        }
    }
    found
}

#[test]
fn a_message_that_keeps_failing_keeps_its_alarm() {
    let rule = ages_are_held;
    let age = |field: &str| property("OrdersQueueAgeAlarm", field);
    assert_rule(rule, set(&age("EvaluationPeriods"), json!(1)), "OrdersQueue: the alarm on its age ends 1020 s");
    assert_rule(rule, set(&age("DatapointsToAlarm"), json!(26)), "OrdersQueue: the alarm on its age ends");
    assert_rule(rule, change("LogNoticesQueue", "VisibilityTimeout", 3_600), "LogNoticesQueue: the alarm");
}
