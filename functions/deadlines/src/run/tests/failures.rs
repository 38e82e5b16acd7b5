//! Runs in which a store, a queue or a vendor fails, refuses or hangs, and the limits of a run.

use super::*;
use audit::Noted;

#[test]
fn one_sale_that_fails_holds_up_no_other_and_is_reported() {
    let world = world((1..=5).map(sale));
    world.advance(HOUR);
    // The list of refunds and three pages of this one are read first, then the first sale.
    world.plan(Plan::at(1 + 3, Fault::Fail));
    assert_eq!(run_once(&world, true), Some(Report { due: 5, failed: 1, left: 0 }));
    assert_eq!(world.state().queue.len(), 4);
    world.plan(Plan::none().whenever("store.open", Fault::Fail));
    assert_eq!(run_once(&world, true), Some(Report { due: 0, failed: Work::ALL.len(), left: 0 }));
}

/// A step that keeps a record in a notebook.
async fn noted(world: &World, name: &'static str) {
    let journal = notebook(world, name);
    let note = |steps: &mut u32, _| {
        *steps += 1;
        Noted::save(()).requiring("noted", name.into())
    };
    let loaded = journal.load().await.unwrap();
    journal.commit(loaded, note).await.unwrap().settle().await;
}

/// The next question that draws the stream, or the next deployment, may be weeks away.
#[test]
fn what_a_notebook_without_a_schedule_could_not_publish_is_published() {
    for (what, fault) in [("log.publish", Fault::Fail), ("notes.save", Fault::CrashAfter)] {
        let world = world([]);
        world.plan(Plan::none().whenever(what, fault));
        for name in NOTEBOOKS {
            let _: Option<()> = testkit::run(noted(&world, name));
        }
        assert!(world.state().log.is_empty(), "{what}");
        world.plan(Plan::none());
        assert_eq!(run_once(&world, true), Some(Report::default()), "{what}");
        let log = world.state().log.clone();
        let published = NOTEBOOKS.map(|name| log.keys().filter(|key| key.contains(&format!("/{name}/"))).count());
        assert_eq!(published, [1, 1], "{what}");
        world.plan(Plan::none().whenever("notes.load", Fault::Fail));
        // And the note of the reminder of purchases.
        let failed = NOTEBOOKS.len() + 1;
        assert_eq!(run_once(&world, true), Some(Report { failed, ..Report::default() }), "{what}");
    }
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
    later(&clean, HOUR);
    for (plan, what) in every_single_fault(clean.passed(), 5) {
        let world = world([sale(1)]);
        world.advance(HOUR);
        world.plan(plan);
        let _ = run_once(&world, true);
        world.plan(Plan::none());
        run_once(&world, true).unwrap();
        assert!((1..=2).contains(&world.state().queue.len()), "{what}");
        // A message that the queue refused is counted too, once.
        assert!((1..=2).contains(&stored(&world).chased()), "{what}");
        // An alert that was saved and not sent is sent by the next run.
        later(&world, HOUR);
        let alerted = !world.state().alerts.is_empty();
        assert!(alerted, "{what}: nobody heard of it");
    }
}

/// A queue may refuse for hours: operators are alerted once, and the sale continues at the first run after that.
#[test]
fn a_refused_message_alerts_once() {
    let world = world([sale(1)]);
    world.surround(Box::new(|name, _| Passage {
        fault: (name == "queue.send").then_some(Fault::Fail),
        ..Passage::default()
    }));
    world.advance(HOUR);
    for _ in 0..5 {
        assert!(run_once(&world, true).is_some_and(|report| report.failed == 1));
        world.advance(HOUR);
    }
    let refusal_alerts = |world: &World| {
        world.state().alerts.iter().filter(|it| it.line.contains("a queue refuses its message")).count()
    };
    assert_eq!((refusal_alerts(&world), stored(&world).chased()), (1, 1));
    world.surround(Box::new(|_, _| Passage::default()));
    run_once(&world, true).unwrap();
    let sent = world.state().queue.len();
    assert_eq!((sent, stored(&world).chased()), (1, 2));
}

/// A world in which these calls take time, and Stripe makes no refund.
fn slow(world: World, each: Duration, is_slow: fn(&str) -> bool) -> &'static World {
    let world: &'static World = Box::leak(Box::new(world));
    world.surround(Box::new(move |name, _| {
        if is_slow(name) {
            world.advance(each);
        }
        Passage { fault: (name == "ledger.refund").then_some(Fault::Fail), ..Passage::default() }
    }));
    world
}

fn to_refund(number: u32) -> Sale {
    let authorisation = Authorisation::parse("dana", "asked for").unwrap();
    sale(number).with("money", Money::RefundAuthorised { authorisation, at: START })
}

fn orders(world: &World) -> usize {
    world.state().queue.iter().filter(|(sent, _)| matches!(sent, Message::Order { .. })).count()
}

#[test]
fn a_kind_of_work_that_hangs_leaves_time_for_the_others() {
    let world = world((1..=30).map(to_refund).chain([sale(31)]));
    world.advance(HOUR);
    let world = slow(world, Duration::from_secs(8), |name| name == "ledger.refund");
    let report = testkit::run(run(ports(world), SETTINGS)).unwrap();
    assert_eq!((report.due, report.failed, report.left), (31, 3, 27));
    assert_eq!(orders(world), 1, "the lost order was sent again all the same");
}

#[test]
fn a_run_in_which_everything_is_slow_ends_in_time_and_has_sent_lost_orders_again() {
    let at = START;
    let ready = |number| sale(number).with("fulfilment", Fulfilment::Ready { at, archived: true });
    let dead = Mail::Dead { at, progress: Progress::default() };
    let kinds: [&dyn Fn(u32) -> Sale; 6] = [
        &to_refund,
        &|number| sale(number).with("fulfilment", Fulfilment::InReview { gate: domain::Gate::BeforeCache, at }),
        &|number| sale(number).with("fulfilment", Fulfilment::Failed { reason: "model".into(), at }),
        &|number| sale(number).with("fulfilment", Fulfilment::Unusable { at }).with("notice", Mail::Sent { at }),
        &|number| ready(number).with("mail", dead.clone()),
        &|number| ready(number).with("mail", Mail::Unknown { at }),
    ];
    let of_kind = |(kind, numbers): (usize, u32)| (1..=10).map(move |number| kinds[kind](numbers + number));
    let world = world((0..).zip((0..60).step_by(10)).flat_map(of_kind).chain([sale(61)]));
    world.advance(100 * HOUR);
    let began = domain::ports::Clock::now(&world);
    let world = slow(world, Duration::from_secs(3), |_| true);
    let report = testkit::run(run(ports(world), SETTINGS)).unwrap();
    assert_eq!(orders(world), 1, "right after the refunds: {report:?}");
    let took = domain::ports::Clock::now(world).since(began);
    assert!(took < Duration::from_secs(150), "{took:?}");
}
