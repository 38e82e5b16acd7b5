//! events/: one event for each function, as AWS delivers it; the functions' own code parses it.

use crate::{
    samples::{paid_session, quick},
    simulator::Simulator,
};
use aws_lambda_events::event::sqs::SqsEvent;
use domain::{deployment::Execution, message::Message};
use runtime::{Handled, http::Request};
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path};

const SESSION: &str = "cs_test_a1simulatedsession0001";

/// The queue of each function.
const QUEUES: [(&str, &str); 5] = [
    ("verdict", "orders"),
    ("silent-drop", "notices"),
    ("email-sender", "email"),
    ("email-retry", "email-retry"),
    ("payment-events", "payments"),
];

/// The function that a deployment asks.
const HOOK: &str = "anvil";

const BEHIND_THE_API: [&str; 5] = ["checkout", "webhook", "result", "toll", "chat"];

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn event(function: &str) -> String {
    let path = repository().join("events").join(format!("{function}.json"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn names(directory: &str, ending: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(repository().join(directory)).unwrap().map(|entry| entry.unwrap().file_name());
    let names = entries.map(|name| name.to_string_lossy().into_owned());
    names.filter_map(|name| name.strip_suffix(ending).map(str::to_owned)).collect()
}

#[test]
fn every_function_has_an_event() {
    assert_eq!(names("events", ".json"), names("functions", ""));
}

#[test]
fn requests_are_answered() {
    let sim = Simulator::with_session(paid_session(SESSION, "full", Some("someone@example.com")));
    let deployment = sim.deployment();
    let request = |function: &str| Request::from_event(&event(function)).unwrap();
    let bought = testkit::run(deployment.purchase(request("checkout"))).unwrap();
    let received = testkit::run(deployment.receive(request("webhook"))).unwrap();
    let read = testkit::run(deployment.result(request("result"))).unwrap();
    assert_eq!((bought.status(), received.status(), read.status()), (200, 200, 202), "{}", received.body());
    assert_eq!(sim.world.state().created.len(), 1);
    assert_eq!(request("toll").path(), "/query");
    assert_eq!((request("chat").method(), request("chat").path()), ("POST", "/api/chat/login"));
    let orders =
        sim.world.state().outgoing.iter().filter(|(_, message, _)| matches!(message, Message::Order { .. })).count();
    assert_eq!(orders, 2, "of the event and of the page");
}

#[test]
fn messages_are_understood_by_the_function_behind_their_queue() {
    for (function, queue) in QUEUES {
        let batch: SqsEvent = serde_json::from_str(&event(function)).unwrap();
        let [record] = &batch.records[..] else { panic!("{function}: one message") };
        assert!(record.event_source_arn.as_deref().unwrap().ends_with(&format!("oracle-{queue}")), "{function}");
        let body = record.body.clone().unwrap();
        Message::parse(&body).unwrap_or_else(|error| panic!("{function}: {error}"));
        // Silent-drop gets only orders that cannot be fulfilled.
        let tier = if function == "silent-drop" { "premium" } else { "full" };
        let sim = Simulator::with_session(paid_session(SESSION, tier, Some("someone@example.com")));
        sim.model_says(&quick("GREEN", "Go ahead."));
        let deployment = sim.deployment();
        // Mails and payments need a sale that already has its verdict.
        if !["verdict", "silent-drop"].contains(&function) {
            let orders: SqsEvent = serde_json::from_str(&event("verdict")).unwrap();
            let order = orders.records[0].body.clone().unwrap();
            testkit::run(deployment.message("orders", "orders-0".to_owned(), 1, order)).unwrap();
        }
        let id = format!("{queue}-1");
        let handled = testkit::run(deployment.message(queue, id, 1, body)).unwrap();
        assert!(matches!(handled, Handled::Done), "{function}");
    }
}

#[test]
fn a_deployments_question_is_understood() {
    let event: Value = serde_json::from_str(&event(HOOK)).unwrap();
    assert!(Execution::of(&event).is_some());
}

#[test]
fn schedules_are_what_eventbridge_sends() {
    for function in names("functions", "") {
        let event: Value = serde_json::from_str(&event(&function)).unwrap();
        let is_elsewhere = QUEUES.iter().any(|(name, _)| *name == function)
            || BEHIND_THE_API.contains(&function.as_str())
            || function == HOOK;
        let is_scheduled = event["detail-type"] == "Scheduled Event" && event["source"] == "aws.events";
        assert_eq!(is_scheduled, !is_elsewhere, "{function}");
    }
}
