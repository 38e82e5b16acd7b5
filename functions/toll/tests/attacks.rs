//! What a dishonest caller tries: several payments at once, one payment for several answers, payments that others
//! submit, and headers that are not payments.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use chain::{
    Network,
    wire::{self, SettlementResponse},
};
use domain::toll::{Offer, Paid, Stage};
use runtime::http::Request;
use serde_json::{Value, json};
use std::time::Duration;
use support::{
    site::{Call, Site},
    *,
};
use testkit::{Fault, Passage, Plan, World};

const OTHER_QUESTION: &str = "Open a third shop?";
const NAME: &str = "pay_7d5d747be160e280504c099d984bcfe0";

fn statuses(world: &World) -> Vec<String> {
    records(world).into_iter().map(|(status, _)| status).collect()
}

#[test]
fn a_request_has_one_payment() {
    let world = world();
    let payment = wire::encode(&payment_for(&world, Offer::Query, 1)).unwrap();
    let proofs = [
        ("payment-signature", payment.as_str()),
        ("x-payment", payment.as_str()),
        ("x-payment-transaction", TRANSACTION),
    ];
    for first in proofs {
        for second in proofs {
            let request = unpaid("/query", QUESTION).with_header(first.0, first.1).with_header(second.0, second.1);
            let reply = send(&world, request).unwrap();
            assert_eq!((reply.status(), code(&reply).as_str()), (400, "payment_unreadable"), "{first:?} {second:?}");
            assert!(reply.body().contains("A request has one payment"), "{}", reply.body());
        }
    }
    assert!(world.state().purchases.is_empty() && world.state().chain.used.is_empty());
}

/// As API Gateway delivers it: `headers` has only the second payment.
#[test]
fn two_payments_in_one_header_are_refused_behind_the_gateway() {
    let world = world();
    let [first, second] = [1, 2].map(|nonce| wire::encode(&payment_for(&world, Offer::Query, nonce)).unwrap());
    let mut event: Value = serde_json::from_str(include_str!("../../../events/toll.json")).unwrap();
    event["headers"]["PAYMENT-SIGNATURE"] = json!(second);
    event["multiValueHeaders"]["PAYMENT-SIGNATURE"] = json!([first, second]);
    let reply = send(&world, Request::from_event(&event.to_string()).unwrap()).unwrap();
    assert_code(&reply, 400, "payment_unreadable");
    assert!(reply.body().contains("A request has one payment"), "{}", reply.body());
    assert!(world.state().purchases.is_empty() && world.state().chain.used.is_empty());
}

#[test]
fn a_header_that_is_no_payment_is_refused_with_the_reason() {
    let world = world();
    let deep =
        wire::encode(&serde_json::from_str::<Value>(&format!("{}{}", "[".repeat(100), "]".repeat(100))).unwrap());
    let mut wrong_type = payment_for(&world, Offer::Query, 1);
    wrong_type["payload"]["authorization"]["nonce"] = json!("0x12");
    for (header, why) in [
        ("a".repeat(9_000), "more than 8192 bytes"),
        ("not base64!".to_owned(), "not base64"),
        (deep.unwrap(), "not a payment"),
        (wire::encode(&json!({ "x402Version": 3 })).unwrap(), "version 3"),
        (wire::encode(&wrong_type).unwrap(), "not a payment"),
    ] {
        let reply = send(&world, unpaid("/query", QUESTION).with_header("payment-signature", &header)).unwrap();
        assert_code(&reply, 400, "payment_unreadable");
        assert!(reply.body().contains(why), "{why}: {}", reply.body());
    }
    let request = unpaid("/query", QUESTION).with_header("x-payment-transaction", "0xabc");
    assert!(send(&world, request).unwrap().body().contains("must be 0x and 64 hexadecimal digits"));
    assert!(world.state().purchases.is_empty());
}

/// What a payer adds to a payment has no effect, and is neither stored nor sent to the facilitator.
#[test]
fn unknown_fields_of_a_payment_are_dropped() {
    let world = world();
    let mut payment = payment_for(&world, Offer::Query, 1);
    payment["discount"] = json!("100%");
    payment["payload"]["authorization"]["spender"] = json!("0x1");
    payment["accepted"]["amountPaid"] = json!("1");
    assert_eq!(query(&world, &payment).status(), 200);
    let Paid::Signed(kept) = purchase(&world).unwrap().paid().clone() else { panic!("signed") };
    let kept = kept.payload.to_string();
    assert!(kept.contains("signature"));
    for unknown in ["discount", "spender", "amountPaid"] {
        assert!(!kept.contains(unknown), "{unknown}: {kept}");
    }
}

#[test]
fn a_dear_payment_buys_nothing_cheaper_and_a_used_one_nothing_at_its_price() {
    let world = world();
    let dear = payment_for(&world, Offer::QueryFull, 1);
    assert_eq!(query(&world, &dear).status(), 402);
    assert_eq!(send(&world, paid("/analyze", QUESTION, &dear)).unwrap().status(), 503, "the test's model is terse");
    assert_code(&send(&world, paid("/query/full", QUESTION, &dear)).unwrap(), 409, "payment_used");
    assert_eq!(world.state().chain.settled, 0);
}

/// The second request arrives while the first waits for the facilitator or the model.
#[test]
fn two_requests_at_once_with_one_payment_get_one_answer() {
    for call in Call::ALL {
        for question in [QUESTION, OTHER_QUESTION] {
            let site = Site::new(world(), None);
            let payment = payment_for(&site.world, Offer::Query, 1);
            let request = |question: &str| paid("/query", question, &payment);
            let (first, second) = site.send_both(request(QUESTION), call, request(question));
            let replies = [first.unwrap(), second.unwrap()];
            let bought: Vec<_> = replies.iter().filter(|reply| reply.status() == 200).map(|it| it.body()).collect();
            let is_same = question == QUESTION;
            assert!(bought.len() == 1 || is_same && bought == [bought[0]; 2], "{call:?}: {bought:?}");
            for refused in replies.iter().filter(|reply| reply.status() != 200) {
                assert_eq!(refused.status(), 409, "{call:?}: {}", refused.body());
            }
            let state = site.world.state();
            let asked = state.prompts.len();
            assert_eq!((state.chain.settled, state.purchases.len(), asked), (1, 1, 1), "{call:?} {question}");
        }
    }
}

/// The second request has a payment of its own, and the same name.
#[test]
fn two_requests_at_once_under_one_name_are_bought_once() {
    for call in Call::ALL {
        let site = Site::new(world(), None);
        let required = required(&send(&site.world, unpaid("/query", QUESTION)).unwrap());
        let request = |nonce: u8| paid("/query", QUESTION, &called(pay(&required, nonce), &NAME.into()));
        let (first, second) = site.send_both(request(1), call, request(2));
        let statuses = [first.unwrap().status(), second.unwrap().status()];
        assert!(statuses.contains(&200), "{call:?}: {statuses:?}");
        assert_eq!(site.world.state().chain.settled, 1, "{call:?}");
    }
}

#[test]
fn two_requests_at_once_with_one_transaction_get_one_answer() {
    let site = Site::new(transferred(50_000), None);
    let request = |question: &str| unpaid("/query", question).with_header("x-payment-transaction", TRANSACTION);
    let (first, second) = site.send_both(request(QUESTION), Call::Ask, request(OTHER_QUESTION));
    let second = second.unwrap();
    assert_eq!((first.unwrap().status(), second.status(), code(&second).as_str()), (200, 409, "payment_used"));
    assert_eq!(site.world.state().prompts.len(), 1);
}

/// Two requests at once: one sends the signed payment, the other shows the transaction that submits it. The payment's
/// claim decides: the payer can ask for the answer again, and no money is owed.
#[test]
fn a_transaction_that_is_shown_while_its_payment_is_claimed_leaves_the_claim() {
    let (world, payment) = offered();
    submit(&world, &payment, SUBMITTED, true);
    world.plan(Plan::none().whenever("model.ask", Fault::Fail));
    let site = Site::new(world, None);
    let shown = showing("/query", SUBMITTED);
    let (reply, claimed) = site.send_both(shown, Call::Save, paid("/query", QUESTION, &payment));
    assert_code(&claimed.unwrap(), 503, "no_answer");
    assert_code(&reply.unwrap(), 409, "in_progress");
    assert!(matches!(purchase(&site.world).unwrap().stage(), Stage::Unanswered));
    assert_eq!(site.world.state().purchases.len(), 1);
}

/// The schedule finds that an expired payment was submitted, and its payer asks again before that is stored. The claim
/// decides: no money is owed while the answer can still be made.
#[test]
fn a_submitted_payment_that_is_claimed_while_the_schedule_looks_leaves_the_claim() {
    let (world, payment) = offered();
    assert_code(&query_despite("model.ask", Fault::Fail, &world, &payment), 503, "no_answer");
    submit(&world, &payment, SUBMITTED, true);
    world.advance(Duration::from_secs(361));
    let mut is_first = true;
    world.surround(Box::new(move |name, _| {
        let dies = name == "model.ask" && std::mem::take(&mut is_first);
        Passage { fault: dies.then_some(Fault::CrashBefore), ..Passage::default() }
    }));
    let site = Site::new(world, None);
    let (report, reply) = site.look_and_send(Call::Save, paid("/query", QUESTION, &payment));
    assert!(report.unwrap().failed == 0 && reply.is_none());
    let found = purchase(&site.world).unwrap();
    assert!(matches!(found.stage(), Stage::Working { .. }), "{found:?}");
    assert!(site.world.state().alerts.is_empty());
    site.world.advance(Duration::from_secs(41));
    let answered = query(&site.world, &payment);
    assert_eq!(answered.status(), 200, "{}", answered.body());
}

/// A third party has seen the payment and submits it first. The payer has paid us, so the payer gets the answer.
#[test]
fn a_payment_that_a_third_party_submits_first_still_buys_once() {
    for wait in [0, 3_600] {
        let (world, payment) = offered();
        submit(&world, &payment, SUBMITTED, true);
        world.advance(Duration::from_secs(wait));
        let reply = query(&world, &payment);
        assert_eq!(reply.status(), 200, "after {wait} s: {}", reply.body());
        let receipt: SettlementResponse = wire::decode(reply.header_value(wire::PAYMENT_RESPONSE).unwrap()).unwrap();
        assert_eq!(receipt.transaction, SUBMITTED);
        assert!(matches!(purchase(&world).unwrap().stage(), Stage::Settled { confirmed: true, .. }));
        let other = send(&world, paid("/query", OTHER_QUESTION, &payment)).unwrap();
        assert_eq!(other.status(), 409);
        assert_eq!(statuses(&world), ["OK", "REPLAY"]);
        assert_eq!(world.state().chain.settled, 0, "the facilitator submitted nothing");
    }
}

#[test]
fn a_payment_that_a_third_party_submits_while_the_answer_is_made_is_found_at_once() {
    let (world, payment) = offered();
    world.plan(Plan::none().whenever("facilitator.settle", Fault::Refuse(402)));
    let refused = query(&world, &payment);
    assert_eq!(refused.status(), 402, "nobody submitted it");
    submit(&world, &payment, SUBMITTED, true);
    assert_eq!(query(&world, &payment).status(), 200);
}

#[test]
fn a_nonce_that_paid_somebody_else_buys_nothing() {
    let (world, payment) = offered();
    submit(&world, &payment, SUBMITTED, false);
    let reply = query(&world, &payment);
    assert_eq!(reply.status(), 402, "{}", reply.body());
    assert!(required(&reply).error.unwrap().contains("nonce_already_used"));
    assert!(world.state().purchases.is_empty() && world.state().prompts.is_empty());
}

/// While the node fails, it is unknown whether the payer has paid. A 402 would make the payer sign a second payment.
#[test]
fn a_refused_payment_waits_for_the_node() {
    let (world, payment) = offered();
    submit(&world, &payment, SUBMITTED, true);
    assert_code(&query_despite("node.payment_use", Fault::Fail, &world, &payment), 503, "payment_unavailable");
    assert_eq!(statuses(&world), ["RPC_UNREACHABLE"]);
    assert_eq!(query(&world, &payment).status(), 200);
}

/// Audit Trail, invariant 2: each payment that is resolved has a record, whatever its outcome.
#[test]
fn every_outcome_of_a_payment_is_recorded() {
    let world = world();
    world.plan(Plan::none().whenever("node.transfer", Fault::Fail));
    assert_eq!(show(&world, "/query", TRANSACTION).status(), 503);
    assert_eq!(statuses(&world), ["RPC_UNREACHABLE"]);
    world.plan(Plan::none());
    world.state().chain.transfers.insert(TRANSACTION.to_owned(), ("0x1".to_owned(), 50_000));
    assert_eq!(show(&world, "/query/full", TRANSACTION).status(), 402);
    let named = world.state().log.values().filter(|line| line.contains("\"tx_hash\":\"0xababababab...\"")).count();
    assert_eq!(named, 2, "a refused transaction is named in the log");
    world.plan(Plan::none().whenever("model.ask", Fault::Fail));
    assert_eq!(show(&world, "/query", TRANSACTION).status(), 503);
    world.plan(Plan::none());
    look_after(&world, 3_601);
    assert_eq!(code(&show(&world, "/query", TRANSACTION)), "owed");
    let mut found = statuses(&world);
    found.sort();
    // One RAG_FAIL is the answer that failed, the other one the money that goes back.
    assert_eq!(found, ["PAYMENT_REJECTED", "PAYMENT_REJECTED", "RAG_FAIL", "RAG_FAIL", "RPC_UNREACHABLE"]);
}

#[test]
fn a_lapsed_payment_is_refused_and_recorded() {
    let (world, payment) = offered();
    assert_eq!(query_despite("model.ask", Fault::Fail, &world, &payment).status(), 503);
    look_after(&world, 400);
    assert!(matches!(purchase(&world).unwrap().stage(), Stage::Lapsed { .. }));
    assert_eq!(query(&world, &payment).status(), 402);
    assert_eq!(statuses(&world), ["RAG_FAIL", "PAYMENT_REJECTED"]);
}

#[test]
fn a_receipt_is_in_the_words_of_the_version_that_asks() {
    let world = world();
    let two = payment_for(&world, Offer::Query, 1);
    let one = json!({ "x402Version": 1, "scheme": "exact", "network": "base-sepolia", "payload": two["payload"] });
    let networks: Vec<String> =
        [("x-payment", one, "X-PAYMENT-RESPONSE"), ("payment-signature", two, "PAYMENT-RESPONSE")]
            .into_iter()
            .map(|(header, payment, receipt)| {
                let request = unpaid("/query", QUESTION).with_header(header, &wire::encode(&payment).unwrap());
                let reply = send(&world, request).unwrap();
                wire::decode::<SettlementResponse>(reply.header_value(receipt).unwrap()).unwrap().network
            })
            .collect();
    assert_eq!(networks, [Network::BaseSepolia.name(), Network::BaseSepolia.caip2()]);
}
