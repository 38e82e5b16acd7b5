//! Injects every fault at every effect of a purchase, and pairs of them: no agent pays twice for one answer or gets two
//! answers for one payment, no answer leaves without a settled payment, and every settled payment leads to an answer or
//! to an entry in a list for humans.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use domain::{
    audit_trail::Audited,
    toll::{List, Offer, Purchase, Stage},
};
use runtime::http::Reply;
use std::{collections::BTreeSet, time::Duration};
use support::*;
use testkit::{Fault, Plan, World, every_two_faults};

/// One run: an agent that retries until it has its answer or stops, while the schedule runs.
struct FaultRun {
    world: World,
    answers: BTreeSet<String>,
    delivered: bool,
}

impl FaultRun {
    fn new() -> Self {
        Self { world: world(), answers: BTreeSet::new(), delivered: false }
    }

    fn took(&mut self, reply: Option<Reply>) {
        let Some(reply) = reply.filter(|reply| reply.status() == 200) else { return };
        assert_eq!(self.world.state().chain.used.len(), 1, "an answer left without a settled payment");
        self.delivered = true;
        self.answers.insert(reply.body().to_owned());
    }

    /// Asks `tries` times with the faults of the plan, whose effect counter continues across all tries.
    fn live(&mut self, plan: Plan, tries: u32) -> usize {
        let payment = payment_for(&self.world, Offer::Query, 1);
        self.world.plan(plan);
        for _ in 0..tries {
            let reply = send(&self.world, paid("/query", QUESTION, &payment));
            self.took(reply);
            look(&self.world);
            self.world.advance(Duration::from_secs(45));
        }
        let passed = self.world.passed();
        self.world.plan(Plan::none());
        passed
    }

    /// A third party submits the payment, if it was not submitted yet.
    fn submit(&self) {
        let Some(found) = purchase(&self.world) else { return };
        let Some(signed) = found.signed() else { return };
        let key = (signed.payer.clone(), signed.nonce.clone());
        self.world.state().chain.used.entry(key).or_insert_with(|| (format!("0x{:064x}", 99), true));
    }

    fn recover(&mut self, asks: bool) {
        let payment = payment_for(&self.world, Offer::Query, 1);
        if asks {
            let reply = send(&self.world, paid("/query", QUESTION, &payment));
            self.took(reply);
        }
        for _ in 0..12 {
            self.world.advance(Duration::from_secs(61));
            look(&self.world).unwrap();
        }
        if asks {
            let reply = send(&self.world, paid("/query", QUESTION, &payment));
            self.took(reply);
        }
    }

    fn judge(&self, what: &str) {
        assert!(self.answers.len() <= 1, "{what}: two answers for one payment: {:?}", self.answers);
        let used = self.world.state().chain.used.len();
        let settled = self.world.state().chain.settled;
        assert!(settled <= 1, "{what}: paid twice");
        let found = purchase(&self.world);
        let is_open = found.as_ref().is_some_and(|found| matches!(found.next(), Some((List::Machines, _))));
        assert!(!is_open, "{what}: never ends: {found:?}");
        if used == 1 {
            let ended = found.as_ref().map(|found| found.stage().clone());
            let is_good = match ended {
                Some(Stage::Settled { confirmed, .. }) => confirmed,
                Some(Stage::Owed { .. }) => true,
                _ => false,
            };
            assert!(is_good, "{what}: settled, and neither an answer nor on a human's list: {found:?}");
        }
        let log = self.world.state().log.clone();
        let sold = log.values().filter(|line| line.contains(r#""status":"OK""#)).count();
        let is_sold = matches!(found.map(|found| found.stage().clone()), Some(Stage::Settled { .. }));
        assert_eq!(sold, usize::from(is_sold), "{what}: a sale has one record that says so: {log:?}");
        if let Some(found) = purchase(&self.world) {
            assert!(found.trail().is_published(), "{what}: records or alerts that nobody publishes: {found:?}");
            let state = self.world.state();
            // An alert that the topic does not accept is logged, and the log's alarm shows it.
            let mut alerts = state.alerts.iter().chain(&state.logged_alerts);
            let is_raised = alerts.any(|alert| alert.line.contains(found.id().reference()));
            let is_owed = matches!(found.stage(), Stage::Owed { .. });
            assert!(is_raised || !is_owed, "{what}: money is owed, and no alert says so");
        }
    }
}

#[test]
fn every_fault_at_every_effect() {
    let mut clean = FaultRun::new();
    let effects = clean.live(Plan::none(), 3);
    assert!(clean.delivered && effects > 20, "{effects}");
    let mut reached = BTreeSet::new();
    for (plan, what) in every_fault(effects + 10) {
        let mut run = FaultRun::new();
        run.live(plan, 3);
        run.recover(true);
        reached.extend(run.world.state().boundaries.iter().copied());
        run.judge(&what);
        assert!(run.delivered, "{what}: one fault, and never an answer");
    }
    for name in [
        "purchases.load",
        "purchases.save",
        "corpora.read",
        "facilitator.verify",
        "facilitator.settle",
        "node.payment_use",
    ] {
        assert!(reached.contains(name), "{name}");
    }
}

#[test]
fn an_agent_that_never_comes_back() {
    let effects = FaultRun::new().live(Plan::none(), 1);
    for (plan, what) in every_fault(effects + 5) {
        let mut run = FaultRun::new();
        run.live(plan, 1);
        run.recover(false);
        run.judge(&format!("{what}, and gone"));
    }
}

/// The schedule's own effects fail, while the payer's process died with the payment made or not.
#[test]
fn an_agent_that_never_comes_back_and_a_schedule_that_fails() {
    for died in ["facilitator.settle", "model.ask"] {
        for submits in [false, true] {
            for (plan, what) in every_fault(14) {
                let mut run = FaultRun::new();
                run.live(Plan::none().whenever(died, Fault::CrashAfter), 1);
                if submits {
                    run.submit();
                }
                run.world.advance(Duration::from_secs(400));
                run.world.plan(plan);
                look(&run.world);
                run.world.plan(Plan::none());
                run.recover(false);
                run.judge(&format!("{died}, then {what} of a run"));
            }
        }
    }
}

/// A sale of a transfer has no settlement that would save the emptied outbox: the schedule would publish its record again.
#[test]
fn a_faultless_direct_sale_leaves_nothing_to_the_schedule() {
    let world = transferred(50_000);
    assert_eq!(show(&world, "/query", TRANSACTION).status(), 200);
    let found = purchase(&world).unwrap();
    assert!(found.trail().is_published() && found.next().is_none(), "{found:?}");
}

/// A sale of a transfer leaves the schedule's list with its last write, and its record may still wait then.
#[test]
fn the_record_of_a_direct_sale_is_published_without_its_payer() {
    let world = transferred(50_000);
    world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    assert_eq!(show(&world, "/query", TRANSACTION).status(), 200);
    assert!(!purchase(&world).unwrap().trail().is_published());
    world.plan(Plan::none());
    look_after(&world, 61);
    let found = purchase(&world).unwrap();
    assert!(found.trail().is_published() && found.next().is_none(), "{found:?}");
    assert_eq!(records(&world), [("OK".to_owned(), String::new())]);
}

/// Otherwise a hundred refused payments of one payer would delay all other purchases.
#[test]
fn refused_settlements_do_not_keep_the_schedule_from_others() {
    let world = world();
    let number = |nonce: u8| payment_for(&world, Offer::Query, nonce);
    let ask = |nonce| query(&world, &number(nonce)).status();
    world.plan(Plan::none().whenever("facilitator.settle", Fault::Refuse(402)));
    for nonce in 1..=101 {
        assert_eq!(ask(nonce), 402);
    }
    world.advance(Duration::from_secs(1));
    world.plan(Plan::none().whenever("facilitator.settle", Fault::LoseReply));
    assert_eq!(ask(102), 503);
    world.plan(Plan::none());
    world.advance(Duration::from_secs(61));
    assert_eq!(look(&world).unwrap().failed, 0);
    let state = world.state();
    let settled = |purchase: &Purchase| matches!(purchase.stage(), Stage::Settled { .. });
    assert_eq!(state.purchases.values().filter(|(purchase, _)| settled(purchase)).count(), 1);
}

/// Money that is given back by hand must not be forgotten.
#[test]
fn operators_are_reminded_once_a_day_of_money_that_is_owed() {
    let world = transferred(60_000);
    assert_eq!(show(&world, "/query", TRANSACTION).status(), 409);
    let alerts = || world.state().alerts.iter().filter(|alert| alert.line.contains("ORACLE-TOLL")).count();
    assert_eq!(alerts(), 1);
    for day in 1..=3 {
        look_after(&world, 23 * 3_600);
        assert_eq!(alerts(), day, "not yet");
        world.advance(Duration::from_secs(3_600));
        for _ in 0..2 {
            look(&world).unwrap();
            assert_eq!(alerts(), day + 1);
        }
    }
    assert!(world.state().alerts.iter().any(|alert| alert.line.contains("waits for a human for 24 h")));
}

#[test]
fn two_faults_at_any_two_effects() {
    let mut clean = FaultRun::new();
    let effects = clean.live(Plan::none(), 2);
    let pairs = [
        (Fault::LoseReply, Fault::LoseReply),
        (Fault::LoseReply, Fault::CrashAfter),
        (Fault::CrashAfter, Fault::CrashBefore),
        (Fault::CrashAfter, Fault::LoseReply),
        (Fault::Fail, Fault::CrashAfter),
    ];
    for (plan, what) in every_two_faults(effects, 12, &pairs) {
        let mut run = FaultRun::new();
        run.live(plan, 2);
        run.recover(true);
        run.judge(&what);
    }
}

#[test]
fn a_store_or_a_vendor_that_stays_away_settles_nothing_it_should_not() {
    let names = [
        "purchases.load",
        "purchases.save",
        "facilitator.verify",
        "facilitator.settle",
        "node.payment_use",
        "model.ask",
        "log.publish",
        "breaker.load",
        "breaker.save",
        "corpora.read",
        "notes.load",
    ];
    for name in names {
        for fault in testkit::FAULTS {
            let mut run = FaultRun::new();
            run.live(Plan::none().whenever(name, fault), 3);
            run.recover(true);
            run.judge(&format!("{fault:?} whenever {name}"));
        }
    }
}
