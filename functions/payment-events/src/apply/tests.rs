//! Refunds and disputes that Stripe reports, in every order, with faults at every effect.
//! The file has more than 300 lines because each change of a payment has a short test of its own.

use super::*;
use domain::{
    Channel,
    money::{Authorisation, DisputeStatus, ObjectId, RefundStatus},
    open_work::Work,
    operator::Operator,
    sale::{Claim, Claimant},
};
use std::time::Duration;
use testkit::{Plan, World, every_single_fault, run, session::paid};

const START: Timestamp = Timestamp::from_seconds(1_800_000_000);

fn session() -> CheckoutSession {
    CheckoutSession { payment: Some(PaymentId::parse("pi_1").unwrap()), ..paid("cs_test_1") }
}

fn world() -> World {
    let world = World::at(START);
    world.state().sessions.insert(session().id, session());
    let sale = Sale::ordered(session().id, START);
    world.state().sales.insert(session().id, (sale, 1));
    world
}

fn report(world: &World, change: PaymentChange) -> Option<Result<(), StepError>> {
    tell(world, testkit::reports::report(change, 500, START))
}

fn tell(world: &World, report: PaymentReport) -> Option<Result<(), StepError>> {
    let payment = PaymentId::parse("pi_1").unwrap();
    apply_to(world, &Changed { payment, report, reported_by: ReportedBy::Event, received_at: START })
}

fn apply_to(world: &World, changed: &Changed) -> Option<Result<(), StepError>> {
    let journal = Journal { store: world, log: world, alerts: world, clock: world };
    let subscribers = SubscriberJournal { store: world, log: world, alerts: world, clock: world };
    let sold_here = SalesPeriod { from: Some(START), until: None };
    run(apply(Ports { journal, ledger: world, subscribers, subscriptions: world, sold_here }, changed))
}

fn id(text: &str) -> ObjectId {
    ObjectId::parse(text).unwrap()
}

fn refund(number: u32, amount: i64, status: RefundStatus) -> PaymentReport {
    PaymentReport::Refund { id: id(&format!("re_{number}")), amount: Some(amount), status, at: START }
}

fn dispute(number: u32, status: DisputeStatus) -> PaymentReport {
    let respond_by = Some(START.plus(Duration::from_secs(7 * 24 * 3600)));
    PaymentReport::Dispute { id: id(&format!("du_{number}")), status, respond_by, at: START }
}

fn sale(world: &World) -> Sale {
    world.state().sales[&session().id].0.clone()
}

#[test]
fn a_refund_ends_the_sale_is_on_record_and_alarms_nobody() {
    let world = world();
    report(&world, PaymentChange::Refunded).unwrap().unwrap();
    let mut sale = sale(&world);
    assert!(matches!(sale.money(), Money::Refunded { .. }));
    assert_eq!(sale.open_work(), None, "it is on no list any more");
    assert_eq!(sale.claim("a", Claimant::Customer, START, Duration::from_secs(1)), Claim::Done);
    let lines = world.state().records();
    assert_eq!((&lines[0]["event"], &lines[0]["change"]), (&"payment_change".into(), &"refunded".into()));
    assert_eq!((&lines[0]["payment"], &lines[0]["amount_total"]), (&"pi_1".into(), &500.into()));
    assert!(world.state().alerts.is_empty());
}

#[test]
fn a_refund_of_ours_is_confirmed_by_stripes_event() {
    let world = world();
    let authorisation = Authorisation::parse("alex", "asked for it").unwrap();
    let money = Money::RefundAuthorised { authorisation, at: START };
    world.change_sales("money", &money);
    report(&world, PaymentChange::Refunded).unwrap().unwrap();
    assert!(matches!(sale(&world).money(), Money::Refunded { .. }));
    let lines = world.state().records();
    assert_eq!((&lines[1]["step"], &lines[1]["by"]), (&"confirmed".into(), &"alex".into()));
}

#[test]
fn a_partial_refund_is_recorded_and_changes_nothing_else() {
    let world = world();
    report(&world, PaymentChange::PartlyRefunded).unwrap().unwrap();
    assert_eq!(*sale(&world).money(), Money::Kept);
    let state = world.state();
    assert_eq!((state.records().len(), state.alerts.len()), (1, 0));
}

#[test]
fn a_dispute_stops_the_sale_and_wakes_somebody_and_a_won_one_lets_it_go_on() {
    let world = world();
    report(&world, PaymentChange::DisputeOpened).unwrap().unwrap();
    assert!(matches!(sale(&world).money(), Money::Disputed { .. }));
    let alerts = world.state().alerts.clone();
    assert_eq!((alerts.len(), alerts[0].channel), (1, Channel::Critical));
    assert!(alerts[0].line.starts_with("[ORACLE-PAYMENT] CRITICAL"));
    report(&world, PaymentChange::DisputeWon).unwrap().unwrap();
    assert_eq!(*sale(&world).money(), Money::Kept);
    assert!(sale(&world).open_work().is_some(), "somebody goes after it again");
}

/// A refund that was decided before a dispute still applies when the dispute is won: the customer gets the money back.
#[test]
fn a_refund_that_was_decided_survives_a_dispute() {
    let world = world();
    let authorisation = domain::money::Authorisation::parse("dana", "asked for it").unwrap();
    let authorised = Money::RefundAuthorised { authorisation: authorisation.clone(), at: START };
    world.change_sales("money", &authorised);
    report(&world, PaymentChange::DisputeOpened).unwrap().unwrap();
    report(&world, PaymentChange::DisputeWon).unwrap().unwrap();
    assert!(
        matches!(sale(&world).money(), Money::RefundAuthorised { authorisation: kept, .. } if *kept == authorisation)
    );
}

/// The customer must not be left without both verdict and money: a human issues the refund again.
#[test]
fn a_refund_that_came_back_wakes_somebody_who_can_issue_it_again() {
    for status in [RefundStatus::Failed, RefundStatus::Canceled] {
        let world = world();
        tell(&world, refund(1, 500, RefundStatus::Succeeded)).unwrap().unwrap();
        assert!(matches!(sale(&world).money(), Money::Refunded { .. }));
        tell(&world, refund(1, 500, status)).unwrap().unwrap();
        assert!(matches!(sale(&world).money(), Money::RefundFailed { .. }));
        assert_eq!(sale(&world).open_work().unwrap().work, Work::RefundFailed);
        let alert = world.state().alerts.last().unwrap().clone();
        assert!(alert.channel == Channel::Critical && alert.line.contains("came back"), "{}", alert.line);
        tell(&world, refund(2, 500, RefundStatus::Succeeded)).unwrap().unwrap();
        assert!(matches!(sale(&world).money(), Money::Refunded { .. }), "issued again, in Stripe's dashboard");
        assert_eq!(sale(&world).open_work(), None);
    }
}

/// A part comes back: `oracle refunds issue` would give back all of the payment.
#[test]
fn the_alert_about_a_bounce_says_what_is_right_for_the_state_of_the_money() {
    use RefundStatus::{Failed, Succeeded};
    let authorisation = Authorisation::by_policy("quarantine-24h", "held").unwrap();
    let authorised = Money::RefundAuthorised { authorisation, at: START };
    let (part, whole) = (refund(1, 100, Failed), refund(9, 500, Succeeded));
    let taken = dispute(2, DisputeStatus::NeedsResponse);
    let cases: [(&Money, bool, &[&PaymentReport], &str); 5] = [
        (&Money::Kept, false, &[], "| CRITICAL | make it there again, because oracle refunds issue gives back all"),
        (&Money::Kept, false, &[&taken], "| CRITICAL | the customer's bank has the money"),
        (&authorised, false, &[], "| CRITICAL | see at Stripe, once the refund of the rest is made"),
        (
            &authorised,
            true,
            &[],
            "| CRITICAL | an operator has recorded one by hand: if that money was sent, do nothing",
        ),
        (&authorised, false, &[&whole], "| WARN | others have returned all of the payment: do nothing"),
    ];
    for (money, is_by_hand, before, expected) in cases {
        let world = world();
        world.change_sales("money", money);
        if is_by_hand {
            let (mut by_hand, version) = world.state().sales[&session().id].clone();
            by_hand.refunded_by_hand(&Operator::parse("dana", None).unwrap(), START).unwrap();
            world.state().sales.insert(session().id, (by_hand, version));
        }
        for report in before {
            tell(&world, (*report).clone()).unwrap().unwrap();
        }
        let was = sale(&world).money().clone();
        tell(&world, part.clone()).unwrap().unwrap();
        assert_eq!(*sale(&world).money(), was, "{expected}");
        let line = world.state().alerts.last().unwrap().line.clone();
        let (severity, words) = expected.trim_start_matches("| ").split_once(" | ").unwrap();
        assert!(line.contains(severity) && line.contains(words) && line.contains("(re_1)"), "{line}");
        assert!(!line.contains(Sale::REFUND_CAME_BACK), "{line}");
    }
}

/// A report that was lost could have shown that it is ours.
#[test]
fn any_bounce_of_refunded_money_is_a_humans() {
    let world = world();
    world.change_sales("money", &Money::Refunded { at: START });
    tell(&world, refund(1, 100, RefundStatus::Failed)).unwrap().unwrap();
    assert!(matches!(sale(&world).money(), Money::RefundFailed { .. }));
    let line = world.state().alerts.last().unwrap().line.clone();
    assert!(line.contains("CRITICAL") && line.contains(Sale::REFUND_CAME_BACK), "{line}");
}

/// Nothing goes on by itself: a human issues the refund again.
#[test]
fn a_dispute_that_is_won_after_a_refund_came_back_wakes_somebody() {
    let world = world();
    for report in [
        refund(1, 500, RefundStatus::Succeeded),
        refund(1, 500, RefundStatus::Failed),
        dispute(2, DisputeStatus::NeedsResponse),
        dispute(2, DisputeStatus::Won),
    ] {
        tell(&world, report).unwrap().unwrap();
    }
    assert!(matches!(sale(&world).money(), Money::RefundFailed { .. }));
    let alert = world.state().alerts.last().unwrap().clone();
    assert!(alert.channel == Channel::Critical && alert.line.contains("came back"), "{}", alert.line);
}

/// During the dispute `oracle refunds record` says not to send the money, and no list has the sale.
#[test]
fn a_dispute_that_is_won_after_a_record_of_a_refund_by_hand_says_to_send_it() {
    let world = world();
    for report in [
        refund(1, 500, RefundStatus::Succeeded),
        refund(1, 500, RefundStatus::Failed),
        dispute(2, DisputeStatus::NeedsResponse),
        dispute(3, DisputeStatus::NeedsResponse),
    ] {
        tell(&world, report).unwrap().unwrap();
    }
    let (mut by_hand, version) = world.state().sales[&session().id].clone();
    by_hand.refunded_by_hand(&Operator::parse("dana", None).unwrap(), START).unwrap();
    world.state().sales.insert(session().id, (by_hand, version));
    let last = |world: &World| world.state().alerts.last().unwrap().clone();
    tell(&world, dispute(2, DisputeStatus::Won)).unwrap().unwrap();
    assert!(!last(&world).line.contains("send the money"), "the other dispute has the money");
    tell(&world, dispute(3, DisputeStatus::Won)).unwrap().unwrap();
    let alert = last(&world);
    assert!(alert.channel == Channel::Critical && alert.line.contains("| REFUND |"), "{}", alert.line);
    assert!(alert.line.contains("send the money now"), "{}", alert.line);
    // Stripe returned the money of this one.
    let world = self::world();
    for report in [
        refund(1, 500, RefundStatus::Succeeded),
        dispute(2, DisputeStatus::NeedsResponse),
        dispute(2, DisputeStatus::Won),
    ] {
        tell(&world, report).unwrap().unwrap();
    }
    assert!(last(&world).line.contains("WARN"), "{}", last(&world).line);
}

#[test]
fn partial_refunds_add_up_to_the_whole() {
    let world = world();
    let parts = [(1, 100, None), (2, 150, None), (3, 250, Some(Money::Refunded { at: START }))];
    for (number, amount, money) in parts {
        tell(&world, refund(number, amount, RefundStatus::Succeeded)).unwrap().unwrap();
        assert_eq!(*sale(&world).money(), money.unwrap_or(Money::Kept), "after part {number}");
    }
    let lines = world.state().records();
    let changes: Vec<_> = lines.iter().map(|line| (line["change"].clone(), line["amount_returned"].clone())).collect();
    let [part, whole] = ["partly_refunded", "refunded"].map(serde_json::Value::from);
    assert_eq!(changes, [(part.clone(), 100.into()), (part, 250.into()), (whole, 500.into())]);
}

/// An inquiry takes no money: the sale continues, and an operator answers it. Its escalation is a dispute.
#[test]
fn an_inquiry_alerts_and_changes_nothing_until_it_escalates() {
    let world = world();
    tell(&world, dispute(1, DisputeStatus::WarningNeedsResponse)).unwrap().unwrap();
    assert_eq!(*sale(&world).money(), Money::Kept);
    let alert = world.state().alerts[0].clone();
    assert!(alert.channel == Channel::Critical && alert.line.contains("the sale goes on until"), "{}", alert.line);
    assert_eq!(sale(&world).open_work().unwrap().work, Work::InFlight, "the customer comes first");
    tell(&world, dispute(1, DisputeStatus::NeedsResponse)).unwrap().unwrap();
    assert!(matches!(sale(&world).money(), Money::Disputed { .. }));
    assert_eq!(sale(&world).open_work().unwrap().work, Work::Dispute);
    tell(&world, dispute(1, DisputeStatus::UnderReview)).unwrap().unwrap();
    assert_eq!(sale(&world).open_work(), None, "the bank has our evidence");
}

/// The list of each day shows the dispute with the time of its creation.
#[test]
fn a_deadline_that_moves_without_an_event_is_taken_from_the_list_once() {
    let world = world();
    tell(&world, dispute(1, DisputeStatus::NeedsResponse)).unwrap().unwrap();
    let by = START.plus(Duration::from_secs(9 * 24 * 3600));
    let (id, status, respond_by) = (id("du_1"), DisputeStatus::NeedsResponse, Some(by));
    let report = PaymentReport::Dispute { id, status, respond_by, at: START };
    for days in [1, 2] {
        let payment = PaymentId::parse("pi_1").unwrap();
        let received_at = START.plus(Duration::from_secs(days * 24 * 3600));
        let reported_by = ReportedBy::Reconciliation;
        apply_to(&world, &Changed { payment, report: report.clone(), reported_by, received_at }).unwrap().unwrap();
        assert_eq!(sale(&world).payment().to_answer().unwrap().respond_by, respond_by, "day {days}");
        let state = world.state();
        assert_eq!((state.records().len(), state.alerts.len()), (2, 2), "day {days}");
        assert!(state.alerts[1].line.contains("Stripe set another deadline until"), "{}", state.alerts[1].line);
    }
}

/// A closed dispute does not hide another one.
#[test]
fn disputes_are_distinguished_by_their_id() {
    let world = world();
    tell(&world, dispute(1, DisputeStatus::WarningNeedsResponse)).unwrap().unwrap();
    tell(&world, dispute(1, DisputeStatus::WarningClosed)).unwrap().unwrap();
    tell(&world, dispute(2, DisputeStatus::NeedsResponse)).unwrap().unwrap();
    tell(&world, dispute(2, DisputeStatus::Won)).unwrap().unwrap();
    assert_eq!(*sale(&world).money(), Money::Kept);
    tell(&world, dispute(3, DisputeStatus::Lost)).unwrap().unwrap();
    assert!(matches!(sale(&world).money(), Money::Disputed { .. }));
    assert_eq!(sale(&world).open_work(), None, "what is lost is nobody's work");
    for (status, taken) in [(DisputeStatus::Prevented, true), (DisputeStatus::Won, false)] {
        let world = self::world();
        tell(&world, dispute(1, status)).unwrap().unwrap();
        assert_eq!(matches!(sale(&world).money(), Money::Disputed { .. }), taken, "{status:?}");
    }
}

/// Queues deliver at least once and in any order.
#[test]
fn every_order_and_every_repetition_of_a_dispute_ends_the_same_way() {
    use PaymentChange::{DisputeLost, DisputeOpened, DisputeWon, InquiryClosed, InquiryOpened, Refunded};
    let now = START;
    let [kept, disputed, refunded] =
        [Money::Kept, Money::Disputed { at: now, refund: None, bounced: false }, Money::Refunded { at: now }];
    let cases: [(&[PaymentChange], &Money); 9] = [
        (&[DisputeOpened, DisputeWon, DisputeOpened], &kept),
        (&[DisputeWon, DisputeOpened, DisputeWon], &kept),
        (&[DisputeOpened, DisputeLost, DisputeOpened], &disputed),
        (&[DisputeLost, DisputeOpened, DisputeLost], &disputed),
        (&[DisputeOpened, Refunded, DisputeWon], &refunded),
        (&[InquiryOpened, InquiryClosed, InquiryOpened], &kept),
        (&[InquiryClosed, InquiryOpened], &kept),
        (&[Refunded, DisputeOpened, DisputeWon], &refunded),
        (&[Refunded, Refunded, DisputeLost], &refunded),
    ];
    for (changes, expected) in cases {
        let world = world();
        for change in changes {
            report(&world, *change).unwrap().unwrap();
        }
        assert_eq!(*sale(&world).money(), *expected, "{changes:?}");
        let recorded = world.state().records().len();
        for change in changes {
            report(&world, *change).unwrap().unwrap();
        }
        assert_eq!(world.state().records().len(), recorded, "{changes:?}: nothing is recorded twice");
    }
}

#[test]
fn a_sale_nobody_has_seen_is_stopped_before_it_starts() {
    let world = world();
    world.state().sales.clear();
    report(&world, PaymentChange::Refunded).unwrap().unwrap();
    assert_eq!(sale(&world).claim("a", Claimant::Customer, START, Duration::from_secs(1)), Claim::Done);
}

#[test]
fn a_payment_that_is_not_ours_is_done_with() {
    let world = world();
    world.state().sessions.clear();
    report(&world, PaymentChange::DisputeOpened).unwrap().unwrap();
    assert!(world.state().log.is_empty() && world.state().alerts.is_empty());
    assert_eq!(*sale(&world).money(), Money::Kept);
}

#[test]
fn whatever_breaks_it_is_applied_and_recorded_once_in_the_end() {
    let clean = world();
    report(&clean, PaymentChange::DisputeOpened).unwrap().unwrap();
    for (plan, what) in every_single_fault(clean.passed(), 4) {
        let world = world();
        world.plan(plan);
        drop(report(&world, PaymentChange::DisputeOpened));
        world.plan(Plan::none());
        report(&world, PaymentChange::DisputeOpened).unwrap().unwrap();
        assert!(matches!(sale(&world).money(), Money::Disputed { .. }), "{what}");
        assert_eq!(world.state().records().len(), 1, "{what}");
        // An alert that no topic accepts is in the function's log.
        let is_alerted = {
            let state = world.state();
            !state.alerts.is_empty() || !state.logged_alerts.is_empty()
        };
        assert!(is_alerted, "{what}: nobody heard of it");
        let left = sale(&world).open_work().map(|open| open.work);
        assert_eq!(left, Some(Work::Dispute), "{what}: nothing else is left over");
    }
}

/// After a move to another region Stripe lists the refunds and disputes of both stacks.
#[test]
fn a_report_about_another_stacks_sale_makes_no_sale_here() {
    let before = CheckoutSession { created: Some(Timestamp::from_seconds(1_799_999_999)), ..session() };
    for (created, is_known, sales) in [(before.created, false, 0), (before.created, true, 1), (Some(START), false, 1)] {
        let world = world();
        world.state().sessions.insert(session().id, CheckoutSession { created, ..session() });
        if !is_known {
            world.state().sales.clear();
        }
        report(&world, PaymentChange::PartlyRefunded).unwrap().unwrap();
        assert_eq!(world.state().sales.len(), sales);
        assert_eq!(world.state().log.is_empty(), sales == 0, "{created:?} {is_known}");
    }
}
