//! The records and alerts of a check of the cache.

use super::*;

#[test]
fn an_empty_cache_is_healthy_and_each_check_is_on_record() {
    let stage = Stage::new();
    for _ in 0..3 {
        assert_eq!(stage.check().overall, Health::Healthy);
    }
    let events = stage.events("cache_health");
    assert_eq!(events.len(), 3);
    assert_eq!((&events[0]["verdicts_count"], &events[0]["oldest_entry_age_days"]), (&json!(0), &Value::Null));
    assert_eq!(stage.alerts(), Vec::<String>::new());
}

#[test]
fn the_second_failed_probe_alerts_and_recovery_is_announced() {
    let stage = Stage::new();
    stage.site.0.store(false, Ordering::Relaxed);
    assert_eq!(stage.check().overall, Health::Failed);
    assert_eq!(stage.alerts(), Vec::<String>::new());
    let record = stage.check();
    assert_eq!((record.overall, record.cache), (Health::Failed, Health::Healthy), "two dimensions");
    let alerts = stage.world.state().alerts.clone();
    assert_eq!((alerts.len(), alerts[0].channel), (1, Channel::Critical));
    let (head, detail) = alerts[0].line.split_once(" | HEALTH_PROBE | ").unwrap();
    assert!(head.starts_with("[ORACLE-CACHE-ALERT] CRITICAL | 2026-04-15T"), "{head}");
    let expected =
        "service | service unreachable: 2 consecutive probes failed, no answer, last at 2026-04-15T08:02:00.000Z";
    assert_eq!(detail, expected);
    stage.alerts();
    stage.check();
    assert_eq!(stage.alerts(), Vec::<String>::new(), "not every minute");
    stage.site.0.store(true, Ordering::Relaxed);
    assert_eq!(stage.check().overall, Health::Healthy);
    let alerts = stage.alerts();
    assert!(
        alerts.len() == 1 && alerts[0].ends_with("ok:service | recovered: the service answers again"),
        "{alerts:?}"
    );
    stage.site.0.store(false, Ordering::Relaxed);
    stage.check();
    assert_eq!(stage.alerts(), Vec::<String>::new(), "the count began anew");
}

#[test]
fn counts_alert_when_a_threshold_is_passed_and_nothing_young_is_removed_for_them() {
    let mut stage = Stage::new();
    (stage.settings.count_warn, stage.settings.count_critical) = (3, 5);
    let grow_to = |count| (0..count).for_each(|number| stage.entry(number, DAY));
    grow_to(3);
    assert_eq!((stage.check().overall, stage.alerts().len()), (Health::Healthy, 0));
    grow_to(4);
    assert_eq!(stage.check().overall, Health::Degraded);
    let alerts = stage.alerts();
    assert!(alerts.len() == 1 && alerts[0].contains("] WARN |") && alerts[0].contains("4 entries"), "{alerts:?}");
    grow_to(6);
    assert_eq!(stage.check().overall, Health::Failed);
    let alerts = stage.alerts();
    assert!(alerts[0].contains("] ERROR |") && alerts[0].contains("6 entries"), "{alerts:?}");
    assert_eq!((stage.check().overall, stage.alerts().len(), stage.left().len()), (Health::Failed, 0, 6));
    assert_eq!(stage.saved_state().alerted, BTreeSet::from([Problem::TooMany]));
}

#[test]
fn a_corrupt_entry_alerts_once_stays_degraded_and_is_not_removed() {
    let stage = Stage::new();
    (0..300).for_each(|number| stage.entry(number, DAY + Duration::from_secs(number as u64)));
    stage.world.state().corrupt_entries.insert(session(7));
    assert!((0..400).any(|_| stage.check().overall == Health::Degraded), "ten of three hundred at a time");
    let alerts = stage.alerts();
    assert!(
        alerts.len() == 1 && alerts[0].contains(&format!("HEALTH_PROBE | {} | corrupt entry ", session(7).reference())),
        "{alerts:?}"
    );
    assert!(alerts[0].contains("] CRITICAL |"));
    for _ in 0..20 {
        assert_eq!(stage.check().overall, Health::Degraded, "although no later sample need meet it");
    }
    assert_eq!(stage.events("cache_health").last().unwrap()["sample_integrity"], "corrupt:cs_test_000007");
    assert!(stage.alerts().is_empty() && stage.left().len() == 300);
    stage.world.state().corrupt_entries.clear();
    assert_eq!(stage.check().overall, Health::Healthy);
    assert!(stage.alerts()[0].ends_with("ok:corrupt | recovered: no corrupt entry is left"));
}

#[test]
fn the_interval_is_kept_whatever_it_is() {
    // Counts the checks in ten runs, a minute apart.
    for (interval, expected) in [(30, 20), (45, 14), (60, 10), (90, 7), (300, 2), (3600, 1)] {
        let mut stage = Stage::new();
        stage.settings.interval = Duration::from_secs(interval);
        let mut checks = Vec::new();
        for minute in 0..10 {
            stage.world.state().now = NOW.plus(Duration::from_secs(60 * minute)).as_millis();
            checks.extend(testkit::run(stage.runs(When::Due)).unwrap().unwrap());
        }
        assert_eq!(checks.len(), expected, "{interval} s");
        let apart = checks.windows(2).map(|pair| pair[1].at.since(pair[0].at).as_secs());
        assert!(apart.into_iter().all(|seconds| seconds.abs_diff(interval) <= 5), "{interval} s ± 5 s");
    }
}

#[test]
fn a_run_reads_its_state_once_and_writes_it_twice() {
    let stage = Stage::new();
    stage.entry(1, DAY);
    // Two checks, so that the archive is checked with today's block list.
    (0..2).for_each(|_| drop(stage.check()));
    stage.world.advance(Duration::from_secs(60));
    stage.world.state().boundaries.clear();
    testkit::run(stage.runs(When::Due)).unwrap().unwrap();
    let boundaries = stage.world.state().boundaries.clone();
    let count = |name: &str| boundaries.iter().filter(|found| **found == name).count();
    assert_eq!((count("notes.load"), count("notes.save"), count("log.publish")), (1, 2, 1));
}

#[test]
fn corrupt_entries_alert_one_by_one_and_those_beyond_the_limit_together() {
    let stage = Stage::new();
    (0..45).for_each(|number| stage.entry(number, DAY));
    stage.world.state().corrupt_entries.extend((0..45).map(session));
    (0..40).for_each(|_| drop(stage.check()));
    let alerts = stage.alerts();
    let is_named =
        |line: &&String| (0..45).any(|number| line.contains(&format!("| {} | corrupt", session(number).reference())));
    let alerted = alerts.iter().filter(is_named).count();
    assert_eq!((alerted, alerts.len()), (40, 41), "their ids begin alike, and none holds back another");
    assert!(alerts.iter().any(|line| line.ends_with("corrupt entries beyond the 40 that have alerts of their own")));
    assert!(!alerts.iter().any(|line| line.contains("cs_test_")), "no more than the reference");
    let listed: usize =
        stage.events("cache_corrupt").iter().map(|event| event["entries"].as_array().unwrap().len()).sum();
    assert_eq!(listed, 40, "the log has the ids");
    stage.world.state().corrupt_entries.clear();
    stage.check();
    let alerts = stage.alerts();
    assert!(alerts.len() == 2 && alerts.iter().all(|line| line.contains("| ok:")), "{alerts:?}");
}
