//! The dashboard: it has every metric that operators need, and none that no code emits.

use crate::{
    finder,
    model::{OURS, Template},
    patch::{edit, property},
};
use domain::{Metric, metric::Use};
use serde_json::Value;
use std::collections::BTreeSet;

/// The metrics that AWS publishes, as far as the dashboard uses them.
const PUBLISHED: [(&str, &[&str]); 5] = [
    ("AWS/ApiGateway", &["4XXError", "5XXError", "Count", "IntegrationLatency", "Latency"]),
    ("AWS/DynamoDB", &["ReadThrottleEvents", "WriteThrottleEvents"]),
    ("AWS/Lambda", &["Duration", "Errors", "Invocations", "Throttles"]),
    ("AWS/SNS", &["NumberOfNotificationsFailed"]),
    ("AWS/SQS", &["ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesVisible", "NumberOfMessagesSent"]),
];

/// All metrics that our code emits.
fn emitted() -> BTreeSet<&'static str> {
    Metric::ALL.into_iter().map(Metric::name).collect()
}

/// The widgets, if the body is valid JSON after the names are substituted.
fn widgets(template: &Template) -> Result<Vec<Value>, String> {
    let body = &template.resource("Dashboard")["Properties"]["DashboardBody"]["Fn::Sub"];
    let text = body.as_str().ok_or("Dashboard: its body is no text")?;
    let body: Value = serde_json::from_str(text).map_err(|error| format!("Dashboard: its body is no JSON: {error}"))?;
    body["widgets"].as_array().cloned().ok_or_else(|| "Dashboard: it has no widgets".to_owned())
}

/// All metrics on the dashboard: namespace, name, and dimension.
fn metrics(widgets: &[Value]) -> Vec<(String, String, String)> {
    let rows = widgets.iter().flat_map(|widget| widget["properties"]["metrics"].as_array().into_iter().flatten());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    rows.filter(|row| row[0].is_string()).map(|row| (text(&row[0]), text(&row[1]), text(&row[3]))).collect()
}

fn shows_what_there_is(template: &Template) -> Vec<String> {
    let widgets = match widgets(template) {
        Ok(widgets) => widgets,
        Err(found) => return vec![found],
    };
    let mut found = Vec::new();
    if widgets.first().is_none_or(|first| first["type"] != "alarm") {
        found.push("Dashboard: the alarms come first".to_owned());
    }
    let shown = metrics(&widgets);
    for (namespace, name, _) in &shown {
        let published = PUBLISHED.iter().find(|(known, _)| known == namespace);
        let known = match published {
            Some((_, names)) => names.contains(&name.as_str()),
            None => namespace == OURS && emitted().contains(name.as_str()),
        };
        if !known {
            found.push(format!("Dashboard: nobody emits {namespace} {name}"));
        }
    }
    for figure in Metric::ALL.into_iter().filter(|metric| metric.usage() == Use::Dashboard) {
        if !shown.iter().any(|(_, name, _)| name == figure.name()) {
            found.push(format!("Dashboard: {} is emitted for it, and not on it", figure.name()));
        }
    }
    let mut expect = |namespace: &str, name: &str, of: &str| {
        if !shown
            .iter()
            .any(|metric| (metric.0.as_str(), metric.1.as_str(), metric.2.as_str()) == (namespace, name, of))
        {
            found.push(format!("Dashboard: {name} of {of} is not on it"));
        }
    };
    let named = |value: &Value| value["Fn::Sub"].as_str().unwrap_or_default().to_owned();
    for (_, function) in template.functions() {
        expect("AWS/Lambda", "Errors", &named(&function["Properties"]["FunctionName"]));
    }
    for (_, queue) in template.of_type("AWS::SQS::Queue") {
        let live = !queue["Properties"]["RedrivePolicy"].is_null();
        let metric = if live { "ApproximateAgeOfOldestMessage" } else { "ApproximateNumberOfMessagesVisible" };
        expect("AWS/SQS", metric, &named(&queue["Properties"]["QueueName"]));
    }
    let listed = widgets.first().map(|first| first["properties"]["alarms"].to_string()).unwrap_or_default();
    // The dashboard's text cannot name an alarm that exists only under a condition.
    let alarms = template.of_type("AWS::CloudWatch::Alarm").into_iter();
    for (alarm, _) in alarms.filter(|(_, alarm)| alarm["Condition"].is_null()) {
        if !listed.contains(&format!("\"${{{alarm}.Arn}}\"")) {
            found.push(format!("Dashboard: {alarm} is not among its alarms"));
        }
    }
    found
}

#[test]
fn the_dashboard_shows_every_alarm_and_only_metrics_that_exist() {
    let finds = finder(shows_what_there_is);
    let body = property("Dashboard", "DashboardBody/Fn::Sub");
    finds(edit(&body, "\"OrderToMail\", {\"stat\": \"p50\"", "\"OrderToMails\", {\"stat\": \"p50\""), "nobody emits");
    finds(edit(&body, "\"Count\", \"ApiName\"", "\"Requests\", \"ApiName\""), "nobody emits AWS/ApiGateway Requests");
    finds(edit(&body, "\"${HeldAlarm.Arn}\", ", ""), "HeldAlarm is not among its alarms");
    finds(edit(&body, "\"start\": \"-P1D\", ", "\"start\": \"-P1D\" "), "no JSON");
    finds(
        edit(
            &body,
            "\"Errors\", \"FunctionName\", \"${AWS::StackName}-verdict\"",
            "\"Errors\", \"FunctionName\", \"verdict\"",
        ),
        "Errors of ${AWS::StackName}-verdict",
    );
    finds(edit(&body, "{\"type\": \"alarm\"", "{\"type\": \"text\""), "the alarms come first");
}

/// Widgets fit CloudWatch's grid of 24 columns, and do not overlap.
#[test]
fn the_widgets_do_not_overlap() {
    let widgets = widgets(&Template::load()).expect("widgets");
    let number = |widget: &Value, name: &str| widget[name].as_u64().expect("a number");
    let mut taken = BTreeSet::new();
    for widget in &widgets {
        let (left, top) = (number(widget, "x"), number(widget, "y"));
        for column in left..left + number(widget, "width") {
            for row in top..top + number(widget, "height") {
                assert!(column < 24 && taken.insert((column, row)), "{}", widget["properties"]["title"]);
            }
        }
    }
}
