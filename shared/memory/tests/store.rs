//! Tests of logs in a store: retries, contention, truncation, erasure.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod support;

use domain::{
    ErrorCode,
    ports::{MemoryLogs, Seal, SubjectKey, SubjectKeys},
};
use lens::{Digest, Domain};
use memory::{
    Event, EventLog, Payload,
    event::{ModeChanged, SubjectErased},
    log::{Appended, BootError, erasure_of, verify},
    store::{self, StoreError},
};
use std::{
    future::Future,
    sync::atomic::{AtomicUsize, Ordering},
};
use support::{handle, locked, unlocked};
use testkit::memory::MemoryStores;

const LOG: &str = "k1-5d21";
const SUBJECT: &str = "k1-subject";

/// A seal for tests: a keystream from hashes of key and position, and a tag.
struct TestSeal(Option<SubjectKey>);

impl TestSeal {
    fn stream(&self, seq: u64, plain: &[u8]) -> Option<Vec<u8>> {
        let key = self.0.as_ref()?.0;
        let block = |n: usize| {
            Digest::of_parts(Domain::Draw, &[&key, &seq.to_be_bytes(), &(n / 32).to_be_bytes()]).as_bytes()[n % 32]
        };
        Some(plain.iter().enumerate().map(|(n, byte)| byte ^ block(n)).collect())
    }

    fn tag(&self, seq: u64, plain: &[u8]) -> [u8; 32] {
        let key = self.0.as_ref().map_or([0; 32], |key| key.0);
        *Digest::of_parts(Domain::Draw, &[b"tag", &key, &seq.to_be_bytes(), plain]).as_bytes()
    }
}

impl Seal for TestSeal {
    fn seal(&self, seq: u64, plain: &[u8]) -> Vec<u8> {
        [&self.tag(seq, plain)[..], &self.stream(seq, plain).unwrap()].concat()
    }

    fn open(&self, seq: u64, sealed: &[u8]) -> Option<Vec<u8>> {
        let (tag, sealed) = sealed.split_at_checked(32)?;
        self.stream(seq, sealed).filter(|plain| self.tag(seq, plain) == tag)
    }
}

/// A seal that counts the records that it opens.
struct Counting<'a> {
    seal: &'a TestSeal,
    opened: AtomicUsize,
}

impl Seal for Counting<'_> {
    fn seal(&self, seq: u64, plain: &[u8]) -> Vec<u8> {
        self.seal.seal(seq, plain)
    }

    fn open(&self, seq: u64, sealed: &[u8]) -> Option<Vec<u8>> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        self.seal.open(seq, sealed)
    }
}

fn now<F: Future>(future: F) -> F::Output {
    testkit::run(future).unwrap()
}

fn event(key: Option<&str>, payload: impl Into<Payload>) -> Event {
    Event { at: 1, campaign_id: handle("camp-1"), key: key.map(handle), payload: payload.into() }
}

fn seal(stores: &MemoryStores) -> TestSeal {
    TestSeal(Some(now(stores.find_or_create(SUBJECT)).unwrap()))
}

fn load(stores: &MemoryStores, seal: &TestSeal) -> Result<EventLog, StoreError> {
    now(store::load(stores, LOG, &handle("camp-1"), seal))
}

fn append(stores: &MemoryStores, log: &mut EventLog, seal: &TestSeal, event: Event) -> Result<Appended, StoreError> {
    now(store::append(stores, LOG, log, event, seal))
}

/// A store with a log of 20 facts, one of them locked.
fn filled() -> (MemoryStores, TestSeal, EventLog) {
    let stores = MemoryStores::default();
    let seal = seal(&stores);
    let mut log = EventLog::new(handle("camp-1"));
    let clue = locked("vault-code", "It opens with 4471-ZX.", "It opens with a code.", &["4471-ZX"]);
    append(&stores, &mut log, &seal, event(Some("clue"), clue)).unwrap();
    for number in 1..20 {
        let fact = unlocked(&format!("key-{number}"), &format!("Fact {number}."));
        append(&stores, &mut log, &seal, event(None, fact)).unwrap();
    }
    (stores, seal, log)
}

#[test]
fn a_log_comes_back_from_its_store_and_its_store_holds_no_plain_word() {
    let (stores, seal, log) = filled();
    assert_eq!(load(&stores, &seal).unwrap(), log);
    for record in now(stores.read(LOG, 0)).unwrap() {
        let text = String::from_utf8_lossy(&record.body).into_owned();
        assert!(!text.contains("Fact") && !text.contains("4471") && !text.contains("EV-"), "{text}");
    }
}

/// A log may have thousands of records: a caller who needs a few opens a few.
#[test]
fn the_newest_events_and_the_event_of_a_key_are_opened_alone() {
    let (_, seal, log) = filled();
    let counting = Counting { seal: &seal, opened: AtomicUsize::new(0) };
    let mut expected = log.events(&seal);
    expected.reverse();
    let newest: Vec<Event> = log.newest_events(&counting).take(3).collect();
    assert_eq!(newest, expected[..3]);
    assert_eq!(log.event(&handle("clue"), &counting).as_ref(), expected.last());
    assert_eq!(log.event(&handle("key-1"), &counting), None, "no event has this key");
    assert_eq!(counting.opened.into_inner(), 4);
}

#[test]
fn a_lost_reply_and_a_retry_append_once() {
    for after in [false, true] {
        let (stores, seal, mut log) = filled();
        let before = log.records().len();
        let mode = || event(Some("exchange-1"), ModeChanged { mode: lens::Mode::Companion });
        stores.fail_write(1, after);
        assert_eq!(append(&stores, &mut log, &seal, mode()).unwrap_err().code(), ErrorCode::Storage);
        let mut log = load(&stores, &seal).unwrap();
        append(&stores, &mut log, &seal, mode()).unwrap();
        append(&stores, &mut log, &seal, mode()).unwrap();
        assert_eq!(log.records().len(), before + 1, "after: {after}");
        assert_eq!(load(&stores, &seal).unwrap(), log);
    }
}

#[test]
fn two_writers_lose_nothing_and_decide_again() {
    let (stores, seal, log) = filled();
    let (mut first, mut second) = (log.clone(), log);
    for number in 0..15 {
        let fact = |name: &str| event(None, unlocked(&format!("{name}-{number}"), &format!("By {name}: {number}.")));
        append(&stores, &mut first, &seal, fact("first")).unwrap();
        append(&stores, &mut second, &seal, fact("second")).unwrap();
    }
    let stored = load(&stores, &seal).unwrap();
    assert_eq!((stored.records().len(), &stored), (20 + 30, &second));
    // The second check sees the other writer's event: the detail's handle is taken.
    let clue = |code: &str| event(None, locked("late", &format!("It is {code}."), "A code.", &[code]));
    append(&stores, &mut first, &seal, clue("7731-KQ")).unwrap();
    let error = append(&stores, &mut second, &seal, clue("1123-XJ")).unwrap_err();
    assert!(error.to_string().contains("detail_handle"), "{error}");
}

#[test]
fn a_log_that_was_cut_short_is_found_by_its_head() {
    let (stores, seal, _) = filled();
    stores.cut(LOG, 12);
    assert!(matches!(load(&stores, &seal), Err(StoreError::CutShort { found: 12, head: 20 })));
    stores.lose_head(LOG);
    assert!(matches!(load(&stores, &seal), Err(StoreError::NoHead { found: 12 })));
    assert_eq!(load(&stores, &seal).unwrap_err().code(), ErrorCode::Memory);
}

/// The first append of another writer falls between the reads of the head and of the records.
#[test]
fn a_log_that_begins_while_it_is_read_is_whole() {
    let (stores, ..) = filled();
    stores.begin_after_head(LOG);
    assert_eq!(now(store::complete(&stores, LOG)).unwrap().len(), 20);
}

/// A query beside the transaction that appends may return the log as it was before, although the head has moved.
#[test]
fn a_log_whose_query_met_the_append_is_whole() {
    let (stores, ..) = filled();
    // The read that reaches the newest record, and the next one, which finds the end of the log.
    stores.hide_newest(LOG, 2);
    assert_eq!(now(store::complete(&stores, LOG)).unwrap().len(), 20);
}

#[test]
fn erasure_shreds_the_log_and_its_chain_still_verifies() {
    // Crashes before the erasure is written, after it, before the key is destroyed, and after that.
    for (write, after) in [(1, false), (1, true), (2, false), (2, true), (9, false)] {
        let (stores, seal, mut log) = filled();
        let erased = || {
            let (subject, requested_by) = (handle(SUBJECT), handle(SUBJECT));
            event(Some("erasure"), SubjectErased { subject, requested_by, reason: "asked".to_owned() })
        };
        stores.fail_write(write, after);
        let first = now(store::erase(&stores, &stores, LOG, &mut log, erased(), &seal));
        assert_eq!(first.is_err(), write < 9);
        let key = now(stores.find(SUBJECT)).unwrap();
        let seal = TestSeal(key);
        let mut log = load(&stores, &seal).unwrap();
        now(store::erase(&stores, &stores, LOG, &mut log, erased(), &seal)).unwrap();

        assert_eq!(now(stores.find(SUBJECT)).unwrap(), None);
        let records = now(store::records(&stores, LOG, None)).unwrap();
        assert_eq!(records.len(), 21, "{write} {after}");
        verify(&handle("camp-1"), &records).unwrap();
        assert!(erasure_of(&records).is_some());
        let shredded = load(&stores, &TestSeal(None)).unwrap();
        assert!(shredded.state().is_erased() && shredded.state().facts().is_empty());
        assert!(now(stores.find_or_create(SUBJECT)).is_err(), "no key is made after the erasure");
        let other = TestSeal(Some(SubjectKey([7; 32])));
        assert!(load(&stores, &other).unwrap().state().facts().is_empty());
    }
}

#[test]
fn an_erasure_needs_no_key_and_ends_what_a_crash_left() {
    for (write, after) in [(1, false), (1, true), (2, false), (2, true), (9, false)] {
        let (stores, _, _) = filled();
        let (subject, requested_by) = (handle(SUBJECT), handle(SUBJECT));
        let erased = event(None, SubjectErased { subject, requested_by, reason: "asked".to_owned() });
        stores.fail_write(write, after);
        assert_eq!(now(store::shred(&stores, &stores, LOG, &erased)).is_err(), write < 9);
        now(store::shred(&stores, &stores, LOG, &erased)).unwrap();
        let records = now(store::records(&stores, LOG, None)).unwrap();
        assert_eq!((records.len(), now(stores.find(SUBJECT)).unwrap()), (21, None), "{write} {after}");
        verify(&handle("camp-1"), &records).unwrap();
        assert!(load(&stores, &TestSeal(None)).unwrap().state().is_erased());
    }
    let (stores, ..) = filled();
    stores.cut(LOG, 12);
    let (subject, requested_by) = (handle(SUBJECT), handle(SUBJECT));
    let erased = event(None, SubjectErased { subject, requested_by, reason: "asked".to_owned() });
    let cut = now(store::shred(&stores, &stores, LOG, &erased));
    assert!(matches!(cut, Err(StoreError::CutShort { found: 12, head: 20 })));
}

#[test]
fn a_lost_key_without_an_erasure_is_an_error() {
    let (stores, _, _) = filled();
    let error = load(&stores, &TestSeal(None)).unwrap_err();
    assert!(matches!(error, StoreError::Boot(BootError::KeyGone(1))), "{error}");
}
