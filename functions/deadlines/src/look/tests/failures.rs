//! Runs in which a store, a queue or a vendor fails, refuses or hangs, and the limits of a run.

use super::*;

#[test]
fn one_sale_that_fails_holds_up_no_other_and_is_reported() {
    let world = world((1..=5).map(sale));
    world.advance(HOUR);
    // The list of refunds and three pages of this one are read first, then the first sale.
    world.plan(Plan::at(1 + 3, Fault::Fail));
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
    let report = testkit::run(run(ports(&world), Settings { most: 1, ..SETTINGS })).unwrap();
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
    let refusal_alerts = |world: &World| {
        world.state().alerts.iter().filter(|it| it.line.contains("a queue refuses its message")).count()
    };
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
    let report = testkit::run(run(ports, SETTINGS)).unwrap();
    assert!(report.left > 20 && report.failed > 0, "{report:?}");
    let orders = world.state().queue.iter().filter(|(sent, _)| matches!(sent, Message::Order { .. })).count();
    assert_eq!(orders, 1, "the lost order was sent again all the same");
}

#[test]
fn a_run_in_which_everything_hangs_ends_in_time_and_has_sent_lost_orders_again() {
    let refunds = (1..=30).map(|number| {
        let authorisation = Authorisation::parse("dana", "asked for").unwrap();
        sale(number).with("money", Money::RefundAuthorised { authorisation, at: START })
    });
    let failed = Fulfilment::Failed { reason: "model".into(), at: START };
    let failed = (31..=60).map(|number| sale(number).with("fulfilment", failed.clone()));
    let world = world(refunds.chain(failed).chain([sale(61)]));
    world.advance(24 * HOUR);
    let clock = Slow(&world);
    let ports = Ports { journal: Journal { clock: &clock, ..ports(&world).journal }, ..ports(&world) };
    let began = domain::ports::Clock::now(&world);
    let report = testkit::run(run(ports, SETTINGS)).unwrap();
    let took = domain::ports::Clock::now(&world).since(began);
    assert!(took <= SETTINGS.budget + Duration::from_secs(20), "{took:?}");
    let orders = world.state().queue.iter().filter(|(sent, _)| matches!(sent, Message::Order { .. })).count();
    assert_eq!(orders, 1, "right after the refunds: {report:?}");
}
