//! Comparisons that end before all pages are read, and the next one, which continues them.

use super::{
    lost_events::{invoice, subscriber},
    *,
};
use crate::progress::SAVED_EVERY;

/// A clock that advances by a minute at every reading, so that a run saves its position after each page.
struct Slow<'w>(&'w World);

impl domain::ports::Clock for Slow<'_> {
    fn now(&self) -> Timestamp {
        self.0.advance(SAVED_EVERY);
        domain::ports::Clock::now(self.0)
    }
}

/// A world with three pages of sessions in order, and a dispute.
fn three_pages() -> World {
    let world = world((1..=6).map(session), (1..=6).map(delivered));
    let payment = domain::money::PaymentId::parse("pi_1").unwrap();
    let report = testkit::reports::report(domain::money::PaymentChange::DisputeOpened, 500, START);
    world.state().reports.push((START, payment, report));
    world.state().slowest_method = 16 * DAY;
    world
}

fn handled_slowly(world: &World) -> Option<Result<Report, crate::NotReconciled>> {
    let (clock, ports) = (Slow(world), ports(world, SalesPeriod::ALL));
    let journal = Journal { clock: &clock, ..ports.journal };
    testkit::run(crate::handle(Ports { journal, ..ports }, 3 * DAY))
}

/// The places of a boundary in a first run that is not cut off.
fn places(name: &str) -> Vec<usize> {
    let clean = three_pages();
    assert_eq!(handled_slowly(&clean).unwrap().unwrap().paid, 6);
    places_in(&clean, name)
}

/// The places of a boundary in what a world has seen.
fn places_in(world: &World, name: &str) -> Vec<usize> {
    let boundaries = world.state().boundaries.clone();
    boundaries.iter().enumerate().filter(|(_, passed)| **passed == name).map(|(place, _)| place).collect()
}

/// When the last complete comparison began, from the note that earlier versions read too.
fn last_complete(world: &World) -> Option<Timestamp> {
    let note = testkit::run(ports(world, SalesPeriod::ALL).notebook.load::<Option<Timestamp>>());
    note.unwrap().unwrap().value.memory
}

/// A run that is cut off has queued the reports, and the next one goes on with the page at which it ended.
#[test]
fn a_comparison_that_is_cut_off_is_continued() {
    let pages = places("ledger.completed_since");
    let [_, second, third] = pages[..] else { panic!("{pages:?}") };
    for (cut_off, left) in [(second, 4), (third, 2)] {
        let world = three_pages();
        world.plan(Plan::at(cut_off, Fault::CrashBefore));
        assert!(handled_slowly(&world).is_none());
        assert_eq!(world.state().queue.len(), 1, "the dispute is queued first");
        world.plan(Plan::none());
        assert_eq!(handled_slowly(&world).unwrap().unwrap().paid, left);
        assert_eq!(handled_slowly(&world).unwrap().unwrap().paid, 6, "a new comparison");
        // A position of more than a week ago is not used.
        world.plan(Plan::at(cut_off, Fault::CrashBefore));
        assert!(handled_slowly(&world).is_none());
        assert!(last_complete(&world).is_some(), "an earlier version reads it after a rollback");
        world.plan(Plan::none());
        world.advance(8 * DAY);
        assert_eq!(handled_slowly(&world).unwrap().unwrap().paid, 6);
    }
}

/// With thirty pages of invoices, and a session whose event was lost.
fn many_invoices() -> World {
    let world = three_pages();
    world.state().sessions.insert(session(7).id, session(7));
    world.state().billing.extend((0..60).map(|_| (START, subscriber(), invoice(START))));
    world
}

/// The reports take more than their share of the time. They wait for the sessions, and the next run goes on with them.
#[test]
fn reports_that_take_longer_than_a_run_do_not_hold_up_the_sessions() {
    let whole = many_invoices();
    let all = Report { paid: 7, missing: 1, reports: 1, billing: 60, ..Report::default() };
    assert_eq!(handled_slowly(&whole).unwrap().unwrap(), all);
    let pages = places_in(&whole, "subscriptions.billing_since");
    let sessions = places_in(&whole, "ledger.completed_since");
    assert_eq!((pages.len(), sessions.len()), (30, 4));
    assert!(pages[2] < sessions[0] && sessions[3] < pages[3], "{pages:?} {sessions:?}");

    let world = many_invoices();
    world.plan(Plan::at(pages[20], Fault::CrashBefore));
    assert!(handled_slowly(&world).is_none());
    let is_ordered = world.state().queue.iter().any(|(message, _)| matches!(message, Message::Order { .. }));
    assert!(is_ordered && last_complete(&world).is_some(), "every session was compared");
    world.plan(Plan::none());
    assert_eq!(handled_slowly(&world).unwrap().unwrap(), Report { reports: 0, billing: 20, ..all });
    assert_eq!(handled_slowly(&world).unwrap().unwrap(), all, "with all reports again");
}

/// The failed sale does not hold up the others, and the comparison does not count as complete.
#[test]
fn a_comparison_with_a_sale_that_cannot_be_compared_is_continued_behind_it() {
    let (loads, pages) = (places("store.load"), places("ledger.completed_since"));
    let world = three_pages();
    // A sale of the second page fails, and the run is cut off at the third.
    world.plan(Plan::at(loads[2], Fault::Fail).and_at(pages[2], Fault::CrashBefore));
    assert!(handled_slowly(&world).is_none());
    world.plan(Plan::none());
    assert_eq!(handled_slowly(&world).unwrap().unwrap(), Report { paid: 2, ..Report::default() }, "reported before");
    assert_eq!(last_complete(&world), None);
    assert_eq!(handled_slowly(&world).unwrap().unwrap().paid, 6, "the next one begins with the newest");
    assert!(last_complete(&world).is_some());
}

#[test]
fn a_comparison_whose_position_stripe_refuses_begins_anew() {
    let world = three_pages();
    let at = START.as_millis();
    let note = format!(r#"{{"memory":{{"began":{at},"since":{at},"from":"cs_gone","is_bad":true}},"head":null}}"#);
    world.state().notes.insert("reconcile-pass".into(), (note, 1));
    world.plan(Plan::none().whenever("ledger.completed_since", Fault::Refuse(400)));
    let refused = handled_slowly(&world).unwrap();
    assert!(
        matches!(refused, Err(crate::NotReconciled::Step(error)) if error.code() == domain::ErrorCode::PaymentRefused),
        "a new one is refused"
    );
    world.plan(Plan::none());
    assert_eq!(handled_slowly(&world).unwrap().unwrap().paid, 6);
    assert!(last_complete(&world).is_some_and(|complete| complete > START));
    assert!(world.state().alerts.is_empty(), "the note is read");
}

#[test]
fn the_note_of_an_earlier_version_is_read() {
    let world = world([session(1)], [delivered(1)]);
    let note = format!(r#"{{"memory":{},"head":null}}"#, START.as_millis());
    world.state().notes.insert(crate::FUNCTION.into(), (note, 1));
    world.advance(10 * DAY);
    assert_eq!(testkit::run(crate::handle(ports(&world, SalesPeriod::ALL), 3 * DAY)).unwrap().unwrap().paid, 1);
    assert!(world.state().alerts.is_empty());
}
