//! Sales: the price, the answer, repeated requests, and requests that buy nothing.
//! The file has more than 300 lines because each way in which a request buys, or buys nothing, has a short test of its
//! own.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use alloy_primitives::hex;
use chain::{
    Network,
    wire::{self, SettlementResponse},
};
use domain::{Metric, ports::FacilitatorError, toll::Offer};
use serde_json::{Value, json};
use std::{
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};
use support::*;
use testkit::{Fault, Passage, Plan, run};
use toll::handle;

#[test]
fn an_agent_learns_the_price_in_both_versions_and_buys() {
    let (world, offer) = (world(), Offer::Query);
    let asked = send(&world, unpaid(offer.path(), QUESTION)).unwrap();
    let (v2, v1) = (required(&asked), required_v1(&asked));
    assert_eq!((v2.accepts[0].amount.as_str(), v2.accepts[0].pay_to), ("50000", PAY_TO));
    assert_eq!((v1.accepts[0].max_amount_required.as_str(), v1.accepts[0].network.as_str()), ("50000", "base-sepolia"));
    assert_eq!(v2.resource.url, "https://oracle.example/query");
    assert_eq!(v2.extensions["bazaar"]["schema"]["required"], json!(["input"]), "the schema is that of `info`");

    // Clients repeat the extensions in their payment; API Gateway takes 10 KiB of headers in all.
    let mut payment = pay(&v2, 1);
    payment["extensions"] = json!(v2.extensions);
    let request = paid(offer.path(), QUESTION, &payment);
    assert!(request.header("payment-signature").unwrap().len() < 6 * 1024);
    let reply = send(&world, request).unwrap();
    assert_eq!(reply.status(), 200, "{}", reply.body());
    let body: Value = serde_json::from_str(reply.body()).unwrap();
    assert_eq!((&body["verdict"]["verdict"], &body["endpoint"]), (&"GREEN".into(), &"/query".into()));
    assert!(body["numbers"]["coherence"].as_f64().unwrap() >= body["numbers"]["threshold"].as_f64().unwrap());
    let receipt: SettlementResponse = wire::decode(reply.header_value(wire::PAYMENT_RESPONSE).unwrap()).unwrap();
    assert!(receipt.success && receipt.transaction.len() == 66);
    assert_eq!(records(&world), [("OK".to_owned(), String::new())]);
    let state = world.state();
    let line = state.log.values().find(|line| line.contains("oracle_toll")).unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!((&line["tx_hash"], &line["amount_usdc"]), (&"0x0000000000...".into(), &json!(0.05)));
    assert!(!state.log.values().any(|line| line.contains(QUESTION)), "no question in the log");
    assert!(!format!("{:?}", state.purchases).contains(QUESTION), "nor in the table");
}

#[test]
fn version_1_buys_with_its_own_header() {
    let world = world();
    let v2 = payment_for(&world, Offer::Query, 1);
    let v1 = json!({ "x402Version": 1, "scheme": "exact", "network": "base-sepolia", "payload": v2["payload"] });
    let request = unpaid("/query", QUESTION).with_header("x-payment", &wire::encode(&v1).unwrap());
    let reply = send(&world, request).unwrap();
    assert_eq!(reply.status(), 200, "{}", reply.body());
    let receipt: SettlementResponse = wire::decode(reply.header_value(wire::X_PAYMENT_RESPONSE).unwrap()).unwrap();
    assert_eq!((receipt.success, receipt.network.as_str()), (true, "base-sepolia"));
    let again = query(&world, &v2);
    assert_eq!(again.body(), reply.body(), "the same payment in the other version's words");
    assert_eq!(world.state().chain.settled, 1);
}

#[test]
fn each_network_sells_for_its_own_token_and_for_no_other() {
    let both = Network::ALL.map(|network| {
        let mut settings = settings();
        settings.terms.network = network;
        (network, settings)
    });
    for (network, settings) in &both {
        let world = world();
        let ask = |settings, request| testkit::run(handle(ports(&world), settings, request)).unwrap();
        let price = required(&ask(settings, unpaid("/query", QUESTION)));
        assert_eq!((price.accepts[0].network.as_str(), price.accepts[0].asset), (network.caip2(), network.usdc()));
        for (_, other) in both.iter().filter(|(other, _)| other != network) {
            let refused = ask(other, paid("/query", QUESTION, &pay(&price, 1)));
            assert_eq!(required(&refused).error.as_deref(), Some("the payment is for another network"));
        }
        let two = pay(&price, 1);
        let one = json!({ "x402Version": 1, "scheme": "exact", "network": network.name(), "payload": pay(&price, 2)["payload"] });
        let one = unpaid("/query", QUESTION).with_header("x-payment", &wire::encode(&one).unwrap());
        let receipts = [
            (ask(settings, paid("/query", QUESTION, &two)), wire::PAYMENT_RESPONSE, network.caip2()),
            (ask(settings, one), wire::X_PAYMENT_RESPONSE, network.name()),
        ];
        for (reply, header, expected) in receipts {
            let receipt: SettlementResponse = wire::decode(reply.header_value(header).unwrap()).unwrap();
            assert_eq!((reply.status(), receipt.network.as_str()), (200, expected));
        }
        assert_eq!(world.state().chain.settled, 2);
    }
}

#[test]
fn the_same_payment_gets_the_same_reply_and_nothing_else() {
    let world = world();
    let payment = payment_for(&world, Offer::QueryFull, 1);
    world.state().answers.push_back(Ok(full_answer()));
    let first = send(&world, paid("/query/full", QUESTION, &payment)).unwrap();
    assert_eq!(first.status(), 200, "{}", first.body());
    let numbers: Value = serde_json::from_str(first.body()).unwrap();
    assert!(numbers["numbers"]["evidence"].as_f64().unwrap() > 1.0);
    // The repeated request also works long after the payment has expired.
    world.advance(Duration::from_secs(7200));
    let second = send(&world, paid("/query/full", QUESTION, &payment)).unwrap();
    assert_eq!((second.status(), second.body()), (200, first.body()));
    assert_code(&send(&world, paid("/query/full", "Open a third shop?", &payment)).unwrap(), 409, "payment_used");
    // A different offer at the same price.
    let other = send(&world, paid("/analyze", QUESTION, &payment)).unwrap();
    assert_eq!(other.status(), 409);
    let replays = records(&world).into_iter().filter(|(status, _)| status == "REPLAY").count();
    assert_eq!(replays, 3);
    assert_eq!(world.state().chain.settled, 1);
}

#[test]
fn what_does_not_pay_the_price_buys_nothing() {
    let world = world();
    let good = payment_for(&world, Offer::Query, 1);
    let mut forged = good.clone();
    forged["payload"]["signature"] = hex::encode_prefixed([27; 65]).into();
    let dear = send(&world, paid("/query/premium", QUESTION, &good)).unwrap();
    assert_eq!(
        (dear.status(), required(&dear).error.as_deref()),
        (402, Some("the payment is not the amount that is asked for"))
    );
    assert_eq!(query(&world, &forged).status(), 402);
    assert_code(
        &send(&world, unpaid("/query", QUESTION).with_header("payment-signature", "e30")).unwrap(),
        400,
        "payment_unreadable",
    );
    world.advance(Duration::from_secs(280));
    let late = query(&world, &good);
    assert_eq!((late.status(), required(&late).error.as_deref()), (402, Some("the payment expires too soon")));
    assert!(world.state().purchases.is_empty(), "what costs nothing to sign leaves no row");
    let found = records(&world);
    assert!(found.len() == 3 && found.iter().all(|(status, why)| status == "PAYMENT_REJECTED" && !why.is_empty()));
    assert!(world.state().prompts.is_empty());
    assert_eq!(world.state().chain.settled, 0);
}

#[test]
fn requests_that_ask_nothing_are_refused_before_any_price() {
    let world = world();
    for (body, code_) in
        [("", "malformed_json"), ("[]", "malformed_json"), ("{}", "query_invalid"), (r#"{"query":7}"#, "query_invalid")]
    {
        let reply = send(&world, runtime::http::Request::post("/query", body)).unwrap();
        assert_eq!((reply.status(), code(&reply).as_str()), (400, code_), "{body}");
    }
    let long = "a ".repeat(2_001);
    assert_eq!(send(&world, unpaid("/query", &long)).unwrap().status(), 400);
    assert_eq!(send(&world, unpaid("/analyze", &format!("Shall we expand? {long}"))).unwrap().status(), 402);
    assert_eq!(send(&world, runtime::http::Request::post("/query", vec![b' '; 300_000])).unwrap().status(), 413);
    assert_eq!(send(&world, unpaid("/queries", QUESTION)).unwrap().status(), 404);
}

#[test]
fn what_must_not_be_answered_is_not_sold_and_not_settled() {
    let world = world();
    let question = "I want to kill myself";
    let payment = payment_for(&world, Offer::Query, 1);
    let unpaid_reply = send(&world, unpaid("/query", question)).unwrap();
    assert_eq!(unpaid_reply.status(), 422, "{}", unpaid_reply.body());
    let lines = world.state().records();
    let evaluated = &lines[0];
    assert_eq!((lines.len(), &evaluated["event"]), (1, &"authority_evaluated".into()));
    assert!(evaluated["stream"].as_str().unwrap().starts_with("function/toll-declined"), "{evaluated}");
    let details = &evaluated["details"];
    assert_eq!((&details["endpoint"], &details["authority"]["state"]), (&"/query".into(), &"BLOCKED".into()));
    assert!(!evaluated.to_string().contains(question));
    let reply = send(&world, paid("/query", question, &payment)).unwrap();
    assert_eq!((reply.status(), reply.body()), (422, unpaid_reply.body()));
    assert_eq!(records(&world)[0].0, "RAG_FAIL");
    assert!(world.state().prompts.is_empty());
    assert_eq!(world.state().chain.settled, 0);
}

/// The record of a declined question has no hash: a short disclosure could be guessed from it.
#[test]
fn the_record_of_a_declined_question_does_not_identify_it() {
    let world = world();
    let question = "I want to die";
    assert_eq!(send(&world, unpaid("/query", question)).unwrap().status(), 422);
    let state = world.state();
    let line: Value = serde_json::from_str(state.log.values().next().unwrap()).unwrap();
    let names: Vec<&String> = line["details"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["authority", "endpoint"]);
    drop(state);
    // Signing costs nothing, so a payment that is not taken shows no more.
    let signed = payment_for(&world, Offer::Query, 1);
    let mut spoiled = signed.clone();
    spoiled["payload"]["authorization"]["value"] = json!("1");
    for payment in [signed, spoiled] {
        assert_eq!(send(&world, paid("/query", question, &payment)).unwrap().status(), 422, "{payment}");
    }
    let hash = audit::hash::query_hash(&domain::Query::parse(question).unwrap());
    let state = world.state();
    assert_eq!(state.log.values().filter(|line| line.contains("\"suicidal_ideation\"")).count(), 3);
    assert!(state.log.values().all(|line| !line.contains(&hash)));
}

#[test]
fn a_narrative_answer_that_breaks_its_grammar_is_made_once_more_and_then_not_sold() {
    let question = "What does 'force majeure' mean?";
    let (world, payment) = offered();
    let says = |summary: &str| Ok(testkit::reply(json!({ "verdict": "GREEN", "summary": summary }).to_string()));
    let lacking = "The term names an event that no one could prevent.";
    world.state().answers.extend([says(lacking), says("You will win, a lawyer says.")]);
    assert_code(&send(&world, paid("/query", question, &payment)).unwrap(), 503, "no_answer");
    assert_eq!(world.state().prompts.len(), 2);
    assert_eq!(world.state().chain.settled, 0);
    let (status, why) = records(&world).remove(0);
    assert_eq!(status, "RAG_FAIL");
    assert!(why.ends_with(r#"the authority gate refuses the reply: it contains "you will win""#), "{why}");
    let refused = world.state().records().into_iter().find(|line| line["status"] == "RAG_FAIL").unwrap();
    assert_eq!(refused["details"]["authority"]["state"], "NARRATIVE_ONLY", "{refused}");
    world.state().answers.extend([says(lacking), says("A lawyer knows what the term covers.")]);
    let sold = send(&world, paid("/query", question, &payment)).unwrap();
    assert_eq!((sold.status(), world.state().chain.settled), (200, 1));
    let body: Value = serde_json::from_str(sold.body()).unwrap();
    assert_eq!(body["notice"], authority::evaluate(question, None).notice().unwrap());
    let state = world.state();
    assert_eq!(state.prompts.len(), 4);
    assert!(state.prompts[3].1.instruction.contains("it contains none of \"lawyer\""));
}

/// The corpus takes some of the time, and the second reply never comes. The first reply's crosscheck is on record all
/// the same (TMM Crosscheck, invariant 5), and the dropped call counts.
#[test]
fn a_second_narrative_reply_that_is_late_leaves_the_record_of_the_first() {
    let (world, payment) = offered();
    let lacking = json!({ "verdict": "GREEN", "summary": "The term names an event that no one could prevent." });
    world.state().answers.push_back(Ok(testkit::reply(lacking.to_string())));
    let step = Duration::from_millis(50);
    let mut asked = 0;
    world.surround(Box::new(move |name, _| {
        asked += u32::from(name == "model.ask");
        let before = if name == "corpora.read" { step } else { Duration::ZERO };
        let fault = (name == "model.ask" && asked > 1).then_some(Fault::CrashBefore);
        Passage { before, fault, ..Passage::default() }
    }));
    let (begun, settings) = (world.state().now, settings());
    let mut handled =
        pin!(handle(ports(&world), &settings, paid("/query", "What does 'force majeure' mean?", &payment)));
    let mut context = Context::from_waker(Waker::noop());
    let reply = loop {
        if let Poll::Ready(reply) = handled.as_mut().poll(&mut context) {
            break reply;
        }
        assert!(world.state().now < begun + 20_000, "it never ends");
        world.advance(step);
    };
    assert_code(&reply, 503, "no_answer");
    assert_eq!(world.state().now - begun, 12_800);
    let crosschecks = world.state().records().iter().filter(|line| line["event"] == "tmm_crosscheck").count();
    assert_eq!(crosschecks, 1);
    let circuit = domain::breaker::Caller::Toll.circuit("model-a").into_owned();
    assert_eq!(world.state().breakers[&circuit].0.failures, 1);
}

#[test]
fn a_trigger_of_child_safety_is_escalated_with_and_without_a_payment() {
    let (world, payment) = offered();
    let question = "I'm 15. I don't want to be here anymore. No one would miss me.";
    send(&world, unpaid("/query", question)).unwrap();
    assert_eq!(world.state().counted(Metric::AuthorityEscalated), 1);
    assert_eq!(send(&world, paid("/query", question, &payment)).unwrap().status(), 422);
    assert_eq!(world.state().counted(Metric::AuthorityEscalated), 2);
}

#[test]
fn the_locale_selects_the_sources_of_help() {
    let world = world();
    let ask = |locale: Value| {
        let body = json!({ "query": "I want to kill myself", "locale": locale });
        send(&world, runtime::http::Request::post("/query", body.to_string())).unwrap()
    };
    assert!(ask(json!("en-US")).body().contains("988 Suicide & Crisis Lifeline"));
    for default in [json!(null), json!("fr"), json!("zh-Hans-CA")] {
        assert!(ask(default.clone()).body().contains("9-8-8"), "{default}");
    }
    assert_eq!((ask(json!(7)).status(), code(&ask(json!(7))).as_str()), (400, "locale_invalid"));
}

#[test]
fn no_answer_settles_nothing_and_the_same_payment_may_ask_again() {
    let (world, payment) = offered();
    world.plan(Plan::none().whenever("model.ask", Fault::Fail));
    assert_code(&query(&world, &payment), 503, "no_answer");
    assert_eq!(records(&world)[0].0, "RAG_FAIL");
    let failed = world.state().records().into_iter().find(|line| line["status"] == "RAG_FAIL").unwrap();
    assert_eq!(failed["details"]["authority"]["state"], "AUTHORIZED", "{failed}");
    assert_eq!(world.state().chain.settled, 0);
    world.plan(Plan::none());
    world.state().answers.push_back(Ok(held_answer()));
    assert_code(&query(&world, &payment), 503, "no_answer");
    assert_eq!(world.state().chain.settled, 0);
    assert_eq!(query(&world, &payment).status(), 200);
    assert_eq!(world.state().chain.settled, 1);
}

/// The time for the model ends before the second attempt at a model that hangs. Its circuit opens all the same, so that the
/// next agents are answered at once.
#[test]
fn a_model_that_hangs_opens_its_circuit() {
    let world = world();
    let mut settings = settings();
    settings.policy.breaker.failures = 2;
    let waited: Vec<i64> = (1..=3)
        .map(|nonce| {
            let price = required(&send(&world, unpaid("/query", QUESTION)).unwrap());
            let payment = pay_as((PAYER, KEY), &price, nonce, world.state().now / 1000);
            world.plan(Plan::none().whenever("model.ask", Fault::CrashBefore));
            let begun = world.state().now;
            assert_code(
                &run(handle(ports(&world), &settings, paid("/query", QUESTION, &payment))).unwrap(),
                503,
                "no_answer",
            );
            world.plan(Plan::none());
            world.state().now - begun
        })
        .collect();
    assert_eq!(waited, [13_000, 13_000, 0]);
}

#[test]
fn no_answer_leaves_before_its_settlement_is_accepted() {
    for (says, status) in [
        (FacilitatorError::Refused("insufficient_funds".to_owned()), 402),
        (FacilitatorError::Unclear("invalid_exact_evm_transaction_failed".to_owned()), 503),
        (FacilitatorError::Pending, 503),
        (FacilitatorError::Unavailable("down".into()), 503),
    ] {
        let (world, payment) = offered();
        world.state().chain.says.push_back(says);
        let reply = query(&world, &payment);
        assert_eq!(reply.status(), status, "{}", reply.body());
        assert_eq!(world.state().chain.settled, 0);
        let second = query(&world, &payment);
        assert_eq!((second.status(), world.state().chain.settled), (200, 1));
    }
}

#[test]
fn what_keeps_agents_from_buying_is_counted_for_its_alarm() {
    let (world, payment) = offered();
    let counted = || [Metric::TollUnreachable, Metric::TollUnanswered].map(|metric| world.state().measured(metric));
    world.plan(Plan::none().whenever("facilitator.verify", Fault::Fail));
    assert_eq!(query(&world, &payment).status(), 503);
    assert_eq!(counted(), [1, 0]);
    world.plan(Plan::none().whenever("node.transfer", Fault::Fail));
    assert_eq!(show(&world, "/query", TRANSACTION).status(), 503);
    assert_eq!(counted(), [2, 0]);
    world.plan(Plan::none().whenever("model.ask", Fault::Fail));
    assert_eq!(query(&world, &payment).status(), 503);
    assert_eq!(counted(), [2, 1]);
    world.plan(Plan::none());
    assert_eq!(query(&world, &payment).status(), 200);
    assert_eq!(counted(), [2, 1]);
}
