//! A function's journal against ports that fail, lose replies and crash.

use crate::{CommitError, FunctionJournal, Noted, digest::sha256};
use domain::{Alert, Timestamp, alert::Severity};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::{Fault, Plan, World, run};

fn journal(world: &World) -> FunctionJournal<'_> {
    FunctionJournal { function: "night-watch", notes: world, log: world, alerts: world, clock: world }
}

/// Counts to one and tells of it, once.
fn count(memory: &mut u32) -> Noted<u32> {
    if *memory > 0 {
        return Noted::nothing(*memory);
    }
    *memory += 1;
    let alert = Alert::about("T", Severity::Critical, Timestamp::from_millis(0), "COUNT", "-", "one");
    Noted::save(*memory).recording("counted", json!({ "to": *memory })).alerting(alert)
}

async fn step(world: &World) -> Result<u32, CommitError> {
    let journal = journal(world);
    let notebook = journal.load::<u32>().await?;
    Ok(journal.commit(notebook, count).await?.1)
}

fn lines(world: &World) -> Vec<(String, String)> {
    world.state().log.clone().into_iter().collect()
}

fn field(line: &str, name: &str) -> Value {
    serde_json::from_str::<Value>(line).unwrap()[name].clone()
}

#[test]
fn whatever_breaks_the_record_is_written_once_and_the_alert_raised() {
    let clean = World::default();
    run(step(&clean)).unwrap().unwrap();
    let (boundaries, expected) = (clean.passed(), lines(&clean));
    assert_eq!(expected.len(), 1);
    assert_eq!(expected[0].0, "1970-01-01/function/night-watch/000001.json");
    assert_eq!(boundaries, 5, "load, save, alert, record, settled");
    for boundary in 0..boundaries {
        for fault in [Fault::Fail, Fault::LoseReply, Fault::CrashBefore, Fault::CrashAfter] {
            let world = World::default();
            world.plan(Plan::at(boundary, fault));
            drop(run(step(&world)));
            world.plan(Plan::none());
            assert_eq!(run(step(&world)).unwrap().unwrap(), 1, "{fault:?} at {boundary}");
            assert_eq!(lines(&world), expected, "{fault:?} at {boundary}");
            let told = world.state().alerts.iter().filter(|alert| alert.line.ends_with("one")).count();
            let lost = world.state().logged_alerts.iter().filter(|alert| alert.line.ends_with("one")).count();
            assert!(told + lost >= 1, "{fault:?} at {boundary}: nobody was told");
            let left = run(journal(&world).load::<u32>()).unwrap().unwrap().value;
            assert!(!left.has_something_to_tell(), "{fault:?} at {boundary}");
        }
    }
}

#[test]
fn a_new_day_has_its_own_numbers_and_the_hash_of_the_day_before() {
    let world = World::at(Timestamp::from_seconds(10));
    let note = |_: &mut u32| Noted::save(()).recording("looked", json!({}));
    let walk = async || {
        let journal = journal(&world);
        let notebook = journal.load::<u32>().await.unwrap();
        journal.commit(notebook, note).await.unwrap();
    };
    run(walk()).unwrap();
    run(walk()).unwrap();
    world.advance(Duration::from_secs(86_400));
    run(walk()).unwrap();
    // The clock is set back: the day that was begun goes on.
    world.state().now -= 86_400_000;
    run(walk()).unwrap();
    let lines = lines(&world);
    let keys: Vec<&str> = lines.iter().map(|(key, _)| &key[..10]).collect();
    assert_eq!(keys, ["1970-01-01", "1970-01-01", "1970-01-02", "1970-01-02"]);
    let mut before = sha256(b"");
    for (key, line) in &lines {
        assert_eq!(field(line, "prev"), before.as_str(), "{key}");
        assert_eq!(field(line, "stream"), "function/night-watch");
        before = sha256(line.as_bytes());
    }
    assert_eq!(field(&lines[2].1, "seq"), 1);
}

#[test]
fn a_run_that_was_overtaken_decides_again() {
    let world = World::default();
    let stale = run(journal(&world).load::<u32>()).unwrap().unwrap();
    run(step(&world)).unwrap().unwrap();
    let (notebook, counted) = run(journal(&world).commit(stale, count)).unwrap().unwrap();
    assert_eq!((counted, notebook.value.memory), (1, 1), "the other run counted, this one found it done");
    assert_eq!(lines(&world).len(), 1);
}

#[test]
fn a_memory_that_nobody_can_read_is_begun_anew_in_the_same_chain_and_told() {
    let world = World::default();
    run(step(&world)).unwrap().unwrap();
    let broken = {
        let state = world.state();
        let (document, version) = &state.notes["night-watch"];
        (document.replace("\"memory\":1", "\"memory\":\"one\""), *version)
    };
    world.state().notes.insert("night-watch".to_owned(), broken);
    assert_eq!(run(step(&world)).unwrap().unwrap(), 1);
    let lines = lines(&world);
    assert_eq!(lines.len(), 2, "the place of the first record is not taken again");
    assert_eq!(field(&lines[1].1, "prev"), sha256(lines[0].1.as_bytes()).as_str());
    assert!(world.state().alerts.iter().any(|alert| alert.line.contains("begins anew")));
}
