//! Subscriptions in process: signed events go through the webhook and the payments queue to the subscriber's access,
//! with every fault at every effect, in other orders, twice, and lost until the daily comparison.

use crate::simulator::Simulator;
use domain::{
    Timestamp,
    chat::{
        Access, BillingReport, PaidPlan, Plan as ChatPlan, SubscriberId,
        billing::{Bill, SubscriptionState, SubscriptionStatus},
    },
    money::{ObjectId, PaymentId},
    ports::ChatAccess,
};
use serde_json::{Value, json};
use simulation::deployment::SIGNING_SECRET;
use testkit::{Plan, every_single_fault, run};

const START: i64 = 1_800_000_000;
const DAY: i64 = 24 * 3600;

fn somebody() -> SubscriberId {
    SubscriberId::parse("e".repeat(64)).unwrap()
}

fn metadata() -> Value {
    json!({ "subscriber": somebody().as_str(), "plan": "chat" })
}

fn subscription(kind: &str, status: &str, day: i64) -> Value {
    let end = START + 30 * DAY;
    json!({ "id": format!("evt_{kind}_{status}_{day}"), "type": format!("customer.subscription.{kind}"),
            "created": START + day * DAY, "data": { "object": {
                "id": "sub_1", "object": "subscription", "customer": "cus_1", "status": status,
                "metadata": metadata(), "cancel_at_period_end": false, "cancel_at": null,
                "ended_at": if status == "canceled" { json!(START + day * DAY) } else { Value::Null },
                "items": { "data": [{ "current_period_end": end }] } } } })
}

fn invoice(kind: &str, id: &str, until: i64) -> Value {
    json!({ "id": format!("evt_{kind}_{id}"), "type": format!("invoice.{kind}"), "created": START, "data": { "object": {
                "id": id, "object": "invoice", "amount_paid": 500, "amount_due": 500,
                "parent": { "subscription_details": { "subscription": "sub_1", "metadata": metadata() } },
                "lines": { "data": [{ "period": { "end": START + until * DAY } }] } } } })
}

/// Stripe's events of a purchase, its session included: the session looks like a sale, and must not become one.
fn purchase() -> Vec<Value> {
    let session = json!({ "id": "cs_test_subscription_1", "object": "checkout.session", "mode": "subscription",
                          "payment_status": "paid", "payment_intent": null, "subscription": "sub_1",
                          "metadata": metadata(), "customer_details": { "email": "someone@example.com" } });
    vec![
        subscription("created", "incomplete", 0),
        invoice("paid", "in_1", 30),
        subscription("updated", "active", 0),
        json!({ "id": "evt_s", "type": "checkout.session.completed", "data": { "object": session } }),
    ]
}

/// Delivers an event as Stripe does: repeatedly, until the reply is 2xx.
fn deliver(sim: &Simulator, event: &Value) {
    sim.repeat_until_taken(|| sim.event(SIGNING_SECRET, event.to_string()));
}

fn access(sim: &Simulator, day: i64) -> Access {
    sim.world.plan(Plan::none());
    run(sim.world.access(&somebody(), Timestamp::from_seconds(START + day * DAY))).unwrap().unwrap()
}

fn through(events: &[Value], plan: Plan) -> Simulator {
    let mut sim = Simulator::new("quick");
    sim.world.plan(plan);
    for event in events {
        deliver(&sim, event);
        sim.drain();
    }
    sim
}

#[test]
fn a_purchase_gives_access_and_no_sale_in_any_order_and_twice() {
    let mut events = purchase();
    for turn in 0..events.len() {
        events.rotate_left(turn);
        let twice: Vec<_> = events.iter().chain(events.iter().rev()).cloned().collect();
        let sim = through(&twice, Plan::none());
        let until = Some(Timestamp::from_seconds(START + 30 * DAY));
        assert_eq!(access(&sim, 1), Access { plan: ChatPlan::Chat, paid_until: until });
        let state = sim.world.state();
        assert!(state.sales.is_empty() && state.alerts.is_empty(), "{:?}", state.alerts);
        assert!(state.log.keys().all(|key| key.contains("/session/cs_sub_")), "{:?}", state.log.keys());
        assert!(sim.dead.is_empty());
    }
}

/// A subscriber who paid has access, whatever fails, loses its reply or crashes, and whenever.
#[test]
fn a_paid_subscription_gives_access_under_every_fault() {
    let undisturbed = through(&purchase(), Plan::none());
    for (plan, what) in every_single_fault(undisturbed.world.passed(), 8) {
        let sim = through(&purchase(), plan);
        assert_eq!(access(&sim, 1).plan, ChatPlan::Chat, "{what}");
        let (state, expected) = (sim.world.state(), undisturbed.world.state());
        let billing = |state: &testkit::world::State| state.subscribers[&somebody()].0.billing().clone();
        assert_eq!(billing(&state), billing(&expected), "{what}");
        assert!(state.sales.is_empty() && sim.dead.is_empty(), "{what}");
    }
}

#[test]
fn a_failed_renewal_has_seven_days_and_a_paid_one_a_month() {
    let mut events = purchase();
    events.extend([invoice("payment_failed", "in_2", 60), subscription("updated", "past_due", 30)]);
    let sim = through(&events, Plan::none());
    let plans = |sim: &Simulator| [29, 36, 37, 59].map(|day| access(sim, day).plan);
    assert_eq!(plans(&sim), [ChatPlan::Chat, ChatPlan::Chat, ChatPlan::Free, ChatPlan::Free]);
    events.extend([subscription("updated", "active", 40), invoice("paid", "in_2", 60)]);
    assert_eq!(plans(&through(&events, Plan::none())), [ChatPlan::Chat; 4]);
    events.push(subscription("deleted", "canceled", 41));
    let ended = through(&events, Plan::none());
    assert_eq!((access(&ended, 59).plan, access(&ended, 60).plan), (ChatPlan::Chat, ChatPlan::Free));
}

#[test]
fn a_refund_of_a_subscription_reaches_its_subscriber() {
    let sim = &mut through(&purchase(), Plan::none());
    let object = |text: &str| ObjectId::parse(text).unwrap();
    let until = Timestamp::from_seconds(START + 30 * DAY);
    let bill = Bill { until, subscription: object("sub_1"), plan: PaidPlan::Chat, amount: 500 };
    let paid = BillingReport::InvoicePaid { id: object("in_1"), bill, at: until };
    sim.world.state().invoices.insert(PaymentId::parse("pi_sub").unwrap(), (somebody(), paid));
    let refund =
        json!({ "id": "re_1", "object": "refund", "payment_intent": "pi_sub", "status": "succeeded", "amount": 500 });
    let event = json!({ "id": "evt_r", "type": "refund.created", "created": START, "data": { "object": refund } });
    for _ in 0..2 {
        deliver(sim, &event);
        sim.drain();
    }
    assert_eq!(access(sim, 1).plan, ChatPlan::Free);
    assert_eq!(sim.world.state().alerts.len(), 1, "once");
    assert!(sim.world.state().sales.is_empty());
}

/// The events of a purchase are lost: the daily comparison finds the purchase and alerts operators once.
#[test]
fn what_was_lost_is_healed_by_the_comparison() {
    let mut sim = Simulator::new("quick");
    sim.world.state().sessions.clear();
    let object = |text: &str| ObjectId::parse(text).unwrap();
    let at = |day: i64| Timestamp::from_seconds(START + day * DAY);
    let (customer, plan, status) = (object("cus_1"), PaidPlan::Chat, SubscriptionStatus::Active);
    let state = SubscriptionState { customer, plan, status, ends_at: None, at: at(0) };
    let bill = Bill { until: at(30), subscription: object("sub_1"), plan, amount: 500 };
    sim.world.state().billing = vec![
        (at(0), somebody(), BillingReport::Subscription { id: object("sub_1"), state }),
        (at(0), somebody(), BillingReport::InvoicePaid { id: object("in_1"), bill, at: at(0) }),
    ];
    for _ in 0..2 {
        assert_eq!(sim.reconcile().unwrap().unwrap().billing, 2);
        sim.drain();
    }
    assert_eq!(access(&sim, 1).plan, ChatPlan::Chat);
    let alerts: Vec<_> = sim.world.state().alerts.iter().map(domain::Alert::redacted).collect();
    assert!(alerts.len() == 2 && alerts.iter().all(|alert| alert.contains("EVENT_MISSED")), "{alerts:?}");
}

/// A renewal fails, a retry collects it ten days later, and the event of the payment is lost. The next daily comparison
/// finds the invoice although it is ten days old, and the access continues after its grace.
#[test]
fn a_late_payment_whose_event_was_lost_continues_the_access() {
    let mut events = purchase();
    events.extend([invoice("payment_failed", "in_2", 60), subscription("updated", "past_due", 30)]);
    let mut sim = through(&events, Plan::none());
    assert_eq!([36, 37].map(|day| access(&sim, day).plan), [ChatPlan::Chat, ChatPlan::Free]);
    sim.world.state().sessions.clear();
    let object = |text: &str| ObjectId::parse(text).unwrap();
    let at = |day: i64| Timestamp::from_seconds(START + day * DAY);
    let bill = Bill { until: at(60), subscription: object("sub_1"), plan: PaidPlan::Chat, amount: 500 };
    let paid = BillingReport::InvoicePaid { id: object("in_2"), bill, at: at(40) };
    sim.world.state().billing = vec![(at(30), somebody(), paid)];
    sim.world.state().now = at(41).as_millis();
    assert_eq!(sim.reconcile().unwrap().unwrap().billing, 1);
    sim.drain();
    assert_eq!([41, 59].map(|day| access(&sim, day).plan), [ChatPlan::Chat; 2]);
}

/// A subscription that our checkout did not make is not stored; it is counted for an alarm.
#[test]
fn a_foreign_subscription_is_counted() {
    let mut event = subscription("created", "active", 0);
    event["data"]["object"]["metadata"] = json!({});
    let sim = through(&[event], Plan::none());
    assert!(sim.world.state().subscribers.is_empty());
    assert_eq!(sim.world.state().measurements, [domain::Metric::EventUnreadable.once()]);
}
