//! The Sunday scan and recount of all entries.

use super::*;

#[test]
fn on_sunday_every_entry_is_read_in_slices_and_drifted_counters_are_put_right() {
    let stage = Stage::new();
    (0..4500).for_each(|number| stage.entry(number, DAY));
    stage.check();
    assert!(stage.events("cache_full_scan").is_empty(), "the first Sunday is the next one");
    stage.world.state().corrupt_entries.insert(session(4321));
    stage.world.state().cache_totals.entries += 5;
    stage.world.state().cache_totals.bytes -= 77;
    stage.world.state().now = SUNDAY.as_millis() - 60_000;
    stage.check();
    assert_eq!(stage.saved_state().scan.slice.map(|slice| slice.entries), Some(2000));
    stage.check();
    stage.check();
    assert_eq!(stage.events("cache_full_scan"), [json!({ "entries": 4500, "corrupt": 1 })]);
    assert!(stage.saved_state().corrupt.contains(&session(4321)));
    stage.check();
    assert!(stage.events("cache_recount").is_empty(), "one count alone is not believed");
    stage.check();
    let expected = json!({ "exact": true, "tries": 2, "drift": { "entries": -5, "bytes": 77 } });
    assert_eq!(stage.events("cache_recount"), [expected]);
    assert!(stage.alerts().last().unwrap().ends_with("off by 5 entries and -77 bytes: corrected"));
    let state = stage.world.state();
    let bytes: u64 = state.listed_entries().iter().map(|entry| entry.bytes).sum();
    assert_eq!((state.cache_totals.entries, state.cache_totals.bytes), (4500, i64::try_from(bytes).unwrap()));
}

/// A Sunday on which the counters are wrong: every entry was read, and one count has found the drift.
fn drifted() -> Stage {
    let stage = Stage::new();
    (0..5).for_each(|number| stage.entry(number, DAY));
    stage.check();
    stage.world.state().cache_totals.entries += 5;
    stage.world.state().cache_totals.bytes -= 77;
    stage.world.state().now = SUNDAY.as_millis();
    stage.check();
    stage.check();
    stage.world.plan(Plan::none());
    stage
}

fn are_right(stage: &Stage) -> bool {
    let state = stage.world.state();
    let bytes: u64 = state.listed_entries().iter().map(|entry| entry.bytes).sum();
    (state.cache_totals.entries, state.cache_totals.bytes) == (5, i64::try_from(bytes).unwrap())
}

#[test]
fn every_fault_of_the_full_scan_corrects_the_counters_once_with_a_record_and_an_alert() {
    let clean = drifted();
    clean.check();
    assert!(are_right(&clean));
    for (plan, what) in every_single_fault(clean.world.passed(), 5) {
        // The next check comes either while the store still recognises a repeated correction, or long after that.
        for pause in [0, 1800] {
            let stage = drifted();
            stage.world.plan(plan.clone());
            drop(testkit::run(stage.runs(When::Now)));
            stage.world.plan(Plan::none());
            stage.world.advance(Duration::from_secs(pause));
            (0..4).for_each(|_| drop(stage.check()));
            assert!(are_right(&stage), "{what}, {pause} s");
            let drift = json!({ "entries": -5, "bytes": 77 });
            let recorded = stage.events("cache_recount").iter().filter(|event| event["drift"] == drift).count();
            assert!(recorded == 1 || (pause > 0 && recorded == 2), "{what}, {pause} s: {recorded}");
            let state = stage.world.state();
            let mut alerts = state.alerts.iter().chain(&state.logged_alerts);
            assert!(alerts.any(|alert| alert.line.contains("off by 5 entries")), "{what}");
        }
    }
}

#[test]
fn a_count_that_the_function_does_not_live_to_end_is_not_tried_for_ever() {
    let stage = drifted();
    let before = stage.world.state().boundaries.len();
    let twin = drifted();
    twin.check();
    let counting = twin.world.state().boundaries[before..].iter().rposition(|name| *name == "cache.listed").unwrap();
    for _ in 0..40 {
        stage.world.plan(Plan::at(counting, Fault::CrashBefore));
        stage.world.advance(Duration::from_secs(60));
        drop(testkit::run(stage.runs(When::Now)));
    }
    stage.world.plan(Plan::none());
    stage.check();
    assert_eq!(stage.saved_state().scan.recount, None);
    let events = stage.events("cache_recount");
    assert_eq!((events.len(), &events[0]["exact"], &events[0]["tries"]), (1, &json!(false), &json!(30)));
}

#[test]
fn a_scan_that_takes_more_than_a_week_goes_on() {
    let stage = Stage::new();
    (0..4500).for_each(|number| stage.entry(number, DAY));
    stage.check();
    stage.world.state().now = SUNDAY.as_millis();
    stage.check();
    stage.world.advance(7 * DAY);
    stage.check();
    assert_eq!(stage.saved_state().scan.slice.map(|slice| slice.entries), Some(4000));
    stage.check();
    assert_eq!(stage.events("cache_full_scan"), [json!({ "entries": 4500, "corrupt": 0 })]);
}

#[test]
fn a_row_that_is_none_of_ours_does_not_end_the_scan() {
    let stage = Stage::new();
    (0..250).for_each(|number| stage.entry(number, DAY));
    stage.check();
    stage.world.state().strange_rows.extend((0..10).map(session));
    stage.world.state().now = SUNDAY.as_millis();
    stage.check();
    assert_eq!(stage.events("cache_full_scan"), [json!({ "entries": 240, "corrupt": 0 })]);
}
