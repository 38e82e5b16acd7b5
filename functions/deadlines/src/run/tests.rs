//! Runs over sales of every state.
//! The file has more than 300 lines because the helpers of the modules below are here, beside the tests of sales.

mod failures;
mod members;
mod purchases;
mod refunds;

use super::*;
use async_trait::async_trait;
use audit::{FunctionJournal, Journal};
use domain::{
    Alert, Channel, CheckoutSession, PaymentStatus, SessionStage, Timestamp,
    mail::Progress,
    money::{Authorisation, Money, PaymentId, RefundStatus},
    ports::{CreatedCheckoutSession, NewCheckoutSession, Payments},
    sale::{Claimant, Fulfilment, NotPaid},
};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use testkit::{FAULTS, Fault, Passage, Plan, World, every_single_fault, sale::WithField, session::paid};

const START: Timestamp = Timestamp::from_seconds(1_800_000_000);
const HOUR: Duration = Duration::from_secs(3600);
const NOTEBOOKS: [&str; 2] = ["checkout-1", "anvil"];

fn session(number: u32) -> CheckoutSession {
    let payment = PaymentId::parse(format!("pi_{number}")).unwrap();
    CheckoutSession { payment: Some(payment), ..paid(&format!("cs_test_{number}")) }
}

fn sale(number: u32) -> Sale {
    Sale::ordered(session(number).id, START)
}

fn held() -> Sale {
    sale(1).with("fulfilment", Fulfilment::InReview { gate: domain::Gate::BeforeCache, at: START })
}

fn world(sales: impl IntoIterator<Item = Sale>) -> World {
    let world = World::at(START);
    for (number, sale) in (1..).zip(sales) {
        world.state().sessions.insert(sale.session_id().clone(), session(number));
        world.state().sales.insert(sale.session_id().clone(), (sale, 1));
    }
    world
}

fn notebook<'w>(world: &'w World, name: &'static str) -> FunctionJournal<'w> {
    FunctionJournal { function: name, notes: world, log: world, alerts: world, clock: world }
}

fn ports(world: &World) -> Ports<'_> {
    Ports {
        journal: Journal { store: world, log: world, alerts: world, clock: world },
        open: world,
        payments: world,
        ledger: world,
        orders: world,
        notices: world,
        mails: world,
        retries: world,
        data: world,
        stored_mails: world,
        settlements: purchases::settlements(world),
        notes: world,
        memories: members::memories(world),
        notebooks: Box::leak(Box::new(NOTEBOOKS.map(|name| notebook(world, name)))),
        letters: members::letters(world),
        meter: world,
        summaries: world,
    }
}

const SETTINGS: Settings =
    Settings { refund_held: true, most: 50, share: Duration::from_secs(20), budget: Duration::from_secs(60) };

/// One run; `None` when the process crashed.
fn run_once(world: &World, refund_held: bool) -> Option<Report> {
    testkit::run(run(ports(world), Settings { refund_held, ..SETTINGS }))
}

/// One run after that time.
fn later(world: &World, time: Duration) {
    world.advance(time);
    run_once(world, true).unwrap();
}

fn stored(world: &World) -> Sale {
    world.state().sales.values().next().unwrap().0.clone()
}

fn steps(world: &World) -> Vec<String> {
    let of = |line: &String| line.split("\"step\":\"").nth(1).map(|rest| rest.split('"').next().unwrap().to_owned());
    world.state().log.values().filter_map(of).collect()
}

#[test]
fn nothing_happens_before_its_time() {
    let world = world([sale(1)]);
    world.advance(Duration::from_secs(20 * 60 - 1));
    assert_eq!(run_once(&world, true), Some(Report { due: 0, failed: 0, left: 0 }));
    assert!(world.state().queue.is_empty() && world.state().alerts.is_empty());
    world.advance(Duration::from_secs(1));
    assert_eq!(run_once(&world, true), Some(Report { due: 1, failed: 0, left: 0 }));
    assert!(matches!(world.state().queue[0].0, Message::Order { .. }));
}

#[test]
fn what_nobody_works_on_is_sent_again_less_and_less_often_and_louder_and_louder() {
    let world = world([sale(1)]);
    let mut alerts = Vec::new();
    for _ in 0..(24 * 12) {
        later(&world, Duration::from_secs(300));
        alerts.append(&mut world.state().alerts);
    }
    let state = world.state();
    assert_eq!(state.queue.len(), alerts.len(), "a message with every alert");
    assert!((4..10).contains(&alerts.len()), "{} times a day", alerts.len());
    assert!(alerts[0].line.contains("WARN") && alerts[1].line.contains("ERROR"));
    assert!(alerts[2..].iter().all(|alert| alert.channel == Channel::Critical));
}

/// Email Retry, FM-01.
#[test]
fn a_lost_retry_alerts_and_is_made() {
    let retrying = Mail::Retrying { due: START, progress: Progress::default() };
    let fulfilment = Fulfilment::Ready { at: START, archived: true };
    let world = world([sale(1).with("fulfilment", fulfilment).with("mail", retrying)]);
    later(&world, HOUR);
    assert!(world.state().alerts[0].line.contains("retry worker missing"));
    assert!(matches!(world.state().queue[0].0, Message::MailRetry { .. }));
}

#[test]
fn records_and_alerts_that_a_dead_worker_left_are_written_and_nothing_else_happens() {
    let alert = Alert { channel: Channel::Ops, line: "left behind".into() };
    let world = world([sale(1).with("money", Money::Refunded { at: START }).with("alerts", vec![alert.clone()])]);
    later(&world, HOUR);
    assert_eq!(world.state().alerts, [alert]);
    assert_eq!((stored(&world).open_work(), stored(&world).chased()), (None, 0));
}

/// A sale that failed because Stripe shows no payment.
fn unpaid(why: NotPaid) -> Sale {
    let mut sale = sale(1);
    sale.claim("a", Claimant::Customer, START, Duration::from_secs(1));
    sale.unpaid("a", why, START).unwrap();
    sale
}

/// A day later Stripe is asked again: the sale continues, ends, or an operator is alerted again; it is never restarted
/// as lost.
#[test]
fn a_sale_that_nobody_paid_for_goes_on_or_ends() {
    let unpaid_session = || CheckoutSession { payment_status: PaymentStatus::Unpaid, ..session(1) };
    let expired = CheckoutSession { stage: SessionStage::Over, ..unpaid_session() };
    let slow = unpaid_session();
    let (paid, waits) = (Some("Stripe shows its payment now"), Some("Stripe shows no payment"));
    for (stripe, orders, ended, alert) in [
        (Some(session(1)), 1, false, paid),
        (Some(expired), 0, true, None),
        (Some(slow), 0, false, waits),
        (None, 0, true, None),
    ] {
        let world = world([unpaid(NotPaid::Unpaid)]);
        world.state().sessions.clear();
        world.state().sessions.extend(stripe.clone().map(|session| (session.id.clone(), session)));
        later(&world, 24 * HOUR - Duration::from_secs(1));
        assert!(world.state().queue.is_empty() && world.state().alerts.is_empty());
        later(&world, Duration::from_secs(1));
        let is_ended = stored(&world).open_work().is_none();
        let state = world.state();
        assert_eq!(
            (state.queue.len(), is_ended, state.alerts.len()),
            (orders, ended, alert.iter().len()),
            "{stripe:?}"
        );
        assert!(state.alerts.iter().all(|raised| raised.line.contains(alert.unwrap())), "{:?}", state.alerts);
    }
    // Completed, and its bank debit failed.
    let world = world([unpaid(NotPaid::Unpaid)]);
    world.state().sessions.insert(session(1).id, unpaid_session());
    for day in 1..=31 {
        later(&world, 24 * HOUR);
        assert_eq!(stored(&world).open_work().is_none(), day == 31, "{day}");
    }
}

/// A key of Stripe's other mode sees no session, so each order fails as unknown, and its customer may have paid.
#[test]
fn a_sale_that_our_key_cannot_see_is_brought_to_mind_every_day_before_it_ends() {
    let world = world([unpaid(NotPaid::Unknown)]);
    world.state().sessions.clear();
    world.state().other_mode = true;
    for day in 1..=31 {
        later(&world, 24 * HOUR);
        assert_eq!(stored(&world).open_work().is_none(), day == 31, "{day}");
    }
    let state = world.state();
    assert_eq!(state.alerts.len(), 30);
    let is_told = |alert: &Alert| alert.channel == Channel::Critical && alert.line.contains("oracle secrets set");
    assert!(state.alerts.iter().all(is_told), "{:?}", state.alerts[0]);
}

/// A key that is replaced between two questions about its mode: each answer is the opposite of the one before it. It
/// sees no session.
struct ReplacedKey(AtomicBool);

#[async_trait]
impl Payments for ReplacedKey {
    async fn is_of_other_mode(&self, _id: &SessionId) -> bool {
        self.0.fetch_xor(true, Ordering::Relaxed)
    }

    async fn session(&self, _id: &SessionId) -> Result<CheckoutSession, PaymentError> {
        Err(PaymentError::NotFound)
    }

    async fn create_session(&self, _new: &NewCheckoutSession) -> Result<CreatedCheckoutSession, PaymentError> {
        Err(PaymentError::NotFound)
    }

    async fn promotion_code(&self, _code: &str) -> Result<Option<String>, PaymentError> {
        Err(PaymentError::NotFound)
    }
}

/// The key before the replacement may see the session that the next one does not, or the other way round. A key that
/// cannot be read at one of the two questions answers like one of our mode.
#[test]
fn a_sale_stays_open_if_the_key_is_of_the_other_mode_before_or_after_the_question() {
    for is_first in [false, true] {
        let world = world([unpaid(NotPaid::Unknown)]);
        world.advance(24 * HOUR);
        let key = ReplacedKey(AtomicBool::new(is_first));
        testkit::run(run(Ports { payments: &key, ..ports(&world) }, SETTINGS)).unwrap();
        assert!(stored(&world).open_work().is_some(), "{is_first}");
        let state = world.state();
        assert_eq!(state.alerts.len(), 1, "{is_first}");
        assert!(state.alerts[0].line.contains("oracle secrets set"), "{is_first}: {:?}", state.alerts[0]);
    }
}

#[test]
fn what_waits_for_humans_is_counted_for_the_dashboard() {
    let world =
        world([held(), sale(2), sale(3).with("fulfilment", Fulfilment::Failed { reason: "r".into(), at: START })]);
    testkit::run(crate::handle(ports(&world), SETTINGS)).unwrap().unwrap();
    assert_eq!(world.state().measurements, [domain::Metric::WaitingForHumans.of(2)]);
}

/// Silent Drop, output 3 and invariant 6.
#[test]
fn a_drop_is_brought_to_mind_every_three_days_and_never_refunded() {
    let dropped =
        sale(1).with("fulfilment", Fulfilment::Unusable { at: START }).with("notice", Mail::Sent { at: START });
    let world = world([dropped]);
    for hour in 1..=(10 * 24) {
        later(&world, HOUR);
        assert_eq!(world.state().alerts.len(), hour / 72, "after {hour} h");
    }
    assert_eq!(world.state().alerts[0].channel, Channel::Critical);
    assert!(world.state().refunds.is_empty() && world.state().log.is_empty());
    assert_eq!(*stored(&world).money(), Money::Kept);
}

#[test]
fn everything_else_that_waits_for_a_human_is_brought_to_mind_every_day() {
    let ready = Fulfilment::Ready { at: START, archived: true };
    let dead = Mail::Dead { at: START, progress: Progress::default() };
    for waits in [
        sale(1).with("fulfilment", Fulfilment::Failed { reason: "r".into(), at: START }),
        sale(1).with("fulfilment", ready.clone()).with("mail", dead),
        sale(1).with("fulfilment", ready).with("mail", Mail::Unknown { at: START }),
    ] {
        let world = world([waits]);
        for hour in 1..=72 {
            later(&world, HOUR);
            assert_eq!(world.state().alerts.len(), hour / 24, "after {hour} h");
        }
        assert!(world.state().alerts.iter().all(|alert| alert.channel == Channel::Critical));
        assert!(world.state().refunds.is_empty());
    }
}

#[test]
fn a_decided_refund_is_carried_out_by_the_next_worker() {
    let authorisation = Authorisation::parse("alex", "asked for it").unwrap();
    let world = world([sale(1).with("money", Money::RefundAuthorised { authorisation, at: START })]);
    world.state().refund_status = Some(RefundStatus::Pending);
    later(&world, Duration::from_secs(600));
    run_once(&world, true).unwrap();
    assert_eq!(steps(&world), ["issued"], "the second run finds that it is not due");
    world.state().refund_status = None;
    world.advance(HOUR);
    run_once(&world, false).unwrap();
    assert!(matches!(stored(&world).money(), Money::Refunded { .. }));
}

#[test]
fn an_erasure_is_finished_once_no_worker_can_write_any_more_and_its_refund_does_not_wait_for_it() {
    let authorisation = Authorisation::parse("dana", "asked for it").unwrap();
    let refund = Money::RefundAuthorised { authorisation, at: START };
    let erased = Fulfilment::Erased { at: START, replies: Vec::new(), removed_at: None, owed: false };
    let world = world([sale(1).with("fulfilment", erased).with("money", refund)]);
    world.state().submissions.insert(
        session(1).id,
        domain::Submission { tier: domain::Tier::Quick, query: domain::Query::parse("Zanzibar?").unwrap() },
    );
    let report = |world: &World| run_once(world, true).unwrap();
    assert_eq!(report(&world).due, 0);
    world.advance(Duration::from_secs(15 * 60));
    world.plan(Plan::none().whenever("stored_mails.of_sale", Fault::Fail));
    assert_eq!(report(&world).failed, 1);
    assert!(world.state().submissions.is_empty(), "one store that fails keeps no other from being emptied");
    assert_eq!(world.state().refunds.len(), 1);
    world.plan(Plan::none());
    assert_eq!(report(&world).failed, 0);
    assert_eq!(world.state().sales[&session(1).id].0.open_work(), None);
}
