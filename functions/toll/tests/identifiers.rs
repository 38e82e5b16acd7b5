//! Purchases with a payer's name (x402's extension `payment-identifier`): a request under a name is bought once,
//! regardless of which payment comes with it.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use domain::toll::Stage;
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};
use support::*;
use testkit::{Fault, Plan, World};

const NAME: &str = "pay_7d5d747be160e280504c099d984bcfe0";

/// A payment under [`NAME`], signed at the current time.
fn payment(world: &World, nonce: u8) -> Value {
    let required = required(&send(world, unpaid("/query", QUESTION)).unwrap());
    let now = world.state().now / 1000;
    called(pay_as((PAYER, KEY), &required, nonce, now), &NAME.into())
}

/// The number of settled payments, and the number of purchases.
fn settled_and_kept(world: &World) -> (u32, usize) {
    let state = world.state();
    (state.chain.settled, state.purchases.len())
}

#[test]
fn the_price_says_that_a_purchase_may_be_named() {
    let world = world();
    let asked = required(&send(&world, unpaid("/query", QUESTION)).unwrap());
    let extension = &asked.extensions["payment-identifier"];
    assert_eq!(extension["info"], json!({ "required": false }));
    let id = &extension["schema"]["properties"]["id"];
    assert_eq!((&id["minLength"], &id["maxLength"]), (&json!(16), &json!(128)));
}

#[test]
fn the_same_request_is_bought_once_whichever_payment_comes_with_it() {
    let world = world();
    let first = query(&world, &payment(&world, 1));
    assert_eq!(first.status(), 200, "{}", first.body());
    for nonce in [1, 2, 3] {
        world.advance(Duration::from_secs(600));
        let again = query(&world, &payment(&world, nonce));
        assert_eq!((again.status(), again.body()), (200, first.body()));
    }
    assert_eq!(settled_and_kept(&world), (1, 1));
    let statuses: Vec<_> = records(&world).into_iter().map(|(status, _)| status).collect();
    assert_eq!(statuses, ["OK", "REPLAY", "REPLAY", "REPLAY"]);
}

#[test]
fn another_request_under_the_same_name_is_refused() {
    let world = world();
    assert_eq!(query(&world, &payment(&world, 1)).status(), 200);
    assert_code(
        &send(&world, paid("/query", "Open a third shop?", &payment(&world, 2))).unwrap(),
        409,
        "identifier_used",
    );
    assert_eq!(settled_and_kept(&world), (1, 1));
    // The payment itself is valid under another name.
    let required = required(&send(&world, unpaid("/query", QUESTION)).unwrap());
    let renamed = called(pay(&required, 2), &"pay_another_name_1".into());
    assert_eq!(send(&world, paid("/query", "Open a third shop?", &renamed)).unwrap().status(), 200);
}

/// A name is not secret: it gives no access without the first payment's signature, and other payers can use the same
/// name.
#[test]
fn a_name_is_its_payers_own() {
    let world = world();
    let first = query(&world, &payment(&world, 1));
    let required = required(&send(&world, unpaid("/query", QUESTION)).unwrap());
    let others = called(pay_as(OTHER_PAYER, &required, 1, NOW), &NAME.into());
    let second = query(&world, &others);
    assert_eq!((first.status(), second.status()), (200, 200));
    assert_ne!(first.body(), second.body());
    assert_eq!(world.state().chain.settled, 2);
}

#[test]
fn a_name_that_is_none_is_refused_before_anything_is_done() {
    let world = world();
    let required = required(&send(&world, unpaid("/query", QUESTION)).unwrap());
    for name in [json!("short"), json!("with a space in its middle"), json!(7), json!("a".repeat(129))] {
        let reply = send(&world, paid("/query", QUESTION, &called(pay(&required, 1), &name))).unwrap();
        assert_eq!((reply.status(), code(&reply).as_str()), (400, "payment_unreadable"), "{name}");
    }
    for name in [Value::Null, "a".repeat(128).into()] {
        let reply = send(&world, paid("/query", QUESTION, &called(pay(&required, 1), &name))).unwrap();
        assert_eq!(reply.status(), 200, "{}", reply.body());
    }
    assert_eq!(world.state().chain.settled, 1);
}

/// The second payment is never submitted: the first one pays.
#[test]
fn an_answer_that_failed_is_made_for_the_first_payment() {
    let world = world();
    assert_eq!(query_despite("model.ask", Fault::Fail, &world, &payment(&world, 1)).status(), 503);
    assert_eq!(query(&world, &payment(&world, 2)).status(), 200);
    let nonces: Vec<String> = world.state().chain.used.keys().map(|(_, nonce)| nonce.clone()).collect();
    assert_eq!(nonces, [format!("0x{}", "01".repeat(32))]);
    assert_eq!(world.state().purchases.len(), 1);
}

#[test]
fn a_name_is_free_again_once_its_payment_can_bring_nothing_any_more() {
    let world = world();
    assert_eq!(query_despite("model.ask", Fault::Fail, &world, &payment(&world, 1)).status(), 503);
    // The first payment could still be settled, but there is too little time to make its answer.
    world.advance(Duration::from_secs(280));
    assert_code(&query(&world, &payment(&world, 2)), 409, "in_progress");
    world.advance(Duration::from_secs(80));
    assert_code(&query(&world, &payment(&world, 3)), 409, "in_progress");
    look(&world).unwrap();
    assert_eq!(query(&world, &payment(&world, 3)).status(), 200);
    let stages: Vec<_> = world.state().purchases.values().map(|(found, _)| found.stage().clone()).collect();
    let lapsed = stages.iter().filter(|stage| matches!(stage, Stage::Lapsed { .. })).count();
    assert_eq!((lapsed, stages.len(), world.state().chain.settled), (1, 2, 1));
}

/// A third party has submitted the first payment, and its answer failed after its expiry.
#[test]
fn a_name_is_not_free_while_its_payment_may_have_reached_us() {
    let world = world();
    let first = payment(&world, 1);
    submit(&world, &first, TRANSACTION, true);
    world.advance(Duration::from_secs(400));
    assert_code(&query_despite("model.ask", Fault::Fail, &world, &first), 503, "no_answer");
    assert_code(&query(&world, &payment(&world, 2)), 409, "in_progress");
    look(&world).unwrap();
    assert_code(&query(&world, &payment(&world, 3)), 409, "owed");
    assert_eq!(settled_and_kept(&world), (0, 1));
}

/// The first payment may have reached us: the second one is not taken beside it.
#[test]
fn a_name_is_not_free_while_a_human_looks_for_its_payment() {
    let world = world();
    world.plan(Plan::none().whenever("facilitator.settle", Fault::LoseReply));
    assert_eq!(query(&world, &payment(&world, 1)).status(), 503);
    world.plan(Plan::none().whenever("node.payment_use", Fault::Fail));
    look_after(&world, 86_400);
    assert_code(&query(&world, &payment(&world, 2)), 409, "untraced");
    assert_eq!(settled_and_kept(&world), (1, 1));
}

/// An agent that signs a new payment for each request, while the schedule runs.
fn life(plan: Plan) -> (World, BTreeSet<String>, usize) {
    let (world, mut answers) = (world(), BTreeSet::new());
    world.plan(plan);
    for nonce in 1..=3 {
        let payment = calm(&world, |world| payment(world, nonce));
        let reply = send(&world, paid("/query", QUESTION, &payment)).filter(|reply| reply.status() == 200);
        answers.extend(reply.map(|reply| reply.body().to_owned()));
        look(&world);
        world.advance(Duration::from_secs(45));
    }
    let passed = world.passed();
    world.plan(Plan::none());
    for nonce in 4..=15 {
        look_after(&world, 61);
        let reply = query(&world, &payment(&world, nonce));
        answers.extend((reply.status() == 200).then(|| reply.body().to_owned()));
    }
    (world, answers, passed)
}

/// Requests the price, which has no effects.
fn calm<T>(world: &World, ask: impl Fn(&World) -> T) -> T {
    let before = world.passed();
    let asked = ask(world);
    assert_eq!(world.passed(), before);
    asked
}

#[test]
fn every_fault_at_every_effect() {
    let (world, answers, effects) = life(Plan::none());
    assert_eq!((answers.len(), world.state().chain.settled), (1, 1));
    let mut reached = BTreeSet::new();
    for (plan, what) in every_fault(effects + 10) {
        let (world, answers, _) = life(plan);
        assert_eq!(answers.len(), 1, "{what}: one answer under one name, and one fault keeps it from nobody");
        assert_eq!(world.state().chain.used.len(), 1, "{what}: paid once");
        reached.extend(world.state().boundaries.iter().copied());
    }
    assert!(reached.contains("purchases.named") && reached.contains("purchases.name"));
}
