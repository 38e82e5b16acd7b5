//! Erasures of Bridges.

use super::*;
use std::{
    pin::pin,
    task::{Context, Poll, Waker},
};
use testkit::Passage;

#[test]
fn an_erasure_removes_everything_and_ends_access() {
    let world = posted();
    run(erase(ports(&world), &who())).unwrap().unwrap();
    run(erase(ports(&world), &who())).unwrap().unwrap();
    assert_eq!(state(&world), BridgeState::Offered);
    assert!(run(posting(&world)).unwrap().is_err());
    assert!(run(listed(&world, now(&world))).unwrap().unwrap().is_empty());
    assert_eq!(steps(&world).iter().filter(|step| *step == "erased").count(), 1);
    assert!(steps(&world).contains(&"accepted".to_owned()), "the log keeps that the text was accepted");
}

/// An acceptance that raced with an erasure is sealed under a destroyed key.
#[test]
fn a_bridge_of_an_erased_memory_is_erased_when_it_is_next_used() {
    let world = granted();
    let mut account = Account::new(who());
    account.begin_erasure(Timestamp::from_seconds(0));
    account.erased().unwrap();
    world.state().accounts.insert(who(), (account, 1));
    assert!(run(granting(&world)).unwrap().is_err());
    assert_eq!(state(&world), BridgeState::Offered);
}

/// A text is saved slowly while the Bridge is erased, accepted and granted again. It is sealed under the destroyed key, so
/// the new thread must not get it.
#[test]
fn a_text_for_an_erased_bridge_does_not_enter_the_next_one() {
    let again = |world: &World| {
        run(erase(ports(world), &who())).unwrap().unwrap();
        let erased = run(ports(world).journal.load(&who())).unwrap().unwrap();
        let removed = commit(ports(world), erased, |bridge, _| Ok(bridge.record_mails_removed()));
        let (_, _) = run(removed).unwrap().unwrap();
        let mut account = Account::new(who());
        run(ports(world).keys.destroy(&account.memory())).unwrap().unwrap();
        account.begin_erasure(now(world));
        account.erased().unwrap();
        world.state().accounts.insert(who(), (account, 1));
        run(accepting(world)).unwrap().unwrap();
        run(granting(world)).unwrap().unwrap();
    };
    let slow = || {
        let world = granted();
        let mut saves = 0;
        world.surround(Box::new(move |name, _| {
            saves += usize::from(name == "bridges.save");
            let is_first = name == "bridges.save" && saves == 1;
            let before = Duration::from_secs(if is_first { 5 } else { 0 });
            Passage { before, fault: None, after: Duration::ZERO }
        }));
        world
    };
    let world = slow();
    let posted = meanwhile(&world, posting(&world), again);
    assert!(matches!(posted, Err(StepNotTaken::Refused(BridgeRefused::Closed(_)))));
    let world = slow();
    let replied = meanwhile(&world, replying(&world), again);
    assert!(matches!(replied, Err(ReplyError::Refused(BridgeRefused::Closed(_)))));
    let held = run(load(ports(&world), &who())).unwrap().unwrap();
    assert!(run(held.messages(&world)).unwrap().unwrap().is_empty());
}

/// Polls a call until it waits, runs `between`, and ends the call five seconds later.
fn meanwhile<T>(world: &World, call: impl Future<Output = T>, between: impl Fn(&World)) -> T {
    let (mut call, mut context) = (pin!(call), Context::from_waker(Waker::noop()));
    assert!(call.as_mut().poll(&mut context).is_pending());
    between(world);
    world.advance(Duration::from_secs(5));
    let Poll::Ready(done) = call.as_mut().poll(&mut context) else { panic!("the call still waits") };
    done
}
