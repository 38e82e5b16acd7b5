//! Sales: the price, the answer, repeated requests, and requests that buy nothing.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use alloy_primitives::hex;
use chain::{
    Network,
    wire::{self, SettlementResponse},
};
use domain::{
    Metric,
    ports::FacilitatorError,
    toll::{List, Offer, Stage},
};
use serde_json::{Value, json};
use std::time::Duration;
use support::{
    site::{Defect, Site},
    *,
};
use testkit::{Fault, Plan, World, run};
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
    let again = send(&world, paid("/query", QUESTION, &v2)).unwrap();
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
    let other = send(&world, paid("/query/full", "Open a third shop?", &payment)).unwrap();
    assert_eq!((other.status(), code(&other).as_str()), (409, "payment_used"));
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
    assert_eq!(send(&world, paid("/query", QUESTION, &forged)).unwrap().status(), 402);
    let unreadable = send(&world, unpaid("/query", QUESTION).with_header("payment-signature", "e30")).unwrap();
    assert_eq!((unreadable.status(), code(&unreadable).as_str()), (400, "payment_unreadable"));
    world.advance(Duration::from_secs(280));
    let late = send(&world, paid("/query", QUESTION, &good)).unwrap();
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
    let hash = audit::digest::query_hash(&domain::Query::parse(question).unwrap());
    let state = world.state();
    assert_eq!(state.log.values().filter(|line| line.contains("\"suicidal_ideation\"")).count(), 3);
    assert!(state.log.values().all(|line| !line.contains(&hash)));
}

#[test]
fn a_narrative_answer_that_breaks_its_grammar_is_made_once_more_and_then_not_sold() {
    let question = "What does 'force majeure' mean?";
    let world = world();
    let payment = payment_for(&world, Offer::Query, 1);
    let says = |summary: &str| {
        let text = json!({ "verdict": "GREEN", "summary": summary }).to_string();
        Ok(domain::ports::ModelReply { text, model_version: "m".to_owned(), status_warning: None })
    };
    let lacking = "The term names an event that no one could prevent.";
    world.state().answers.extend([says(lacking), says("You will win, a lawyer says.")]);
    let refused = send(&world, paid("/query", question, &payment)).unwrap();
    assert_eq!((refused.status(), code(&refused).as_str()), (503, "no_answer"));
    assert_eq!(world.state().prompts.len(), 2);
    assert_eq!(world.state().chain.settled, 0);
    let (status, why) = records(&world).remove(0);
    assert_eq!(status, "RAG_FAIL");
    assert!(why.ends_with(r#"the authority gate refuses the reply: it contains "you will win""#), "{why}");
    world.state().answers.extend([says(lacking), says("A lawyer knows what the term covers.")]);
    let sold = send(&world, paid("/query", question, &payment)).unwrap();
    assert_eq!((sold.status(), world.state().chain.settled), (200, 1));
    let body: Value = serde_json::from_str(sold.body()).unwrap();
    assert_eq!(body["notice"], authority::evaluate(question, None).notice().unwrap());
    let state = world.state();
    assert_eq!(state.prompts.len(), 4);
    assert!(state.prompts[3].1.instruction.contains("it contains none of \"lawyer\""));
}

#[test]
fn a_trigger_of_child_safety_is_escalated_with_and_without_a_payment() {
    let world = world();
    let payment = payment_for(&world, Offer::Query, 1);
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
    let world = world();
    let payment = payment_for(&world, Offer::Query, 1);
    world.plan(Plan::none().whenever("model.ask", Fault::Fail));
    let failed = send(&world, paid("/query", QUESTION, &payment)).unwrap();
    assert_eq!((failed.status(), code(&failed).as_str()), (503, "no_answer"));
    assert_eq!(records(&world)[0].0, "RAG_FAIL");
    assert_eq!(world.state().chain.settled, 0);
    world.plan(Plan::none());
    let held = json!({ "verdict": "GREEN", "summary": "The CSDM says that demand is real and the format fits." });
    let reply =
        domain::ports::ModelReply { text: held.to_string(), model_version: "m".to_owned(), status_warning: None };
    world.state().answers.push_back(Ok(reply));
    let filtered = send(&world, paid("/query", QUESTION, &payment)).unwrap();
    assert_eq!((filtered.status(), code(&filtered).as_str()), (503, "no_answer"));
    assert_eq!(world.state().chain.settled, 0);
    assert_eq!(send(&world, paid("/query", QUESTION, &payment)).unwrap().status(), 200);
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
            let reply = run(handle(ports(&world), &settings, paid("/query", QUESTION, &payment))).unwrap();
            assert_eq!((reply.status(), code(&reply).as_str()), (503, "no_answer"));
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
        let world = world();
        let payment = payment_for(&world, Offer::Query, 1);
        world.state().chain.says.push_back(says);
        let reply = send(&world, paid("/query", QUESTION, &payment)).unwrap();
        assert_eq!(reply.status(), status, "{}", reply.body());
        assert_eq!(world.state().chain.settled, 0);
        let second = send(&world, paid("/query", QUESTION, &payment)).unwrap();
        assert_eq!((second.status(), world.state().chain.settled), (200, 1));
    }
}

/// A third party submits the payment.
fn submit(world: &World, payment: &Value, transaction: &str) {
    let fields = &payment["payload"]["authorization"];
    let text = |name: &str| fields[name].as_str().unwrap().to_lowercase();
    world.state().chain.used.insert((text("from"), text("nonce")), (transaction.to_owned(), true));
}

/// The facilitator's node does not answer, or its simulation fails. A 402 would end the agent's attempts.
#[test]
fn a_check_that_failed_refuses_no_payment() {
    for (is_submitted, statuses) in [(false, [503, 200]), (true, [200, 200])] {
        let world = world();
        let payment = payment_for(&world, Offer::Query, 1);
        if is_submitted {
            submit(&world, &payment, "0x1");
        }
        let failed = FacilitatorError::Unclear("invalid_exact_evm_transaction_simulation_failed".to_owned());
        world.state().chain.checks.push_back(failed);
        for status in statuses {
            let reply = send(&world, paid("/query", QUESTION, &payment)).unwrap();
            assert_eq!(reply.status(), status, "{}", reply.body());
        }
        assert_eq!(world.state().chain.settled, u32::from(!is_submitted), "nobody pays twice");
        let why = "the facilitator could not decide about the payment: \
                   invalid_exact_evm_transaction_simulation_failed; the chain does not show that it is used";
        let recorded = records(&world).iter().any(|(status, detail)| status == "RPC_UNREACHABLE" && detail == why);
        assert_eq!(recorded, !is_submitted, "{:?}", records(&world));
    }
}

/// The facilitator sees a submission some blocks before the node does. A 402 would make the agent pay a second time.
#[test]
fn a_nonce_that_the_node_does_not_show_as_used_yet_asks_for_no_second_payment() {
    for is_verified in [false, true] {
        let (world, mut defect) = (world(), None);
        let payment = payment_for(&world, Offer::Query, 1);
        if is_verified {
            world.state().chain.says.push_back(FacilitatorError::Unclear("nonce_already_used".to_owned()));
        } else {
            submit(&world, &payment, "0x1");
            defect = Some(Defect::NothingSubmitted);
        }
        let reply = Site::new(world, defect).send(paid("/query", QUESTION, &payment)).unwrap();
        assert_eq!(reply.status(), 503, "{}", reply.body());
    }
}

#[test]
fn a_settlement_without_an_outcome_is_finished_by_the_schedule() {
    let world = world();
    let payment = payment_for(&world, Offer::Query, 1);
    world.plan(Plan::none().whenever("facilitator.settle", Fault::LoseReply));
    let reply = send(&world, paid("/query", QUESTION, &payment)).unwrap();
    assert_eq!((reply.status(), code(&reply).as_str()), (503, "settlement_pending"));
    world.plan(Plan::none());
    world.advance(Duration::from_secs(61));
    assert_eq!(look(&world).unwrap().failed, 0);
    let Some(Stage::Settled { confirmed: true, .. }) = purchase(&world).map(|found| found.stage().clone()) else {
        panic!("{:?}", purchase(&world));
    };
    assert_eq!(send(&world, paid("/query", QUESTION, &payment)).unwrap().status(), 200);
    assert_eq!(world.state().chain.settled, 1);
}

/// The record of a sale names the facilitator's transaction. The chain may have another one in its place, or none.
#[test]
fn what_the_chain_says_later_of_a_settlement_is_on_record() {
    for on_chain in [Some("0x9"), None] {
        let site = Site::new(world(), Some(Defect::RefusalSwallowed));
        let payment = payment_for(&site.world, Offer::Query, 1);
        site.world.plan(Plan::none().whenever("facilitator.settle", Fault::Refuse(402)));
        assert_eq!(site.send(paid("/query", QUESTION, &payment)).unwrap().status(), 200);
        site.world.plan(Plan::none());
        if let Some(transaction) = on_chain {
            submit(&site.world, &payment, transaction);
        }
        for _ in 0..2 {
            site.world.advance(Duration::from_secs(3_601));
            site.look().unwrap();
        }
        let state = site.world.state();
        let lines = state.records();
        let checks: Vec<&Value> = lines.iter().filter(|line| line["event"] == "toll_check").collect();
        let details = json!({ "reported": "0x1...", "on_chain": on_chain.map(|it| format!("{it}...")) });
        assert!(checks.len() == 1 && checks[0]["details"] == details, "{checks:?}");
        assert_eq!(lines.iter().filter(|line| line["status"] == "OK").count(), 1, "it is sold once");
        let is_raised = state.alerts.iter().any(|alert| alert.line.contains("the chain does not have"));
        assert_eq!(is_raised, on_chain.is_none());
    }
}

#[test]
fn a_payment_that_nobody_settles_lapses() {
    let world = world();
    let payment = payment_for(&world, Offer::Query, 1);
    world.plan(Plan::none().whenever("facilitator.settle", Fault::Refuse(402)));
    assert_eq!(send(&world, paid("/query", QUESTION, &payment)).unwrap().status(), 402);
    for _ in 0..10 {
        world.advance(Duration::from_secs(61));
        look(&world).unwrap();
    }
    assert!(matches!(purchase(&world).unwrap().stage(), Stage::Lapsed { .. }));
    assert_eq!(send(&world, paid("/query", QUESTION, &payment)).unwrap().status(), 402);
    assert_eq!(world.state().chain.settled, 0);
}

/// A node that says that the payment is used, and finds no transaction, contradicts itself: the money may be here.
#[test]
fn a_payment_that_cannot_be_traced_is_looked_for_for_a_day_and_then_alerted() {
    let says = |world: &World, transaction: &str| {
        world.state().chain.used.values_mut().for_each(|known| known.0 = transaction.to_owned());
    };
    for catches_up in [true, false] {
        let world = world();
        let payment = payment_for(&world, Offer::Query, 1);
        world.plan(Plan::none().whenever("facilitator.settle", Fault::LoseReply));
        assert_eq!(send(&world, paid("/query", QUESTION, &payment)).unwrap().status(), 503);
        world.plan(Plan::none());
        let (transaction, _) = world.state().chain.used.values().next().unwrap().clone();
        says(&world, "");
        for hour in 0..23 {
            world.advance(Duration::from_secs(3_600));
            look(&world).unwrap();
            assert!(matches!(purchase(&world).unwrap().stage(), Stage::Settling { .. }), "{hour}");
        }
        assert!(world.state().alerts.is_empty());
        if catches_up {
            says(&world, &transaction);
            world.advance(Duration::from_secs(60));
            look(&world).unwrap();
            assert!(matches!(purchase(&world).unwrap().stage(), Stage::Settled { confirmed: true, .. }));
            continue;
        }
        world.advance(Duration::from_secs(3_600));
        look(&world).unwrap();
        expect_untraced(&world, paid("/query", QUESTION, &payment));
        let state = world.state();
        let why = "does not show where";
        assert_eq!(state.alerts.iter().filter(|alert| alert.line.contains(why)).count(), 1);
        assert!(state.log.values().any(|line| line.contains(why) && line.contains("RPC_UNREACHABLE")));
    }
}

/// The money may be here, so the purchase waits for a human, and its payer is not asked for another payment.
fn expect_untraced(world: &World, again: runtime::http::Request) {
    let reply = send(world, again).unwrap();
    assert_eq!((reply.status(), code(&reply).as_str()), (409, "untraced"));
    let found = purchase(world).unwrap();
    assert!(matches!(found.stage(), Stage::Lapsed { untraced: true, .. }), "{found:?}");
    assert!(matches!(found.next(), Some((List::Humans, _))), "{found:?}");
}

/// A node that refuses every question about a payment, for example because it searches too few blocks at once.
#[test]
fn a_payment_of_which_the_node_says_nothing_for_a_day_waits_for_a_human() {
    let world = world();
    let payment = payment_for(&world, Offer::Query, 1);
    world.plan(Plan::none().whenever("facilitator.settle", Fault::LoseReply));
    assert_eq!(send(&world, paid("/query", QUESTION, &payment)).unwrap().status(), 503);
    world.plan(Plan::none().whenever("node.whereabouts", Fault::Fail));
    for hour in 0..23 {
        world.advance(Duration::from_secs(3_600));
        assert_eq!(look(&world).unwrap().failed, 1, "{hour}");
        assert!(matches!(purchase(&world).unwrap().stage(), Stage::Settling { .. }), "{hour}");
    }
    assert!(world.state().alerts.is_empty());
    for days in 0..2 {
        world.advance(Duration::from_secs(if days == 0 { 3_600 } else { 86_400 }));
        assert_eq!(look(&world).unwrap().failed, 0);
        expect_untraced(&world, paid("/query", QUESTION, &payment));
        let alerts: Vec<_> = world.state().alerts.iter().map(|alert| alert.line.clone()).collect();
        let says = ["does not say where the payment went", "look for the money"];
        assert_eq!(alerts.len(), days + 1, "{alerts:?}");
        assert!(alerts[days].contains(says[days]), "{alerts:?}");
    }
    assert!(world.state().log.values().any(|line| line.contains("does not say where")));
    assert!(records(&world).iter().all(|(status, _)| status == "RPC_UNREACHABLE"), "nobody has refused the payment");
    // A human has looked for the money.
    world.state().purchases.values_mut().for_each(|(found, _)| found.resolve().unwrap());
    assert_eq!(send(&world, paid("/query", QUESTION, &payment)).unwrap().status(), 402);
}

/// The payer has the answer: a node that fails for days puts nothing before a human.
#[test]
fn a_sale_waits_for_the_node_that_confirms_it() {
    let world = world();
    let payment = payment_for(&world, Offer::Query, 1);
    assert_eq!(send(&world, paid("/query", QUESTION, &payment)).unwrap().status(), 200);
    world.plan(Plan::none().whenever("node.whereabouts", Fault::Fail));
    for _ in 0..3 {
        world.advance(Duration::from_secs(86_400));
        assert_eq!(look(&world).unwrap().failed, 1);
    }
    assert!(world.state().alerts.is_empty());
    world.plan(Plan::none());
    world.advance(Duration::from_secs(61));
    look(&world).unwrap();
    assert!(matches!(purchase(&world).unwrap().stage(), Stage::Settled { confirmed: true, .. }));
}

/// A world with a transfer that bought nothing, because the model failed.
fn unanswered_transfer() -> (World, String) {
    let (world, transaction) = (world(), format!("0x{}", "ab".repeat(32)));
    world.state().chain.transfers.insert(transaction.clone(), ("0x1".to_owned(), 50_000));
    world.plan(Plan::none().whenever("model.ask", Fault::Fail));
    let request = unpaid("/query", QUESTION).with_header("x-payment-transaction", &transaction);
    assert_eq!(send(&world, request).unwrap().status(), 503);
    world.plan(Plan::none());
    (world, transaction)
}

/// A node that lags behind does not have a transfer that another one has shown.
#[test]
fn an_unanswered_transfer_that_is_gone_is_looked_for_for_a_day_and_then_alerted() {
    for catches_up in [true, false] {
        let (world, transaction) = unanswered_transfer();
        let transfer = world.state().chain.transfers.remove(&transaction).unwrap();
        world.advance(Duration::from_secs(23 * 3_600));
        look(&world).unwrap();
        assert!(matches!(purchase(&world).unwrap().stage(), Stage::Unanswered) && world.state().alerts.is_empty());
        if catches_up {
            world.state().chain.transfers.insert(transaction, transfer);
            world.advance(Duration::from_secs(60));
            look(&world).unwrap();
            assert!(matches!(purchase(&world).unwrap().stage(), Stage::Owed { .. }), "the money is here after all");
            continue;
        }
        world.advance(Duration::from_secs(3_600));
        look(&world).unwrap();
        expect_untraced(&world, showing("/query", &transaction));
        let (state, why) = (world.state(), "not on the chain any more");
        assert_eq!(state.alerts.iter().filter(|alert| alert.line.contains(why)).count(), 1);
        assert!(state.log.values().any(|line| line.contains(why) && line.contains("RPC_UNREACHABLE")));
    }
}

/// The node has shown the transfer before, so the money is here.
#[test]
fn an_unanswered_transfer_is_owed_after_a_day_without_an_answer_of_the_node() {
    let (world, _) = unanswered_transfer();
    world.plan(Plan::none().whenever("node.transfer", Fault::Fail));
    world.advance(Duration::from_secs(23 * 3_600));
    assert_eq!(look(&world).unwrap().failed, 1);
    assert!(matches!(purchase(&world).unwrap().stage(), Stage::Unanswered) && world.state().alerts.is_empty());
    world.advance(Duration::from_secs(3_600));
    assert_eq!(look(&world).unwrap().failed, 0);
    assert!(matches!(purchase(&world).unwrap().stage(), Stage::Owed { .. }));
    assert!(world.state().alerts.iter().any(|alert| alert.line.contains("give it back")));
}

/// Shows a transfer that was made at that time, and returns the reply.
fn show(world: &World, path: &'static str, transaction: &str) -> runtime::http::Reply {
    send(world, showing(path, transaction)).unwrap()
}

fn showing(path: &'static str, transaction: &str) -> runtime::http::Request {
    unpaid(path, QUESTION).with_header("x-payment-transaction", transaction)
}

#[test]
fn what_keeps_agents_from_buying_is_counted_for_its_alarm() {
    let world = world();
    let payment = payment_for(&world, Offer::Query, 1);
    let counted = || [Metric::TollUnreachable, Metric::TollUnanswered].map(|metric| world.state().measured(metric));
    world.plan(Plan::none().whenever("facilitator.verify", Fault::Fail));
    assert_eq!(send(&world, paid("/query", QUESTION, &payment)).unwrap().status(), 503);
    assert_eq!(counted(), [1, 0]);
    world.plan(Plan::none().whenever("node.transfer", Fault::Fail));
    assert_eq!(show(&world, "/query", &format!("0x{}", "ab".repeat(32))).status(), 503);
    assert_eq!(counted(), [2, 0]);
    world.plan(Plan::none().whenever("model.ask", Fault::Fail));
    assert_eq!(send(&world, paid("/query", QUESTION, &payment)).unwrap().status(), 503);
    assert_eq!(counted(), [2, 1]);
    world.plan(Plan::none());
    assert_eq!(send(&world, paid("/query", QUESTION, &payment)).unwrap().status(), 200);
    assert_eq!(counted(), [2, 1]);
}

/// The money is here, and no request of the payer can buy anything for it.
#[test]
fn a_transfer_that_can_buy_nothing_any_more_is_owed() {
    let (world, transaction) = (world(), format!("0x{}", "ab".repeat(32)));
    world.state().chain.transfers.insert(transaction.clone(), ("0x1".to_owned(), 50_000));
    world.state().chain.transferred_at.insert(transaction.clone(), NOW * 1000);
    world.plan(Plan::none().whenever("node.transfer", Fault::Fail));
    assert_eq!(show(&world, "/query", &transaction).status(), 503);
    world.plan(Plan::none());
    world.advance(Duration::from_secs(3_601));
    for _ in 0..2 {
        let reply = show(&world, "/query", &transaction);
        assert_eq!((reply.status(), code(&reply).as_str()), (409, "owed"));
    }
    let found = purchase(&world).unwrap();
    assert!(matches!(found.next(), Some((List::Humans, _))), "{found:?}");
    let state = world.state();
    assert_eq!(state.alerts.iter().filter(|alert| alert.line.contains("give it back")).count(), 1);
    assert!(state.log.values().any(|line| line.contains("the transaction is too old")));
}

#[test]
fn a_transfer_of_another_amount_is_owed_unless_it_is_the_price_of_another_offer() {
    let transaction = format!("0x{}", "ab".repeat(32));
    let made = |amount| {
        let world = world();
        world.state().chain.transfers.insert(transaction.clone(), ("0x1".to_owned(), amount));
        world
    };
    let odd = made(60_000);
    assert_eq!(show(&odd, "/query", &transaction).status(), 409);
    let found = purchase(&odd).unwrap();
    assert!(matches!(found.stage(), Stage::Owed { .. }));
    assert!((found.dollars() - 0.06).abs() < f64::EPSILON, "what is given back");
    let dear = made(250_000);
    let reply = show(&dear, "/query", &transaction);
    assert_eq!(reply.status(), 402);
    assert!(reply.body().contains("the price of /query/full and /analyze"), "{}", reply.body());
    assert!(purchase(&dear).is_none());
    let late = made(250_000);
    late.state().chain.transferred_at.insert(transaction.clone(), (NOW - 3_601) * 1000);
    assert_eq!(show(&late, "/query", &transaction).status(), 409);
    let forgotten = made(50_000);
    forgotten.state().chain.transferred_at.insert(transaction.clone(), (NOW - 172_801) * 1000);
    for world in [forgotten, made(9_999)] {
        assert_eq!(show(&world, "/query", &transaction).status(), 402);
        assert!(purchase(&world).is_none());
    }
}

#[test]
fn an_earlier_transfer_buys_once_for_the_first_that_shows_it() {
    let world = world();
    let transaction = format!("0x{}", "ab".repeat(32));
    let request =
        |path: &'static str, question: &str| unpaid(path, question).with_header("x-payment-transaction", &transaction);
    let unknown = send(&world, request("/query", QUESTION)).unwrap();
    assert_eq!((unknown.status(), code(&unknown).as_str()), (402, "payment_unconfirmed"));
    world.state().chain.transfers.insert(transaction.clone(), ("0x1".to_owned(), 50_000));
    assert_eq!(send(&world, request("/query/full", QUESTION)).unwrap().status(), 402);
    let reply = send(&world, request("/query", QUESTION)).unwrap();
    assert_eq!(reply.status(), 200, "{}", reply.body());
    assert_eq!(send(&world, request("/query", QUESTION)).unwrap().body(), reply.body());
    assert_eq!(send(&world, request("/query", "Open a third shop?")).unwrap().status(), 409);
    assert_eq!(world.state().chain.settled, 0);
}

#[test]
fn a_transfer_that_bought_nothing_is_put_before_a_human() {
    let (world, _) = unanswered_transfer();
    world.advance(Duration::from_secs(3601));
    look(&world).unwrap();
    assert!(matches!(purchase(&world).unwrap().stage(), Stage::Owed { .. }));
    assert!(world.state().alerts.iter().any(|alert| alert.line.contains("give it back")));
}
