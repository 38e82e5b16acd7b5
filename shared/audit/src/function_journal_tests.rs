//! A function's journal against ports that fail, lose replies and crash.
//! The file has more than 300 lines because each rule of the notebook and its outbox has a test of its own with the
//! same counting step.

use crate::{CommitError, FunctionJournal, Notebook, Noted, hash::sha256};
use domain::{
    Alert, Metric, Timestamp,
    alert::Severity,
    ports::{Notes, SaveError, StorageError, Versioned},
};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::{Fault, Plan, World, every_single_fault, run};

fn journal(world: &World) -> FunctionJournal<'_> {
    FunctionJournal { function: "night-watch", notes: world, log: world, alerts: world, clock: world }
}

/// Counts to one, once, and records it.
fn count(memory: &mut u32, _now: Timestamp) -> Noted<u32> {
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
    Ok(journal.commit(notebook, count).await?.settle().await.1)
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
    let expected = lines(&clean);
    assert_eq!(expected.len(), 1);
    assert_eq!(expected[0].0, "1970-01-01/function/night-watch/000001.json");
    assert_eq!(clean.passed(), 5, "load, save, alert, record, settled");
    for (plan, what) in every_single_fault(clean.passed(), 4) {
        let world = World::default();
        world.plan(plan);
        drop(run(step(&world)));
        world.plan(Plan::none());
        assert_eq!(run(step(&world)).unwrap().unwrap(), 1, "{what}");
        assert_eq!(lines(&world), expected, "{what}");
        let alerted = world.state().alerts.iter().filter(|alert| alert.line.ends_with("one")).count();
        let lost = world.state().logged_alerts.iter().filter(|alert| alert.line.ends_with("one")).count();
        assert!(alerted + lost >= 1, "{what}: no alert");
        let left = run(journal(&world).load::<u32>()).unwrap().unwrap().value;
        assert!(!left.has_outbox(), "{what}");
    }
}

#[test]
fn a_new_day_has_its_own_numbers_and_the_hash_of_the_day_before() {
    let world = World::at(Timestamp::from_seconds(10));
    let record = |_: &mut u32, _| Noted::save(()).recording("looked", json!({}));
    let walk = async || {
        let journal = journal(&world);
        let notebook = journal.load::<u32>().await.unwrap();
        journal.commit(notebook, record).await.unwrap().settle().await;
    };
    run(walk()).unwrap();
    run(walk()).unwrap();
    world.advance(Duration::from_secs(86_400));
    run(walk()).unwrap();
    // The clock is set back: the records stay in the day that was begun.
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

/// A world in which the first step was made; its record still waits for the log, or is published.
fn after_one_step(record_waits: bool) -> World {
    let world = World::default();
    if record_waits {
        world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    }
    run(step(&world)).unwrap().unwrap();
    world.plan(Plan::none());
    assert_eq!(run(journal(&world).load::<u32>()).unwrap().unwrap().value.has_outbox(), record_waits);
    world
}

/// Commits a decision on the stored state, and settles it.
fn commit(world: &World, decide: impl Fn(&mut u32, Timestamp) -> Noted<()> + Send + Sync) -> Versioned<Notebook<u32>> {
    let notebook = run(journal(world).load::<u32>()).unwrap().unwrap();
    run(run(journal(world).commit(notebook, decide)).unwrap().unwrap().settle()).unwrap().0
}

#[test]
fn an_alert_or_a_record_makes_a_change_whether_or_not_an_earlier_record_waits() {
    for record_waits in [false, true] {
        let world = after_one_step(record_waits);
        let alert = Alert::about("T", Severity::Critical, Timestamp::from_millis(0), "LOOK", "-", "alone");
        commit(&world, |_, _| Noted::nothing(()).alerting(alert.clone()));
        commit(&world, |_, _| Noted::nothing(()).recording("alone", json!({})));
        let raised = world.state().alerts.iter().filter(|alert| alert.line.ends_with("alone")).count();
        let recorded = lines(&world).iter().filter(|(_, line)| field(line, "event") == "alone").count();
        assert_eq!((raised, recorded), (1, 1), "a record waits: {record_waits}");
    }
}

#[test]
fn a_decision_without_effects_changes_nothing_whether_or_not_an_earlier_record_waits() {
    for record_waits in [false, true] {
        let world = after_one_step(record_waits);
        let kept = commit(&world, |memory, _| {
            *memory += 1;
            Noted::nothing(())
        });
        let stored = run(journal(&world).load::<u32>()).unwrap().unwrap();
        assert_eq!((kept.value.memory, stored.value.memory), (1, 1), "a record waits: {record_waits}");
        assert!(!stored.value.has_outbox(), "what waits is published all the same");
    }
}

#[test]
fn a_run_that_was_overtaken_decides_again() {
    let world = World::default();
    let stale = run(journal(&world).load::<u32>()).unwrap().unwrap();
    run(step(&world)).unwrap().unwrap();
    let (notebook, counted) = run(journal(&world).commit(stale, count)).unwrap().unwrap().unsettled();
    assert_eq!((counted, notebook.value.memory), (1, 1), "the other run counted, this one found it done");
    assert_eq!(lines(&world).len(), 1);
}

/// Replaces the saved number by a text.
fn make_memory_unreadable(world: &World) {
    let broken = {
        let state = world.state();
        let (document, version) = &state.notes["night-watch"];
        (document.replace("\"memory\":1", "\"memory\":\"one\""), *version)
    };
    world.state().notes.insert("night-watch".to_owned(), broken);
}

#[test]
fn an_unreadable_state_begins_anew_in_the_same_chain_and_alerts() {
    let world = World::default();
    run(step(&world)).unwrap().unwrap();
    make_memory_unreadable(&world);
    assert_eq!(run(step(&world)).unwrap().unwrap(), 1);
    let lines = lines(&world);
    assert_eq!(lines.len(), 2, "the place of the first record is not taken again");
    assert_eq!(field(&lines[1].1, "prev"), sha256(lines[0].1.as_bytes()).as_str());
    assert!(world.state().alerts.iter().any(|alert| alert.line.contains("begins anew")));
}

/// The head counts the records that wait: without them the log would have a hole.
#[test]
fn what_waits_outlives_a_memory_that_nobody_can_read() {
    let world = World::default();
    world.plan(Plan::at(1, Fault::CrashAfter));
    drop(run(step(&world)));
    assert_eq!((lines(&world).len(), alerts(&world, " | one")), (0, 0), "saved, and neither published nor raised");
    make_memory_unreadable(&world);
    world.plan(Plan::none());
    assert_eq!(run(step(&world)).unwrap().unwrap(), 1);
    let lines = lines(&world);
    assert_eq!(lines.len(), 2);
    assert_eq!((field(&lines[0].1, "seq"), field(&lines[1].1, "seq")), (json!(1), json!(2)));
    assert_eq!(field(&lines[1].1, "prev"), sha256(lines[0].1.as_bytes()).as_str());
    assert_eq!(alerts(&world, " | one"), 2, "the one that waited, and the new one");
}

/// Inbox Watch, FM-3: the note is lost, and with it the end of the stream.
#[test]
fn a_function_whose_note_is_lost_continues_its_stream_and_alerts() {
    let world = World::at(Timestamp::from_seconds(3600));
    run(step(&world)).unwrap().unwrap();
    world.state().notes.clear();
    for fault in [None, Some(Fault::Fail), Some(Fault::LoseReply), Some(Fault::CrashAfter)] {
        let boundaries = if fault.is_some() { 8 } else { 1 };
        for boundary in 0..boundaries {
            world.advance(Duration::from_secs(60));
            world.state().notes.clear();
            let before = lines(&world).len();
            world.plan(fault.map_or_else(Plan::none, |fault| Plan::at(boundary, fault)));
            drop(run(step(&world)));
            world.plan(Plan::none());
            assert_eq!(run(step(&world)).unwrap().unwrap(), 1, "{fault:?} at {boundary}");
            assert_eq!(lines(&world).len(), before + 1, "{fault:?} at {boundary}: one record, under one number");
            let left = run(journal(&world).load::<u32>()).unwrap().unwrap().value;
            assert!(!left.has_outbox(), "{fault:?} at {boundary}");
        }
    }
    let all = lines(&world);
    assert_eq!(
        (all[0].0.as_str(), &field(&all[1].1, "seq")),
        ("1970-01-01/function/night-watch/000001.json", &36_601.into())
    );
    assert!(world.state().alerts.iter().any(|alert| alert.line.contains("forked")));
}

/// An escalated evaluation rings its alarm also where its record has to take another number.
#[test]
fn a_record_with_another_number_keeps_its_measurements() {
    let world = World::at(Timestamp::from_seconds(3600));
    run(step(&world)).unwrap().unwrap();
    world.state().notes.clear();
    let evaluation = json!({ "authority": { "locked": true, "escalation": ["NCMEC_CYBERTIPLINE"] } });
    run(journal(&world).record_required("evaluated", &evaluation)).unwrap().unwrap();
    assert_eq!(field(&lines(&world)[1].1, "seq"), 36_001);
    assert_eq!(world.state().counted(Metric::AuthorityEscalated), 1);
}

/// One run a minute, with a record of this length.
async fn look(world: &World, length: usize) -> Result<u32, CommitError> {
    world.advance(Duration::from_secs(60));
    let journal = journal(world);
    let notebook = journal.load::<u32>().await?;
    let decide = |memory: &mut u32, _| {
        *memory += 1;
        Noted::save(*memory).recording("looked", json!({ "number": *memory, "found": "x".repeat(length) }))
    };
    Ok(journal.commit(notebook, decide).await?.settle().await.1)
}

#[test]
fn a_waiting_record_fills_the_outbox_and_an_empty_outbox_is_not_saved_again() {
    let world = World::default();
    world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    run(look(&world, 10)).unwrap().unwrap();
    assert!(run(journal(&world).load::<u32>()).unwrap().unwrap().value.has_outbox());
    let world = World::default();
    let quiet = |memory: &mut u32, _| {
        *memory += 1;
        Noted::save(())
    };
    let notebook = run(journal(&world).load::<u32>()).unwrap().unwrap();
    run(run(journal(&world).commit(notebook, quiet)).unwrap().unwrap().settle()).unwrap();
    assert_eq!(world.passed(), 2, "load, save");
}

fn alerts(world: &World, words: &str) -> usize {
    world.state().alerts.iter().filter(|alert| alert.line.contains(words)).count()
}

#[test]
fn however_long_the_log_is_down_the_function_goes_on_and_the_log_tells_what_was_left_out() {
    let world = World::at(Timestamp::from_seconds(3600));
    run(look(&world, 5_000)).unwrap().unwrap();
    world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    for number in 2..=150 {
        assert_eq!(run(look(&world, 5_000)).unwrap().unwrap(), number, "the memory is kept");
    }
    assert_eq!((alerts(&world, "not written"), alerts(&world, "left out")), (1, 1), "alerted once, not every minute");
    world.plan(Plan::none());
    assert_eq!(run(look(&world, 5_000)).unwrap().unwrap(), 151);
    let clear = world.state().alerts.iter().find(|alert| alert.line.contains("takes records again")).cloned();
    assert_eq!(clear.unwrap().channel, domain::Channel::Critical, "the operators who were woken hear of the end");
    let lines = lines(&world);
    let record = lines.iter().find(|(_, line)| field(line, "event") == "records_left_out").unwrap();
    let left_out = field(&record.1, "details")["count"].as_u64().unwrap() as usize;
    let looked = lines.iter().filter(|(_, line)| field(line, "event") == "looked").count();
    assert!(looked > 25 && left_out > 25, "{looked} {left_out}");
    assert_eq!(looked + left_out, 151, "each is there or counted");
    assert_eq!(field(&lines.last().unwrap().1, "details")["number"], 151);
    let mut before = sha256(b"");
    for (number, (key, line)) in lines.iter().enumerate() {
        assert_eq!((field(line, "seq"), field(line, "prev")), (json!(number + 1), json!(before)), "a gap before {key}");
        before = sha256(line.as_bytes());
    }
    run(look(&world, 10)).unwrap().unwrap();
    assert_eq!((alerts(&world, "not written"), alerts(&world, "again")), (1, 1), "nothing more to tell");
}

/// 150,000 bytes may wait, and not one more.
#[test]
fn a_record_is_left_out_when_one_byte_too_many_waits() {
    // The bytes that wait after records with texts of these lengths, and the number of records that are left out.
    let left_out = |lengths: &[usize]| {
        let world = World::at(Timestamp::from_seconds(3600));
        world.plan(Plan::none().whenever("log.publish", Fault::Fail));
        for length in lengths {
            run(look(&world, *length)).unwrap().unwrap();
        }
        let note: Value = serde_json::from_str(&world.state().notes["night-watch"].0).unwrap();
        let text = |entry: &Value, name: &str| entry[name].as_str().unwrap().len();
        let entries = note["outbox"].as_array().unwrap();
        let waiting: usize = entries.iter().map(|entry| text(entry, "key") + text(entry, "line")).sum();
        (waiting, note["left_out"]["count"].as_u64().unwrap_or(0))
    };
    let exact = 150_000 - left_out(&[0]).0;
    assert_eq!(left_out(&[exact]), (150_000, 0));
    assert_eq!(left_out(&[exact, 10]).1, 0);
    assert_eq!(left_out(&[exact + 1, 10]).1, 1);
}

/// Cache Health's cleanup waits for its list, so that list must not be left out.
#[test]
fn what_a_step_waits_for_is_never_left_out() {
    let world = World::at(Timestamp::from_seconds(3600));
    world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    for _ in 0..40 {
        run(look(&world, 5_000)).unwrap().unwrap();
    }
    let require = async {
        let notebook = journal(&world).load::<u32>().await.unwrap();
        let decide = |_: &mut u32, _| Noted::save(()).requiring("planned", json!({}));
        journal(&world).commit(notebook, decide).await.unwrap().settle().await;
    };
    run(require).unwrap();
    world.plan(Plan::none());
    run(look(&world, 10)).unwrap().unwrap();
    let lines = lines(&world);
    let events: Vec<Value> = lines.iter().map(|(_, line)| field(line, "event")).collect();
    let planned = events.iter().position(|event| event == "planned").unwrap();
    assert_eq!(events[planned - 1], "records_left_out", "in its place: before what came after");
    assert_eq!(events.iter().filter(|event| *event == "records_left_out").count(), 1);
}

/// A record that is left out counts no metric, and no list shows it.
#[test]
fn an_escalated_evaluation_that_is_left_out_raises_a_critical_alert() {
    let world = World::at(Timestamp::from_seconds(3600));
    world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    let record = |is_locked: bool| {
        let targets = ["NCMEC_CYBERTIPLINE", "LAW_ENFORCEMENT"];
        let evaluation = json!({ "locked": is_locked, "reason_code": "csam_detection", "escalation": targets });
        let facts = json!({ "authority": evaluation });
        let decide = |_: &mut u32, _| Noted::save(()).recording("evaluated", facts.clone());
        let notebook = run(journal(&world).load::<u32>()).unwrap().unwrap();
        run(run(journal(&world).commit(notebook, decide)).unwrap().unwrap().settle()).unwrap();
    };
    let critical = || {
        let state = world.state();
        let of = |alert: &&Alert| alert.line.contains("[ORACLE-AUDIT] CRITICAL | ") && alert.line.contains("AUTHORITY");
        state.alerts.iter().filter(of).count()
    };
    record(true);
    assert_eq!(critical(), 0, "the record waits, and counts its metric later");
    for _ in 0..40 {
        run(look(&world, 5_000)).unwrap().unwrap();
    }
    record(false);
    assert_eq!(critical(), 0);
    record(true);
    assert_eq!(critical(), 1);
    let what = "(csam_detection; NCMEC_CYBERTIPLINE, LAW_ENFORCEMENT); its record may be missing";
    assert_eq!(alerts(&world, what), 1, "the alert is all that is left of the text");
}

/// A note that is too large to be saved again recovers once the log accepts its waiting records.
#[test]
fn what_waits_is_published_before_anything_is_saved() {
    let world = World::default();
    world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    run(look(&world, 500)).unwrap().unwrap();
    let (document, version) = world.state().notes["night-watch"].clone();
    let mut note: Value = serde_json::from_str(&document).unwrap();
    let waiting = (0..900).map(|number| json!({ "key": format!("old/{number:04}"), "line": "x".repeat(500) }));
    note["outbox"] = waiting.collect();
    world.state().notes.insert("night-watch".to_owned(), (note.to_string(), version));
    assert!(run(look(&world, 500)).unwrap().is_err(), "too large to be saved");
    world.plan(Plan::none());
    assert_eq!(run(look(&world, 500)).unwrap().unwrap(), 2);
    assert_eq!(lines(&world).len(), 901);
}

/// A function that runs only when something is deployed may not run for weeks.
#[test]
fn what_waits_is_published_without_the_functions_next_step() {
    let world = World::default();
    run(journal(&world).flush()).unwrap().unwrap();
    assert!(world.state().notes.is_empty(), "nothing waits, nothing is saved");
    world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    run(step(&world)).unwrap().unwrap();
    run(journal(&world).flush()).unwrap().unwrap();
    assert_eq!((lines(&world).len(), alerts(&world, "not written")), (0, 1), "operators know");
    world.plan(Plan::none());
    run(journal(&world).flush()).unwrap().unwrap();
    assert_eq!((lines(&world).len(), alerts(&world, "recovered")), (1, 1));
    let left = run(journal(&world).load::<u32>()).unwrap().unwrap().value;
    assert!(left.memory == 1 && !left.has_outbox());
    let saved = world.state().notes.clone();
    run(journal(&world).flush()).unwrap().unwrap();
    assert_eq!(world.state().notes, saved);
}

#[test]
fn a_failing_log_is_tried_once_a_step_and_its_return_alerts() {
    let failing = || {
        let world = World::default();
        world.plan(Plan::none().whenever("log.publish", Fault::Fail));
        run(look(&world, 10)).unwrap().unwrap();
        world.state().boundaries.clear();
        run(look(&world, 10)).unwrap().unwrap();
        world
    };
    let world = failing();
    let asked = world.state().boundaries.iter().filter(|name| **name == "log.publish").count();
    assert_eq!(asked, 1, "a log that times out must not cost every step twice the time");
    world.plan(Plan::none());
    run(look(&world, 10)).unwrap().unwrap();
    for (plan, what) in every_single_fault(world.passed(), 2) {
        let world = failing();
        world.plan(plan);
        drop(run(look(&world, 10)));
        world.plan(Plan::none());
        run(look(&world, 10)).unwrap().unwrap();
        let again = "takes records again";
        let logged = world.state().logged_alerts.iter().filter(|alert| alert.line.contains(again)).count();
        assert!(alerts(&world, again) + logged >= 1, "{what}");
    }
}

/// Notes of a world. Every write to the named ones is refused, as while another process keeps changing them.
struct Busy<'a>(&'a World, &'static [&'static str]);

#[async_trait::async_trait]
impl Notes for Busy<'_> {
    async fn load(&self, name: &str) -> Result<Versioned<Option<String>>, StorageError> {
        Notes::load(self.0, name).await
    }

    async fn save(&self, name: &str, document: &str, expected: u64) -> Result<u64, SaveError> {
        if self.1.contains(&name) {
            return Err(SaveError::Conflict);
        }
        Notes::save(self.0, name, document, expected).await
    }
}

#[test]
fn a_record_goes_to_another_stream_while_the_chosen_one_keeps_changing() {
    const STREAMS: [&str; 3] = ["one", "two", "three"];
    let record = |world: &World, busy: &'static [&'static str]| {
        let notes = Busy(world, busy);
        let journal = FunctionJournal { notes: &notes, ..journal(world) };
        run(journal.record_in_one_of(&STREAMS, "c", "seen", |_| json!({}))).unwrap()
    };
    for number in 0..3 {
        let world = World::default();
        record(&world, &STREAMS[..number]).unwrap();
        assert_eq!(lines(&world)[0].0, format!("1970-01-01/function/{}/000001.json", STREAMS[number]));
    }
    assert!(matches!(record(&World::default(), &STREAMS), Err(CommitError::Contended)));
}
