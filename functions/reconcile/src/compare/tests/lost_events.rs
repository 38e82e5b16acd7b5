//! Refunds, disputes and subscriptions whose events are lost.

use super::*;
use domain::chat::{
    BillingReport, PaidPlan, SubscriberId,
    billing::{Bill, SubscriptionState, SubscriptionStatus},
};

/// A lost event is made up for: its report is queued like the event.
#[test]
fn refunds_and_disputes_are_queued_again() {
    let world = world([session(1)], [delivered(1)]);
    let payment = domain::money::PaymentId::parse("pi_1").unwrap();
    let report = testkit::reports::report(domain::money::PaymentChange::DisputeOpened, 500, START);
    world.state().reports.push((START, payment.clone(), report.clone()));
    assert_eq!(compared(&world).unwrap().unwrap(), Report { paid: 1, reports: 1, ..Report::default() });
    let received_at = domain::ports::Clock::now(&world);
    let message = world.state().queue[0].0.clone();
    assert_eq!(message, Message::payment_listed(payment, report, received_at));
}

/// A status that this version does not know: the readable reports are queued, and the alarm shows the others.
#[test]
fn a_report_that_cannot_be_read_fails_the_run_at_its_end() {
    let world = world([session(1)], [delivered(1)]);
    let payment = domain::money::PaymentId::parse("pi_1").unwrap();
    let report = testkit::reports::report(domain::money::PaymentChange::DisputeOpened, 500, START);
    world.state().reports.push((START, payment, report));
    let (customer, plan, status) = (object("cus_1"), PaidPlan::Chat, SubscriptionStatus::Active);
    let state = SubscriptionState { customer, plan, status, ends_at: None, at: START };
    let subscription = BillingReport::Subscription { id: object("sub_1"), state };
    world.state().billing.extend([subscription, invoice(START)].map(|report| (START, subscriber(), report)));
    // In the list of payments' reports and in that of subscriptions and invoices.
    world.state().unreadable.push(object("x_9"));
    let found = compared(&world).unwrap().unwrap();
    assert_eq!(found, Report { paid: 1, reports: 1, billing: 2, unreadable: 2, ..Report::default() });
    assert!(found.complete().is_err() && world.state().queue.len() == 3);
}

/// Stripe lists by creation. A refund fails weeks after it was made, and a dispute is decided after months.
#[test]
fn a_late_bounce_and_a_late_decision_are_found_although_their_events_are_lost() {
    use domain::money::PaymentChange::{DisputeLost, RefundFailed};
    let payment = domain::money::PaymentId::parse("pi_1").unwrap();
    for (change, days, is_found) in
        [(RefundFailed, 31, 1), (RefundFailed, 60, 0), (DisputeLost, 195, 1), (DisputeLost, 250, 0)]
    {
        let world = world([session(1)], [delivered(1)]);
        let report = testkit::reports::report(change, 500, START.plus(days * DAY));
        world.state().reports.push((START, payment.clone(), report));
        world.advance(days * DAY);
        assert_eq!(compared(&world).unwrap().unwrap().reports, is_found, "{change:?} after {days} days");
    }
}

pub(super) fn subscriber() -> SubscriberId {
    SubscriberId::parse("e".repeat(64)).unwrap()
}

pub(super) fn invoice(at: Timestamp) -> BillingReport {
    let bill = Bill {
        until: START.plus(31 * DAY),
        subscription: object("sub_1"),
        plan: PaidPlan::Chat,
        amount: PaidPlan::Chat.price_cents_a_month().into(),
    };
    BillingReport::InvoicePaid { id: object("in_1"), bill, at }
}

/// Stripe lists invoices by creation too, and retries a failed payment for two weeks.
#[test]
fn an_invoice_that_is_paid_late_is_found_although_its_event_is_lost() {
    for (days, is_found) in [(2, 1), (14, 1), (44, 1), (46, 0)] {
        let world = world([], []);
        world.advance(days * DAY);
        let at = domain::ports::Clock::now(&world);
        world.state().billing.push((START, subscriber(), invoice(at)));
        assert_eq!(compared(&world).unwrap().unwrap().billing, is_found, "paid after {days} days");
    }
}
