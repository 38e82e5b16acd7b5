//! Verdicts that were delivered under an earlier block list.

use super::{NOW, Stage, session, verdict};
use crate::{Ports, When};
use async_trait::async_trait;
use domain::{
    CachedVerdict, Sale, SessionId,
    mail::{Mail, Progress},
    open_work::Work,
    ports::{StorageError, VerdictArchive},
    sale::Fulfilment,
};
use serde_json::json;
use std::time::Duration;
use testkit::{FAULTS, Fault, Plan, World, sale::WithField};

/// A delivered sale whose archived verdict has this summary.
fn delivered(stage: &Stage, number: usize, summary: &str) {
    let mut cached = verdict(number);
    cached.verdict.summary = summary.to_owned();
    let sale = Sale::ordered(session(number), NOW)
        .with("fulfilment", Fulfilment::Ready { at: NOW, archived: true })
        .with("mail", Mail::Sent { at: NOW });
    let mut state = stage.world.state();
    state.archive.insert(session(number), cached.clone());
    state.cache_verdict(&session(number), &cached, NOW);
    state.sales.insert(session(number), (sale, 1));
}

/// Makes this many checks, a minute apart, and ignores their results.
fn checks(stage: &Stage, ports: Ports<'_>, count: usize) {
    for _ in 0..count {
        stage.world.advance(Duration::from_secs(60));
        drop(testkit::run(stage.unrecorded.run(ports, stage.settings, When::Now)));
    }
}

fn work_of(stage: &Stage, number: usize) -> Option<Work> {
    let state = stage.world.state();
    let sale = &state.sales[&session(number)].0;
    assert_eq!(sale.fulfilment().as_str(), "ready", "the customer keeps the page");
    sale.open_work().map(|open| open.work)
}

/// The page has shown the verdict of a mail that is a dead letter, and a mail with an unknown outcome may have arrived.
#[test]
fn a_verdict_whose_mail_failed_is_checked_too() {
    let stage = Stage::new();
    let mails = [
        Mail::Unknown { at: NOW },
        Mail::Dead { at: NOW, progress: Progress::default() },
        Mail::NoAddress,
        Mail::Retrying { due: NOW, progress: Progress::default() },
    ];
    for (number, mail) in (1..).zip(mails) {
        delivered(&stage, number, "The CSDM leaves no doubt.");
        let mut state = stage.world.state();
        let (sale, version) = state.sales[&session(number)].clone();
        state.sales.insert(session(number), (sale.with("mail", mail), version));
    }
    checks(&stage, stage.ports(), 3);
    let is_found = |number| stage.world.state().sales[&session(number)].0.finding().is_some();
    assert_eq!((1..=4).map(is_found).collect::<Vec<_>>(), [true, true, true, false]);
}

/// An archive in which these verdicts cannot be read.
struct Torn<'a>(&'a World, Vec<SessionId>);

#[async_trait]
impl VerdictArchive for Torn<'_> {
    async fn keep(&self, session: &SessionId, verdict: &CachedVerdict) -> Result<(), StorageError> {
        VerdictArchive::keep(self.0, session, verdict).await
    }

    async fn find(&self, session: &SessionId) -> Result<Option<CachedVerdict>, StorageError> {
        if self.1.contains(session) {
            return Err(StorageError { operation: "archive read", source: "corrupt".into() });
        }
        VerdictArchive::find(self.0, session).await
    }

    async fn listed(&self, after: Option<&SessionId>, most: usize) -> Result<Vec<SessionId>, StorageError> {
        VerdictArchive::listed(self.0, after, most).await
    }
}

/// A corrupt verdict stays as it is, so every check fails at it.
#[test]
fn a_verdict_that_stays_unreadable_does_not_stop_the_second_look() {
    let stage = Stage::new();
    delivered(&stage, 1, "The CSDM leaves no doubt.");
    delivered(&stage, 2, "The CSDM leaves no doubt.");
    // Only the archive has the first one.
    stage.world.state().cache.remove(&session(1));
    let archive = Torn(&stage.world, vec![session(1)]);
    let ports = Ports { archive: &archive, ..stage.ports() };
    checks(&stage, ports, 12);
    assert_eq!((work_of(&stage, 1), work_of(&stage, 2)), (None, Some(Work::Finding)));
    let [facts] = stage.events("archive_second_look").try_into().unwrap();
    assert_eq!((&facts["unread"], &facts["looked"], &facts["found"]), (&1.into(), &1.into(), &1.into()));
    let [unread] = stage.events("archive_unread").try_into().unwrap();
    assert_eq!(unread["session_id"], json!(session(1)));
    let raised = stage.alerts().into_iter().filter(|line| line.contains("newest list has not checked it")).count();
    assert_eq!(raised, 1, "operators learn which sale it is");
}

/// The first verdicts of the archive are all unreadable, as after a fault of their time.
#[test]
fn a_row_of_unreadable_verdicts_does_not_stop_the_second_look() {
    let stage = Stage::new();
    for number in 1..=6 {
        delivered(&stage, number, "The CSDM leaves no doubt.");
    }
    let torn: Vec<SessionId> = (1..=5).map(session).collect();
    for session in &torn {
        stage.world.state().cache.remove(session);
    }
    let archive = Torn(&stage.world, torn);
    let ports = Ports { archive: &archive, ..stage.ports() };
    checks(&stage, ports, 60);
    let [facts] = stage.events("archive_second_look").try_into().unwrap();
    assert_eq!((&facts["unread"], &facts["looked"], &facts["found"]), (&5.into(), &1.into(), &1.into()));
    assert_eq!(stage.events("archive_unread").len(), 5);
    assert_eq!(work_of(&stage, 6), Some(Work::Finding));
}

/// Nothing is wrong with the verdict at which the checks fail.
#[test]
fn no_verdict_is_passed_over_while_none_can_be_read() {
    let stage = Stage::new();
    delivered(&stage, 1, "The CSDM leaves no doubt.");
    delivered(&stage, 2, "The CSDM leaves no doubt.");
    stage.world.plan(Plan::none().whenever("store.load_with_verdict", Fault::Fail));
    (0..30).for_each(|_| drop(stage.check()));
    stage.world.plan(Plan::none());
    (0..2).for_each(|_| drop(stage.check()));
    assert_eq!((work_of(&stage, 1), work_of(&stage, 2)), (Some(Work::Finding), Some(Work::Finding)));
    assert!(stage.events("archive_unread").is_empty());
}

/// Each failing read raises an alert of its own, so a check reads few verdicts, and none twice.
#[test]
fn an_outage_of_the_archive_costs_few_reads_a_check() {
    for (count, reads) in [(3, 3), (12, 4)] {
        let stage = Stage::new();
        for number in 1..=count {
            delivered(&stage, number, "The CSDM leaves no doubt.");
        }
        stage.world.plan(Plan::none().whenever("store.load_with_verdict", Fault::Fail));
        for _ in 0..12 {
            stage.check();
        }
        stage.world.state().boundaries.clear();
        stage.check();
        let state = stage.world.state();
        let read = state.boundaries.iter().filter(|name| **name == "store.load_with_verdict").count();
        assert_eq!(read, reads, "of {count}");
    }
}

/// A verdict that was delivered under an earlier list is checked once with the newest one, with a fault at any step.
#[test]
fn a_new_list_puts_what_an_older_one_let_through_before_operators_and_tells_of_what_it_replaces() {
    let fresh = || {
        let stage = Stage::new();
        delivered(&stage, 1, "The CSDM leaves no doubt.");
        delivered(&stage, 2, "The numbers leave no doubt.");
        delivered(&stage, 3, "MNEMOS shows demand.");
        stage
    };
    let assert_found = |stage: &Stage, what: &str| {
        assert_eq!(
            (work_of(stage, 1), work_of(stage, 2), work_of(stage, 3)),
            (Some(Work::Finding), None, None),
            "{what}"
        );
        assert!(stage.world.state().quarantine.is_empty(), "{what}");
        // A storm withholds errors, and this alert alone names the sale.
        let count_alerts = |severity: &str, part: &str| {
            let state = stage.world.state();
            let raised = state.alerts.iter().chain(&state.held_back_alerts).chain(&state.logged_alerts);
            let start = format!("[ORACLE-FILTER] {severity} | ");
            let raised = raised.filter(|alert| alert.line.starts_with(&start) && alert.line.contains("SECOND_LOOK"));
            raised.filter(|alert| alert.line.contains(part)).count()
        };
        assert!(count_alerts("CRITICAL", "holds back") >= 1 && count_alerts("WARN", "replaces") >= 1, "{what}");
        let log = stage.world.state().log.values().filter(|line| line.contains("archive_second_look")).count();
        assert_eq!(log, 1, "{what}");
    };
    let clean = fresh();
    checks(&clean, clean.ports(), 4);
    assert_found(&clean, "nothing breaks");
    clean.world.plan(Plan::none());
    checks(&clean, clean.ports(), 4);
    let listed = clean.world.state().boundaries.iter().filter(|name| **name == "archive.listed").count();
    assert_eq!(listed, 2, "one page, and its end: nothing is checked twice");
    assert_found(&clean, "a second time");
    for name in ["archive.listed", "store.load_with_verdict", "store.save", "notes.save"] {
        for fault in FAULTS {
            let stage = fresh();
            stage.world.plan(Plan::none().whenever(name, fault));
            drop(testkit::run(stage.runs(When::Now)));
            stage.world.plan(Plan::none());
            checks(&stage, stage.ports(), 4);
            assert_found(&stage, &format!("{fault:?} at {name}"));
        }
    }
}
