//! Tests of the memory's properties on random input. The suite runs a limited number of trials; the ignored tests run
//! all of them, as `cargo xtask bench memory` does in a release build.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod support;

use memory::{
    Event, EventId,
    log::{Appended, Unsealed},
    precision::Locked,
};
use std::collections::BTreeSet;
use support::{Table, code, disguised, history, trials};
use testkit::Random;

fn all(count: u64, promise: impl Fn(u64) -> bool) {
    for seed in 0..count {
        assert!(promise(seed), "seed {seed}");
    }
}

#[test]
fn random_histories_rebuild_equal() {
    all(60, trials::rebuilds_equal);
}

#[test]
fn no_locked_token_reaches_a_working_set() {
    for seed in 0..15 {
        assert_eq!(trials::leaks(seed, 20), 0, "seed {seed}");
    }
}

#[test]
fn tampering_is_found() {
    let table = history(1, 60);
    all(1000, |seed| trials::finds_tampering(&table, seed));
}

#[test]
fn the_truncator_keeps_to_its_budget() {
    all(3000, trials::keeps_to_budget);
    let table = history(2, 120);
    all(60, |seed| trials::set_keeps_to_budget(&table, seed));
}

#[test]
#[ignore = "minutes in a debug build"]
fn all_of_100_000_random_histories_rebuild_equal() {
    all(100_000, trials::rebuilds_equal);
}

#[test]
fn a_random_history_holds_every_kind_of_unlock_and_refusal() {
    let tables: Vec<Table> = (0..10).map(|seed| history(seed, 200)).collect();
    let state = |table: &Table| table.log.state().clone();
    assert!(tables.iter().any(|table| !state(table).compactions().is_empty()));
    assert!(tables.iter().any(|table| state(table).facts().canon().count() < state(table).facts().len()));
    let unlocked = |table: &Table| (0..8).any(|n| !state(table).unlocks().history(&format!("detail-{n}")).is_empty());
    assert!(tables.iter().any(unlocked) && tables.iter().any(|table| table.log.records().len() < 201));
}

/// A kind that is never drawn would be a kind that the promises say nothing about. An erasure ends its log.
#[test]
fn random_histories_hold_every_kind_of_event_but_the_erasure() {
    let mut drawn = BTreeSet::new();
    for seed in 0..20 {
        drawn.extend(history(seed, 200).log.events(&Unsealed).iter().map(|event| event.payload.id()));
    }
    let missing: Vec<EventId> = EventId::ALL.iter().copied().filter(|id| !drawn.contains(id)).collect();
    assert_eq!(missing, [EventId::SubjectErased]);
}

/// Every disguise alone, for many codes, so that one which the search does not find is named.
#[test]
fn every_disguise_is_found() {
    let mut draw = Random::seeded(11);
    for _ in 0..3000 {
        let token = code(&mut draw);
        let text = format!("It says {} there.", disguised(&mut draw, &token));
        assert!(Locked::new([token.clone()]).is_in(&text), "{token}: {text:?}");
    }
}

#[test]
fn the_same_event_with_the_same_key_is_appended_once() {
    let mut table = Table::new();
    let event = |mode: &str, key: &str| {
        let line = format!(
            r#"{{"at":1,"campaign_id":"camp-1","event":"EV-030","key":"{key}","payload":{{"mode":"{mode}"}}}}"#
        );
        Event::parse(line.as_bytes()).unwrap()
    };
    assert_eq!(table.log.append(event("PLAY", "k1"), &Unsealed).unwrap(), Appended::Written(1));
    let once = table.log.clone();
    assert_eq!(table.log.append(event("PLAY", "k1"), &Unsealed).unwrap(), Appended::AlreadyThere(1));
    let error = table.log.append(event("NOTEBOOK", "k1"), &Unsealed).unwrap_err();
    assert!(error.to_string().contains("k1 was used for another event"));
    assert_eq!(table.log, once);
    assert_eq!(table.log.append(event("PLAY", "k2"), &Unsealed).unwrap(), Appended::Written(2));
}
