//! The circuit breaker in the pipeline.

use crate::{samples::body, simulator::Simulator};
use domain::ports::{ModelError, ModelReply};
use std::time::Duration;

const GOOD: &str = r#"{"verdict":"GREEN","summary":"Demand is real and the format fits."}"#;

fn good() -> Result<ModelReply, ModelError> {
    Ok(testkit::reply(GOOD))
}

/// A world in which five sales failed with three attempts each, before a sixth sale.
fn opened() -> Simulator {
    let mut sim = Simulator::new("quick");
    sim.world.state().answers = (0..15).map(|_| Err(ModelError::Timeout)).collect();
    for number in 1..=5 {
        sim.next_session(&format!("cs_test_failing_sale_{number}"));
        sim.stripe_delivers();
        sim.step();
        assert_eq!(sim.page().unwrap().status(), 202, "sale {number}");
        sim.lose_messages();
    }
    sim.next_session("cs_test_the_sixth_sale");
    sim
}

/// Gemini Timeout, verification criterion 4.
#[test]
fn after_five_final_failures_the_model_is_left_alone_for_a_minute() {
    let mut sim = opened();
    let calls = sim.world.state().prompts.len();
    assert_eq!(calls, 15);
    sim.stripe_delivers();
    assert_eq!(sim.step(), Some(false), "the order is kept");
    assert_eq!(sim.world.state().prompts.len(), calls, "the model is not asked");
    let page = sim.page().unwrap();
    assert_eq!(page.status(), 503);
    let sentence = "Analysis temporarily unavailable. Please try again in a few minutes.";
    assert_eq!(body(&page)["error"], sentence);
    let alerts = sim.world.state().alerts.clone();
    assert_eq!(alerts.iter().filter(|alert| alert.line.contains("circuit of model-a opened")).count(), 1);
    // A minute later the queue redelivers the order, the single test call succeeds, and the circuit closes.
    let before = sim.now();
    sim.world.state().answers = [good(), good()].into();
    sim.drain();
    assert!(sim.now().since(before) < Duration::from_secs(70), "no page was needed");
    assert_eq!(sim.page().unwrap().status(), 200);
    let state = sim.world.state();
    assert_eq!((state.prompts.len(), state.sent.len()), (calls + 1, 1));
    assert!(state.breakers["model-a"].0.is_fresh());
}

#[test]
fn a_probe_that_fails_keeps_the_circuit_open() {
    let mut sim = opened();
    let calls = sim.world.state().prompts.len();
    sim.world.advance(Duration::from_secs(61));
    sim.world.state().answers = (0..2).map(|_| Err(ModelError::Timeout)).collect();
    sim.stripe_delivers();
    sim.step();
    assert_eq!(sim.world.state().prompts.len(), calls + 2, "one half-open call to each model");
    assert_eq!(sim.sale().model_wait().unwrap().failures, 0, "that says nothing of the sale");
    sim.lose_messages();
    sim.next_session("cs_test_the_seventh_sale");
    sim.stripe_delivers();
    sim.step();
    assert_eq!(sim.world.state().prompts.len(), calls + 2, "open again");
}

/// The breaker protects the model; if its row cannot be read or written, sales continue.
#[test]
fn a_broken_breaker_stops_no_sale() {
    use testkit::{Fault, Plan};
    for (name, fault) in [("breaker.load", Fault::Fail), ("breaker.save", Fault::Fail)] {
        let mut sim = Simulator::new("quick");
        sim.model_says(GOOD);
        sim.world.plan(Plan::none().whenever(name, fault));
        sim.stripe_delivers();
        sim.drain();
        assert_eq!(sim.page().unwrap().status(), 200, "{name}");
    }
}

#[test]
fn what_the_model_says_wrongly_opens_no_circuit() {
    let mut sim = Simulator::new("quick");
    for number in 1..=6 {
        sim.next_session(&format!("cs_test_prose_replies_{number}"));
        sim.model_says("Certainly! Here is your verdict.");
        sim.stripe_delivers();
        sim.step();
        sim.lose_messages();
    }
    assert_eq!(sim.world.state().prompts.len(), 12, "each was asked twice");
    assert!(!sim.world.state().alerts.iter().any(|alert| alert.line.contains("circuit")));
}
