//! Injects every fault at every effect of a purchase, and pairs of them: no agent pays twice for one answer or gets two
//! answers for one payment, no answer leaves without a settled payment, and every settled payment leads to an answer or
//! to an entry in a list for humans.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use domain::toll::{List, Offer, Stage};
use runtime::http::Reply;
use std::{collections::BTreeSet, time::Duration};
use support::*;
use testkit::{Fault, Plan, World};

const FAULTS: [Fault; 5] = [Fault::Fail, Fault::LoseReply, Fault::CrashBefore, Fault::CrashAfter, Fault::Refuse(402)];

/// One run: an agent that retries until it has its answer or stops, while the schedule runs.
struct Life {
    world: World,
    answers: BTreeSet<String>,
    delivered: bool,
}

impl Life {
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
    }
}

#[test]
fn every_fault_at_every_effect() {
    let mut clean = Life::new();
    let effects = clean.live(Plan::none(), 3);
    assert!(clean.delivered && effects > 20, "{effects}");
    let mut reached = BTreeSet::new();
    for boundary in 0..effects + 10 {
        for fault in FAULTS {
            let what = format!("{fault:?} at {boundary}");
            let mut life = Life::new();
            life.live(Plan::at(boundary, fault), 3);
            life.recover(true);
            reached.extend(life.world.state().boundaries.iter().copied());
            life.judge(&what);
            assert!(life.delivered, "{what}: one fault, and never an answer");
        }
    }
    for name in [
        "purchases.load",
        "purchases.save",
        "corpora.read",
        "facilitator.verify",
        "facilitator.settle",
        "node.whereabouts",
    ] {
        assert!(reached.contains(name), "{name}");
    }
}

#[test]
fn an_agent_that_never_comes_back() {
    for boundary in 0..20 {
        for fault in FAULTS {
            let mut life = Life::new();
            life.live(Plan::at(boundary, fault), 1);
            life.recover(false);
            life.judge(&format!("{fault:?} at {boundary}, and gone"));
        }
    }
}

#[test]
fn two_faults_at_any_two_effects() {
    let mut clean = Life::new();
    let effects = clean.live(Plan::none(), 2);
    for first in 0..effects {
        for second in first + 1..effects + 12 {
            for (one, two) in [
                (Fault::LoseReply, Fault::LoseReply),
                (Fault::LoseReply, Fault::CrashAfter),
                (Fault::CrashAfter, Fault::CrashBefore),
                (Fault::CrashAfter, Fault::LoseReply),
                (Fault::Fail, Fault::CrashAfter),
            ] {
                let mut life = Life::new();
                life.live(Plan::at(first, one).and_at(second, two), 2);
                life.recover(true);
                life.judge(&format!("{one:?} at {first}, {two:?} at {second}"));
            }
        }
    }
}

#[test]
fn a_store_or_a_vendor_that_stays_away_settles_nothing_it_should_not() {
    let names = [
        "purchases.load",
        "purchases.save",
        "facilitator.verify",
        "facilitator.settle",
        "node.whereabouts",
        "model.ask",
        "log.publish",
        "breaker.load",
        "breaker.save",
        "corpora.read",
        "notes.load",
    ];
    for name in names {
        for fault in [Fault::Fail, Fault::LoseReply, Fault::CrashBefore, Fault::CrashAfter] {
            let mut life = Life::new();
            life.live(Plan::none().whenever(name, fault), 3);
            life.recover(true);
            life.judge(&format!("{fault:?} whenever {name}"));
        }
    }
}
