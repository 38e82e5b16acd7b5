//! Comparisons of Stripe's sessions with the sales.
//! The file has more than 300 lines because each state in which a comparison can find a session or its sale has a
//! short test of its own.

mod continuation;
mod lost_events;

use super::*;
use audit::{FunctionJournal, Journal, Notebook};
use domain::{
    Channel, PaymentStatus,
    money::{Money, ObjectId},
    ports::Versioned,
    sale::{Declined, HumanLock},
};
use testkit::{Fault, Plan, World, every_single_fault, sale::WithField, session::paid};

const START: Timestamp = Timestamp::from_seconds(1_800_000_000);
const DAY: Duration = Duration::from_secs(24 * 3600);

fn session(number: u32) -> CheckoutSession {
    let metadata = [("tier", "full"), ("q0", "Open a shop?"), ("qn", "1")];
    CheckoutSession {
        metadata: metadata.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        created: Some(START),
        ..paid(&format!("cs_test_{number}"))
    }
}

fn sale(number: u32) -> Sale {
    Sale::ordered(session(number).id, START)
}

fn delivered(number: u32) -> Sale {
    let fulfilment = Fulfilment::Ready { at: START, archived: true };
    sale(number).with("fulfilment", fulfilment).with("mail", Mail::Sent { at: START })
}

fn world(sessions: impl IntoIterator<Item = CheckoutSession>, sales: impl IntoIterator<Item = Sale>) -> World {
    let world = World::at(START.plus(Duration::from_secs(3600)));
    for session in sessions {
        world.state().sessions.insert(session.id.clone(), session);
    }
    for sale in sales {
        world.state().sales.insert(sale.session_id().clone(), (sale, 1));
    }
    world
}

/// One comparison; `None` when the process crashed.
fn compared(world: &World) -> Option<Result<Report, StepError>> {
    compared_of(world, SalesPeriod::ALL)
}

fn compared_of(world: &World, sold_here: SalesPeriod) -> Option<Result<Report, StepError>> {
    let began = domain::ports::Clock::now(world);
    let progress = Progress {
        complete: Versioned { value: Notebook::default(), version: 0 },
        pass: Versioned { value: Notebook::default(), version: 0 },
        saved_at: began,
    };
    let pass = Pass::new(began, crate::reports::before(began, 3 * DAY));
    testkit::run(run(ports(world, sold_here), progress, pass))
}

fn ports(world: &World, sold_here: SalesPeriod) -> Ports<'_> {
    Ports {
        journal: Journal { store: world, log: world, alerts: world, clock: world },
        notebook: FunctionJournal { function: crate::FUNCTION, notes: world, log: world, alerts: world, clock: world },
        ledger: world,
        subscriptions: world,
        orders: world,
        notices: world,
        payments: world,
        meter: world,
        sold_here,
    }
}

/// No role may approve the question, and the customer has an earlier verdict: no policy refunds such a sale.
fn declined_for_good(number: u32) -> Sale {
    let declined = Declined {
        state: domain::authority_state::State::Blocked,
        reason: "drug_dosing".into(),
        domain: "medicine".into(),
        lock: HumanLock::Nobody,
        helpers: Vec::new(),
        advice: Vec::new(),
        is_crisis: false,
        is_emergency: false,
        at: START,
        approvals: Vec::new(),
        approved_at: None,
    };
    let failed = Fulfilment::Failed { reason: "r".into(), at: START };
    delivered(number).with("fulfilment", failed).with("declined", Some(declined))
}

#[test]
fn what_is_delivered_on_a_list_or_given_back_is_in_order() {
    let waiting = sale(2).with("fulfilment", Fulfilment::Failed { reason: "r".into(), at: START });
    let refunded = sale(3).with("money", Money::Refunded { at: START });
    let without_address = delivered(4).with("mail", Mail::NoAddress);
    let world = world((1..=4).map(session), [delivered(1), waiting, refunded, without_address]);
    assert_eq!(compared(&world).unwrap().unwrap(), Report { paid: 4, ..Report::default() }, "over all pages");
    let state = world.state();
    assert!(state.alerts.is_empty() && state.queue.is_empty() && state.log.is_empty());
}

/// No verdict is made for these sales, although their money is kept.
#[test]
fn what_was_never_paid_is_declined_for_good_or_erased_is_in_order() {
    let never_paid = sale(1)
        .with("fulfilment", Fulfilment::Failed { reason: "r".into(), at: START })
        .with("not_paid", Some(NotPaid::Over));
    let erased = Fulfilment::Erased { at: START, replies: Vec::new(), removed_at: Some(START), owed: false };
    let free = CheckoutSession { payment_status: PaymentStatus::NoPaymentRequired, ..session(1) };
    for (session, sale) in
        [(free, never_paid), (session(2), declined_for_good(2)), (session(3), sale(3).with("fulfilment", erased))]
    {
        assert_eq!(sale.open_work(), None);
        let world = world([session], [sale]);
        assert_eq!(compared(&world).unwrap().unwrap(), Report { paid: 1, ..Report::default() });
    }
}

#[test]
fn an_unknown_paid_session_alerts_and_is_ordered() {
    let mut unusable = session(2);
    unusable.metadata.remove("tier");
    let world = world([session(1), unusable], []);
    assert_eq!(compared(&world).unwrap().unwrap(), Report { paid: 2, missing: 2, ..Report::default() });
    let state = world.state();
    assert!(matches!(state.queue[0].0, Message::Order { ordered_by: OrderedBy::Reconciliation, .. }));
    assert!(matches!(state.queue[1].0, Message::Notice { .. }));
    assert!(state.alerts.iter().all(|alert| alert.channel == Channel::Critical && !alert.line.contains("shop")));
    assert_eq!(state.alerts.len(), 2);
}

/// A notice announces a payment without a usable question. Without a payment, or for a sale that failed before it was
/// paid, the session is ordered.
#[test]
fn an_unusable_session_is_noticed_only_if_it_is_paid_and_its_sale_has_not_failed() {
    let failed = sale(1)
        .with("fulfilment", Fulfilment::Failed { reason: "r".into(), at: START })
        .with("not_paid", Some(NotPaid::Unpaid));
    for (payment_status, known, is_noticed) in [
        (PaymentStatus::Paid, None, true),
        (PaymentStatus::NoPaymentRequired, None, false),
        (PaymentStatus::Paid, Some(failed), false),
    ] {
        let mut unusable = CheckoutSession { payment_status, ..session(1) };
        unusable.metadata.remove("tier");
        let world = world([unusable], known);
        compared(&world).unwrap().unwrap();
        let queued = world.state().queue[0].0.clone();
        assert_eq!(matches!(queued, Message::Notice { .. }), is_noticed, "{queued:?}");
        assert_eq!(matches!(queued, Message::Order { .. }), !is_noticed, "{queued:?}");
    }
}

/// After a move to another region both stacks read the sessions of one Stripe account.
#[test]
fn what_another_stack_sells_is_left_to_it_and_what_is_known_here_is_not() {
    let astray = delivered(2).with("mail", Mail::Held);
    let world = world([session(1), session(2)], [astray]);
    let hour = Duration::from_secs(3600);
    for elsewhere in
        [SalesPeriod { from: Some(START.plus(hour)), until: None }, SalesPeriod { from: None, until: Some(START) }]
    {
        let report = compared_of(&world, elsewhere).unwrap().unwrap();
        assert_eq!(report, Report { paid: 2, astray: 1, ..Report::default() });
    }
    let here = SalesPeriod { from: Some(START), until: Some(START.plus(hour)) };
    assert_eq!(compared_of(&world, here).unwrap().unwrap().missing, 1);
}

/// The events of the payment and of its refund were lost. A further refund, with a new status, counts as none.
#[test]
fn a_session_that_was_refunded_before_anybody_heard_of_it_is_not_ordered() {
    use domain::{
        money::{PaymentId, RefundStatus},
        ports::{MadeRefund, UnknownRefund},
    };
    for (charged, amount, status, missing) in [
        (500, 500, RefundStatus::Succeeded, 0),
        (500, 500, RefundStatus::Failed, 1),
        (500, 200, RefundStatus::Succeeded, 1),
        (0, 500, RefundStatus::Failed, 1),
    ] {
        let payment = PaymentId::parse("pi_1").unwrap();
        let session = CheckoutSession { payment: Some(payment.clone()), amount_total: Some(charged), ..session(1) };
        let world = world([session], []);
        let refund = MadeRefund { id: object("re_1"), amount: Some(amount), status, key: None };
        world.state().refunds.push((payment, refund));
        world.state().unknown_refunds.push(UnknownRefund { id: object("re_2"), key: None });
        let found = compared(&world).unwrap().unwrap();
        assert_eq!((found.missing, found.failed), (missing, 0), "{charged} {amount} {status:?}");
        assert_eq!(world.state().queue.len(), missing);
    }
}

#[test]
fn what_is_not_paid_too_old_or_only_just_paid_is_left_alone() {
    let unpaid = CheckoutSession { payment_status: PaymentStatus::Unpaid, ..session(1) };
    let old = CheckoutSession { created: Some(Timestamp::from_seconds(1_799_000_000)), ..session(2) };
    let fresh = CheckoutSession { created: Some(START.plus(Duration::from_secs(2701))), ..session(3) };
    let world = world([unpaid, old, fresh], []);
    assert_eq!(compared(&world).unwrap().unwrap(), Report { paid: 1, ..Report::default() });
    world.advance(Duration::from_secs(1));
    assert_eq!(compared(&world).unwrap().unwrap().missing, 1, "but not for ever");
}

#[test]
fn a_sale_on_no_list_is_ordered_and_an_overdue_one_alerts() {
    // A state that only a defect produces: a held mail without a review.
    let astray = delivered(1).with("mail", Mail::Held);
    assert_eq!(astray.open_work(), None);
    let world = world((1..=4).map(session), [astray, sale(2), sale(3), sale(4)]);
    let found = Report { paid: 4, astray: 1, ..Report::default() };
    assert_eq!(compared(&world).unwrap().unwrap(), found, "the others are due, but not for hours");
    assert!(matches!(world.state().queue[0].0, Message::Order { .. }));
    world.advance(Duration::from_secs(2 * 3600));
    assert_eq!(compared(&world).unwrap().unwrap(), Report { overdue: 3, ..found });
    let state = world.state();
    let asked = state.alerts.iter().filter(|alert| alert.line.contains("does the deadlines function run?"));
    assert_eq!(asked.count(), 1, "all have one cause");
}

/// Regardless of earlier reports about a session: once Stripe shows its payment, the verdict is owed.
#[test]
fn a_sale_that_failed_for_want_of_a_payment_is_ordered_once_it_is_paid() {
    use domain::sale::Claimant;
    let failed = |n, over| {
        let mut sale = sale(n);
        sale.claim("a", Claimant::Customer, START, Duration::from_secs(1));
        sale.unpaid("a", NotPaid::Unpaid, START).unwrap();
        if over {
            sale.lapse(START).unwrap();
        }
        sale
    };
    let free = CheckoutSession { payment_status: PaymentStatus::NoPaymentRequired, ..session(3) };
    let world = world([session(1), session(2), free], [failed(1, false), failed(2, true), failed(3, false)]);
    assert_eq!(compared(&world).unwrap().unwrap(), Report { paid: 3, astray: 2, ..Report::default() });
    assert_eq!(world.state().queue.len(), 2);
}

fn object(text: &str) -> ObjectId {
    ObjectId::parse(text).unwrap()
}

#[test]
fn the_slowest_method_that_is_switched_on_decides_how_far_back_is_looked() {
    let world = world([], []);
    for (slowest, outage, expected) in
        [(16, 0, 16), (1, 0, 3), (1, 1, 3), (1, 6, 7), (16, 1, 17), (1, 40, 31), (31, 4, 35)]
    {
        world.state().slowest_method = slowest * DAY;
        assert_eq!(testkit::run(reach(&world, 3 * DAY, outage * DAY)), Some(expected * DAY), "{slowest} {outage}");
    }
    world.plan(Plan::none().whenever("ledger.slowest_method", Fault::Fail));
    assert_eq!(testkit::run(reach(&world, 3 * DAY, DAY)), Some(SLOWEST_PAYMENT + DAY), "in doubt as far as any");
}

/// Webhook and comparison fail for longer than Stripe retries and a comparison usually reaches.
#[test]
fn the_first_complete_comparison_after_an_outage_reaches_back_to_the_last_one_before_it() {
    for broken in ["ledger.completed_since", "store.load"] {
        let world = world([], []);
        let handled = || testkit::run(crate::handle(ports(&world, SalesPeriod::ALL), 3 * DAY)).unwrap();
        handled().unwrap();
        let lost = CheckoutSession { created: Some(START.plus(DAY)), ..session(1) };
        world.state().sessions.insert(lost.id.clone(), lost);
        world.advance(3 * DAY);
        world.plan(Plan::none().whenever(broken, Fault::Fail));
        assert!(handled().is_err(), "{broken}");
        world.plan(Plan::none());
        world.advance(3 * DAY);
        assert_eq!(handled().unwrap(), Report { paid: 1, missing: 1, ..Report::default() }, "{broken}");
        assert!(matches!(world.state().queue[0].0, Message::Order { .. }), "{broken}");
        world.advance(DAY);
        assert_eq!(handled().unwrap().paid, 0, "{broken}: it is made good");
    }
}

/// Product Tiers, invariant 1.
#[test]
fn another_amount_than_the_price_is_recorded_and_alerts_once() {
    let discounted = CheckoutSession { amount_total: Some(450), ..session(1) };
    let refunded = delivered(4).with("money", Money::Refunded { at: START });
    let dear = |number| CheckoutSession { amount_total: Some(600), ..session(number) };
    let world = world([discounted, session(3), dear(4)], [delivered(1), delivered(3), refunded]);
    for expected in [2, 0] {
        assert_eq!(compared(&world).unwrap().unwrap().amounts, expected);
        let state = world.state();
        assert_eq!((state.alerts.len(), state.log.len()), (2, 2));
        assert!(state.alerts.iter().all(|alert| alert.channel == Channel::Ops));
        assert!(state.log.values().next().unwrap().contains(r#""event":"amount_differs","amount_total":450"#));
    }
}

/// Product Tiers, invariant 1: an operator gives the difference back.
#[test]
fn more_than_the_price_and_another_currency_are_errors_until_the_difference_is_back() {
    let dear = CheckoutSession { amount_total: Some(501), ..session(1) };
    let foreign = CheckoutSession { currency: Some("usd".into()), ..session(2) };
    let world = world([dear, foreign], [delivered(1), delivered(2)]);
    assert_eq!(compared(&world).unwrap().unwrap().amounts, 2);
    let state = world.state();
    for (found, paid) in state.alerts.iter().zip(["paid 501 cad", "paid 500 usd"]) {
        assert!(found.line.starts_with("[ORACLE-RECONCILE] ERROR"), "{}", found.line);
        assert!(found.line.contains(&format!("{paid}, the price is 500 cad: give back")), "{}", found.line);
    }
}

#[test]
fn a_sale_that_cannot_be_compared_holds_up_no_other_and_a_list_that_breaks_off_is_an_error() {
    let world = world((1..=3).map(session), []);
    // The lists of reports and of sessions are read before the first sale.
    world.plan(Plan::at(3, Fault::Fail));
    assert_eq!(compared(&world).unwrap().unwrap(), Report { paid: 3, missing: 2, failed: 1, ..Report::default() });
    world.plan(Plan::none().whenever("ledger.completed_since", Fault::Fail));
    assert!(matches!(compared(&world).unwrap(), Err(error) if error.code() == domain::ErrorCode::PaymentUnavailable));
}

#[test]
fn whatever_breaks_the_next_comparison_makes_it_good() {
    let clean = world([session(1)], []);
    compared(&clean).unwrap().unwrap();
    for (plan, what) in every_single_fault(clean.passed(), 5) {
        let world = world([session(1)], []);
        world.plan(plan);
        drop(compared(&world));
        world.plan(Plan::none());
        compared(&world).unwrap().unwrap();
        assert!(!world.state().queue.is_empty(), "{what}");
        assert!(!world.state().alerts.is_empty(), "{what}");
    }
}
