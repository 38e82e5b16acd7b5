//! What happens to paid money in failures: lost messages, refunds, disputes, and decisions that no operator makes.

use crate::{
    samples::{ADDRESS, paid_session, quick},
    simulator::Simulator,
};
use domain::{
    PaymentStatus,
    message::{Message, OrderedBy},
    money::{Money, PaymentChange, RefundStatus},
    open_work::Work,
    sale::{Fulfilment, Mail},
    texts,
};
use reconcile::Report;
use serde_json::Value;
use std::time::Duration;
use testkit::{FAULTS, Fault, Plan};

const HOUR: Duration = Duration::from_secs(3600);
const GOOD: &str = "Demand is real and the format fits.";

/// A sale that the content filter holds.
fn held() -> Simulator {
    let sim = Simulator::worked_off("quick", &quick("GREEN", "The CSDM says that demand is real."));
    assert!(matches!(sim.sale().fulfilment(), Fulfilment::InReview { .. }), "{:?}", sim.sale().fulfilment());
    sim.world.state().alerts.clear();
    sim
}

#[test]
fn a_refund_stops_a_delivery_that_is_on_its_way() {
    for change in [PaymentChange::Refunded, PaymentChange::DisputeOpened] {
        let mut sim = Simulator::ordered("quick", &quick("GREEN", GOOD));
        assert_eq!(sim.step(), Some(true), "the verdict is made, and its mail ordered");
        // The change is processed before the mail, which is still in its queue.
        let mail = sim.world.state().queue.pop_front().unwrap();
        sim.payment_changes(change);
        assert_eq!(sim.step(), Some(true));
        sim.world.state().queue.push_back(mail);
        sim.drain();
        assert!(sim.world.state().sent.is_empty() && sim.world.state().drafts.is_empty(), "{change:?}");
        sim.world.advance(48 * HOUR);
        sim.deadlines().unwrap();
        sim.drain();
        assert!(sim.world.state().sent.is_empty(), "{change:?}: nobody goes after it either");
        let left = sim.sale().open_work().map(|open| open.work);
        let answers = (change == PaymentChange::DisputeOpened).then_some(Work::Dispute);
        assert_eq!(left, answers, "{change:?}: a human answers the bank, and nobody works on the sale");
        sim.audit_lines();
    }
}

/// The queue delivers an order again because its verdict is not archived, and meanwhile the money was refunded.
#[test]
fn the_verdict_of_a_refunded_sale_is_not_archived() {
    let mut sim = Simulator::ordered("quick", &quick("GREEN", GOOD));
    sim.world.plan(Plan::none().whenever("archive.keep", Fault::Fail));
    assert_eq!(sim.step(), Some(false), "the order comes again for the archive");
    sim.world.plan(Plan::none());
    let mail = sim.world.state().queue.pop_front().unwrap();
    sim.payment_changes(PaymentChange::Refunded);
    sim.drain();
    sim.world.state().queue.push_back(mail);
    sim.drain();
    let state = sim.world.state();
    assert!(state.archive.is_empty() && state.sent.is_empty());
}

#[test]
fn a_dispute_that_was_won_lets_the_delivery_go_on() {
    let mut sim = Simulator::ordered("quick", &quick("GREEN", GOOD));
    sim.step();
    let _lost = sim.world.state().queue.pop_front().unwrap();
    sim.payment_changes(PaymentChange::DisputeOpened);
    sim.drain();
    sim.payment_changes(PaymentChange::DisputeWon);
    sim.drain();
    assert!(sim.world.state().sent.is_empty());
    sim.world.advance(HOUR);
    sim.deadlines().unwrap();
    sim.drain();
    assert_eq!(*sim.sale().money(), Money::Kept);
    assert_eq!(sim.world.state().sent.len(), 1);
}

/// A payment that arrives after its sale has failed as not paid may go back before the verdict is ordered again.
#[test]
fn a_page_of_a_late_payment_that_went_back_says_so() {
    for (change, sentence) in [
        (PaymentChange::Refunded, texts::FAILED_AND_REFUNDED),
        (PaymentChange::DisputeOpened, texts::FAILED_AND_DISPUTED),
    ] {
        let mut unpaid = paid_session("cs_test_simulated_sale_1", "quick", Some(ADDRESS));
        unpaid.payment_status = PaymentStatus::Unpaid;
        let mut sim = Simulator::with_session(unpaid);
        sim.send(Message::order(sim.session.clone(), sim.now(), OrderedBy::Webhook));
        sim.drain();
        assert!(sim.sale().not_paid().is_some());
        sim.world.state().sessions.values_mut().for_each(|it| it.payment_status = PaymentStatus::Paid);
        sim.payment_changes(change);
        sim.drain();
        let page = sim.page().unwrap();
        let body: Value = serde_json::from_str(page.body()).unwrap();
        assert_eq!((page.status(), body["error"].as_str()), (500, Some(sentence)), "{change:?}");
        assert_eq!(body["refunded_at"].is_string(), change == PaymentChange::Refunded, "{body}");
    }
}

/// The page of a sale without a verdict does not tell the customer to ask for a refund if one is decided or the payment is
/// disputed.
#[test]
fn a_page_without_a_verdict_says_what_becomes_of_the_money() {
    let mut sim = held();
    let page = |sim: &Simulator| {
        let page = sim.page().unwrap();
        assert_eq!(page.status(), 500, "{}", page.body());
        let body: Value = serde_json::from_str(page.body()).unwrap();
        (body["error"].as_str().unwrap().to_owned(), page.header_value("retry-after").map(str::to_owned))
    };
    let asks_again = (texts::FAILED_AND_RETURNED.to_owned(), Some("60".to_owned()));
    sim.world.state().refund_status = Some(RefundStatus::Pending);
    sim.world.advance(24 * HOUR);
    sim.deadlines().unwrap();
    assert!(matches!(sim.sale().money(), Money::RefundAuthorised { .. }));
    assert_eq!(page(&sim), asks_again, "the page shows the date once the refund is confirmed");
    for (change, expected) in [
        (PaymentChange::DisputeOpened, (texts::FAILED_AND_DISPUTED.to_owned(), None)),
        (PaymentChange::DisputeWon, asks_again),
        (PaymentChange::Refunded, (texts::FAILED_AND_REFUNDED.to_owned(), None)),
    ] {
        sim.payment_changes(change);
        sim.drain();
        assert_eq!(page(&sim), expected, "{change:?}");
    }
}

/// A refund that bounces, from beginning to end: an operator issues it again under another key, and all steps are
/// recorded.
#[test]
fn a_refund_that_bounces_is_issued_again_by_a_human() {
    let mut sim = held();
    sim.world.advance(24 * HOUR);
    sim.deadlines().unwrap();
    assert!(matches!(sim.sale().money(), Money::Refunded { .. }));
    // The customer's bank returns it days later.
    sim.world.advance(72 * HOUR);
    sim.world.state().refunds.iter_mut().for_each(|(_, made)| made.status = RefundStatus::Failed);
    sim.payment_changes(PaymentChange::RefundFailed);
    sim.drain();
    assert!(matches!(sim.sale().money(), Money::RefundFailed { .. }));
    for day in 1..=3 {
        sim.world.advance(24 * HOUR);
        sim.deadlines().unwrap();
        assert_eq!(sim.world.state().refunds.len(), 1, "day {day}: no machine issues it again");
    }
    let reminders = sim.world.state().alerts.iter().filter(|alert| alert.line.contains("waits for a human")).count();
    assert_eq!(reminders, 4, "one by policy, and one a day");
    let (operator, session) =
        (operations::Operator::parse("dana", Some("the card is closed")).unwrap(), sim.session.clone());
    let ports = refund::Ports { journal: sim.journal(), payments: &sim.world, ledger: &sim.world };
    let issued = testkit::run(operations::refunds::issue(ports, &operator, &session, None)).unwrap().unwrap();
    assert_eq!(issued, operations::refunds::Issued::Refunded);
    assert_eq!(sim.world.state().refunds.len(), 2);
    assert_eq!(sim.sale().open_work(), None);
    let steps: Vec<_> = sim.audit_lines().iter().filter_map(|line| line["step"].as_str().map(str::to_owned)).collect();
    assert_eq!(steps, ["authorised", "confirmed", "authorised", "confirmed"]);
}

/// Stripe's list showed the bounce first, and its event comes after the refund by hand. Otherwise a colleague is asked to
/// issue the refund again, and the customer has the money twice.
#[test]
fn a_late_event_of_a_bounce_does_not_undo_the_refund_by_hand() {
    let mut sim = held();
    sim.world.state().refund_status = Some(RefundStatus::Failed);
    sim.world.advance(24 * HOUR);
    sim.deadlines().unwrap();
    assert!(matches!(sim.sale().money(), Money::RefundFailed { .. }));
    let operator = operations::Operator::parse("dana", Some("by bank transfer")).unwrap();
    testkit::run(operations::refunds::record(sim.journal(), &operator, &sim.session)).unwrap().unwrap();
    let alerts = sim.world.state().alerts.len();
    sim.payment_changes(PaymentChange::RefundFailed);
    sim.drain();
    assert!(matches!(sim.sale().money(), Money::Refunded { .. }), "{:?}", sim.sale().money());
    assert_eq!((sim.sale().open_work(), sim.world.state().alerts.len()), (None, alerts));
}

#[test]
fn whichever_message_is_lost_the_sale_is_delivered_once() {
    for lost in 0..2 {
        let mut sim = Simulator::ordered("quick", &quick("GREEN", GOOD));
        for _ in 0..lost {
            sim.step();
        }
        if lost == 0 {
            // The page was opened, so the sale has a record; the page's order is lost too.
            sim.page();
        }
        sim.world.state().queue.clear();
        sim.drain();
        assert!(sim.world.state().sent.is_empty(), "message {lost}");
        for _ in 0..3 {
            sim.world.advance(HOUR);
            sim.deadlines().unwrap();
            sim.drain();
        }
        assert_eq!(sim.world.state().sent.len(), 1, "message {lost}");
        assert_eq!(sim.page().unwrap().status(), 200, "message {lost}");
        assert_eq!(sim.world.state().alerts.len(), 1, "message {lost}: alerted once");
    }
}

/// Content filter, GAP-J.
#[test]
fn what_is_held_for_a_day_is_refunded_once_under_every_single_fault() {
    let clean = held();
    clean.world.advance(24 * HOUR);
    clean.world.plan(Plan::none());
    clean.deadlines().unwrap();
    let boundaries = clean.world.passed();
    assert!(boundaries > 15, "{boundaries}");
    for boundary in 0..boundaries {
        for fault in FAULTS {
            let what = format!("{fault:?} at {boundary}");
            let mut sim = held();
            sim.world.advance(24 * HOUR);
            sim.world.plan(Plan::at(boundary, fault));
            let _ = sim.deadlines();
            sim.world.plan(Plan::none());
            // Stripe's own event may arrive before the next run.
            if boundary % 2 == 0 && !sim.world.state().refunds.is_empty() {
                sim.payment_changes(PaymentChange::Refunded);
                sim.drain();
            }
            for _ in 0..3 {
                sim.world.advance(HOUR);
                sim.deadlines().unwrap();
                sim.drain();
            }
            assert_eq!(sim.world.state().refunds.len(), 1, "{what}");
            assert!(matches!(sim.sale().money(), Money::Refunded { .. }), "{what}");
            assert_eq!(sim.sale().open_work(), None, "{what}");
            let lines = sim.audit_lines();
            let steps: Vec<_> = lines.iter().filter_map(|line| line["step"].as_str()).collect();
            assert_eq!(steps, ["authorised", "confirmed"], "{what}");
            let subjects: Vec<_> = sim.world.state().sent.iter().map(|(_, mail)| mail.subject.clone()).collect();
            assert_eq!(subjects, [domain::texts::REFUND_SUBJECT], "{what}: one letter, and no verdict");
        }
    }
}

#[test]
fn a_sale_whose_webhook_never_came_is_found_within_a_day_and_delivered() {
    let mut sim = Simulator::new("full");
    sim.model_says(&quick("GREEN", GOOD));
    sim.world.state().sessions.values_mut().for_each(|session| {
        session.metadata.insert("tier".to_owned(), "quick".to_owned());
        session.amount_total = Some(100);
    });
    sim.world.advance(24 * HOUR);
    let found = sim.reconcile().unwrap().unwrap();
    assert_eq!(found, Report { paid: 1, missing: 1, ..Report::default() });
    sim.drain();
    assert_eq!(sim.world.state().sent.len(), 1);
    assert_eq!(sim.reconcile().unwrap().unwrap(), Report { paid: 1, ..Report::default() });
    assert_eq!(sim.world.state().alerts.len(), 1, "alerted once");
}

#[test]
fn a_delivered_sale_is_nobodys_business_for_ever() {
    let mut session = paid_session("cs_test_simulated_sale_1", "full", Some("someone@example.com"));
    session.metadata.insert("tier".to_owned(), "quick".to_owned());
    session.amount_total = Some(100);
    let mut sim = Simulator::with_session(session);
    sim.model_says(&quick("GREEN", GOOD));
    sim.stripe_delivers();
    sim.drain();
    sim.page();
    for _ in 0..30 {
        sim.world.advance(24 * HOUR);
        assert_eq!(sim.deadlines().unwrap(), domain::due::Report::default());
        sim.reconcile().unwrap().unwrap();
    }
    assert!(matches!(sim.sale().mail(), Mail::Sent { .. }));
    assert!(sim.world.state().alerts.is_empty() && sim.world.state().queue.is_empty());
}
