//! Failures during a check: of the cache, the table and the log.

use super::*;

#[test]
fn an_unreadable_cache_fails_at_once_and_alerts_at_the_second_check() {
    let stage = Stage::new();
    stage.world.plan(Plan::none().whenever("cache.totals", Fault::Fail));
    let record = stage.check();
    assert_eq!((record.overall, record.cache, record.measures), (Health::Failed, Health::Failed, None));
    assert!(record.service.reachable, "two dimensions");
    assert_eq!(stage.alerts(), Vec::<String>::new(), "nothing on a first failure");
    stage.check();
    let alerts = stage.world.state().alerts.clone();
    assert_eq!((alerts.len(), alerts[0].channel), (1, Channel::Critical));
    assert!(alerts[0].line.contains("] CRITICAL |"), "{}", alerts[0].line);
    assert!(
        alerts[0].line.contains("| cache | cache not readable: 2 consecutive looks failed, "),
        "{}",
        alerts[0].line
    );
    stage.alerts();
    stage.check();
    assert_eq!(stage.alerts(), Vec::<String>::new(), "not every minute");
    stage.world.plan(Plan::none());
    assert_eq!(stage.check().overall, Health::Healthy);
    let alerts = stage.world.state().alerts.clone();
    assert_eq!(
        (alerts.len(), alerts[0].channel),
        (1, Channel::Critical),
        "the operators who were woken hear of the end"
    );
    assert!(alerts[0].line.ends_with("ok:cache | recovered: the cache can be read again"), "{}", alerts[0].line);
}

/// With the shortest interval two outages may begin within the minute in which equal alerts are sent once.
#[test]
fn an_outage_that_begins_again_within_a_minute_alerts_again() {
    let mut stage = Stage::new();
    stage.settings.failures_critical = 1;
    let mut alerts = Vec::new();
    for works in [false, true, false] {
        stage.site.0.store(works, Ordering::Relaxed);
        stage.world.plan(if works { Plan::none() } else { Plan::none().whenever("cache.totals", Fault::Fail) });
        stage.world.advance(Duration::from_secs(29));
        testkit::run(stage.runs(When::Now)).unwrap().unwrap();
        alerts.push(stage.alerts());
    }
    assert_eq!(alerts.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 2], "{alerts:?}");
    assert!(alerts[1].iter().all(|line| line.contains("| ok:")), "{alerts:?}");
    assert!(stage.world.state().held_back_alerts.is_empty());
}

/// The stored state is in the failing table, so no check is recorded, but two consecutive failures are
/// still critical.
#[test]
fn a_table_that_fails_altogether_alerts_the_second_time_and_its_recovery_alerts_too() {
    for boundary in ["notes.load", "notes.save"] {
        let stage = Stage::new();
        stage.world.plan(Plan::none().whenever(boundary, Fault::Fail));
        let mut alerts = Vec::new();
        for _ in 0..4 {
            stage.world.advance(Duration::from_secs(60));
            assert!(testkit::run(stage.runs(When::Due)).unwrap().is_err(), "the function's own alarm hears of it");
            alerts.push(stage.alerts().len());
        }
        assert_eq!(alerts, [0, 1, 0, 0], "{boundary}");
        stage.world.plan(Plan::none());
        assert_eq!(stage.check().overall, Health::Healthy);
        let alerts = stage.alerts();
        assert!(alerts.len() == 1 && alerts[0].ends_with("looks are put on record again"), "{alerts:?}");
        stage.check();
        assert_eq!(stage.alerts(), Vec::<String>::new());
    }
}

#[test]
fn a_failing_log_alerts_once_and_so_does_its_recovery() {
    let stage = Stage::new();
    stage.world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    (0..10).for_each(|_| drop(stage.check()));
    let alerts = stage.alerts();
    assert!(alerts.len() == 1 && alerts[0].contains("CRITICAL") && alerts[0].contains("not written"), "{alerts:?}");
    stage.world.plan(Plan::none());
    stage.check();
    let alerts = stage.alerts();
    assert!(alerts.len() == 1 && alerts[0].ends_with("the log takes records again"), "{alerts:?}");
    assert_eq!(stage.events("cache_health").len(), 11);
}
