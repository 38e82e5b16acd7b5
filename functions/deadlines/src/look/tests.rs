use super::*;
use domain::{
    Channel, PaymentStatus, SessionStage,
    mail::Progress,
    money::{Money, PaymentId, RefundStatus},
    sale::Fulfilment,
};
use std::time::Duration;
use testkit::{Fault, Passage, Plan, World, sale::WithField};

const FAULTS: [Fault; 4] = [Fault::Fail, Fault::LoseReply, Fault::CrashBefore, Fault::CrashAfter];
const START: Timestamp = Timestamp::from_seconds(1_800_000_000);
const HOUR: Duration = Duration::from_secs(3600);

fn session(number: u32) -> CheckoutSession {
    CheckoutSession {
        id: SessionId::parse(format!("cs_test_{number}")).unwrap(),
        payment_status: PaymentStatus::Paid,
        stage: SessionStage::Complete,
        url: None,
        metadata: Default::default(),
        idea: None,
        email: None,
        amount_total: Some(500),
        currency: Some("cad".into()),
        payment: Some(PaymentId::parse(format!("pi_{number}")).unwrap()),
        created: None,
        locale: None,
    }
}

fn sale(number: u32) -> Sale {
    Sale::ordered(session(number).id, START)
}

fn held() -> Sale {
    sale(1).with("fulfilment", Fulfilment::InReview { gate: 1, at: START })
}

fn world(sales: impl IntoIterator<Item = Sale>) -> World {
    let world = World::at(START);
    for (number, sale) in (1..).zip(sales) {
        world.state().sessions.insert(sale.session_id().clone(), session(number));
        world.state().sales.insert(sale.session_id().clone(), (sale, 1));
    }
    world
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
        sale_mails: world,
        settlements: None,
        memories: None,
        letters: None,
        meter: world,
        summaries: world,
    }
}

/// One run; `None` when the process crashed.
fn looked(world: &World, refund_held: bool) -> Option<Report> {
    testkit::run(run(ports(world), Settings { refund_held, most: 50, share: Duration::from_secs(20) }))
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
    assert_eq!(looked(&world, true), Some(Report { due: 0, failed: 0, left: 0 }));
    assert!(world.state().queue.is_empty() && world.state().alerts.is_empty());
    world.advance(Duration::from_secs(1));
    assert_eq!(looked(&world, true), Some(Report { due: 1, failed: 0, left: 0 }));
    assert!(matches!(world.state().queue[0].0, Message::Order { .. }));
}

#[test]
fn what_nobody_works_on_is_sent_again_less_and_less_often_and_louder_and_louder() {
    let world = world([sale(1)]);
    let mut alerts = Vec::new();
    for _ in 0..(24 * 12) {
        world.advance(Duration::from_secs(300));
        looked(&world, true).unwrap();
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
fn a_retry_that_nobody_makes_is_told_and_made() {
    let retrying = Mail::Retrying { due: START, progress: Progress::default() };
    let fulfilment = Fulfilment::Ready { at: START, archived: true };
    let world = world([sale(1).with("fulfilment", fulfilment).with("mail", retrying)]);
    world.advance(HOUR);
    looked(&world, true).unwrap();
    assert!(world.state().alerts[0].line.contains("retry worker missing"));
    assert!(matches!(world.state().queue[0].0, Message::MailRetry { .. }));
}

#[test]
fn records_and_alerts_that_a_dead_worker_left_are_written_and_nothing_else_happens() {
    let alert = Alert { channel: Channel::Ops, line: "left behind".into() };
    let world = world([sale(1).with("money", Money::Refunded { at: START }).with("alerts", vec![alert.clone()])]);
    world.advance(HOUR);
    looked(&world, true).unwrap();
    assert_eq!(world.state().alerts, [alert]);
    assert_eq!((stored(&world).open_work(), stored(&world).chased()), (None, 0));
}

/// Content filter, GAP-J: after 24 hours the money goes back, once, under every pair of faults.
#[test]
fn what_is_held_for_a_day_is_refunded_once_under_every_pair_of_faults() {
    let clean = world([held()]);
    clean.advance(24 * HOUR);
    looked(&clean, true).unwrap();
    let boundaries = clean.passed();
    assert!(boundaries > 15, "{boundaries}");
    assert!(clean.state().alerts[0].line.contains("the money goes back by policy"));
    for first in 0..boundaries {
        for second in [first + 1, first + 2, first + 3, boundaries] {
            for one in FAULTS {
                for other in FAULTS {
                    let what = format!("{one:?} at {first}, {other:?} at {second}");
                    let world = world([held()]);
                    world.advance(24 * HOUR);
                    world.plan(Plan::at(first, one).and_at(second, other));
                    for _ in 0..4 {
                        let _ = looked(&world, true);
                        world.advance(HOUR);
                    }
                    world.plan(Plan::none());
                    looked(&world, true).unwrap();
                    assert_eq!(world.state().refunds.len(), 1, "{what}");
                    assert_eq!(steps(&world), ["authorised", "confirmed"], "{what}");
                    assert!(matches!(stored(&world).money(), Money::Refunded { .. }), "{what}");
                    assert_eq!(*stored(&world).letter(Letter::Refund), Mail::Ordered, "{what}");
                    let state = world.state();
                    let is_letter = |message: &Message| matches!(message, Message::Mail { letter: Letter::Refund, .. });
                    assert!(state.queue.iter().any(|(message, ..)| is_letter(message)), "{what}");
                }
            }
        }
    }
}

#[test]
fn the_policy_waits_a_day_names_itself_and_can_be_switched_off() {
    let world = world([held()]);
    world.advance(24 * HOUR - Duration::from_secs(1));
    looked(&world, true).unwrap();
    assert_eq!(*stored(&world).money(), Money::Kept);
    world.advance(Duration::from_secs(1));
    looked(&world, false).unwrap();
    looked(&world, false).unwrap();
    let alerts = world.state().alerts.clone();
    assert_eq!((alerts.len(), alerts[0].channel), (1, Channel::Critical), "one escalation a day");
    assert!(alerts[0].line.contains("24 h: held by the content filter"), "{}", alerts[0].line);
    assert_eq!(*stored(&world).money(), Money::Kept);
    world.advance(24 * HOUR);
    looked(&world, true).unwrap();
    assert!(matches!(stored(&world).money(), Money::Refunded { .. }));
    let state = world.state();
    assert!(state.log.values().next().unwrap().contains(r#""by":"policy quarantine-24h""#));
}

#[test]
fn a_customer_refunded_by_policy_gets_a_letter() {
    let world = world([held()]);
    let letters = || {
        let is_letter = |message: &Message| matches!(message, Message::Mail { letter: Letter::Refund, .. });
        world.state().queue.drain(..).filter(|(message, ..)| is_letter(message)).count()
    };
    world.advance(24 * HOUR);
    looked(&world, true).unwrap();
    assert!(matches!(stored(&world).money(), Money::Refunded { .. }));
    assert_eq!((letters(), stored(&world).letter(Letter::Refund)), (1, &Mail::Ordered));
    // The message was lost: the letter is overdue and is ordered again.
    world.advance(Duration::from_secs(20 * 60));
    looked(&world, true).unwrap();
    assert_eq!(letters(), 1);
}

/// A day later Stripe is asked again: the sale continues, ends, or an operator is alerted again; it is never restarted
/// as lost.
#[test]
fn a_sale_that_nobody_paid_for_goes_on_or_ends() {
    use domain::sale::{Claimant, NotPaid};
    let unpaid = || {
        let mut sale = sale(1);
        sale.claim("a", Claimant::Customer, START, Duration::from_secs(1));
        sale.unpaid("a", NotPaid::Unpaid, START).unwrap();
        sale
    };
    let unpaid_session = || CheckoutSession { payment_status: PaymentStatus::Unpaid, ..session(1) };
    let expired = CheckoutSession { stage: SessionStage::Over, ..unpaid_session() };
    let slow = unpaid_session();
    for (stripe, orders, ended, alerts) in
        [(Some(session(1)), 1, false, 1), (Some(expired), 0, true, 0), (Some(slow), 0, false, 1), (None, 0, true, 0)]
    {
        let world = world([unpaid()]);
        world.state().sessions.clear();
        world.state().sessions.extend(stripe.clone().map(|session| (session.id.clone(), session)));
        world.advance(24 * HOUR - Duration::from_secs(1));
        looked(&world, true).unwrap();
        assert!(world.state().queue.is_empty() && world.state().alerts.is_empty());
        world.advance(Duration::from_secs(1));
        looked(&world, true).unwrap();
        let is_ended = stored(&world).open_work().is_none();
        let state = world.state();
        assert_eq!((state.queue.len(), is_ended, state.alerts.len()), (orders, ended, alerts), "{stripe:?}");
    }
}

/// A sale whose question the authority gate declined.
fn declined(number: u32) -> Sale {
    let declined = domain::sale::Declined {
        state: "BLOCKED".to_owned(),
        reason: "high_stakes".to_owned(),
        domain: "medicine".to_owned(),
        lock: domain::sale::HumanLock::Nobody,
        helpers: Vec::new(),
        advice: Vec::new(),
        is_crisis: false,
        at: START,
        approvals: Vec::new(),
        approved_at: None,
    };
    sale(number)
        .with("fulfilment", Fulfilment::Failed { reason: "declined".into(), at: START })
        .with("declined", declined)
}

#[test]
fn a_declined_question_is_refunded_by_the_gates_policy_and_a_follow_up_waits_for_a_human() {
    let world = world([declined(1)]);
    world.advance(25 * HOUR);
    looked(&world, false).unwrap();
    assert_eq!(world.state().refunds.len(), 1);
    assert!(world.state().log.values().next().unwrap().contains(r#""by":"policy authority-gate""#));
    let followup = declined(1).with("session_id", session(1).id.followup());
    assert!(followup.is_followup());
    let world = self::world([followup]);
    world.advance(25 * HOUR);
    assert_eq!(looked(&world, true), Some(Report { due: 1, failed: 0, left: 0 }));
    let state = world.state();
    assert_eq!((state.refunds.len(), state.alerts.len()), (0, 1), "its page says who helps; its money is the sale's");
}

/// A declined question has no verdict, so an earlier mail does not stop its refund. A held sale may have a delivered
/// verdict.
#[test]
fn a_policy_refunds_only_its_own_kind_of_work_and_no_customer_with_a_verdict() {
    let now = START.plus(25 * HOUR);
    let decided = |mut sale: Sale, work| {
        let policy = policy(work).unwrap();
        by_policy(&mut sale, work, &session(1), &policy, now).answer
    };
    let sent = Mail::Sent { at: START };
    for (sale, work, expected) in [
        (held(), Work::Review, Decided::Refund),
        (held(), Work::Declined, Decided::Nothing),
        (held().with("mail", sent.clone()), Work::Review, Decided::Nothing),
        (declined(1), Work::Declined, Decided::Refund),
        (declined(1), Work::Review, Decided::Nothing),
        (declined(1).with("sent_again", true), Work::Declined, Decided::Refund),
    ] {
        assert_eq!(decided(sale.clone(), work), expected, "{work:?} {sale:?}");
    }
}

/// A letter that is being delivered is not ordered again, so that the customer gets one letter.
#[test]
fn a_refund_letter_that_is_being_retried_is_not_ordered_again() {
    let authorisation = Authorisation::parse("alex", "asked for it").unwrap();
    let retrying = Mail::Retrying { due: START.plus(48 * HOUR), progress: Progress::default() };
    let money = Money::RefundAuthorised { authorisation, at: START };
    for (letter, messages) in [(Mail::Ordered, 1), (retrying, 0)] {
        let world = world([sale(1).with("money", money.clone()).with("refund_letter", letter)]);
        testkit::run(give_back(ports(&world), &session(1).id)).unwrap().unwrap();
        assert!(matches!(stored(&world).money(), Money::Refunded { .. }));
        assert_eq!(world.state().queue.len(), messages);
    }
}

#[test]
fn what_waits_for_humans_is_counted_for_the_dashboard() {
    let world =
        world([held(), sale(2), sale(3).with("fulfilment", Fulfilment::Failed { reason: "r".into(), at: START })]);
    let settings = Settings { refund_held: true, most: 50, share: Duration::from_secs(20) };
    testkit::run(crate::handle(ports(&world), settings)).unwrap();
    assert_eq!(world.state().measurements, [domain::Metric::WaitingForHumans.of(2)]);
}

#[test]
fn who_has_a_verdict_already_is_not_refunded_by_policy() {
    let sent_again = held().with("sent_again", true).with("mail", Mail::Held);
    for served in [held().with("mail", Mail::Sent { at: START }), sent_again] {
        let world = world([served]);
        world.advance(24 * HOUR);
        looked(&world, true).unwrap();
        let state = world.state();
        assert_eq!((state.alerts.len(), state.refunds.len()), (1, 0));
    }
}

/// Silent Drop, output 3 and invariant 6.
#[test]
fn a_drop_is_brought_to_mind_every_three_days_and_never_refunded() {
    let dropped =
        sale(1).with("fulfilment", Fulfilment::Unusable { at: START }).with("notice", Mail::Sent { at: START });
    let world = world([dropped]);
    for hour in 1..=(10 * 24) {
        world.advance(HOUR);
        looked(&world, true).unwrap();
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
            world.advance(HOUR);
            looked(&world, true).unwrap();
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
    world.advance(Duration::from_secs(600));
    looked(&world, true).unwrap();
    looked(&world, true).unwrap();
    assert_eq!(steps(&world), ["issued"], "the second run finds that it is not due");
    world.state().refund_status = None;
    world.advance(HOUR);
    looked(&world, false).unwrap();
    assert!(matches!(stored(&world).money(), Money::Refunded { .. }));
}

#[test]
fn one_sale_that_fails_holds_up_no_other_and_is_reported() {
    let world = world((1..=5).map(sale));
    world.advance(HOUR);
    // The lists for humans and three pages of this one are read first, then the first sale.
    world.plan(Plan::at(Work::ALL.len() - 1 + 3, Fault::Fail));
    assert_eq!(looked(&world, true), Some(Report { due: 5, failed: 1, left: 0 }));
    assert_eq!(world.state().queue.len(), 4);
    world.plan(Plan::none().whenever("store.open", Fault::Fail));
    assert_eq!(looked(&world, true), Some(Report { due: 0, failed: Work::ALL.len(), left: 0 }));
}

#[test]
fn a_run_is_bounded_and_the_most_urgent_come_first() {
    let world = world(
        (1..=5)
            .map(|number| sale(number).with("waiting_since", START.plus(Duration::from_secs(10 - u64::from(number))))),
    );
    world.advance(HOUR);
    let report =
        testkit::run(run(ports(&world), Settings { refund_held: true, most: 1, share: Duration::from_secs(20) }))
            .unwrap();
    assert_eq!(report.due, 1);
    assert_eq!(world.state().queue[0].0.session_id(), Some(&session(5).id));
}

#[test]
fn whatever_breaks_a_lost_order_is_sent_again() {
    let clean = world([sale(1)]);
    clean.advance(HOUR);
    looked(&clean, true).unwrap();
    for boundary in 0..clean.passed() {
        for fault in FAULTS {
            let world = world([sale(1)]);
            world.advance(HOUR);
            world.plan(Plan::at(boundary, fault));
            let _ = looked(&world, true);
            world.plan(Plan::none());
            looked(&world, true).unwrap();
            let what = format!("{fault:?} at {boundary}");
            assert!((1..=2).contains(&world.state().queue.len()), "{what}");
            // A message that the queue refused is counted too, once.
            assert!((1..=2).contains(&stored(&world).chased()), "{what}");
            // An alert that was saved and not sent is sent by the next run.
            world.advance(HOUR);
            looked(&world, true).unwrap();
            let alerted = !world.state().alerts.is_empty();
            assert!(alerted, "{what}: nobody heard of it");
        }
    }
}

/// A queue may refuse for hours: operators are alerted once, and the sale continues at the first run after that.
#[test]
fn a_sale_whose_message_is_refused_is_told_of_once() {
    let world = world([sale(1)]);
    world.surround(Box::new(|name, _| Passage {
        fault: (name == "queue.send").then_some(Fault::Fail),
        ..Passage::default()
    }));
    world.advance(HOUR);
    for _ in 0..5 {
        assert!(looked(&world, true).is_some_and(|report| report.failed == 1));
        world.advance(HOUR);
    }
    let refusal_alerts =
        |world: &World| world.state().alerts.iter().filter(|it| it.line.contains("does not take")).count();
    assert_eq!((refusal_alerts(&world), stored(&world).chased()), (1, 1));
    world.surround(Box::new(|_, _| Passage::default()));
    looked(&world, true).unwrap();
    let sent = world.state().queue.len();
    assert_eq!((sent, stored(&world).chased()), (1, 2));
}

/// A clock that advances with each reading: every sale takes as long as a vendor's time-out.
struct Slow<'w>(&'w World);

impl domain::ports::Clock for Slow<'_> {
    fn now(&self) -> Timestamp {
        self.0.advance(Duration::from_secs(5));
        domain::ports::Clock::now(self.0)
    }
}

#[test]
fn a_kind_of_work_that_hangs_leaves_time_for_the_others() {
    let refunds = (1..=30).map(|number| {
        let authorisation = Authorisation::parse("dana", "asked for").unwrap();
        sale(number).with("money", Money::RefundAuthorised { authorisation, at: START })
    });
    let world = world(refunds.chain([sale(31)]));
    world.advance(HOUR);
    world.plan(Plan::none().whenever("ledger.refund", Fault::Fail));
    let clock = Slow(&world);
    let ports = Ports { journal: Journal { clock: &clock, ..ports(&world).journal }, ..ports(&world) };
    let share = Duration::from_secs(20);
    let report = testkit::run(run(ports, Settings { refund_held: true, most: 50, share })).unwrap();
    assert!(report.left > 20 && report.failed > 0, "{report:?}");
    let orders = world.state().queue.iter().filter(|(sent, _)| matches!(sent, Message::Order { .. })).count();
    assert_eq!(orders, 1, "the lost order was sent again all the same");
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
    let look = |world: &World| looked(world, true).unwrap();
    assert_eq!(look(&world).due, 0);
    world.advance(Duration::from_secs(15 * 60));
    world.plan(Plan::none().whenever("sale_mails.of_sale", Fault::Fail));
    assert_eq!(look(&world).failed, 1);
    assert!(world.state().submissions.is_empty(), "one store that fails keeps no other from being emptied");
    assert_eq!(world.state().refunds.len(), 1);
    world.plan(Plan::none());
    assert_eq!(look(&world).failed, 0);
    assert_eq!(world.state().sales[&session(1).id].0.open_work(), None);
}
