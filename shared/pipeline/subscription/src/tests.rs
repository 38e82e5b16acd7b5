//! Subscriptions: reports of Stripe, and the pages that sell.
//! The file has more than 300 lines because each report and each failure of a page has a short test of its own.

use super::*;
use audit::SubscriberJournal;
use domain::{
    Timestamp,
    alert::Channel,
    audit_trail::Audited,
    chat::{
        Access, BillingChange, BillingReport, PaidPlan, Plan as ChatPlan, Subscriber, SubscriberId,
        billing::{Bill, SubscriptionState, SubscriptionStatus},
    },
    message::ReportedBy,
    money::{DisputeStatus, ObjectId, PaymentId, PaymentReport, RefundStatus},
    ports::{ChatAccess, NewSubscription, PaymentError, SubscriptionPages},
};
use testkit::{Fault, Plan, World, every_single_fault, run};

const START: Timestamp = Timestamp::from_seconds(1_800_000_000);
const DAY: i64 = 24 * 3600;

fn at(days: i64) -> Timestamp {
    Timestamp::from_seconds(START.as_seconds() + days * DAY)
}

fn id(text: &str) -> ObjectId {
    ObjectId::parse(text).unwrap()
}

fn somebody() -> SubscriberId {
    SubscriberId::parse("d".repeat(64)).unwrap()
}

fn journal(world: &World) -> SubscriberJournal<'_> {
    SubscriberJournal { store: world, log: world, alerts: world, clock: world }
}

fn state(name: &str, status: SubscriptionStatus, day: i64) -> BillingReport {
    let (customer, plan) = (id("cus_1"), PaidPlan::Chat);
    let state = SubscriptionState { customer, plan, status, ends_at: None, at: at(day) };
    BillingReport::Subscription { id: id(name), state }
}

fn paid(invoice: &str, until: i64) -> BillingReport {
    let bill = Bill { until: at(until), subscription: id("sub_1"), plan: PaidPlan::Chat, amount: 500 };
    BillingReport::InvoicePaid { id: id(invoice), bill, at: at(until - 30) }
}

fn reported(report: BillingReport) -> Reported {
    Reported { subscriber: somebody(), report, reported_by: ReportedBy::Event, received_at: START }
}

/// Delivers a report again until it is stored, as the queue does.
fn keep(world: &World, report: &BillingReport) {
    for _ in 0..4 {
        let kept = run(record_report(journal(world), &reported(report.clone())));
        if matches!(kept, Some(Ok(_))) {
            return;
        }
    }
    panic!("never kept");
}

/// Records a report, and returns whether it is about a subscriber's payment.
fn report_payment(world: &World, report: &PaymentReport) -> bool {
    let payment = PaymentId::parse("pi_1").unwrap();
    run(record_payment(journal(world), world, &payment, report, START)).unwrap().unwrap()
}

fn access(world: &World, day: i64) -> Access {
    world.plan(Plan::none());
    run(world.access(&somebody(), at(day))).unwrap().unwrap()
}

fn known(world: &World) -> Subscriber {
    world.state().subscribers[&somebody()].0.clone()
}

/// A world in which a month was bought.
fn bought() -> World {
    let world = World::at(START);
    month().iter().for_each(|report| keep(&world, report));
    world
}

fn month() -> [BillingReport; 3] {
    [state("sub_1", SubscriptionStatus::Incomplete, 0), paid("in_1", 30), state("sub_1", SubscriptionStatus::Active, 0)]
}

#[test]
fn a_month_is_bought_on_record_and_alarms_nobody() {
    let world = World::at(START);
    assert_eq!(access(&world, 0), Access::default());
    for report in month() {
        keep(&world, &report);
    }
    assert_eq!(access(&world, 1), Access { plan: ChatPlan::Chat, paid_until: Some(at(30)) });
    assert!(world.state().alerts.is_empty());
    let lines = world.state().records();
    assert_eq!(lines.len(), 3);
    assert_eq!((&lines[1]["event"], &lines[1]["change"]), (&"subscription".into(), &"paid".into()));
    assert_eq!((&lines[1]["plan"], &lines[1]["object"]), (&"chat".into(), &"in_1".into()));
    assert_eq!(lines[1]["session_id"], format!("cs_sub_{}", somebody().as_str()));
    assert!(known(&world).trail().outbox().is_empty());
}

/// Injects every fault at every effect of every report, with the reports in every rotation. Access and records are
/// always the same, and no record is written twice.
#[test]
fn no_lost_reply_and_no_crash_costs_anybody_their_access() {
    for first in 0..3 {
        let mut reports = month();
        reports.rotate_left(first);
        let undisturbed = World::at(START);
        for report in &reports {
            keep(&undisturbed, report);
        }
        for (plan, what) in every_single_fault(undisturbed.passed(), 8) {
            let world = World::at(START);
            world.plan(plan);
            for report in &reports {
                keep(&world, report);
            }
            // The next report publishes what a crash left.
            keep(&world, &reports[0]);
            assert_eq!(known(&world).billing(), known(&undisturbed).billing(), "{what}");
            assert_eq!(access(&world, 1).plan, ChatPlan::Chat, "{what}");
            assert_eq!(world.state().log, undisturbed.state().log, "{what}");
            assert!(known(&world).trail().outbox().is_empty(), "{what}");
        }
    }
}

#[test]
fn money_that_is_gone_ends_the_access_and_tells_operators() {
    let world = bought();
    let refund =
        PaymentReport::Refund { id: id("re_1"), amount: Some(500), status: RefundStatus::Succeeded, at: START };
    let report_payment = |report: &PaymentReport| report_payment(&world, report);
    assert!(!report_payment(&refund), "nobody's payment");
    world.state().invoices.insert(PaymentId::parse("pi_1").unwrap(), (somebody(), paid("in_1", 30)));
    assert!(report_payment(&refund) && report_payment(&refund));
    assert_eq!(access(&world, 1).plan, ChatPlan::Free);
    assert_eq!(world.state().alerts.len(), 1, "once");
    assert_eq!(world.state().alerts[0].channel, Channel::Critical);
}

#[test]
fn a_dispute_that_is_reported_before_its_invoice_counts() {
    let world = World::at(START);
    world.state().invoices.insert(PaymentId::parse("pi_1").unwrap(), (somebody(), paid("in_1", 30)));
    let dispute = |status| PaymentReport::Dispute { id: id("du_1"), status, respond_by: Some(at(9)), at: START };
    let report_payment = |report: &PaymentReport| report_payment(&world, report);
    assert!(report_payment(&dispute(DisputeStatus::NeedsResponse)));
    for report in month() {
        keep(&world, &report);
    }
    assert_eq!(access(&world, 1).plan, ChatPlan::Free);
    assert!(world.state().alerts.iter().any(|alert| alert.redacted().contains("answer it until")));
    assert!(report_payment(&dispute(DisputeStatus::Won)));
    assert_eq!(access(&world, 1).plan, ChatPlan::Chat);
    let back = "the money of in_1 came back, and the access with it";
    assert!(world.state().alerts.iter().any(|alert| alert.redacted().contains(back)));
}

/// An inquiry takes no money. Without an answer it becomes a dispute.
#[test]
fn a_dispute_and_an_inquiry_alert_that_they_have_to_be_answered() {
    for (status, what, plan) in [
        (DisputeStatus::WarningNeedsResponse, "asks about in_1: answer it until", ChatPlan::Chat),
        (DisputeStatus::NeedsResponse, "disputes in_1: answer it until", ChatPlan::Free),
    ] {
        let world = bought();
        world.state().invoices.insert(PaymentId::parse("pi_1").unwrap(), (somebody(), paid("in_1", 30)));
        let report = PaymentReport::Dispute { id: id("du_1"), status, respond_by: Some(at(9)), at: START };
        assert!(report_payment(&world, &report));
        let alerts: Vec<_> = world.state().alerts.iter().map(|alert| alert.redacted()).collect();
        assert_eq!(alerts.iter().filter(|alert| alert.contains(what)).count(), 1, "{alerts:?}");
        assert_eq!(access(&world, 1).plan, plan, "{what}");
    }
}

#[test]
fn two_subscriptions_and_missed_events_alert() {
    let world = bought();
    keep(&world, &state("sub_2", SubscriptionStatus::Active, 1));
    let alerts: Vec<_> = world.state().alerts.iter().map(|alert| alert.redacted()).collect();
    assert!(alerts.len() == 1 && alerts[0].contains("TWO_SUBSCRIPTIONS"), "{alerts:?}");
    let missed = Reported { reported_by: ReportedBy::Reconciliation, ..reported(paid("in_2", 60)) };
    assert_eq!(run(record_report(journal(&world), &missed)).unwrap().unwrap(), Some(BillingChange::Paid));
    assert_eq!(run(record_report(journal(&world), &missed)).unwrap().unwrap(), None);
    assert_eq!(world.state().alerts.len(), 2);
    assert!(world.state().alerts[1].redacted().contains("EVENT_MISSED"));
    assert_eq!(access(&world, 45).paid_until, Some(at(60)), "healed");
}

/// No list has them, so the alert is repeated until only one goes on.
#[test]
fn several_subscriptions_alert_once_at_every_daily_comparison() {
    let (active, canceled) = (SubscriptionStatus::Active, SubscriptionStatus::Canceled);
    let names = ["sub_1", "sub_2", "sub_3"];
    let world = World::at(START);
    for name in names {
        keep(&world, &state(name, active, 0));
    }
    let count_alerts = || {
        let alerts = world.state().alerts.clone();
        alerts.iter().filter(|alert| alert.redacted().contains("TWO_SUBSCRIPTIONS")).count()
    };
    assert_eq!(count_alerts(), 2, "the second and the third");
    for (day, statuses, expected) in [
        (1, [active, active, active], 3),
        (2, [active, active, active], 4),
        (3, [canceled, active, active], 5),
        (4, [canceled, canceled, active], 5),
    ] {
        for (name, status) in names.into_iter().zip(statuses) {
            let report = Reported { reported_by: ReportedBy::Reconciliation, ..reported(state(name, status, day)) };
            // Delivered twice, as the queue may do.
            for _ in 0..2 {
                run(record_report(journal(&world), &report)).unwrap().unwrap();
            }
        }
        assert_eq!(count_alerts(), expected, "day {day}");
    }
}

#[test]
fn two_tabs_get_one_session_and_who_is_subscribed_gets_the_portal() {
    let world = World::at(START);
    let ports = SellingPorts { subscribers: &world, pages: &world, randomness: &world };
    let go = |plan| run(subscribe(ports, &somebody(), plan, START)).unwrap().unwrap();
    assert_eq!(run(customer(&world, &somebody())).unwrap().unwrap(), None);
    let first = go(PaidPlan::Chat);
    assert_eq!(go(PaidPlan::Chat), first);
    assert_ne!(go(PaidPlan::Pro), first);
    // An abandoned first payment does not keep the customer from subscribing.
    keep(&world, &state("sub_1", SubscriptionStatus::Incomplete, 0));
    assert!(go(PaidPlan::Chat).starts_with("https://pay."));
    assert_eq!(world.state().subscribing.last().unwrap().customer, Some(id("cus_1")));
    keep(&world, &state("sub_1", SubscriptionStatus::Active, 0));
    for plan in PaidPlan::ALL {
        assert_eq!(go(plan), "https://portal.example/cus_1");
    }
    let known = run(customer(&world, &somebody())).unwrap().unwrap().unwrap();
    assert_eq!(run(portal(ports, &known)).unwrap().unwrap().as_deref(), Some("https://portal.example/cus_1"));
    keep(&world, &state("sub_1", SubscriptionStatus::Canceled, 1));
    assert!(go(PaidPlan::Chat).starts_with("https://pay."), "and again");
}

/// An operator deletes a customer at Stripe, for example after a request for erasure. That ends the subscription.
#[test]
fn a_deleted_customer_subscribes_as_a_new_one() {
    let world = World::at(START);
    let ports = SellingPorts { subscribers: &world, pages: &world, randomness: &world };
    let go = || run(subscribe(ports, &somebody(), PaidPlan::Chat, START)).unwrap();
    keep(&world, &state("sub_1", SubscriptionStatus::Active, 0));
    world.state().deleted_customers.insert(id("cus_1"));
    assert!(go().is_err(), "no second subscription before Stripe has reported the end of the first");
    keep(&world, &state("sub_1", SubscriptionStatus::Canceled, 1));
    let first = go().unwrap();
    assert_eq!(go().unwrap(), first, "two tabs share one session");
    assert_eq!(world.state().subscribing.len(), 1);
    assert_eq!(world.state().subscribing[0].customer, None);
    assert_eq!(run(portal(ports, &id("cus_1"))).unwrap().unwrap(), None);
}

/// Otherwise the customer would have two customers at Stripe, or would be told that there is no subscription.
#[test]
fn only_a_customer_who_is_missing_at_stripe_counts_as_deleted() {
    let world = World::at(START);
    let ports = SellingPorts { subscribers: &world, pages: &world, randomness: &world };
    keep(&world, &state("sub_1", SubscriptionStatus::Canceled, 0));
    let refused = Fault::Refuse(400);
    world.plan(Plan::none().whenever("subscriptions.subscribe", refused).whenever("subscriptions.portal", refused));
    assert!(run(subscribe(ports, &somebody(), PaidPlan::Chat, START)).unwrap().is_err());
    let asked = world.state().boundaries.iter().filter(|name| **name == "subscriptions.subscribe").count();
    assert_eq!(asked, 1, "not for a new customer");
    assert!(run(portal(ports, &id("cus_1"))).unwrap().is_err());
}

/// An idempotency key that outlives its session would return a page that no longer accepts a payment.
#[test]
fn another_day_gets_another_session() {
    let world = World::at(START);
    let ports = SellingPorts { subscribers: &world, pages: &world, randomness: &world };
    let go = |day| run(subscribe(ports, &somebody(), PaidPlan::Chat, at(day))).unwrap().unwrap();
    assert_ne!(go(0), go(1));
    assert!(world.state().subscribing.iter().all(|made| made.idempotency_key.len() <= 255));
}

/// Stripe has stored a failure of its own for the first key.
struct Stuck(std::sync::Mutex<Vec<String>>);

#[async_trait::async_trait]
impl SubscriptionPages for Stuck {
    async fn subscribe(&self, new: &NewSubscription) -> Result<String, PaymentError> {
        let mut keys = self.0.lock().unwrap();
        keys.push(new.idempotency_key.clone());
        if new.idempotency_key == keys[0] {
            Err(PaymentError::Replayed)
        } else {
            Ok("https://pay.example/2".to_owned())
        }
    }

    async fn portal(&self, _: &ObjectId, _: &str) -> Result<String, PaymentError> {
        Err(PaymentError::Replayed)
    }
}

#[test]
fn a_failure_that_stripe_repeats_for_a_day_stops_nobody_from_subscribing() {
    let (world, pages) = (World::at(START), Stuck(std::sync::Mutex::default()));
    let ports = SellingPorts { subscribers: &world, pages: &pages, randomness: &world };
    let go = || run(subscribe(ports, &somebody(), PaidPlan::Chat, START)).unwrap().unwrap();
    assert_eq!((go(), go()), ("https://pay.example/2".to_owned(), "https://pay.example/2".to_owned()));
    let keys = pages.0.lock().unwrap();
    assert_eq!(keys[1], keys[3], "two tabs share one session: {keys:?}");
}
