//! Which entries are removed from the cache, and when.

use super::*;

#[test]
fn the_list_is_in_the_log_before_the_first_entry_is_removed() {
    let stage = Stage::new();
    stage.entry(1, 31 * DAY);
    stage.entry(2, 30 * DAY + DAY / 2);
    stage.entry(3, 29 * DAY);
    stage.check();
    assert_eq!(stage.left(), BTreeSet::from([session(3)]));
    let boundaries = stage.world.state().boundaries.clone();
    let removed = boundaries.iter().position(|name| *name == "cache.remove_listed").unwrap();
    let published = boundaries[..removed].iter().filter(|name| **name == "log.publish").count();
    assert_eq!(published, 2, "the check and the list");
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
    stage.check();
    assert_eq!(stage.left().len(), 1);
    stage.world.plan(Plan::none());
    stage.check();
    assert_eq!(stage.left().len(), 0, "the next check finishes the list");
    assert_eq!((stage.events("cache_cleanup_planned").len(), stage.events("cache_cleanup").len()), (1, 1));
}

#[test]
fn what_the_archive_does_not_hold_like_this_stays() {
    let stage = Stage::new();
    (1..=3).for_each(|number| stage.entry(number, 40 * DAY));
    stage.world.state().archive.remove(&session(1));
    stage.world.state().archive.insert(session(2), verdict(9));
    stage.check();
    assert_eq!(stage.left(), BTreeSet::from([session(1), session(2)]));
    assert_eq!(stage.events("cache_cleanup_planned")[0]["kept_for_want_of_an_archived_copy"], 2);
    let before = stage.world.state().boundaries.len();
    stage.check();
    let found = stage.world.state().boundaries[before..].iter().filter(|name| **name == "archive.find").count();
    assert_eq!(found, 0, "they are checked again after an hour, not every minute");
}

#[test]
fn when_the_budget_is_passed_the_old_go_at_once_and_the_young_never() {
    let mut stage = Stage::new();
    (0..250).for_each(|number| stage.entry(number, 31 * DAY));
    (250..260).for_each(|number| stage.entry(number, 29 * DAY));
    stage.settings.budget_bytes = 100;
    let first = stage.check();
    assert_eq!(first.overall, Health::Failed);
    let alerts = stage.alerts();
    assert!(
        alerts.len() == 1 && alerts[0].contains("] CRITICAL |") && alerts[0].contains("budget 100 passed"),
        "{alerts:?}"
    );
    assert_eq!(stage.left().len(), 160, "a hundred a check");
    stage.check();
    stage.check();
    assert_eq!(stage.left().len(), 10);
    stage.settings.budget_bytes = 1 << 30;
    assert_eq!(stage.check().overall, Health::Healthy);
    assert!(stage.alerts()[0].ends_with("ok:bytes | recovered: within the budget of bytes"));
    assert_eq!(stage.left().len(), 10);
}

#[test]
fn a_restored_entry_lives_as_long_as_a_new_one() {
    let stage = Stage::new();
    stage.entry(1, 31 * DAY);
    stage.check();
    assert!(stage.left().is_empty());
    // The customer comes back: the page restores the archived verdict to the cache.
    stage.entry(1, Duration::ZERO);
    stage.world.advance(29 * DAY);
    stage.check();
    assert_eq!(stage.left().len(), 1);
    stage.world.advance(2 * DAY);
    stage.check();
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
    clean.check();
    for (plan, what) in every_single_fault(clean.world.passed(), 10) {
        let stage = stage();
        stage.world.plan(plan);
        drop(testkit::run(stage.runs(When::Now)));
        let removed = stage.left().len() < 5;
        let listed = !stage.events("cache_cleanup_planned").is_empty();
        assert!(listed || !removed, "{what}: removed before it was listed");
        stage.world.plan(Plan::none());
        stage.world.advance(2 * Duration::from_secs(3600));
        stage.check();
        assert_eq!(stage.left(), BTreeSet::from([session(4)]), "{what}");
        let state = stage.world.state();
        let bytes: u64 = state.listed_entries().iter().map(|entry| entry.bytes).sum();
        let totals = (state.cache_totals.entries, state.cache_totals.bytes);
        assert_eq!(totals, (1, i64::try_from(bytes).unwrap()), "{what}");
    }
}

/// Cache Health, invariant 4: the list is a minute old when it is carried out, and a customer came back meanwhile.
#[test]
fn an_entry_that_was_renewed_since_it_was_listed_is_never_removed() {
    let stage = Stage::new();
    stage.entry(1, 31 * DAY);
    stage.entry(2, 31 * DAY);
    stage.world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    stage.check();
    assert_eq!(stage.saved_state().cleanup.plan.map(|plan| plan.entries.len()), Some(2), "listed, and nothing removed");
    stage.entry(1, Duration::ZERO);
    stage.world.plan(Plan::none());
    stage.check();
    assert_eq!(stage.left(), BTreeSet::from([session(1)]));
    let events = stage.events("cache_cleanup");
    assert_eq!((&events[0]["removed"], &events[0]["renewed"]), (&json!(1), &json!(1)));
    assert_eq!(stage.world.state().cache_totals.entries, 1);
}

proptest! {
    /// For any ages and any threshold, younger entries stay and older ones are removed.
    #[test]
    fn only_what_is_past_its_age_is_removed(hours in proptest::collection::vec(0_u64..2400, 0..60), days in 1_u32..90) {
        let mut stage = Stage::new();
        stage.settings.staleness_days = days;
        for (number, hours) in hours.iter().enumerate() {
            stage.entry(number, Duration::from_secs(hours * 3600));
        }
        stage.check();
        let young = |(number, hours): (usize, &u64)| (*hours * 3600 + 60 <= u64::from(days) * 86_400).then(|| session(number));
        let expected: BTreeSet<SessionId> = hours.iter().enumerate().filter_map(young).collect();
        prop_assert_eq!(stage.left(), expected);
        let totals = testkit::run(stage.world.totals()).unwrap().unwrap();
        prop_assert_eq!(totals.entries, i64::try_from(stage.left().len()).unwrap());
    }
}
