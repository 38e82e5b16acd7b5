//! What a caller who pays nothing may cause: questions to the node and the facilitator, and attempts of the model.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use domain::{
    ports::{ModelError, ModelReply},
    toll::{Offer, Stage},
};
use runtime::http::Request;
use serde_json::json;
use std::time::Duration;
use support::*;
use testkit::{Fault, Plan, World};
use toll::Settings;

fn asked(world: &World, name: &str) -> usize {
    world.state().boundaries.iter().filter(|found| **found == name).count()
}

/// Random transactions cost nothing. The node also has to confirm settlements.
#[test]
fn transactions_that_nobody_made_cause_few_questions() {
    let world = world();
    let show = |number: usize, address: &str| {
        let request = unpaid("/query", QUESTION).with_header("x-payment-transaction", &format!("0x{number:064x}"));
        code(&send(&world, request.with_address(address)).unwrap())
    };
    let of_one: Vec<_> = (0..330).map(|number| show(number, "203.0.113.7")).collect();
    assert_eq!((of_one[299].as_str(), of_one[300].as_str()), ("payment_unconfirmed", "busy"));
    assert_eq!(asked(&world, "node.transfer"), 300);
    for number in 330..1_200 {
        show(number, &format!("203.0.{}.7", number % 100));
    }
    assert_eq!(asked(&world, "node.transfer"), 900);
    // A transfer that was made buys in the next minute, and then as often as it is shown.
    let transaction = format!("0x{:064x}", 7);
    world.state().chain.transfers.insert(transaction, ("0x1".to_owned(), 50_000));
    assert_eq!(show(7, "203.0.113.7"), "busy");
    world.advance(Duration::from_secs(60));
    assert_eq!(show(7, "203.0.113.7"), "");
    (0..330).for_each(|number| drop(show(number, "203.0.113.7")));
    assert_eq!((show(331, "203.0.113.7").as_str(), show(7, "203.0.113.7").as_str()), ("busy", ""));
}

/// A payment costs nothing to sign, and a wallet may be empty. Over MCP the caller's network counts too.
#[test]
fn payments_without_funds_cause_few_questions_and_others_are_not_counted() {
    let world = world();
    let sent = |nonce: u8, address: &str| {
        let request = paid("/query", QUESTION, &payment_for(&world, Offer::Query, nonce));
        send(&world, request.with_address(address)).unwrap().status()
    };
    // Paying customers of one network, however many they are.
    assert!((1..=60).all(|nonce| sent(nonce, "203.0.113.7") == 200));
    world.plan(Plan::none().whenever("facilitator.verify", Fault::Refuse(402)));
    world.state().boundaries.clear();
    let of_one: Vec<_> = (0..330).map(|number| sent(61 + (number % 60) as u8, "203.0.113.7")).collect();
    assert_eq!((of_one[299], of_one[300], asked(&world, "facilitator.verify")), (402, 429, 300));
    let call = |address: &str| {
        let payment = payment_for(&world, Offer::Query, 121);
        let params =
            json!({ "name": "oracle_query", "arguments": { "query": QUESTION }, "_meta": { "x402/payment": payment } });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        send(&world, Request::post("/mcp", call.to_string()).with_address(address)).unwrap().body().to_owned()
    };
    assert!(call("203.0.113.7").contains("Too many payments"));
    assert!(!call("198.51.100.7").contains("Too many payments"));
    world.plan(Plan::none());
    assert_eq!((sent(1, "203.0.113.7"), sent(122, "203.0.113.7")), (200, 429), "what was bought is there");
}

/// The filter holds each answer. The payer is not charged for the model's calls, so their number is limited.
#[test]
fn a_payment_without_an_answer_asks_the_model_a_few_times() {
    let (world, payment) = offered();
    for _ in 0..8 {
        world.state().answers.push_back(Ok(held_answer()));
        assert_code(&query(&world, &payment), 503, "no_answer");
    }
    let verified = asked(&world, "facilitator.verify");
    for _ in 0..3 {
        world.state().answers.push_back(Ok(held_answer()));
        assert_code(&query(&world, &payment), 409, "unanswered");
    }
    assert_eq!(world.state().prompts.len(), 8);
    assert_eq!(asked(&world, "facilitator.verify"), verified);
    assert_eq!(world.state().chain.settled, 0);
    // A third party submits it meanwhile: the money is ours, and a human returns it.
    submit(&world, &payment, SUBMITTED, true);
    assert_code(&query(&world, &payment), 409, "unanswered");
    look_after(&world, 400);
    assert_code(&query(&world, &payment), 409, "owed");
}

#[test]
fn a_transfer_without_an_answer_is_owed_after_a_few_attempts() {
    let world = transferred(50_000);
    for _ in 0..8 {
        world.state().answers.push_back(Ok(held_answer()));
        assert_code(&show(&world, "/query", TRANSACTION), 503, "no_answer");
    }
    assert_code(&show(&world, "/query", TRANSACTION), 409, "owed");
    assert_eq!(world.state().prompts.len(), 8);
    look_after(&world, 3_601);
    assert!(matches!(purchase(&world).unwrap().stage(), Stage::Owed { .. }));
}

fn with_two_models() -> Settings {
    let mut settings = settings();
    settings.policy.models = vec!["model-a".to_owned(), "model-b".to_owned()];
    settings
}

/// While the circuit is open, no model works on the question, so an outage ends no purchase.
#[test]
fn an_outage_ends_no_purchase() {
    let (world, payment) = offered();
    let mut settings = with_two_models();
    settings.policy.breaker.failures = 5;
    let ask = || send_with(&world, &settings, paid("/query", QUESTION, &payment));
    world.plan(Plan::none().whenever("model.ask", Fault::Fail));
    for _ in 0..20 {
        assert_code(&ask(), 503, "no_answer");
    }
    world.plan(Plan::none());
    world.advance(Duration::from_secs(61));
    assert_eq!(ask().status(), 200);
}

/// The statuses of nine requests with one payment while the models say this, and of one more once they work again.
fn asked_of_two_models(says: fn() -> Result<ModelReply, ModelError>) -> Vec<u16> {
    let (world, payment) = offered();
    let ask = || send_with(&world, &with_two_models(), paid("/query", QUESTION, &payment)).status();
    world.state().answers = (0..100).map(|_| says()).collect();
    let mut statuses: Vec<u16> = (0..9).map(|_| ask()).collect();
    world.state().answers.clear();
    statuses.push(ask());
    statuses
}

/// No circuit opens here, so that every attempt asks a model.
#[test]
fn attempts_without_a_reply_are_not_counted() {
    let failures: [fn() -> Result<ModelReply, ModelError>; 9] = [
        || Err(ModelError::Timeout),
        || Err(ModelError::Network("reset".into())),
        || Err(ModelError::Unavailable(503)),
        || Err(ModelError::Throttled(Duration::from_secs(1))),
        || Err(ModelError::QuotaExhausted),
        || Err(ModelError::Unauthorized(403)),
        || Err(ModelError::Account(402)),
        || Err(ModelError::BadRequest(400)),
        || Err(ModelError::UnknownModel),
    ];
    for says in failures {
        assert_eq!(asked_of_two_models(says), [[503_u16; 9].as_slice(), &[200]].concat(), "{:?}", says());
    }
}

#[test]
fn attempts_at_a_model_that_hangs_are_not_counted() {
    let (world, payment) = offered();
    let ask = || send_with(&world, &with_two_models(), paid("/query", QUESTION, &payment));
    world.plan(Plan::none().whenever("model.ask", Fault::CrashBefore));
    for _ in 0..9 {
        assert_code(&ask(), 503, "no_answer");
    }
    world.plan(Plan::none());
    assert_eq!(ask().status(), 200);
}

#[test]
fn attempts_with_an_unusable_reply_are_counted() {
    let replies: [fn() -> Result<ModelReply, ModelError>; 7] = [
        || Err(ModelError::Incomplete("MAX_TOKENS".to_owned())),
        || Err(ModelError::cut_by_time()),
        || Err(ModelError::NoVerdict("SAFETY".to_owned())),
        || Ok(testkit::reply("Certainly! Here is your verdict.".to_owned())),
        || Ok(testkit::reply(json!({ "verdict": "GREEN" }).to_string())),
        || Ok(testkit::reply(json!({ "verdict": "GREEN", "summary": "[insert the summary here]" }).to_string())),
        || Ok(held_answer()),
    ];
    for says in replies {
        assert_eq!(asked_of_two_models(says), [[503_u16; 8].as_slice(), &[409; 2]].concat(), "{:?}", says());
    }
}
