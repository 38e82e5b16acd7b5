//! The outcome of a sale if the model's reply is faulty: a clear result, a record, an alert.

use crate::{
    samples::{body, quick, strategy},
    simulator::Simulator,
};
use domain::ports::{ModelError, ModelReply};
use serde_json::json;
use std::time::Duration;

fn reply(text: &str) -> Result<ModelReply, ModelError> {
    Ok(testkit::reply(text))
}

/// Runs a sale against these replies and returns the page's status and the number of model calls.
fn outcome(tier: &str, replies: Vec<Result<ModelReply, ModelError>>) -> (Simulator, u16, usize) {
    ended(tier, replies, Simulator::drain)
}

/// The same after the first attempt only, before the retry table applies.
fn first_attempt(tier: &str, replies: Vec<Result<ModelReply, ModelError>>) -> (Simulator, u16, usize) {
    ended(tier, replies, |sim| {
        sim.step();
    })
}

fn ended(
    tier: &str,
    replies: Vec<Result<ModelReply, ModelError>>,
    work: impl Fn(&mut Simulator),
) -> (Simulator, u16, usize) {
    let mut sim = Simulator::new(tier);
    sim.world.state().answers = replies.into();
    sim.stripe_delivers();
    work(&mut sim);
    let status = sim.page().unwrap().status();
    let calls = sim.world.state().prompts.len();
    (sim, status, calls)
}

/// Checks that nothing was delivered, and that the page and the operators know about the retry.
fn assert_tried_again(sim: &Simulator) {
    let message = body(&sim.page().unwrap())["message"].as_str().unwrap().to_owned();
    assert!(message.ends_with("we email it to you as soon as it is ready."), "{message}");
    let state = sim.world.state();
    assert!(state.cache.is_empty() && state.archive.is_empty() && state.drafts.is_empty());
    assert!(state.alerts.iter().any(|alert| alert.line.contains("; tried again at 20")), "operators know");
}

fn assert_failed(sim: &Simulator) {
    let page = sim.page().unwrap();
    assert_eq!(body(&page), json!({ "error": "Analysis failed. Please contact oracle@42sisters.ai for a refund." }));
    let state = sim.world.state();
    assert!(state.cache.is_empty() && state.archive.is_empty() && state.sent.is_empty() && state.drafts.is_empty());
    assert!(state.alerts.iter().any(|alert| alert.line.contains("CRITICAL")), "operators know");
    drop(state);
    let errors = sim.audit_lines();
    let error = errors.iter().find(|line| line["status"] == "ERROR").unwrap();
    assert!(!error["error_detail"].as_str().unwrap().is_empty());
}

#[test]
fn malformed_replies_are_asked_for_once_more_and_no_oftener() {
    for text in ["", "Sure! The verdict is GREEN.", "```json\n{\"verdict\":\"GREEN\"}\n```", "{\"verdict\":\"GRE", "[]"]
    {
        let (sim, status, calls) = first_attempt("quick", (0..5).map(|_| reply(text)).collect());
        assert_eq!((status, calls), (202, 2), "{text:?}");
        assert_tried_again(&sim);
        let prompts = sim.world.state().prompts.clone();
        assert_ne!(prompts[0].1.instruction, prompts[1].1.instruction, "the second instruction is stricter");
        assert_eq!(prompts[0].1.content, prompts[1].1.content);
        let crosschecks = sim.audit_lines().iter().filter(|line| line["event"] == "tmm_crosscheck").count();
        assert_eq!(crosschecks, 2, "a record for each run");
    }
}

#[test]
fn a_malformed_reply_followed_by_a_good_one_is_a_sale() {
    let good = quick("RED", "The costs are larger than the returns.");
    let (sim, status, calls) = outcome("quick", vec![reply("Certainly:"), reply(&good)]);
    assert_eq!((status, calls, sim.world.state().sent.len()), (200, 2, 1));
}

/// TMM Crosscheck, invariant 5: every crosscheck is recorded, also if the next call asks for a delay and the order waits.
#[test]
fn the_crosscheck_of_a_reply_before_a_wait_is_recorded() {
    let minute = || Err(ModelError::Throttled(Duration::from_secs(60)));
    let (sim, _, calls) = first_attempt("quick", vec![reply("Sure!"), minute(), minute()]);
    let crosschecks = sim.audit_lines().iter().filter(|line| line["event"] == "tmm_crosscheck").count();
    assert_eq!((calls, crosschecks), (3, 1));
    assert!(sim.sale().model_wait().is_some_and(|wait| wait.failures == 0), "it waits and has not failed");
}

#[test]
fn what_the_crosscheck_rejects_is_neither_cached_nor_mailed_nor_asked_for_again() {
    let mut without_dimension: serde_json::Value = serde_json::from_str(&strategy()).unwrap();
    without_dimension["breakdown"].as_object_mut().unwrap().remove("Completion");
    for (tier, text) in [
        ("quick", quick("BLUE", "A colour nobody knows.")),
        ("quick", json!({ "summary": "" }).to_string()),
        ("quick", json!({ "verdict": "GREEN" }).to_string()),
        ("full", quick("GREEN", "A Quick Take is not a Full Breakdown.")),
        ("strategy", without_dimension.to_string()),
    ] {
        let (sim, status, calls) = outcome(tier, vec![reply(&text), reply(&strategy())]);
        assert_eq!((status, calls), (500, 1), "{text}");
        assert_failed(&sim);
        let lines = sim.audit_lines();
        let check = lines.iter().find(|line| line["event"] == "tmm_crosscheck").unwrap();
        assert_eq!((&check["approved"], &check["crosscheck_reason"]), (&false.into(), &"field_missing".into()));
        assert_eq!((&check["phi"], &check["tier"]), (&json!(0.042), &tier.into()));
    }
}

#[test]
fn a_dearer_reply_than_was_paid_for_is_cut_down() {
    let (sim, status, _) = outcome("full", vec![reply(&strategy())]);
    assert_eq!(status, 200);
    let page = body(&sim.page().unwrap());
    assert!(page["verdict"]["breakdown"].is_object() && page["verdict"]["strategy"].is_null());
}

#[test]
fn passing_failures_are_retried_within_three_attempts() {
    let good = quick("RED", "The costs are larger than the returns.");
    let (sim, status, calls) =
        outcome("quick", vec![Err(ModelError::Timeout), Err(ModelError::Unavailable(503)), reply(&good)]);
    assert_eq!((status, calls), (200, 3));
    let waits = sim.world.state().paused.clone();
    assert_eq!(waits.len(), 2);
    assert!(waits.iter().all(|wait| wait.as_millis() <= 8000));
    let (sim, status, calls) = first_attempt("quick", (0..9).map(|_| Err(ModelError::Timeout)).collect());
    assert_eq!((status, calls), (202, 3), "the fourth attempt is never made");
    assert_tried_again(&sim);
}

#[test]
fn final_failures_fail_at_once() {
    for error in [ModelError::BadRequest(400), ModelError::NoVerdict("SAFETY".to_owned())] {
        let name = error.to_string();
        let (sim, status, calls) = outcome("quick", vec![Err(error), reply(&quick("GREEN", "Never asked for this."))]);
        assert_eq!((status, calls), (500, 1), "{name}");
        assert!(sim.world.state().paused.is_empty(), "no wait before giving up");
        assert_failed(&sim);
    }
}

#[test]
fn a_used_up_quota_is_one_models_and_the_next_serves() {
    let good = quick("GREEN", "Demand is real and the format fits.");
    let (sim, status, calls) = outcome("quick", vec![Err(ModelError::QuotaExhausted), reply(&good)]);
    assert_eq!((status, calls), (200, 2));
    assert!(sim.world.state().paused.is_empty(), "no wait before another model is asked");
    let (sim, status, calls) =
        first_attempt("quick", vec![Err(ModelError::QuotaExhausted), Err(ModelError::QuotaExhausted), reply(&good)]);
    assert_eq!((status, calls), (202, 2));
    assert_tried_again(&sim);
}

#[test]
fn a_retired_model_gives_way_to_the_next_and_operators_know() {
    let good = quick("GREEN", "Demand is real and the format fits.");
    let (sim, status, calls) = outcome("quick", vec![Err(ModelError::UnknownModel), reply(&good)]);
    assert_eq!((status, calls), (200, 2));
    let state = sim.world.state();
    assert_eq!((state.prompts[0].0.as_str(), state.prompts[1].0.as_str()), ("model-a", "model-b"));
    assert!(state.alerts[0].line.contains("model-a"));
}
