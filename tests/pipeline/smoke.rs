//! The smoke test's way around the payment check: which sessions it accepts, and that it has no other effects.

use crate::{
    samples::{ADDRESS, body, paid_session, quick},
    simulator::Simulator,
};
use domain::{
    CheckoutSession, PaymentStatus, SessionId, Timestamp,
    mail::Mail,
    message::{Message, OrderedBy},
    ports::Clock,
    sale::Fulfilment,
    smoke::{self, Facts},
};
use serde_json::json;
use simulation::deployment::SMOKE_SIGNING_SECRET;
use std::time::Duration;

const ID: &str = "cs_test_simulated_sale_1";

fn facts(now: Timestamp) -> Facts {
    let metadata = [("tier", "quick"), ("q0", smoke::QUERY), ("qn", "1"), smoke::MARK];
    let session = CheckoutSession {
        payment_status: PaymentStatus::Unpaid,
        stage: domain::SessionStage::Open,
        url: None,
        metadata: metadata.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        amount_total: Some(100),
        payment: None,
        created: Some(now),
        locale: None,
        ..paid_session(ID, "quick", None)
    };
    Facts { session, livemode: Some(false) }
}

/// A world in which only the smoke test's key knows the session, as with a production key.
fn world(change: impl Fn(&mut Facts)) -> Simulator {
    let sim = Simulator::new("quick");
    sim.model_says(&quick("GREEN", "It runs as it should."));
    let id = SessionId::parse(ID).unwrap();
    let mut session_facts = facts(sim.world.now());
    change(&mut session_facts);
    sim.world.state().sessions.clear();
    sim.world.state().smoke_sessions.insert(id, session_facts);
    sim
}

fn order(sim: &Simulator, ordered_by: OrderedBy) {
    sim.send(Message::order(SessionId::parse(ID).unwrap(), sim.world.now(), ordered_by));
}

/// The smoke test orders its session, and the queues deliver.
fn order_and_drain(sim: &mut Simulator) {
    order(sim, OrderedBy::SmokeTest);
    sim.drain();
}

fn sale(sim: &Simulator) -> domain::Sale {
    sim.world.state().sales[&SessionId::parse(ID).unwrap()].0.clone()
}

#[test]
fn the_smoke_tests_own_session_gets_its_verdict_and_its_mail_and_leaves_no_trace_of_a_customer() {
    let mut sim = world(|_| {});
    let first = sim.world.now();
    order_and_drain(&mut sim);
    let sale = sale(&sim);
    assert!(sale.smoke() && matches!(sale.fulfilment(), Fulfilment::Ready { .. }), "{sale:?}");
    assert!(matches!(sale.mail(), Mail::Sent { .. }) && sale.open_work().is_none());
    {
        let state = sim.world.state();
        let entry = serde_json::to_value(&state.cache[sale.session_id()]).unwrap();
        assert_eq!((&entry["smoke"], &entry["regen"]), (&json!(true), &json!(false)));
        assert!(state.archive.is_empty(), "nothing of it is archived");
        let to: Vec<&str> = state.sent.iter().map(|(_, mail)| mail.to.as_str()).collect();
        assert_eq!(to, [smoke::EMAIL]);
        assert!(!state.boundaries.contains(&"payments.session"), "the production key is not asked");
        assert!(state.log.values().all(|line| line.contains("\"smoke\":true")), "{:?}", state.log);
        assert!(state.alerts.is_empty(), "{:?}", state.alerts);
    }
    // The report of revenue and latencies does not include it.
    let mut aggregate = audit_verify::Aggregate::default();
    let lines: Vec<String> = sim.world.state().log.values().cloned().collect();
    aggregate.add_sale(lines.iter().map(String::as_bytes));
    assert_eq!((aggregate.sales(), aggregate.records()), (0, 0));
    // After the clean-up the page does not exist any more, and a repetition of the order has no effect.
    sim.world.state().cache.clear();
    assert_eq!(sim.page().unwrap().status(), 404);
    let repeated = Message::order(SessionId::parse(ID).unwrap(), first, OrderedBy::SmokeTest);
    sim.send(repeated);
    sim.drain();
    assert!(sim.world.state().cache.is_empty() && sim.dead.is_empty());
    assert_eq!(sim.world.state().prompts.len(), 1);
    assert_eq!(sim.world.state().sent.len(), 1);
}

/// Stage 10 of the smoke test orders the verdict again that it has removed: once, and only with an order of its own that
/// came after the verdict.
#[test]
fn a_removed_verdict_of_the_smoke_test_is_made_again_once_and_by_no_other_order() {
    let mut sim = world(|_| {});
    let first = sim.world.now();
    order_and_drain(&mut sim);
    let forget = |sim: &Simulator| sim.world.state().cache.clear();
    let made = |sim: &Simulator| {
        let state = sim.world.state();
        (state.prompts.len(), state.cache.len(), state.sent.len())
    };
    forget(&sim);
    // A repetition of the first order, and orders of customers.
    let repeated = Message::order(SessionId::parse(ID).unwrap(), first, OrderedBy::SmokeTest);
    sim.send(repeated);
    for ordered_by in [OrderedBy::Webhook, OrderedBy::ResultPage, OrderedBy::Deadlines] {
        order(&sim, ordered_by);
    }
    sim.drain();
    assert_eq!(made(&sim), (1, 0, 1));
    sim.world.advance(Duration::from_secs(1));
    order_and_drain(&mut sim);
    let again = sale(&sim);
    assert!(again.smoke() && matches!(again.fulfilment(), Fulfilment::Ready { .. }), "{again:?}");
    assert_eq!(made(&sim), (2, 1, 1));
    assert_eq!(sim.page().unwrap().status(), 200);
    let state = sim.world.state();
    assert!(state.archive.is_empty() && state.alerts.is_empty(), "{:?}", state.alerts);
    drop(state);
    forget(&sim);
    // A customer's lost verdict could be made again after five minutes.
    for wait in [1, 600] {
        sim.world.advance(Duration::from_secs(wait));
        order_and_drain(&mut sim);
        assert_eq!(made(&sim), (2, 0, 1), "once, also after {wait} s");
    }
}

/// The second verdict is no free one either: the session must still be the smoke test's, unpaid and open.
#[test]
fn a_verdict_is_not_made_again_for_a_session_that_was_paid_meanwhile() {
    let mut sim = world(|_| {});
    order_and_drain(&mut sim);
    sim.world.state().cache.clear();
    let id = SessionId::parse(ID).unwrap();
    if let Some(facts) = sim.world.state().smoke_sessions.get_mut(&id) {
        facts.session.payment_status = PaymentStatus::Paid;
    }
    sim.world.advance(Duration::from_secs(1));
    order_and_drain(&mut sim);
    assert!(sim.world.state().cache.is_empty() && sim.world.state().prompts.len() == 1);
}

/// Each of these sessions would be a free verdict.
#[test]
fn no_other_session_gets_a_verdict_without_payment() {
    let metadata = |facts: &mut Facts, name: &str, value: &str| {
        facts.session.metadata.insert(name.to_owned(), value.to_owned());
    };
    let changes: [&dyn Fn(&mut Facts); 9] = [
        &|facts| facts.livemode = Some(true),
        &|facts| facts.livemode = None,
        &|facts| facts.session.payment_status = PaymentStatus::Paid,
        &|facts| facts.session.stage = domain::SessionStage::Complete,
        &|facts| metadata(facts, "smoke", "no"),
        &|facts| metadata(facts, "q0", "Should I open a second shop?"),
        &|facts| metadata(facts, "tier", "strategy"),
        &|facts| facts.session.created = Some(Timestamp::from_seconds(1)),
        &|facts| facts.session.amount_total = Some(2500),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut sim = world(change);
        order_and_drain(&mut sim);
        let state = sim.world.state();
        assert!(state.cache.is_empty() && state.prompts.is_empty() && state.sent.is_empty(), "change {number}");
        drop(state);
        let sale = sale(&sim);
        assert!(matches!(sale.fulfilment(), Fulfilment::Failed { .. }), "change {number}: {sale:?}");
        assert!(sale.open_work().is_none() && sim.dead.is_empty(), "nobody is troubled by it");
    }
}

/// Only the smoke test's own orders skip the payment check: the same session, ordered in any other way, is checked at
/// Stripe.
#[test]
fn only_the_smoke_tests_own_order_reaches_the_door() {
    for ordered_by in [OrderedBy::Webhook, OrderedBy::ResultPage, OrderedBy::Deadlines, OrderedBy::Operator] {
        let mut sim = world(|_| {});
        // If the stack's own key is a test-mode key too, Stripe knows the session, and that it is unpaid.
        let session = facts(sim.world.now()).session;
        sim.world.state().sessions.insert(session.id.clone(), session);
        order(&sim, ordered_by);
        sim.drain();
        assert!(sim.world.state().cache.is_empty() && sim.world.state().prompts.is_empty(), "{ordered_by:?}");
        assert!(!sale(&sim).smoke());
    }
}

#[test]
fn a_customers_sale_never_becomes_the_smoke_tests() {
    let mut sim = Simulator::new("quick");
    sim.model_says(&quick("GREEN", "Demand is real."));
    // A customer's order is in progress, and an attacker with the smoke test's signing secret orders the same session.
    sim.stripe_delivers();
    let session_facts = facts(sim.world.now());
    sim.world.state().smoke_sessions.insert(session_facts.session.id.clone(), session_facts);
    sim.drain();
    order_and_drain(&mut sim);
    assert!(!sale(&sim).smoke());
    let sent: Vec<String> = sim.world.state().sent.iter().map(|(_, mail)| mail.to.clone()).collect();
    assert_eq!(sent, [ADDRESS]);
    let id = sale(&sim).session_id().clone();
    assert!(!sim.world.state().cache[&id].smoke);
    // The other way round: first the smoke test's order, then a customer pays for the session.
    let mut sim = Simulator::new("quick");
    sim.model_says(&quick("GREEN", "Demand is real."));
    order_and_drain(&mut sim);
    assert!(sale(&sim).smoke() && sim.world.state().cache.is_empty(), "the test mode knows no such session");
    sim.stripe_delivers();
    sim.drain();
    assert!(!sale(&sim).smoke() && sim.world.state().sent.len() == 1, "who paid gets what was paid for");
}

#[test]
fn a_model_that_is_down_fails_the_smoke_test_and_wakes_nobody() {
    let mut sim = world(|_| {});
    sim.world.state().answers.clear();
    order_and_drain(&mut sim);
    let sale = sale(&sim);
    assert!(matches!(sale.fulfilment(), Fulfilment::Failed { .. }) && sale.open_work().is_none(), "{sale:?}");
    assert!(sim.world.state().alerts.is_empty(), "{:?}", sim.world.state().alerts);
    assert!(sim.world.state().archive.is_empty() && sim.world.state().dead_letters.is_empty());
}

#[test]
fn a_mailbox_that_is_down_ends_the_smoke_tests_mail_at_once() {
    let mut sim = world(|_| {});
    let down = || Some(domain::ports::MailError::Unavailable(503));
    sim.world.state().mailbox_says = (0..9).map(|_| down()).collect();
    order_and_drain(&mut sim);
    let sale = sale(&sim);
    assert!(matches!(sale.mail(), Mail::Dead { progress, .. } if progress.failures.len() == 2), "{:?}", sale.mail());
    let state = sim.world.state();
    assert!(state.dead_letters.is_empty() && state.alerts.is_empty() && sale.open_work().is_none());
}

/// The events that the webhook accepts with the smoke test's signature.
#[test]
fn the_smoke_tests_signature_orders_the_smoke_tests_session_and_nothing_else() {
    let sim = Simulator::new("quick");
    let deliver = |object: serde_json::Value, kind: &str| {
        let event = json!({ "id": "evt_1", "type": kind, "data": { "object": object } }).to_string();
        sim.event(SMOKE_SIGNING_SECRET, event).unwrap()
    };
    let metadata = json!({ "tier": "quick", "q0": smoke::QUERY, "qn": "1", "smoke": "true" });
    let good = json!({ "id": ID, "payment_status": "paid", "metadata": metadata });
    let reply = deliver(good.clone(), "checkout.session.completed");
    assert_eq!((reply.status(), body(&reply)), (200, json!({ "received": true })));
    let queued = sim.world.state().queue.pop_front().unwrap().0;
    assert!(matches!(queued, Message::Order { ordered_by: OrderedBy::SmokeTest, .. }), "{queued:?}");
    let changed = |name: &str, value: serde_json::Value| {
        let mut object = good.clone();
        object[name] = value;
        object
    };
    for (object, kind) in [
        (changed("id", json!("cs_live_1")), "checkout.session.completed"),
        (changed("payment_status", json!("unpaid")), "checkout.session.completed"),
        (changed("metadata", json!({ "tier": "quick", "q0": smoke::QUERY, "qn": "1" })), "checkout.session.completed"),
        (
            changed("metadata", json!({ "tier": "full", "q0": "Should I?", "qn": "1", "smoke": "true" })),
            "checkout.session.completed",
        ),
        (good.clone(), "checkout.session.async_payment_succeeded"),
        (json!({ "payment_intent": "pi_1", "refunded": true }), "charge.refunded"),
    ] {
        let reply = deliver(object, kind);
        assert_eq!((reply.status(), sim.world.state().queue.len()), (400, 0), "{kind}");
    }
}
