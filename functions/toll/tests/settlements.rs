//! Signed payments whose outcome is open: the check failed, the settlement has no outcome, or the chain does not show it.
//! The file has more than 300 lines because each outcome that is open has a test of its own, from the request to its
//! end.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use domain::{
    ports::FacilitatorError,
    toll::{Offer, Stage},
};
use serde_json::{Value, json};
use std::time::Duration;
use support::{
    site::{Defect, Site},
    *,
};
use testkit::{Fault, NoLimit, Passage, Plan, World, run};

/// The facilitator's node does not answer, or its simulation fails. A 402 would end the agent's attempts.
#[test]
fn a_check_that_failed_refuses_no_payment() {
    for (is_submitted, statuses) in [(false, [503, 200]), (true, [200, 200])] {
        let (world, payment) = offered();
        if is_submitted {
            submit(&world, &payment, "0x1", true);
        }
        let failed = FacilitatorError::Unclear("invalid_exact_evm_transaction_simulation_failed".to_owned());
        world.state().chain.checks.push_back(failed);
        for status in statuses {
            let reply = query(&world, &payment);
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
            submit(&world, &payment, "0x1", true);
            defect = Some(Defect::NothingSubmitted);
        }
        let reply = Site::new(world, defect).send(paid("/query", QUESTION, &payment)).unwrap();
        assert_eq!(reply.status(), 503, "{}", reply.body());
    }
}

#[test]
fn a_settlement_without_an_outcome_is_finished_by_the_schedule() {
    let (world, payment) = offered();
    assert_code(&query_despite("facilitator.settle", Fault::LoseReply, &world, &payment), 503, "settlement_pending");
    let open = world.state().records().into_iter().find(|line| line["status"] == "RPC_UNREACHABLE").unwrap();
    assert_eq!(open["details"]["made"]["authority"]["state"], "AUTHORIZED", "{open}");
    world.advance(Duration::from_secs(61));
    assert_eq!(look(&world).unwrap().failed, 0);
    let Some(Stage::Settled { confirmed: true, .. }) = purchase(&world).map(|found| found.stage().clone()) else {
        panic!("{:?}", purchase(&world));
    };
    assert_eq!(query(&world, &payment).status(), 200);
    assert_eq!(world.state().chain.settled, 1);
}

/// The facilitator never submitted the payment. Once it has expired by our clock, the chain's clock decides, which may be
/// behind.
#[test]
fn a_settlement_that_never_reached_the_chain_is_repeated_until_the_payment_expires() {
    for (seconds, is_settled) in [(61, true), (290, true), (300, false)] {
        let (world, payment) = offered();
        assert_eq!(query_despite("facilitator.settle", Fault::Fail, &world, &payment).status(), 503);
        world.state().chain.behind = 60_000;
        look_after(&world, seconds);
        let stage = purchase(&world).unwrap().stage().clone();
        if is_settled {
            assert!(matches!(stage, Stage::Settled { .. }), "{seconds}: {stage:?}");
        } else {
            assert!(matches!(stage, Stage::Settling { attempts: 1, .. }), "{seconds}: {stage:?}");
            look_after(&world, 60);
            assert!(matches!(purchase(&world).unwrap().stage(), Stage::Lapsed { untraced: false, .. }));
        }
        assert_eq!(world.state().chain.settled, u32::from(is_settled), "{seconds}");
    }
}

/// Every evaluation has a record, also if the process dies (Authority Governance, RFC-0008).
#[test]
fn the_evaluation_of_a_question_whose_process_died_is_recorded_by_the_end_of_its_purchase() {
    let died = |effect: &'static str| {
        let (world, payment) = offered();
        world.plan(Plan::none().whenever(effect, Fault::CrashBefore));
        let ports = toll::Ports { pause: &NoLimit, ..ports(&world) };
        assert!(run(toll::handle(ports, &settings(), paid("/query", QUESTION, &payment))).is_none());
        world.plan(Plan::none());
        (world, payment)
    };
    let evaluation_of = |world: &World, status: &str, pointer: &str| {
        let line = world.state().records().into_iter().find(|line| line["status"] == status).unwrap();
        assert_eq!(line.pointer(pointer), Some(&json!("AUTHORIZED")), "{line}");
    };
    let (world, _) = died("model.ask");
    look_after(&world, 400);
    evaluation_of(&world, "PAYMENT_REJECTED", "/details/authority/state");
    let (world, payment) = died("model.ask");
    submit(&world, &payment, "0x1", true);
    look_after(&world, 400);
    evaluation_of(&world, "RAG_FAIL", "/details/authority/state");
    let (world, _) = died("facilitator.settle");
    look_after(&world, 400);
    evaluation_of(&world, "PAYMENT_REJECTED", "/details/made/authority/state");
    let (world, payment) = died("model.ask");
    world.advance(Duration::from_secs(41));
    assert_eq!(query(&world, &payment).status(), 200);
    evaluation_of(&world, "RAG_FAIL", "/details/authority/state");
    evaluation_of(&world, "OK", "/details/made/authority/state");
    assert_eq!(records(&world)[0], ("RAG_FAIL".to_owned(), "its process ended".to_owned()));
}

/// A deployment may change the address, or end the sales, before the payer asks again.
#[test]
fn a_purchase_that_has_begun_is_finished_whatever_address_is_configured_now() {
    for (pay_to, unsold) in [(Some(OTHER_PAYER.0), 402), (None, 404)] {
        let (world, payment) = offered();
        let new = payment_for(&world, Offer::Query, 2);
        assert_eq!(query_despite("facilitator.settle", Fault::LoseReply, &world, &payment).status(), 503);
        for request in [unpaid("/query", QUESTION), paid("/query", QUESTION, &new), showing("/query", TRANSACTION)] {
            assert_eq!(send_to(&world, pay_to, request).status(), unsold);
        }
        for _ in 0..2 {
            assert_eq!(send_to(&world, pay_to, paid("/query", QUESTION, &payment)).status(), 200);
        }
        let other = send_to(&world, pay_to, paid("/query", "Open a third shop?", &payment));
        assert_code(&other, 409, "payment_used");
        let mut forged = payment.clone();
        forged["payload"]["signature"] = new["payload"]["signature"].clone();
        assert_eq!(send_to(&world, pay_to, paid("/query", QUESTION, &forged)).status(), unsold);
        world.plan(Plan::none().whenever("purchases.load", Fault::Fail));
        assert_eq!(send_to(&world, pay_to, paid("/query", QUESTION, &payment)).status(), 503);
        let state = world.state();
        assert_eq!((state.chain.settled, state.purchases.len()), (1, 1));
    }
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
            submit(&site.world, &payment, transaction, true);
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
    let (world, payment) = offered();
    world.plan(Plan::none().whenever("facilitator.settle", Fault::Refuse(402)));
    assert_eq!(query(&world, &payment).status(), 402);
    for _ in 0..10 {
        look_after(&world, 61);
    }
    assert!(matches!(purchase(&world).unwrap().stage(), Stage::Lapsed { .. }));
    assert_eq!(query(&world, &payment).status(), 402);
    assert_eq!(world.state().chain.settled, 0);
}

/// Looks for the payment once an hour, and checks that no alert is raised.
fn waits_for_23_hours(world: &World) {
    for hour in 0..23 {
        world.advance(Duration::from_secs(3_600));
        look(world).unwrap();
        assert!(matches!(purchase(world).unwrap().stage(), Stage::Settling { .. }), "{hour}");
    }
    assert!(world.state().alerts.is_empty());
}

/// A node that says that the payment is used, and finds no transaction, contradicts itself: the money may be here.
#[test]
fn a_payment_that_cannot_be_traced_is_looked_for_for_a_day_and_then_alerted() {
    let says = |world: &World, transaction: &str| {
        world.state().chain.used.values_mut().for_each(|known| known.0 = transaction.to_owned());
    };
    for catches_up in [true, false] {
        let (world, payment) = offered();
        assert_eq!(query_despite("facilitator.settle", Fault::LoseReply, &world, &payment).status(), 503);
        let (transaction, _) = world.state().chain.used.values().next().unwrap().clone();
        says(&world, "");
        waits_for_23_hours(&world);
        if catches_up {
            says(&world, &transaction);
            look_after(&world, 60);
            assert!(matches!(purchase(&world).unwrap().stage(), Stage::Settled { confirmed: true, .. }));
            continue;
        }
        look_after(&world, 3_600);
        expect_untraced(&world, paid("/query", QUESTION, &payment));
        let state = world.state();
        let why = "does not show where";
        assert_eq!(state.alerts.iter().filter(|alert| alert.line.contains(why)).count(), 1);
        assert!(state.log.values().any(|line| line.contains(why) && line.contains("RPC_UNREACHABLE")));
    }
}

/// A node that names the transaction of a payment and has no receipt of it, for example because it keeps only new ones.
#[test]
fn a_used_payment_without_a_receipt_waits_for_a_human_after_a_day() {
    let (world, payment) = offered();
    assert_eq!(query_despite("facilitator.settle", Fault::LoseReply, &world, &payment).status(), 503);
    world.state().chain.has_no_receipts = true;
    waits_for_23_hours(&world);
    look_after(&world, 3_600);
    expect_untraced(&world, paid("/query", QUESTION, &payment));
    let why = "its receipt is missing";
    assert_eq!(world.state().alerts.iter().filter(|alert| alert.line.contains(why)).count(), 1);
}

#[test]
fn a_sale_whose_receipt_is_missing_for_an_hour_waits_for_a_human() {
    let (world, payment) = offered();
    assert_eq!(query(&world, &payment).status(), 200);
    world.state().chain.has_no_receipts = true;
    look_after(&world, 3_601);
    let found = purchase(&world).unwrap();
    assert!(matches!(found.stage(), Stage::Settled { confirmed: false, doubtful: true, .. }), "{found:?}");
    // The chain has the payment, so the alert must not say that it is missing there.
    let raised = |n: usize| world.state().alerts[n].line.clone();
    assert!(raised(0).contains("no receipt is there") && !raised(0).contains("does not have"), "{}", raised(0));
    world.advance(Duration::from_secs(86_400));
    look(&world).unwrap();
    assert!(raised(1).contains("not confirmed by the chain"), "{}", raised(1));
    assert_eq!(world.state().alerts.len(), 2);
}

/// The chain shows the payment as used, so a 402 would make the agent pay a second time.
#[test]
fn an_expired_payment_without_a_receipt_asks_for_no_second_payment() {
    let (world, payment) = offered();
    submit(&world, &payment, "0x1", true);
    world.state().chain.has_no_receipts = true;
    world.advance(Duration::from_secs(301));
    assert_code(&query(&world, &payment), 503, "payment_unavailable");
}

/// A node that refuses every question about a payment, for example because it searches too few blocks at once.
#[test]
fn a_payment_of_which_the_node_says_nothing_for_a_day_waits_for_a_human() {
    let (world, payment) = offered();
    world.plan(Plan::none().whenever("facilitator.settle", Fault::LoseReply));
    assert_eq!(query(&world, &payment).status(), 503);
    world.plan(Plan::none().whenever("node.payment_use", Fault::Fail));
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
    assert_eq!(query(&world, &payment).status(), 402);
}

/// The payer has the answer: a node that fails for days puts nothing before a human.
#[test]
fn a_sale_waits_for_the_node_that_confirms_it() {
    let (world, payment) = offered();
    assert_eq!(query(&world, &payment).status(), 200);
    world.plan(Plan::none().whenever("node.payment_use", Fault::Fail));
    for _ in 0..3 {
        world.advance(Duration::from_secs(86_400));
        assert_eq!(look(&world).unwrap().failed, 1);
    }
    assert!(world.state().alerts.is_empty());
    world.plan(Plan::none());
    look_after(&world, 61);
    assert!(matches!(purchase(&world).unwrap().stage(), Stage::Settled { confirmed: true, .. }));
}

/// However many settlements are due, ten of the run's sixty seconds are the reminder's.
#[test]
fn settlements_that_take_long_leave_the_reminder_its_time() {
    let world: &'static World = Box::leak(Box::new(world()));
    world.plan(Plan::none().whenever("model.ask", Fault::Fail));
    for number in 0..10 {
        let transaction = format!("0x{number:064x}");
        world.state().chain.transfers.insert(transaction.clone(), ("0x1".to_owned(), 50_000));
        assert_eq!(show(world, "/query", &transaction).status(), 503);
    }
    world.plan(Plan::none());
    world.advance(Duration::from_secs(3_700));
    world.surround(Box::new(move |name, _| {
        if name == "purchases.load" {
            world.advance(Duration::from_secs(11));
        }
        Passage::default()
    }));
    let report = look(world).unwrap();
    assert_eq!((report.failed, report.left), (0, 1));
    let decided = |purchase: &domain::toll::Purchase| matches!(purchase.stage(), Stage::Owed { .. });
    let decided = world.state().purchases.values().filter(|(purchase, _)| decided(purchase)).count();
    assert_eq!(decided, 5, "the fifth begins after 44 s, and the sixth would after 55 s");
}
