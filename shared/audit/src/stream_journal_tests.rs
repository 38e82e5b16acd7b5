//! The journal of a state's own stream, against ports that fail, lose replies and crash.

use crate::{Change, ChatJournal, ChatStatus, CommitError, Record, chain};
use domain::{
    Timestamp,
    audit_trail::Audited,
    chat::{Account, SubscriberId},
    ports::Versioned,
};
use serde_json::{Value, json};
use testkit::{Fault, Plan, World, every_single_fault, run};

fn id() -> SubscriberId {
    SubscriberId::parse("c".repeat(64)).unwrap()
}

fn journal(world: &World) -> ChatJournal<'_> {
    ChatJournal { store: world, log: world, alerts: world, clock: world }
}

fn record(now: Timestamp) -> Record {
    Record::chat(now, now, ChatStatus::Declined, json!({ "state": "BLOCKED" }))
}

/// Adds a record if the stream has fewer than `most`.
async fn step(world: &World, most: u64) -> Result<(), CommitError> {
    let account = journal(world).load(&id()).await?;
    let declined = |account: &mut Account, now| match account.trail().head() {
        Some(head) if head.count >= most => Change::nothing(()),
        _ => Change::recorded(vec![record(now)], ()),
    };
    journal(world).commit(account, declined).await?.settle().await;
    Ok(())
}

fn stored(world: &World) -> Versioned<Account> {
    run(journal(world).load(&id())).unwrap().unwrap()
}

fn numbers(world: &World) -> Vec<Value> {
    let number = |line: &String| serde_json::from_str::<Value>(line).unwrap()["seq"].clone();
    world.state().log.values().map(number).collect()
}

#[test]
fn whatever_breaks_each_record_is_written_once_and_the_outbox_emptied() {
    let clean = World::default();
    run(step(&clean, 1)).unwrap().unwrap();
    assert_eq!(clean.passed(), 4, "load, save, record, settled");
    for (plan, what) in every_single_fault(clean.passed(), 3) {
        let world = World::default();
        world.plan(plan);
        drop(run(step(&world, 1)));
        world.plan(Plan::none());
        run(step(&world, 1)).unwrap().unwrap();
        run(step(&world, 2)).unwrap().unwrap();
        assert_eq!(numbers(&world), [1, 2], "{what}");
        let Versioned { value, version } = stored(&world);
        assert!(value.trail().outbox().is_empty(), "{what}");
        assert!((3..=4).contains(&version), "{what}: saved {version} times");
    }
}

#[test]
fn only_an_outbox_that_is_empty_now_is_saved_once_more() {
    let world = World::default();
    let nothing_to_publish = |_: &mut Account, _| Change::save(());
    let committed = run(journal(&world).commit(stored(&world), nothing_to_publish)).unwrap().unwrap();
    assert_eq!(run(committed.settle()).unwrap().0.version, 1, "there was no outbox");
    world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    run(step(&world, 1)).unwrap().unwrap();
    assert_eq!(stored(&world).version, 2, "the record still waits");
}

#[test]
fn the_end_of_a_commit_may_be_left_to_a_later_one() {
    let recorded = |_: &mut Account, now| Change::recorded(vec![record(now)], ());
    for (continues, saved) in [(false, 2), (true, 1)] {
        let world = World::default();
        let committed = run(journal(&world).commit(stored(&world), recorded)).unwrap().unwrap();
        let (account, ()) = run(committed.settle_unless(|_, ()| continues)).unwrap();
        assert_eq!((account.version, stored(&world).value.trail().is_published()), (saved, !continues));
        let later = run(journal(&world).commit(account, |_, _| Change::save(()))).unwrap().unwrap();
        assert_eq!(run(later.settle()).unwrap().0.version, saved + 1, "its outbox was emptied before");
        assert!(stored(&world).value.trail().is_published());
    }
}

#[test]
fn a_long_outbox_is_published_before_anything_is_decided() {
    for (waiting, published) in [(Account::MOST_WAITING, 0), (Account::MOST_WAITING + 1, Account::MOST_WAITING + 1)] {
        let world = World::default();
        let mut account = stored(&world);
        (0..waiting).for_each(|_| chain::append(&mut account.value, &record(Timestamp::from_millis(0))));
        let log = |_: &mut Account, _| Change::nothing(world.state().log.len());
        let (_, logged) = run(journal(&world).commit(account, log)).unwrap().unwrap().unsettled();
        assert_eq!(logged, published, "{waiting} records wait");
    }
}
