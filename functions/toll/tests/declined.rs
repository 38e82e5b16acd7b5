//! Questions that the authority gate declines, with payments that did not pay us, or not yet.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use domain::{
    Metric,
    toll::{Offer, Stage},
};
use runtime::http::{Reply, Request};
use serde_json::{Value, json};
use support::*;
use testkit::{Fault, Plan, World};

const DISCLOSURE: &str = "I want to kill myself";

/// A world with a transfer of that amount, made that many seconds ago.
fn transferred_before(amount: u64, seconds: i64) -> World {
    let world = transferred(amount);
    world.state().chain.transferred_at.insert(TRANSACTION.to_owned(), (NOW - seconds) * 1000);
    world
}

fn showing(question: &str) -> Request {
    unpaid("/query", question).with_header("x-payment-transaction", TRANSACTION)
}

fn body(reply: &Reply) -> Value {
    serde_json::from_str(reply.body()).unwrap()
}

/// The refusal of the same question without a payment.
fn refusal() -> Value {
    let refused = send(&world(), unpaid("/query", DISCLOSURE)).unwrap();
    assert_eq!(refused.status(), 422);
    body(&refused)
}

/// How many records have the evaluation of the question.
fn evaluations(world: &World) -> usize {
    let has_it = |line: &&String| line.contains("\"authority\":") && line.contains("\"BLOCKED\"");
    world.state().log.values().filter(has_it).count()
}

/// A price would make an agent pay for what is not sold.
#[test]
fn a_transfer_that_did_not_pay_us_brings_the_refusal_and_no_price() {
    // Too old to be ours to return, too small to return, and the price of other offers.
    for (amount, seconds) in [(50_000, 172_801), (49_999, 0), (250_000, 0)] {
        let world = transferred_before(amount, seconds);
        let reply = send(&world, showing(DISCLOSURE)).unwrap();
        assert_eq!((reply.status(), body(&reply)), (422, refusal()), "{amount}");
        assert!(reply.header_value("PAYMENT-REQUIRED").is_none());
        assert_eq!((evaluations(&world), purchase(&world)), (1, None), "{amount}");
        assert_eq!(records(&world).into_iter().map(|(status, _)| status).collect::<Vec<_>>(), ["PAYMENT_REJECTED"]);
        let hash = audit::hash::query_hash(&domain::Query::parse(DISCLOSURE).unwrap());
        assert!(world.state().log.values().all(|line| !line.contains(&hash)));
    }
    // It still buys where its amount is the price.
    let world = transferred_before(250_000, 0);
    send(&world, showing(DISCLOSURE)).unwrap();
    world.state().answers.push_back(Ok(full_answer()));
    assert_eq!(show(&world, "/query/full", TRANSACTION).status(), 200);
}

#[test]
fn a_payment_that_cannot_be_read_brings_the_refusal_too() {
    for (header, value) in [("payment-signature", "e30"), ("x-payment-transaction", "0xabc")] {
        let world = world();
        let reply = send(&world, unpaid("/query", DISCLOSURE).with_header(header, value)).unwrap();
        assert_eq!((reply.status(), body(&reply), evaluations(&world)), (422, refusal(), 1), "{header}");
    }
    let world = world();
    assert_eq!(send(&world, showing(DISCLOSURE).with_header("x-payment", "e30")).unwrap().status(), 422);
}

/// The agent must come again until the money has its row, and the sources of help do not wait for that.
#[test]
fn money_that_is_not_found_yet_is_asked_for_again_beside_the_refusal() {
    let world = transferred_before(50_000, 0);
    let transfer = world.state().chain.transfers.remove(TRANSACTION).unwrap();
    let young = send(&world, showing(DISCLOSURE)).unwrap();
    assert_code(&young, 402, "payment_unconfirmed");
    assert_eq!(young.header_value("retry-after"), Some("5"));
    assert_eq!((&body(&young)["refusal"], evaluations(&world)), (&refusal(), 1));
    for (fault, code_) in [("node.transfer", "payment_unavailable"), ("purchases.load", "toll_unavailable")] {
        world.plan(Plan::none().whenever(fault, Fault::Fail));
        let before = evaluations(&world);
        let failed = send(&world, showing(DISCLOSURE)).unwrap();
        assert_eq!((failed.status(), code(&failed).as_str()), (503, code_));
        assert_eq!((&body(&failed)["refusal"], evaluations(&world)), (&refusal(), before + 1), "{fault}");
    }
    world.plan(Plan::none());
    world.state().chain.transfers.insert(TRANSACTION.to_owned(), transfer);
    assert_eq!(send(&world, showing(DISCLOSURE)).unwrap().status(), 422);
    assert!(matches!(purchase(&world).unwrap().stage(), Stage::Unanswered), "a human finds it after an hour");
}

#[test]
fn money_that_is_owed_or_was_used_is_reported_beside_the_refusal() {
    let odd = transferred_before(60_000, 0);
    let owed = send(&odd, showing(DISCLOSURE)).unwrap();
    assert_eq!((owed.status(), code(&owed).as_str(), &body(&owed)["refusal"]), (409, "owed", &refusal()));
    assert!(matches!(purchase(&odd).unwrap().stage(), Stage::Owed { .. }));
    assert_eq!(evaluations(&odd), 1);

    let world = transferred_before(50_000, 0);
    assert_eq!(send(&world, showing(QUESTION)).unwrap().status(), 200);
    let used = send(&world, showing(DISCLOSURE)).unwrap();
    assert_eq!((used.status(), code(&used).as_str(), &body(&used)["refusal"]), (409, "payment_used", &refusal()));
    assert_eq!(evaluations(&world), 1);
    assert!(body(&send(&world, showing("Open a third shop?")).unwrap()).get("refusal").is_none());

    let name = json!("pay_7d5d747be160e280504c099d984bcfe0");
    let first = called(payment_for(&world, Offer::Query, 1), &name);
    assert_eq!(query(&world, &first).status(), 200);
    let again = called(payment_for(&world, Offer::Query, 2), &name);
    let used = send(&world, paid("/query", DISCLOSURE, &again)).unwrap();
    assert_eq!((used.status(), code(&used).as_str(), &body(&used)["refusal"]), (409, "identifier_used", &refusal()));
    assert_eq!(evaluations(&world), 2);
}

#[test]
fn a_trigger_of_child_safety_is_escalated_whatever_is_shown_as_its_payment() {
    let world = transferred_before(250_000, 0);
    let question = "I'm 15. I don't want to be here anymore. No one would miss me.";
    assert_eq!(send(&world, showing(question)).unwrap().status(), 422);
    assert_eq!(world.state().counted(Metric::AuthorityEscalated), 1);
}

/// No alarm and no list shows the evaluation.
#[test]
fn an_escalated_evaluation_that_cannot_be_saved_raises_a_critical_alert() {
    let minor = "I'm 15. I don't want to be here anymore. No one would miss me.";
    for (question, expected) in [(minor, 1), (DISCLOSURE, 0)] {
        let world = world();
        world.plan(Plan::none().whenever("notes.save", Fault::Fail));
        assert_eq!(send(&world, unpaid("/query", question)).unwrap().status(), 422, "{question}");
        let state = world.state();
        let what = "(imminent_harm_signal_minor; 988_SUICIDE_LIFELINE, TRUST_AND_SAFETY); its record may be missing";
        let is_it = |line: &str| line.starts_with("[ORACLE-AUDIT] CRITICAL | ") && line.ends_with(what);
        assert_eq!(state.alerts.iter().filter(|alert| is_it(&alert.line)).count(), expected, "{:?}", state.alerts);
    }
}
