//! Whole runs against a world in memory.

use crate::{Memory, Ports, Service, Settings, Unrecorded, When, memory::Problem};
use async_trait::async_trait;
use audit::{CommitError, FunctionJournal, Notebook};
use domain::{
    CachedVerdict, Channel, SessionId, Timestamp,
    cache_health::{FUNCTION, Health, HealthRecord, ServiceProbe},
    ports::CacheEntries,
};
use proptest::prelude::*;
use runtime::Environment;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use testkit::{Fault, Plan, World};

const DAY: Duration = Duration::from_secs(86_400);

/// 2026-04-15, a Wednesday.
const NOW: Timestamp = Timestamp::from_seconds(1_776_240_000);

/// The Sunday after it, two o'clock.
const SUNDAY: Timestamp = Timestamp::from_seconds(1_776_564_000);

struct Site(AtomicBool);

#[async_trait]
impl Service for Site {
    async fn probe(&self) -> ServiceProbe {
        let reachable = self.0.load(Ordering::Relaxed);
        ServiceProbe { reachable, response_ms: 3, http_status: reachable.then_some(200) }
    }
}

struct Stage {
    world: World,
    site: Site,
    settings: Settings,
    unrecorded: Unrecorded,
}

fn session(number: usize) -> SessionId {
    SessionId::parse(format!("cs_test_{number:06}")).unwrap()
}

fn verdict(number: usize) -> CachedVerdict {
    let verdict = json!({ "verdict": "GREEN", "summary": format!("Yes, {number}.") });
    serde_json::from_value(json!({ "tier": "quick", "query": "q", "verdict": verdict, "cached_at": "t" })).unwrap()
}

impl Stage {
    fn new() -> Self {
        let settings = Settings::from_environment(&Environment::of(&[])).unwrap();
        let world = World::at(NOW).suppressing(Duration::from_secs(60));
        Self { world, site: Site(AtomicBool::new(true)), settings, unrecorded: Unrecorded::default() }
    }

    /// An entry of this age, in cache and archive.
    fn entry(&self, number: usize, age: Duration) {
        let mut state = self.world.state();
        let stored_at = Timestamp::from_millis(state.now - i64::try_from(age.as_millis()).unwrap());
        state.cache_verdict(&session(number), &verdict(number), stored_at);
        state.archive.insert(session(number), verdict(number));
    }

    async fn runs(&self, when: When) -> Result<Vec<HealthRecord>, CommitError> {
        let world = &self.world;
        let journal = FunctionJournal { function: FUNCTION, notes: world, log: world, alerts: world, clock: world };
        let ports = Ports {
            journal,
            service: &self.site,
            cache: world,
            archive: world,
            randomness: world,
            clock: world,
            pause: world,
            meter: world,
        };
        self.unrecorded.run(ports, self.settings, when).await
    }

    fn look(&self) -> HealthRecord {
        self.world.advance(Duration::from_secs(60));
        testkit::run(self.runs(When::Now)).unwrap().unwrap().pop().unwrap()
    }

    /// The alerts since the last time, without their times.
    fn alerts(&self) -> Vec<String> {
        let raised = std::mem::take(&mut self.world.state().alerts);
        raised.iter().map(|alert| alert.line.clone()).collect()
    }

    fn events(&self, name: &str) -> Vec<Value> {
        let lines: Vec<Value> =
            self.world.state().log.values().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines.into_iter().filter(|line| line["event"] == name).map(|line| line["details"].clone()).collect()
    }

    fn memory(&self) -> Memory {
        let (document, _) = self.world.state().notes[FUNCTION].clone();
        serde_json::from_str::<Notebook<Memory>>(&document).unwrap().memory
    }

    fn left(&self) -> BTreeSet<SessionId> {
        self.world.state().cache.keys().cloned().collect()
    }
}

#[test]
fn an_empty_cache_is_healthy_and_each_look_is_on_record() {
    let stage = Stage::new();
    for _ in 0..3 {
        assert_eq!(stage.look().overall, Health::Healthy);
    }
    let events = stage.events("cache_health");
    assert_eq!(events.len(), 3);
    assert_eq!((&events[0]["verdicts_count"], &events[0]["oldest_entry_age_days"]), (&json!(0), &Value::Null));
    assert_eq!(stage.alerts(), Vec::<String>::new());
}

#[test]
fn the_first_failed_probe_is_told_to_nobody_the_second_is_critical_and_recovery_is_announced() {
    let stage = Stage::new();
    stage.site.0.store(false, Ordering::Relaxed);
    assert_eq!(stage.look().overall, Health::Failed);
    assert_eq!(stage.alerts(), Vec::<String>::new());
    let record = stage.look();
    assert_eq!((record.overall, record.cache), (Health::Failed, Health::Healthy), "two dimensions");
    let alerts = stage.world.state().alerts.clone();
    assert_eq!((alerts.len(), alerts[0].channel), (1, Channel::Critical));
    let (head, told) = alerts[0].line.split_once(" | HEALTH_PROBE | ").unwrap();
    assert!(head.starts_with("[ORACLE-CACHE-ALERT] CRITICAL | 2026-04-15T"), "{head}");
    assert_eq!(told, "service | service unreachable: 2 consecutive probes failed, no answer");
    stage.alerts();
    stage.look();
    assert_eq!(stage.alerts(), Vec::<String>::new(), "not every minute");
    stage.site.0.store(true, Ordering::Relaxed);
    assert_eq!(stage.look().overall, Health::Healthy);
    let alerts = stage.alerts();
    assert!(
        alerts.len() == 1 && alerts[0].ends_with("ok:service | recovered: the service answers again"),
        "{alerts:?}"
    );
    stage.site.0.store(false, Ordering::Relaxed);
    stage.look();
    assert_eq!(stage.alerts(), Vec::<String>::new(), "the count began anew");
}

#[test]
fn counts_are_told_when_a_threshold_is_passed_and_nothing_young_is_removed_for_them() {
    let mut stage = Stage::new();
    (stage.settings.count_warn, stage.settings.count_critical) = (3, 5);
    let grow_to = |count| (0..count).for_each(|number| stage.entry(number, DAY));
    grow_to(3);
    assert_eq!((stage.look().overall, stage.alerts().len()), (Health::Healthy, 0));
    grow_to(4);
    assert_eq!(stage.look().overall, Health::Degraded);
    let alerts = stage.alerts();
    assert!(alerts.len() == 1 && alerts[0].contains("] WARN |") && alerts[0].contains("4 entries"), "{alerts:?}");
    grow_to(6);
    assert_eq!(stage.look().overall, Health::Failed);
    let alerts = stage.alerts();
    assert!(alerts[0].contains("] ERROR |") && alerts[0].contains("6 entries"), "{alerts:?}");
    assert_eq!((stage.look().overall, stage.alerts().len(), stage.left().len()), (Health::Failed, 0, 6));
    assert_eq!(stage.memory().told, BTreeSet::from([Problem::TooMany]));
}

#[test]
fn a_corrupt_entry_is_found_told_once_and_not_forgotten_and_nothing_is_changed_by_looking() {
    let stage = Stage::new();
    (0..300).for_each(|number| stage.entry(number, DAY + Duration::from_secs(number as u64)));
    stage.world.state().corrupt_entries.insert(session(7));
    assert!((0..400).any(|_| stage.look().overall == Health::Degraded), "ten of three hundred at a time");
    let alerts = stage.alerts();
    assert!(alerts.len() == 1 && alerts[0].contains("HEALTH_PROBE | cs_test_0000 | corrupt entry "), "{alerts:?}");
    assert!(alerts[0].contains("] CRITICAL |"));
    for _ in 0..20 {
        assert_eq!(stage.look().overall, Health::Degraded, "although no later sample need meet it");
    }
    assert_eq!(stage.events("cache_health").last().unwrap()["sample_integrity"], "corrupt:cs_test_000007");
    assert!(stage.alerts().is_empty() && stage.left().len() == 300);
    stage.world.state().corrupt_entries.clear();
    assert_eq!(stage.look().overall, Health::Healthy);
    assert!(stage.alerts()[0].ends_with("ok:corrupt | recovered: no corrupt entry is left"));
}

#[test]
fn the_list_is_in_the_log_before_the_first_entry_is_removed() {
    let stage = Stage::new();
    stage.entry(1, 31 * DAY);
    stage.entry(2, 30 * DAY + DAY / 2);
    stage.entry(3, 29 * DAY);
    stage.look();
    assert_eq!(stage.left(), BTreeSet::from([session(3)]));
    let boundaries = stage.world.state().boundaries.clone();
    let removed = boundaries.iter().position(|name| *name == "cache.remove_listed").unwrap();
    let published = boundaries[..removed].iter().filter(|name| **name == "log.publish").count();
    assert_eq!(published, 2, "the look and the list");
    let planned = stage.events("cache_cleanup_planned").remove(0);
    let sessions: Vec<&str> =
        planned["entries"].as_array().unwrap().iter().map(|it| it["session_id"].as_str().unwrap()).collect();
    assert_eq!(sessions, ["cs_test_000001", "cs_test_000002"]);
    let line = planned["line"].as_str().unwrap();
    assert!(
        line.starts_with("[CLEANUP] 2026-04-15T") && line.contains(" removed 2 entries older than 30 days. Freed 0."),
        "{line}"
    );
    assert!(line.ends_with(" MB."));
    assert_eq!(stage.events("cache_cleanup")[0]["removed"], 2);
    let totals = stage.world.state().cache_totals;
    assert_eq!((totals.entries, stage.world.state().archive.len()), (1, 3), "the archive keeps all");
    assert!(stage.world.state().removed_entries.contains(&session(1)));
}

#[test]
fn nothing_is_removed_while_the_list_is_not_in_the_log() {
    let stage = Stage::new();
    stage.entry(1, 31 * DAY);
    stage.world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    stage.look();
    assert_eq!(stage.left().len(), 1);
    stage.world.plan(Plan::none());
    stage.look();
    assert_eq!(stage.left().len(), 0, "the next look finishes the list");
    assert_eq!((stage.events("cache_cleanup_planned").len(), stage.events("cache_cleanup").len()), (1, 1));
}

#[test]
fn what_the_archive_does_not_hold_like_this_stays() {
    let stage = Stage::new();
    (1..=3).for_each(|number| stage.entry(number, 40 * DAY));
    stage.world.state().archive.remove(&session(1));
    stage.world.state().archive.insert(session(2), verdict(9));
    stage.look();
    assert_eq!(stage.left(), BTreeSet::from([session(1), session(2)]));
    assert_eq!(stage.events("cache_cleanup_planned")[0]["kept_for_want_of_an_archived_copy"], 2);
    let before = stage.world.state().boundaries.len();
    stage.look();
    let found = stage.world.state().boundaries[before..].iter().filter(|name| **name == "archive.find").count();
    assert_eq!(found, 0, "they are looked at again after an hour, not every minute");
}

#[test]
fn when_the_budget_is_passed_the_old_go_at_once_and_the_young_never() {
    let mut stage = Stage::new();
    (0..250).for_each(|number| stage.entry(number, 31 * DAY));
    (250..260).for_each(|number| stage.entry(number, 29 * DAY));
    stage.settings.budget_bytes = 100;
    let first = stage.look();
    assert_eq!(first.overall, Health::Failed);
    let alerts = stage.alerts();
    assert!(
        alerts.len() == 1 && alerts[0].contains("] CRITICAL |") && alerts[0].contains("budget 100 passed"),
        "{alerts:?}"
    );
    assert_eq!(stage.left().len(), 160, "a hundred a look");
    stage.look();
    stage.look();
    assert_eq!(stage.left().len(), 10);
    stage.settings.budget_bytes = 1 << 30;
    assert_eq!(stage.look().overall, Health::Healthy);
    assert!(stage.alerts()[0].ends_with("ok:bytes | recovered: within the budget of bytes"));
    assert_eq!(stage.left().len(), 10);
}

#[test]
fn a_restored_entry_lives_as_long_as_a_new_one() {
    let stage = Stage::new();
    stage.entry(1, 31 * DAY);
    stage.look();
    assert!(stage.left().is_empty());
    // The customer comes back: the page puts the archived verdict into the cache again.
    stage.entry(1, Duration::ZERO);
    stage.world.advance(29 * DAY);
    stage.look();
    assert_eq!(stage.left().len(), 1);
    stage.world.advance(2 * DAY);
    stage.look();
    assert!(stage.left().is_empty());
}

#[test]
fn whatever_breaks_nothing_young_goes_and_the_old_go_in_the_end_and_the_counters_are_right() {
    let stage = || {
        let stage = Stage::new();
        (0..4).for_each(|number| stage.entry(number, 31 * DAY));
        stage.entry(4, 29 * DAY);
        stage
    };
    let clean = stage();
    clean.look();
    for boundary in 0..clean.world.passed() {
        for fault in [Fault::Fail, Fault::LoseReply, Fault::CrashBefore, Fault::CrashAfter] {
            let stage = stage();
            stage.world.plan(Plan::at(boundary, fault));
            drop(testkit::run(stage.runs(When::Now)));
            let removed = stage.left().len() < 5;
            let listed = !stage.events("cache_cleanup_planned").is_empty();
            assert!(listed || !removed, "{fault:?} at {boundary}: removed before it was listed");
            stage.world.plan(Plan::none());
            stage.world.advance(2 * Duration::from_secs(3600));
            stage.look();
            assert_eq!(stage.left(), BTreeSet::from([session(4)]), "{fault:?} at {boundary}");
            let state = stage.world.state();
            let bytes: u64 = state.listed_entries().iter().map(|entry| entry.bytes).sum();
            let totals = (state.cache_totals.entries, state.cache_totals.bytes);
            assert_eq!(totals, (1, i64::try_from(bytes).unwrap()), "{fault:?} at {boundary}");
        }
    }
}

#[test]
fn the_interval_is_kept_whatever_it_is() {
    // Looks in ten runs a minute apart.
    for (interval, expected) in [(30, 20), (45, 14), (60, 10), (90, 7), (300, 2), (3600, 1)] {
        let mut stage = Stage::new();
        stage.settings.interval = Duration::from_secs(interval);
        let mut looks = Vec::new();
        for minute in 0..10 {
            stage.world.state().now = NOW.plus(Duration::from_secs(60 * minute)).as_millis();
            looks.extend(testkit::run(stage.runs(When::Due)).unwrap().unwrap());
        }
        assert_eq!(looks.len(), expected, "{interval} s");
        let apart = looks.windows(2).map(|pair| pair[1].at.since(pair[0].at).as_secs());
        assert!(apart.into_iter().all(|seconds| seconds.abs_diff(interval) <= 5), "{interval} s ± 5 s");
    }
}

#[test]
fn on_sunday_every_entry_is_read_in_slices_and_drifted_counters_are_put_right() {
    let stage = Stage::new();
    (0..4500).for_each(|number| stage.entry(number, DAY));
    stage.look();
    assert!(stage.events("cache_full_scan").is_empty(), "the first Sunday is the next one");
    stage.world.state().corrupt_entries.insert(session(4321));
    stage.world.state().cache_totals.entries += 5;
    stage.world.state().cache_totals.bytes -= 77;
    stage.world.state().now = SUNDAY.as_millis() - 60_000;
    stage.look();
    assert_eq!(stage.memory().scan.slice.map(|slice| slice.entries), Some(2000));
    stage.look();
    stage.look();
    assert_eq!(stage.events("cache_full_scan"), [json!({ "entries": 4500, "corrupt": 1 })]);
    assert!(stage.memory().corrupt.contains(&session(4321)));
    stage.look();
    assert!(stage.events("cache_recount").is_empty(), "one count alone is not believed");
    stage.look();
    let expected = json!({ "exact": true, "tries": 2, "drift": { "entries": -5, "bytes": 77 } });
    assert_eq!(stage.events("cache_recount"), [expected]);
    assert!(stage.alerts().last().unwrap().ends_with("off by 5 entries and -77 bytes: corrected"));
    let state = stage.world.state();
    let bytes: u64 = state.listed_entries().iter().map(|entry| entry.bytes).sum();
    assert_eq!((state.cache_totals.entries, state.cache_totals.bytes), (4500, i64::try_from(bytes).unwrap()));
}

/// A Sunday on which the counters are off: every entry was read, and one count has found the drift.
fn drifted() -> Stage {
    let stage = Stage::new();
    (0..5).for_each(|number| stage.entry(number, DAY));
    stage.look();
    stage.world.state().cache_totals.entries += 5;
    stage.world.state().cache_totals.bytes -= 77;
    stage.world.state().now = SUNDAY.as_millis();
    stage.look();
    stage.look();
    stage.world.plan(Plan::none());
    stage
}

fn are_right(stage: &Stage) -> bool {
    let state = stage.world.state();
    let bytes: u64 = state.listed_entries().iter().map(|entry| entry.bytes).sum();
    (state.cache_totals.entries, state.cache_totals.bytes) == (5, i64::try_from(bytes).unwrap())
}

#[test]
fn whatever_breaks_on_sunday_the_counters_are_put_right_once_and_that_is_on_record_and_told() {
    let clean = drifted();
    clean.look();
    assert!(are_right(&clean));
    for boundary in 0..clean.world.passed() {
        for fault in [Fault::Fail, Fault::LoseReply, Fault::CrashBefore, Fault::CrashAfter] {
            // The next look comes within the time in which the store knows a correction again, or long after it.
            for pause in [0, 1800] {
                let stage = drifted();
                stage.world.plan(Plan::at(boundary, fault));
                drop(testkit::run(stage.runs(When::Now)));
                stage.world.plan(Plan::none());
                stage.world.advance(Duration::from_secs(pause));
                (0..4).for_each(|_| drop(stage.look()));
                assert!(are_right(&stage), "{fault:?} at {boundary}, {pause} s");
                let drift = json!({ "entries": -5, "bytes": 77 });
                let recorded = stage.events("cache_recount").iter().filter(|event| event["drift"] == drift).count();
                assert!(
                    recorded == 1 || (pause > 0 && recorded == 2),
                    "{fault:?} at {boundary}, {pause} s: {recorded}"
                );
                let state = stage.world.state();
                let mut told = state.alerts.iter().chain(&state.logged_alerts);
                assert!(told.any(|alert| alert.line.contains("off by 5 entries")), "{fault:?} at {boundary}");
            }
        }
    }
}

#[test]
fn a_count_that_the_function_does_not_live_to_end_is_not_tried_for_ever() {
    let stage = drifted();
    let before = stage.world.state().boundaries.len();
    let twin = drifted();
    twin.look();
    let counting = twin.world.state().boundaries[before..].iter().rposition(|name| *name == "cache.listed").unwrap();
    for _ in 0..40 {
        stage.world.plan(Plan::at(counting, Fault::CrashBefore));
        stage.world.advance(Duration::from_secs(60));
        drop(testkit::run(stage.runs(When::Now)));
    }
    stage.world.plan(Plan::none());
    stage.look();
    assert_eq!(stage.memory().scan.recount, None);
    let events = stage.events("cache_recount");
    assert_eq!((events.len(), &events[0]["exact"], &events[0]["tries"]), (1, &json!(false), &json!(30)));
}

#[test]
fn a_scan_that_takes_more_than_a_week_goes_on() {
    let stage = Stage::new();
    (0..4500).for_each(|number| stage.entry(number, DAY));
    stage.look();
    stage.world.state().now = SUNDAY.as_millis();
    stage.look();
    stage.world.advance(7 * DAY);
    stage.look();
    assert_eq!(stage.memory().scan.slice.map(|slice| slice.entries), Some(4000));
    stage.look();
    assert_eq!(stage.events("cache_full_scan"), [json!({ "entries": 4500, "corrupt": 0 })]);
}

#[test]
fn a_row_that_is_none_of_ours_does_not_end_the_scan() {
    let stage = Stage::new();
    (0..250).for_each(|number| stage.entry(number, DAY));
    stage.look();
    stage.world.state().strange_rows.extend((0..10).map(session));
    stage.world.state().now = SUNDAY.as_millis();
    stage.look();
    assert_eq!(stage.events("cache_full_scan"), [json!({ "entries": 240, "corrupt": 0 })]);
}

#[test]
fn a_run_reads_its_memory_once_and_writes_it_twice() {
    let stage = Stage::new();
    stage.entry(1, DAY);
    stage.look();
    stage.world.advance(Duration::from_secs(60));
    stage.world.state().boundaries.clear();
    testkit::run(stage.runs(When::Due)).unwrap().unwrap();
    let boundaries = stage.world.state().boundaries.clone();
    let count = |name: &str| boundaries.iter().filter(|found| **found == name).count();
    assert_eq!((count("notes.load"), count("notes.save"), count("log.publish")), (1, 2, 1));
}

#[test]
fn a_cache_that_cannot_be_read_is_failed_at_once_told_the_second_time_and_its_return_too() {
    let stage = Stage::new();
    stage.world.plan(Plan::none().whenever("cache.totals", Fault::Fail));
    let record = stage.look();
    assert_eq!((record.overall, record.cache, record.measures), (Health::Failed, Health::Failed, None));
    assert!(record.service.reachable, "two dimensions");
    assert_eq!(stage.alerts(), Vec::<String>::new(), "nothing on a first failure");
    stage.look();
    let alerts = stage.world.state().alerts.clone();
    assert_eq!((alerts.len(), alerts[0].channel), (1, Channel::Critical));
    assert!(alerts[0].line.contains("] CRITICAL |"), "{}", alerts[0].line);
    assert!(alerts[0].line.ends_with("| cache | cache not readable: 2 consecutive looks failed"), "{}", alerts[0].line);
    stage.alerts();
    stage.look();
    assert_eq!(stage.alerts(), Vec::<String>::new(), "not every minute");
    stage.world.plan(Plan::none());
    assert_eq!(stage.look().overall, Health::Healthy);
    let alerts = stage.world.state().alerts.clone();
    assert_eq!((alerts.len(), alerts[0].channel), (1, Channel::Critical), "whoever was woken hears of the end");
    assert!(alerts[0].line.ends_with("ok:cache | recovered: the cache can be read again"), "{}", alerts[0].line);
}

/// The memory lies in the same table: no look is on record, and two in a row are critical all the same.
#[test]
fn a_table_that_fails_altogether_is_told_the_second_time_and_its_return_too() {
    for boundary in ["notes.load", "notes.save"] {
        let stage = Stage::new();
        stage.world.plan(Plan::none().whenever(boundary, Fault::Fail));
        let mut told = Vec::new();
        for _ in 0..4 {
            stage.world.advance(Duration::from_secs(60));
            assert!(testkit::run(stage.runs(When::Due)).unwrap().is_err(), "the function's own alarm hears of it");
            told.push(stage.alerts().len());
        }
        assert_eq!(told, [0, 1, 0, 0], "{boundary}");
        stage.world.plan(Plan::none());
        assert_eq!(stage.look().overall, Health::Healthy);
        let alerts = stage.alerts();
        assert!(alerts.len() == 1 && alerts[0].ends_with("looks are put on record again"), "{alerts:?}");
        stage.look();
        assert_eq!(stage.alerts(), Vec::<String>::new());
    }
}

#[test]
fn a_log_that_fails_is_told_once_and_its_return_too() {
    let stage = Stage::new();
    stage.world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    (0..10).for_each(|_| drop(stage.look()));
    let alerts = stage.alerts();
    assert!(alerts.len() == 1 && alerts[0].contains("CRITICAL") && alerts[0].contains("not written"), "{alerts:?}");
    stage.world.plan(Plan::none());
    stage.look();
    let alerts = stage.alerts();
    assert!(alerts.len() == 1 && alerts[0].ends_with("the log takes records again"), "{alerts:?}");
    assert_eq!(stage.events("cache_health").len(), 11);
}

/// Cache Health, invariant 4: the list is a minute old when it is carried out, and a customer came back meanwhile.
#[test]
fn an_entry_that_was_renewed_since_it_was_listed_is_never_removed() {
    let stage = Stage::new();
    stage.entry(1, 31 * DAY);
    stage.entry(2, 31 * DAY);
    stage.world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    stage.look();
    assert_eq!(stage.memory().cleanup.plan.map(|plan| plan.entries.len()), Some(2), "listed, and nothing removed");
    stage.entry(1, Duration::ZERO);
    stage.world.plan(Plan::none());
    stage.look();
    assert_eq!(stage.left(), BTreeSet::from([session(1)]));
    let events = stage.events("cache_cleanup");
    assert_eq!((&events[0]["removed"], &events[0]["renewed"]), (&json!(1), &json!(1)));
    assert_eq!(stage.world.state().cache_totals.entries, 1);
}

#[test]
fn corrupt_entries_are_told_one_by_one_and_those_beyond_what_is_remembered_together() {
    let stage = Stage::new();
    (0..45).for_each(|number| stage.entry(number, DAY));
    stage.world.state().corrupt_entries.extend((0..45).map(session));
    (0..40).for_each(|_| drop(stage.look()));
    let alerts = stage.alerts();
    let told = alerts.iter().filter(|line| line.contains("| cs_test_0000 | corrupt entry ")).count();
    assert_eq!((told, alerts.len()), (40, 41), "their ids begin alike, and none holds back another");
    assert!(alerts.iter().any(|line| line.ends_with("corrupt entries beyond the 40 that were told one by one")));
    assert!(!alerts.iter().any(|line| line.contains("cs_test_00000")), "no more than the prefix");
    let listed: usize =
        stage.events("cache_corrupt").iter().map(|event| event["entries"].as_array().unwrap().len()).sum();
    assert_eq!(listed, 40, "the log has the ids");
    stage.world.state().corrupt_entries.clear();
    stage.look();
    let alerts = stage.alerts();
    assert!(alerts.len() == 2 && alerts.iter().all(|line| line.contains("| ok:")), "{alerts:?}");
}

/// Whatever the ages: nearly all within an hour of a month ago, at one moment, in two heaps.
#[test]
fn ten_are_sampled_wherever_they_lie_and_from_all_of_them() {
    let heaps: [fn(u64) -> Duration; 3] = [
        |number| if number == 0 { Duration::ZERO } else { 29 * DAY + Duration::from_secs(number * 3600 / 2000) },
        |number| if number == 0 { Duration::ZERO } else { 20 * DAY },
        |number| if number < 1000 { DAY } else { 29 * DAY + Duration::from_millis(number) },
    ];
    for (heap, age) in heaps.iter().enumerate() {
        let stage = Stage::new();
        (0..2000).for_each(|number| stage.entry(number, age(number as u64)));
        for _ in 0..5 {
            stage.world.state().boundaries.clear();
            assert_eq!(stage.look().measures.unwrap().sampled, 10, "heap {heap}");
            let listed = stage.world.state().boundaries.iter().filter(|name| **name == "cache.listed").count();
            assert!(listed <= 12, "heap {heap}: {listed} calls");
        }
        if heap == 0 {
            // One in a hundred, in the middle of the hour.
            stage.world.state().corrupt_entries.extend((1000..1020).map(session));
            assert!((0..90).any(|_| stage.look().overall == Health::Degraded), "not only the ends are looked at");
        }
    }
}

#[test]
fn ten_are_sampled_wherever_there_are_ten() {
    for (entries, expected) in [(0, 0), (1, 1), (9, 9), (10, 10), (11, 10), (100, 10), (101, 10), (500, 10)] {
        let stage = Stage::new();
        (0..entries).for_each(|number| stage.entry(number, DAY + Duration::from_secs(number as u64)));
        assert_eq!(stage.look().measures.unwrap().sampled, expected, "of {entries}");
    }
}

proptest! {
    /// Whatever the ages, whatever the threshold: what is younger stays, what is older goes.
    #[test]
    fn only_what_is_past_its_age_is_removed(hours in proptest::collection::vec(0_u64..2400, 0..60), days in 1_u32..90) {
        let mut stage = Stage::new();
        stage.settings.staleness_days = days;
        for (number, hours) in hours.iter().enumerate() {
            stage.entry(number, Duration::from_secs(hours * 3600));
        }
        stage.look();
        let young = |(number, hours): (usize, &u64)| (*hours * 3600 + 60 <= u64::from(days) * 86_400).then(|| session(number));
        let expected: BTreeSet<SessionId> = hours.iter().enumerate().filter_map(young).collect();
        prop_assert_eq!(stage.left(), expected);
        let totals = testkit::run(stage.world.totals()).unwrap().unwrap();
        prop_assert_eq!(totals.entries, i64::try_from(stage.left().len()).unwrap());
    }
}

#[test]
fn what_is_written_stays_byte_for_byte() {
    let mut stage = Stage::new();
    stage.settings.count_warn = 6;
    (0..4).for_each(|number| stage.entry(number, 31 * DAY));
    (4..9).for_each(|number| stage.entry(number, 29 * DAY));
    stage.world.state().corrupt_entries.insert(session(5));
    stage.look();
    stage.site.0.store(false, Ordering::Relaxed);
    stage.look();
    stage.look();
    stage.site.0.store(true, Ordering::Relaxed);
    stage.world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    stage.look();
    stage.world.plan(Plan::none());
    stage.look();
    stage.world.state().cache_totals.entries += 5;
    stage.world.state().now = SUNDAY.as_millis();
    (0..5).for_each(|_| drop(stage.look()));
    testkit::golden::check(concat!(env!("CARGO_MANIFEST_DIR"), "/golden/looks.txt"), &stage.world.written());
}
