//! Injects every fault at every effect of an exchange, then pairs of faults, then fifty parallel tabs. No customer is
//! counted without a reply, none gets a fourth free reply, and each exchange id has one reply.
//! The file has more than 300 lines because faults and parallel requests are tried on exchanges, erasures, sign-outs
//! and disclosures, each with a check of its own.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use domain::{
    Metric,
    chat::{FREE_EXCHANGES, MOST_DECLINES_A_DAY},
};
use runtime::http::{Reply, Request};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use support::*;
use testkit::{FAULTS, Fault, Passage, Plan, World, every_single_fault, every_two_faults, world::Surroundings};

/// A customer who repeats each message until it is answered.
struct Life {
    world: World,
    cookie: String,
    replies: BTreeMap<u64, BTreeSet<String>>,
    apologies: BTreeSet<u64>,
}

impl Life {
    fn new() -> Self {
        let (world, cookie) = customer();
        Self { world, cookie, replies: BTreeMap::new(), apologies: BTreeSet::new() }
    }

    fn ask(&mut self, n: u64) -> Option<u16> {
        let reply = send(&self.world, asking(n, QUESTION, &self.cookie));
        self.take(n, reply)
    }

    fn take(&mut self, n: u64, reply: Option<Reply>) -> Option<u16> {
        let reply = reply?;
        let answer = body(&reply);
        if reply.status() == 200 {
            if answer["apology"] == true {
                self.apologies.insert(n);
            } else {
                self.replies.entry(n).or_default().insert(answer["replies"].to_string());
            }
        }
        Some(reply.status())
    }

    /// Sends a message again until it is answered, as the page does.
    fn insist(&mut self, n: u64) -> u16 {
        let mut last = 0;
        for _ in 0..6 {
            last = self.ask(n).unwrap_or(0);
            if !matches!(last, 0 | 202 | 503) {
                return last;
            }
            self.world.advance(Duration::from_secs(36));
        }
        last
    }

    fn judge(&self, what: &str) {
        let answered = self.replies.len();
        for (n, replies) in &self.replies {
            assert_eq!(replies.len(), 1, "{what}: exchange {n} has two replies");
        }
        let state = self.world.state();
        let (account, _) = state.accounts.values().next().unwrap();
        let counted = (FREE_EXCHANGES - account.free_left()) as usize;
        assert_eq!(counted, answered, "{what}: as many are counted as were answered");
        assert_eq!(account.unlogged().count(), 0, "{what}: the memory lacks a reply");
        let log: BTreeSet<_> = state.log.values().collect();
        let records = log.iter().filter(|line| line.contains(r#""status":"ANSWERED""#)).count();
        assert_eq!(records, answered, "{what}: a reply has one record");
    }
}

/// Sends three messages with a fault, then continues without faults.
fn live(plan: Plan, what: &str) -> usize {
    let mut life = Life::new();
    life.world.plan(plan);
    for n in 1..=2 {
        life.ask(n);
        life.world.advance(Duration::from_secs(1));
    }
    let passed = life.world.passed();
    life.world.plan(Plan::none());
    life.world.advance(Duration::from_secs(36));
    for n in 1..=3 {
        let status = life.insist(n);
        assert_eq!(status, 200, "{what}: exchange {n}");
    }
    let fourth = life.insist(4);
    let expected = if life.apologies.is_empty() { 402 } else { 200 };
    assert_eq!(fourth, expected, "{what}: the fourth");
    for n in 5..=5 + life.apologies.len() as u64 {
        life.insist(n);
    }
    assert_eq!(life.insist(9), 402, "{what}: after three");
    get(&life.world, "/api/chat/memory", &life.cookie);
    life.judge(what);
    passed
}

#[test]
fn every_fault_at_every_effect() {
    let effects = live(Plan::none(), "nothing");
    for (plan, what) in every_single_fault(effects + 4, 24) {
        live(plan, &what);
    }
}

#[test]
fn two_faults_at_any_two_effects() {
    let effects = live(Plan::none(), "nothing");
    let pairs =
        [(Fault::LoseReply, Fault::LoseReply), (Fault::LoseReply, Fault::CrashAfter), (Fault::CrashAfter, Fault::Fail)];
    for (plan, what) in every_two_faults(effects, 6, &pairs) {
        live(plan, &what);
    }
}

#[test]
fn a_store_or_a_vendor_that_stays_away_counts_nothing() {
    for name in
        ["accounts.load", "accounts.save", "subscribers.access", "model.ask", "memory.append", "memory.make_key"]
    {
        for fault in FAULTS {
            let mut life = Life::new();
            life.world.plan(Plan::none().whenever(name, fault));
            life.ask(1);
            life.ask(2);
            life.world.plan(Plan::none());
            life.world.advance(Duration::from_secs(36));
            for n in 1..=7 {
                life.insist(n);
            }
            get(&life.world, "/api/chat/memory", &life.cookie);
            assert_eq!(life.replies.len(), 3, "{fault:?} whenever {name}");
            life.judge(&format!("{fault:?} whenever {name}"));
        }
    }
}

/// After any interruption of an erasure the next call finishes it, and no text can be read.
#[test]
fn every_fault_at_every_effect_of_an_erasure() {
    let erase = |life: &Life| erase(&life.world, &life.cookie);
    let begun = || {
        let mut life = Life::new();
        assert_eq!(life.ask(1), Some(200));
        life
    };
    let clean = begun();
    clean.world.plan(Plan::none());
    assert_eq!(erase(&clean).unwrap().status(), 202);
    for (plan, what) in every_single_fault(clean.world.passed(), 5) {
        let mut life = begun();
        life.world.plan(plan);
        let first = erase(&life).map(|reply| reply.status());
        life.world.plan(Plan::none());
        if first != Some(202) {
            assert_eq!(erase(&life).unwrap().status(), 202, "{what}");
        }
        assert!(life.world.state().memory_keys.is_empty(), "{what}: a key is left");
        let export = get(&life.world, "/api/chat/memory", &life.cookie);
        assert!(!export.body().contains("Halifax"), "{what}");
        assert_eq!(life.ask(1), Some(410), "{what}");
        assert_eq!(life.ask(2), Some(200), "{what}");
        assert_eq!(body(&get(&life.world, "/api/chat/me", &life.cookie))["free_left"], 1, "{what}");
    }
}

/// The own session ends last, so that after any interruption the same request ends the rest.
#[test]
fn every_fault_at_every_effect_of_a_sign_out_everywhere() {
    let signed_in_twice = || {
        let (world, here) = customer();
        let elsewhere = signed_in(&world, "someone@example.com");
        let other = signed_in(&world, "other@example.com");
        (world, [here, elsewhere], other)
    };
    let out = |world: &World, cookie: &str| {
        let request = Request::delete("/api/chat/session").with_header("cookie", cookie);
        send(world, request.with_body(r#"{"everywhere":true}"#)).map(|reply| reply.status())
    };
    let (clean, [here, _], _) = signed_in_twice();
    clean.plan(Plan::none());
    assert_eq!(out(&clean, &here), Some(200));
    for (plan, what) in every_single_fault(clean.passed(), 2) {
        let (world, own, other) = signed_in_twice();
        world.plan(plan);
        let first = out(&world, &own[0]);
        world.plan(Plan::none());
        if first != Some(200) {
            let again = out(&world, &own[0]);
            assert!(matches!(again, Some(200 | 401)), "{what}: {again:?}");
        }
        for cookie in &own {
            assert_eq!(get(&world, "/api/chat/me", cookie).status(), 401, "{what}");
        }
        assert_eq!(get(&world, "/api/chat/me", &other).status(), 200, "{what}: another customer");
    }
}

/// Handles many requests concurrently, with a different delay for each effect.
fn parallel(world: &World, requests: Vec<Request>) -> Vec<Reply> {
    let mut random = 7_u64;
    let surroundings: Surroundings = Box::new(move |_, _| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let before = Duration::from_millis(random >> 33 & 63);
        Passage { before, fault: None, after: Duration::from_millis(random >> 40 & 31) }
    });
    within(world, surroundings, requests)
}

/// A key is created slowly while an erasure runs. Whatever fails then, no key is left, and no later call has to remove it.
#[test]
fn no_key_is_made_after_an_erasure() {
    for (name, fault) in [
        ("memory.destroy_key", Fault::Fail),
        ("memory.destroy_key", Fault::LoseReply),
        ("memory.make_key", Fault::LoseReply),
        ("memory.make_key", Fault::CrashAfter),
    ] {
        let life = Life::new();
        let erase = Request::delete("/api/chat/memory").with_header("cookie", &life.cookie);
        let (mut destroyed, slow) = (0, Duration::from_secs(5));
        let surroundings: Surroundings = Box::new(move |passed, _| {
            let before = if passed == "memory.make_key" { slow } else { Duration::ZERO };
            destroyed += usize::from(passed == "memory.destroy_key");
            // The erasure's own destruction succeeds.
            let is_faulty = passed == name && (passed == "memory.make_key" || destroyed > 1);
            Passage { before, fault: is_faulty.then_some(fault), after: Duration::ZERO }
        });
        let replies = within(&life.world, surroundings, vec![asking(1, QUESTION, &life.cookie), erase]);
        assert!(replies.iter().any(|reply| reply.status() == 202), "{fault:?} at {name}");
        assert!(life.world.state().memory_keys.is_empty(), "{fault:?} at {name}: a key is left");
    }
}

/// Fifty parallel tabs get exactly three replies (Product Tiers, FM-10).
#[test]
fn fm_10_fifty_parallel_tabs_get_three() {
    let life = Life::new();
    let requests = (1..=50).map(|n| asking(n, QUESTION, &life.cookie)).collect();
    let replies = parallel(&life.world, requests);
    let count = |status| replies.iter().filter(|reply| reply.status() == status).count();
    assert_eq!((count(200), count(402)), (3, 47));
    assert_eq!(life.world.state().prompts.len(), 3, "nobody's reply is thrown away");
    let (account, _) = life.world.state().accounts.values().next().unwrap().clone();
    assert_eq!(account.free_left(), 0);
}

/// Anybody who is signed in can send a burst of messages that are declined. Every one is recorded, and no alarm is raised.
#[test]
fn every_declined_message_of_a_burst_is_recorded() {
    let life = Life::new();
    let requests = (1..=60).map(|n| asking(n, "I want to kill myself", &life.cookie)).collect();
    let replies = parallel(&life.world, requests);
    assert!(replies.len() == 60 && replies.iter().all(|reply| reply.status() == 422));
    let state = life.world.state();
    assert!(!state.measurements.contains(&Metric::AuditWriteFailed.once()));
    assert_eq!(state.log.values().filter(|line| line.contains(r#""status":"DECLINED""#)).count(), 60);
}

/// The log does not grow with what costs the sender nothing.
#[test]
fn declined_messages_are_recorded_up_to_a_limit() {
    let life = Life::new();
    for n in 1..=u64::from(MOST_DECLINES_A_DAY) + 5 {
        assert_eq!(ask(&life.world, n, "I want to kill myself", &life.cookie).status(), 422);
    }
    let state = life.world.state();
    assert!(!state.measurements.contains(&Metric::AuditWriteFailed.once()));
    assert_eq!(state.log.values().filter(|line| line.contains(r#""status":"DECLINED""#)).count(), 100);
}

/// A message to the Bridge that may disclose self-harm, from a customer who has accepted nothing.
fn disclosing(n: u64, cookie: &str) -> Request {
    let body = json!({ "id": id(n), "text": "I want to kill myself" }).to_string();
    Request::post("/api/chat/bridge/messages", body).with_header("cookie", cookie)
}

/// The records of disclosures that are in the log.
fn disclosed(world: &World) -> usize {
    world.state().log.values().filter(|line| line.contains("authority_evaluated")).count()
}

/// Anybody who is signed in can send a burst of disclosures to a Bridge that is closed to them, too.
#[test]
fn every_disclosure_of_a_burst_on_a_closed_bridge_is_recorded() {
    let life = Life::new();
    let requests = (1..=60).map(|n| disclosing(n, &life.cookie)).collect();
    let replies = parallel(&life.world, requests);
    assert!(replies.len() == 60 && replies.iter().all(|reply| reply.status() == 422));
    assert!(!life.world.state().measurements.contains(&Metric::AuditWriteFailed.once()));
    assert_eq!(disclosed(&life.world), 60);
}

/// Neither the log nor the alerts grow with what costs the sender nothing, and the sources of help come all the same.
#[test]
fn disclosures_on_a_closed_bridge_are_recorded_up_to_a_limit_a_day() {
    let life = Life::new();
    for n in 1..=u64::from(MOST_DECLINES_A_DAY) + 5 {
        let reply = send(&life.world, disclosing(n, &life.cookie)).unwrap();
        assert_eq!(reply.status(), 422);
        assert!(!body(&reply)["resources"].as_array().unwrap().is_empty());
    }
    let counted = || (disclosed(&life.world), disclosure_alerts(&life.world).len());
    assert_eq!(counted(), (100, 2), "two alerts an hour about this person");
    assert!(!life.world.state().measurements.contains(&Metric::AuditWriteFailed.once()));
    // A day that cannot be counted withholds no record, and an hour no alert.
    life.world.plan(Plan::none().whenever("sign_ins.take", Fault::Fail));
    assert_eq!(send(&life.world, disclosing(200, &life.cookie)).unwrap().status(), 422);
    assert_eq!(counted(), (101, 3));
}

/// Whatever fault the first process meets, also at the count of its alert.
#[test]
fn a_disclosure_on_a_closed_bridge_is_alerted_at_its_repetition_at_the_latest() {
    let clean = Life::new();
    let before = clean.world.passed();
    assert_eq!(send(&clean.world, disclosing(1, &clean.cookie)).unwrap().status(), 422);
    let mut deaths = 0;
    for (plan, what) in every_single_fault(clean.world.passed() - before, 8) {
        let life = Life::new();
        life.world.plan(plan);
        deaths += usize::from(send(&life.world, disclosing(1, &life.cookie)).is_none());
        life.world.plan(Plan::none());
        assert_eq!(send(&life.world, disclosing(1, &life.cookie)).unwrap().status(), 422, "{what}");
        assert!(!disclosure_alerts(&life.world).is_empty(), "{what}");
    }
    assert!(deaths > 8, "{deaths}");
}

/// A phone repeats a message while its first request is still running.
#[test]
fn one_id_sent_twenty_times_at_once_is_one_exchange() {
    let life = Life::new();
    let requests = (0..20).map(|_| asking(1, QUESTION, &life.cookie)).collect();
    let replies = parallel(&life.world, requests);
    let bodies: BTreeSet<_> =
        replies.iter().filter(|reply| reply.status() == 200).map(|reply| reply.body().to_owned()).collect();
    assert_eq!(bodies.len(), 1);
    assert!(replies.iter().all(|reply| matches!(reply.status(), 200 | 202)));
    assert_eq!(life.world.state().prompts.len(), 1);
    assert_eq!(body(&get(&life.world, "/api/chat/me", &life.cookie))["free_left"], 2);
}
