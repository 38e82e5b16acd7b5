//! Records of requests that bought nothing, when many arrive at once.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use audit::FunctionJournal;
use domain::{Metric, toll::Offer};
use runtime::http::{Reply, Request};
use serde_json::json;
use support::*;
use testkit::{SlowNotes, World, in_turns};
use toll::{Ports, handle};

/// Handles all requests at once, each a step at a time.
fn handle_at_once(world: &World, requests: Vec<Request>) -> Vec<Reply> {
    let (slow, settings) = (SlowNotes(world), settings());
    let rejections = FunctionJournal { notes: &slow, ..ports(world).rejections };
    let ports = Ports { rejections, ..ports(world) };
    in_turns(requests.into_iter().map(|request| handle(ports, &settings, request)))
}

/// Signing and asking cost nothing, so anybody can send a burst. Its records are all kept, and no alarm is raised.
#[test]
fn every_request_of_a_burst_is_recorded() {
    let world = world();
    let mut spoiled = payment_for(&world, Offer::Query, 1);
    spoiled["payload"]["authorization"]["value"] = json!("1");
    let burst = |request: &dyn Fn() -> Request| handle_at_once(&world, (0..40).map(|_| request()).collect());
    assert!(burst(&|| paid("/query", QUESTION, &spoiled)).iter().all(|reply| reply.status() == 402));
    assert!(burst(&|| unpaid("/query", "I want to kill myself")).iter().all(|reply| reply.status() == 422));
    let state = world.state();
    for event in ["payment_not_taken", "authority_evaluated"] {
        let name = format!(r#""event":"{event}""#);
        assert_eq!(state.log.values().filter(|line| line.contains(&name)).count(), 40, "{event}");
    }
    assert!(!state.measurements.contains(&Metric::AuditWriteFailed.once()));
}
