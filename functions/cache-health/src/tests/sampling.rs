//! Which entries a check samples.

use super::*;

/// Different distributions of age: nearly all entries within an hour of a month ago, at one moment, in two clusters.
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
            assert_eq!(stage.check().measures.unwrap().sampled, 10, "heap {heap}");
            let listed = stage.world.state().boundaries.iter().filter(|name| **name == "cache.listed").count();
            assert!(listed <= 12, "heap {heap}: {listed} calls");
        }
        if heap == 0 {
            // One entry in a hundred is corrupt, in the middle of the hour.
            stage.world.state().corrupt_entries.extend((1000..1020).map(session));
            assert!((0..90).any(|_| stage.check().overall == Health::Degraded), "not only the ends are checked");
        }
    }
}

#[test]
fn ten_are_sampled_wherever_there_are_ten() {
    for (entries, expected) in [(0, 0), (1, 1), (9, 9), (10, 10), (11, 10), (100, 10), (101, 10), (500, 10)] {
        let stage = Stage::new();
        (0..entries).for_each(|number| stage.entry(number, DAY + Duration::from_secs(number as u64)));
        assert_eq!(stage.check().measures.unwrap().sampled, expected, "of {entries}");
    }
}

/// A counter that is too low does not hide the newer entries.
#[test]
fn all_entries_are_sampled_if_the_counter_says_there_are_few() {
    let stage = Stage::new();
    (0..500).for_each(|number| stage.entry(number, DAY + Duration::from_secs(number as u64)));
    stage.world.state().cache_totals.entries = 90;
    stage.world.state().corrupt_entries.extend((0..20).map(session));
    assert!((0..60).any(|_| stage.check().overall == Health::Degraded), "the newest entries are checked");
}
