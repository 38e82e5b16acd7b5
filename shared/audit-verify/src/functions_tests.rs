//! Streams of functions over several days, with every kind of damage.

use crate::{
    functions::{Days, verify_days},
    stream::{Damage, Finding, Known, stream_of},
};
use audit::{FunctionJournal, Noted, chain};
use domain::Timestamp;
use serde_json::json;
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
        let note = |(): &mut (), _| Noted::save(()).recording("it_ran", json!({"count": 7}));
        journal.commit(loaded, note).await.unwrap().settle().await;
    });
    ran.unwrap();
}

fn days(world: &World) -> Days {
    let mut days = Days::new();
    for (key, line) in &world.state().log {
        days.entry(stream_of(key).to_owned()).or_default().push((key.clone(), format!("{line}\n").into_bytes()));
    }
    days
}

fn known(world: &World) -> Known {
    let note = world.state().notes.get(NAME).map(|(document, _)| document.clone()).unwrap();
    Known::of_note(&note).unwrap()
}

fn key(day: &str, seq: u64) -> String {
    chain::key(day, &format!("function/{NAME}"), seq)
}

/// The findings with the function's note, and without it (except for the missing note itself).
fn damaged(damage: impl Fn(&mut Days)) -> [Option<(String, Damage)>; 2] {
    let world = world();
    let mut days = days(&world);
    damage(&mut days);
    let damage = |result: Result<(), Finding>| result.err().map(|finding| (finding.key, finding.damage));
    let without = damage(verify_days(NAME, &days, None, true));
    assert!(without.is_some(), "nobody owns the stream");
    let without = without.filter(|(_, damage)| *damage != Damage::Orphaned);
    [damage(verify_days(NAME, &days, Some(&known(&world)), true)), without]
}

fn of_day(days: &mut Days, index: usize) -> &mut Vec<(String, Vec<u8>)> {
    days.values_mut().nth(index).unwrap()
}

#[test]
fn three_days_that_nobody_touched_are_sound() {
    assert_eq!(days(&world()).len(), 3);
    assert_eq!(damaged(|_| ()), [None, None]);
    let world = World::default();
    record(&world);
    assert_eq!(verify_days(NAME, &days(&world), Some(&known(&world)), true), Ok(()));
}

#[test]
fn every_damage_is_named() {
    let both = |day: &str, seq, damage| [Some((key(day, seq), damage)), Some((key(day, seq), damage))];
    let edit = |object: &mut (String, Vec<u8>)| {
        object.1 = String::from_utf8(object.1.clone()).unwrap().replace(":7", ":8").into_bytes();
    };
    assert_eq!(damaged(|days| edit(&mut of_day(days, 0)[0])), both("2026-04-16", 1, Damage::Edited));
    assert_eq!(damaged(|days| edit(&mut of_day(days, 1)[0])), both("2026-04-17", 1, Damage::Edited));
    assert_eq!(damaged(|days| drop(of_day(days, 1).remove(0))), both("2026-04-17", 1, Damage::Deleted));
    assert_eq!(damaged(|days| drop(of_day(days, 0).pop())), both("2026-04-16", 3, Damage::Truncated));
    assert_eq!(damaged(|days| drop(days.pop_first())), both("2026-04-17", 1, Damage::Edited));
    let whole_day = |days: &mut Days| drop(days.remove(&format!("2026-04-17/function/{NAME}")));
    assert_eq!(damaged(whole_day), both("2026-04-16", 4, Damage::Truncated));
    // Only the note reveals a missing end.
    assert_eq!(damaged(|days| drop(of_day(days, 2).pop())), [Some((key("2026-04-18", 3), Damage::Truncated)), None]);
    assert_eq!(damaged(|days| drop(days.pop_last())), [Some((key("2026-04-18", 1), Damage::Truncated)), None]);
    assert_eq!(damaged(|days| edit(&mut of_day(days, 2)[2])), [Some((key("2026-04-18", 3), Damage::Edited)), None]);
    let moved = |days: &mut Days| {
        for (_, bytes) in of_day(days, 1) {
            *bytes = String::from_utf8(bytes.clone()).unwrap().replace(NAME, "inbox-watch").into_bytes();
        }
    };
    assert_eq!(damaged(moved), both("2026-04-17", 1, Damage::Moved));
}

#[test]
fn a_stream_of_a_function_that_has_no_note_is_nobodys() {
    let days = days(&world());
    let orphaned = Finding { key: key("2026-04-16", 1), damage: Damage::Orphaned };
    assert_eq!(verify_days(NAME, &days, None, true), Err(orphaned));
    assert_eq!(verify_days(NAME, &Days::new(), None, true), Ok(()));
}

#[test]
fn a_stream_may_be_read_from_a_later_day_on() {
    let world = world();
    let mut days = days(&world);
    days.pop_first();
    assert_eq!(verify_days(NAME, &days, Some(&known(&world)), false), Ok(()));
}

#[test]
fn a_day_that_the_note_does_not_know_is_a_fork() {
    let world = world();
    let before = known(&world);
    record(&world);
    let found = verify_days(NAME, &days(&world), Some(&before), true).unwrap_err();
    assert_eq!(found, Finding { key: key("2026-04-19", 1), damage: Damage::Forked });
}

/// A record that could not be published waits in the note, over midnight too.
#[test]
fn what_waits_is_not_missing() {
    let world = world();
    world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    record(&world);
    world.advance(std::time::Duration::from_secs(24 * 3600));
    record(&world);
    assert_eq!(days(&world).len(), 3);
    assert_eq!(verify_days(NAME, &days(&world), Some(&known(&world)), true), Ok(()));
}
