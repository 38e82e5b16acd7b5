//! Streams of functions over several days, with every kind of damage.

use crate::{
    functions::{Day, Days, verify_days},
    stream::{Damage, Finding, Object, StoredHead, stream_of},
};
use audit::{FunctionJournal, Noted, chain, hash::sha256};
use domain::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use testkit::{Fault, Plan, World, run};

const NAME: &str = "cache-health";

/// Three records on each of three days.
fn world() -> World {
    let world = World::at(Timestamp::from_millis(1_776_349_384_565));
    for _ in 0..3 {
        for _ in 0..3 {
            record(&world);
        }
        world.advance(std::time::Duration::from_secs(24 * 3600));
    }
    world
}

fn record(world: &World) {
    let journal = FunctionJournal { function: NAME, notes: world, log: world, alerts: world, clock: world };
    let ran = run(async {
        let loaded = journal.load::<()>().await.unwrap();
        let record = |(): &mut (), _| Noted::save(()).recording("it_ran", json!({"count": 7}));
        journal.commit(loaded, record).await.unwrap().settle().await;
    });
    ran.unwrap();
}

/// All objects by day.
type Objects = BTreeMap<String, Vec<Object>>;

fn days(world: &World) -> Objects {
    let mut days = Objects::new();
    for (key, line) in &world.state().log {
        days.entry(stream_of(key).to_owned()).or_default().push((key.clone(), format!("{line}\n").into_bytes()));
    }
    days
}

fn stored_head(world: &World) -> StoredHead {
    let note = world.state().notes.get(NAME).map(|(document, _)| document.clone()).unwrap();
    StoredHead::of_note(&note).unwrap()
}

fn key(day: &str, seq: u64) -> String {
    chain::key(day, &format!("function/{NAME}"), seq)
}

/// The findings, with all objects. Verifies also as the log's reader does: first with the ends of the days alone, and
/// then with the objects of the days that the findings name.
fn verified(objects: &Objects, stored: Option<&StoredHead>, is_whole: bool) -> Vec<Finding> {
    let verify = |days: &Days| verify_days(NAME, days, stored, is_whole);
    let with_objects = |(stream, objects): (&String, &Vec<Object>)| (stream.clone(), Day::Objects(objects.clone()));
    let found = verify(&objects.iter().map(with_objects).collect());
    let ends = objects.iter().map(|(stream, objects)| (stream.clone(), Day::of(stream, objects.clone())));
    let mut days: Days = ends.collect();
    let first = verify(&days);
    assert!(!first.is_empty() || found.is_empty(), "the ends alone show that something is wrong: {found:?}");
    let named = first.iter().filter_map(|finding| objects.get_key_value(stream_of(&finding.key)));
    days.extend(named.map(with_objects));
    assert_eq!(verify(&days), found);
    found
}

/// The findings with the function's note, and without it (except for the missing note itself).
fn damaged(damage: impl Fn(&mut Objects)) -> [Vec<(String, Damage)>; 2] {
    let world = world();
    let mut days = days(&world);
    damage(&mut days);
    let found = |stored: Option<&StoredHead>| -> Vec<(String, Damage)> {
        verified(&days, stored, true).into_iter().map(|finding| (finding.key, finding.damage)).collect()
    };
    let mut without = found(None);
    let orphaned = without.pop().map(|(_, damage)| damage);
    assert_eq!(orphaned, Some(Damage::Orphaned), "nobody owns the stream, whatever else is wrong with it");
    [found(Some(&stored_head(&world))), without]
}

fn of_day(days: &mut Objects, index: usize) -> &mut Vec<Object> {
    days.values_mut().nth(index).unwrap()
}

#[test]
fn three_days_that_nobody_touched_are_sound() {
    assert_eq!(days(&world()).len(), 3);
    assert_eq!(damaged(|_| ()), [vec![], vec![]]);
    let world = World::default();
    record(&world);
    assert_eq!(verified(&days(&world), Some(&stored_head(&world)), true), []);
}

#[test]
fn every_damage_is_named() {
    let both = |day: &str, seq, damage| [vec![(key(day, seq), damage)], vec![(key(day, seq), damage)]];
    let by_note = |day: &str, seq, damage| [vec![(key(day, seq), damage)], vec![]];
    let edit = |object: &mut Object| {
        object.1 = String::from_utf8(object.1.clone()).unwrap().replace(":7", ":8").into_bytes();
    };
    assert_eq!(damaged(|days| edit(&mut of_day(days, 0)[0])), both("2026-04-16", 1, Damage::Edited));
    assert_eq!(damaged(|days| edit(&mut of_day(days, 1)[0])), both("2026-04-17", 1, Damage::Edited));
    assert_eq!(damaged(|days| drop(of_day(days, 1).remove(0))), both("2026-04-17", 1, Damage::Deleted));
    assert_eq!(damaged(|days| drop(of_day(days, 0).pop())), both("2026-04-16", 3, Damage::Truncated));
    assert_eq!(damaged(|days| drop(days.pop_first())), both("2026-04-17", 1, Damage::Edited));
    let whole_day = |days: &mut Objects| drop(days.remove(&format!("2026-04-17/function/{NAME}")));
    assert_eq!(damaged(whole_day), both("2026-04-16", 4, Damage::Truncated));
    // Only the note reveals a missing end.
    assert_eq!(damaged(|days| drop(of_day(days, 2).pop())), by_note("2026-04-18", 3, Damage::Truncated));
    assert_eq!(damaged(|days| drop(days.pop_last())), by_note("2026-04-18", 1, Damage::Truncated));
    assert_eq!(damaged(|days| edit(&mut of_day(days, 2)[2])), by_note("2026-04-18", 3, Damage::Edited));
    let moved = |days: &mut Objects| {
        for (_, bytes) in of_day(days, 1) {
            *bytes = String::from_utf8(bytes.clone()).unwrap().replace(NAME, "inbox-watch").into_bytes();
        }
    };
    assert_eq!(damaged(moved), both("2026-04-17", 1, Damage::Moved));
}

/// After a restore a day keeps its gap for years, as a known finding.
#[test]
fn the_damage_of_a_day_hides_that_of_no_other_day() {
    let [found, _] = damaged(|days| {
        of_day(days, 0).remove(1);
        let last = of_day(days, 2);
        let line = last[2].1.strip_suffix(b"\n").unwrap();
        let mut forged: Value = serde_json::from_slice(line).unwrap();
        forged["seq"] = json!(4);
        forged["prev"] = json!(sha256(line));
        last.push((key("2026-04-18", 4), format!("{forged}\n").into_bytes()));
    });
    assert_eq!(found, [(key("2026-04-16", 2), Damage::Deleted), (key("2026-04-18", 4), Damage::Forked)]);
}

/// The next day that is there does not follow the last record of the damaged day.
#[test]
fn the_damage_of_a_day_does_not_hide_that_the_next_day_is_deleted() {
    let found = damaged(|days| {
        of_day(days, 0).remove(1);
        days.remove(&format!("2026-04-17/function/{NAME}"));
    });
    let expected = vec![(key("2026-04-16", 2), Damage::Deleted), (key("2026-04-18", 1), Damage::Edited)];
    assert_eq!(found, [expected.clone(), expected]);
}

#[test]
fn the_objects_of_a_day_are_kept_only_if_they_do_not_fit() {
    let mut objects = days(&world());
    let kept = |objects: &Objects| {
        let days = objects.iter().map(|(stream, objects)| Day::of(stream, objects.clone()));
        days.map(|day| (day.count(), matches!(day, Day::Objects(_)))).collect::<Vec<_>>()
    };
    assert_eq!(kept(&objects), [(3, false), (3, false), (3, false)]);
    of_day(&mut objects, 1).remove(1);
    assert_eq!(kept(&objects), [(3, false), (2, true), (3, false)]);
}

#[test]
fn a_stream_of_a_function_that_has_no_note_is_nobodys() {
    let days = days(&world());
    let orphaned = Finding { key: key("2026-04-16", 1), damage: Damage::Orphaned };
    assert_eq!(verified(&days, None, true), [orphaned]);
    assert_eq!(verified(&Objects::new(), None, true), []);
}

#[test]
fn a_stream_may_be_read_from_a_later_day_on() {
    let world = world();
    let mut days = days(&world);
    days.pop_first();
    assert_eq!(verified(&days, Some(&stored_head(&world)), false), []);
}

#[test]
fn a_day_that_the_note_does_not_know_is_a_fork() {
    let world = world();
    let before = stored_head(&world);
    record(&world);
    let found = verified(&days(&world), Some(&before), true);
    assert_eq!(found, [Finding { key: key("2026-04-19", 1), damage: Damage::Forked }]);
}

/// A record that could not be published waits in the note, over midnight too.
#[test]
fn what_waits_is_not_missing() {
    let world = world();
    record(&world);
    world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    record(&world);
    world.advance(std::time::Duration::from_secs(24 * 3600));
    record(&world);
    assert_eq!(days(&world).values().map(Vec::len).collect::<Vec<_>>(), [3, 3, 3, 1]);
    assert_eq!(verified(&days(&world), Some(&stored_head(&world)), true), []);
}
