//! Runs with faults: any one, any pair, and messages that fail again and again.

use super::{changes::Watched, *};
use testkit::every_two_faults;

/// The invariants after any faults, once runs succeed again: operators were alerted, the reply is on its sale once, the
/// acknowledgement was sent at most once, and an unknown outcome was alerted.
fn holds(world: &World, what: &str) {
    for number in 0..8 {
        look(world, &format!("later {number}")).expect(what).expect(what);
        assert!(world.state().sent.len() <= 1, "{what}: sent twice");
    }
    assert!(!world.state().broadcasts.is_empty(), "{what}: no announcement");
    let sale = world.state().sales[&session()].0.clone();
    assert_eq!(sale.waiting_replies().count(), 1, "{what}");
    // A record that the log did not accept waits in the sale for the deadlines function, as any other does.
    assert!(saved_state(world).at_hand.is_empty(), "{what}: something is left");
    assert!(world.state().drafts.len() <= 2, "{what}");
    let (outcomes, sent) = (outcomes(world), world.state().sent.len());
    assert_eq!(outcomes.len(), 1, "{what}: {outcomes:?}");
    match outcomes[0].as_str() {
        "sent" => assert_eq!(sent, 1, "{what}"),
        "not_sent" => {
            assert_eq!(sent, 0, "{what}");
            assert!(alerts_with(world, "was not sent") >= 1, "{what}: not announced");
        }
        "unknown" => assert!(alerts_with(world, "may or may not have gone") >= 1, "{what}: not announced"),
        other => panic!("{what}: {other}"),
    }
}

#[test]
fn whatever_breaks_nobody_is_answered_twice_and_nothing_is_lost() {
    let clean = replied();
    clean.plan(Plan::none());
    look(&clean, "a").unwrap().unwrap();
    for (plan, what) in every_single_fault(clean.passed(), 20) {
        // The sent-items folder shows the mail at once, after some minutes, or never; the drafts show it for a minute.
        for lag in [0, 300_000, i64::MAX / 4] {
            let world = replied();
            world.state().sent_items_lag = lag;
            world.state().draft_lag = lag.min(60_000);
            world.plan(plan.clone());
            drop(look(&world, "a"));
            world.plan(Plan::none());
            holds(&world, &format!("{what}, sent items {lag} ms late"));
        }
    }
}

#[test]
fn nor_does_any_pair_of_faults() {
    let clean = replied();
    clean.plan(Plan::none());
    look(&clean, "a").unwrap().unwrap();
    let pairs =
        [(Fault::LoseReply, Fault::LoseReply), (Fault::LoseReply, Fault::CrashAfter), (Fault::CrashAfter, Fault::Fail)];
    for (plan, what) in every_two_faults(clean.passed(), 8, &pairs) {
        let world = replied();
        world.plan(plan);
        for number in 0..3 {
            drop(look(&world, &format!("a{number}")));
        }
        world.plan(Plan::none());
        holds(&world, &what);
    }
}

/// The mailbox may send a mail after it has answered 504. So the draft is kept, and no alert says that the mail was not sent.
#[test]
fn a_failure_after_which_the_mailbox_may_send_is_no_refusal() {
    let world = replied();
    world.plan(Plan::none().whenever("mailbox.send_draft", Fault::Refuse(504)));
    look(&world, "a").unwrap().unwrap();
    assert!(outcomes(&world).is_empty() && alerts_with(&world, "was not sent") == 0);
    world.plan(Plan::none());
    look(&world, "b").unwrap().unwrap();
    assert_eq!((outcomes(&world), announced_and_sent(&world)), (vec!["sent".to_owned()], (1, 1)));
}

/// The mailbox is still sending the draft when the next run tries it again, and refuses for the moment.
#[test]
fn a_temporary_refusal_after_a_lost_reply_does_not_say_that_nothing_was_sent() {
    for status in [409, 423, 503] {
        let world = replied();
        world.state().draft_lag = 200_000;
        for (run, fault) in [("a", Fault::LoseReply), ("b", Fault::Refuse(status))] {
            world.plan(Plan::none().whenever("mailbox.send_draft", fault));
            look(&world, run).unwrap().unwrap();
            assert!(outcomes(&world).is_empty() && alerts_with(&world, "was not sent") == 0, "{status}: {run}");
        }
        world.plan(Plan::none());
        look(&world, "c").unwrap().unwrap();
        world.state().inbox.push(unread("m2", 2, "buyer@example.com"));
        look(&world, "d").unwrap().unwrap();
        assert_eq!(outcomes(&world), ["sent", "skipped_cooldown"], "{status}");
        assert_eq!(announced_and_sent(&world), (2, 1), "{status}");
    }
}

/// Inbox Watch, FM-8: the first run still holds the lease.
#[test]
fn a_run_beside_another_does_nothing() {
    let world = replied();
    world.plan(Plan::none().whenever("broadcast.tell", Fault::CrashBefore));
    assert!(look(&world, "a").is_none());
    world.plan(Plan::none());
    world.state().now -= 100_000;
    assert_eq!(look(&world, "b").unwrap().unwrap(), Report::default());
    assert!(world.state().broadcasts.is_empty());
    assert_eq!(look(&world, "c").unwrap().unwrap().finished, 1, "and a dead one is followed");
}

/// Inbox Watch, invariant 6: while the topic accepts nothing, no message is abandoned.
#[test]
fn no_message_is_abandoned_before_operators_are_alerted() {
    let world = replied();
    world.plan(Plan::none().whenever("broadcast.tell", Fault::Fail));
    looks(&world, 4 * MOST_FAILURES, "an announcement that fails stops no run");
    assert_eq!((outcomes(&world).len(), saved_state(&world).at_hand.len()), (0, 1));
    world.plan(Plan::none());
    look(&world, "b").unwrap().unwrap();
    assert_eq!(world.state().broadcasts, ["Incoming: from buyer@example.com — subject: Hello"]);
    assert_eq!(outcomes(&world), ["sent"]);
}

/// A message that the mailbox never returns: operators are alerted that it exists, and finally that it was abandoned.
#[test]
fn an_unreadable_message_is_announced_without_details_and_abandoned() {
    let world = replied();
    world.plan(Plan::none().whenever("inbox.message", Fault::Fail));
    for _ in 0..MOST_FAILURES {
        assert!(world.state().broadcasts.is_empty());
        look(&world, "a").unwrap().unwrap();
    }
    assert_eq!(world.state().broadcasts, [answer::WITHOUT_DETAILS]);
    assert!(outcomes(&world).is_empty());
    looks(&world, 2 * MOST_FAILURES, "a message that cannot be read stops no run");
    assert_eq!((outcomes(&world), announced_and_sent(&world)), (vec!["given_up".to_owned()], (1, 0)));
    assert_eq!(warnings_with(&world, "could not be handled"), 1);
}

/// A message in work is fetched by its id, so it does not wait for a list that fails or hangs.
#[test]
fn a_message_in_work_is_handled_although_the_inbox_cannot_be_listed() {
    for fault in [Fault::Fail, Fault::CrashBefore] {
        let world = replied();
        world.plan(Plan::none().whenever("broadcast.tell", Fault::Fail));
        look(&world, "a").unwrap().unwrap();
        assert_eq!(announced_and_sent(&world), (0, 0));
        world.plan(Plan::none().whenever("inbox.arrived", fault));
        assert!(look_with(&world, "b", (&world, &world), &world, &keys("v1")).unwrap().is_err());
        assert_eq!(announced_and_sent(&world), (1, 1), "{fault:?}");
        assert_eq!(alerts_with(&world, "cannot be watched"), 1, "{fault:?}");
    }
}

/// While nothing can be read from the mailbox, no message is given up.
#[test]
fn an_outage_of_the_mailbox_uses_up_no_attempts() {
    let world = replied();
    world.plan(Plan::none().whenever("broadcast.tell", Fault::Fail));
    look(&world, "a").unwrap().unwrap();
    world.plan(Plan::none().whenever("inbox.arrived", Fault::Fail).whenever("inbox.message", Fault::Fail));
    for _ in 0..4 * MOST_FAILURES {
        assert!(look(&world, "b").unwrap().is_err());
    }
    world.plan(Plan::none());
    look(&world, "c").unwrap().unwrap();
    assert_eq!(world.state().broadcasts, ["Incoming: from buyer@example.com — subject: Hello"]);
    assert_eq!(outcomes(&world), ["sent"]);
}

/// A message that hangs is cut off at its limit, counts as failed, and stops no other.
#[test]
fn a_message_that_hangs_is_cut_off_and_the_next_one_is_dealt_with() {
    let clean = replied();
    clean.state().boundaries.clear();
    look(&clean, "a").unwrap().unwrap();
    let hangs = clean.state().boundaries.iter().position(|name| *name == "inbox.message").unwrap();
    for fault in [Fault::CrashBefore, Fault::CrashAfter] {
        let world = replied();
        world.state().inbox.push(unread("m2", 2, "other@example.com"));
        world.plan(Plan::at(hangs, fault));
        let report = look_with(&world, "a", (&world, &world), &world, &keys("v1")).unwrap().unwrap();
        assert_eq!(report, Report { looked: true, new: 2, finished: 1, failed: 1 });
        assert_eq!(world.state().broadcasts, ["Incoming: from other@example.com — subject: Hello"]);
        look(&world, "b").unwrap().unwrap();
        assert_eq!(announced_and_sent(&world), (2, 2));
    }
}

/// The first crash names no message. The second run saves the message that it begins, so the third run counts a failure of
/// that message and handles the others first. After the last attempt the message is given up with an alert.
#[test]
fn a_message_that_kills_the_process_counts_as_failed_and_the_next_one_is_dealt_with() {
    let world = replied();
    world.state().inbox.push(unread("m2", 2, "other@example.com"));
    let deadly = Watched::deadly(&world, "m1");
    let dies =
        |number: u32| look_with(&world, &format!("a{number}"), (&deadly, &world), &NoLimit, &keys("v1")).is_none();
    assert!(dies(1) && dies(2));
    assert_eq!(announced_and_sent(&world), (0, 0));
    assert!(dies(3));
    assert_eq!(world.state().broadcasts, ["Incoming: from other@example.com — subject: Hello"]);
    assert_eq!(outcomes(&world), ["sent"]);
    let deaths = (4..100).take_while(|number| dies(*number)).count();
    assert!(deaths < usize::try_from(3 * MOST_FAILURES).unwrap(), "{deaths}");
    assert_eq!(world.state().broadcasts[1..], [answer::WITHOUT_DETAILS]);
    assert_eq!(
        (outcomes(&world), saved_state(&world).at_hand.len()),
        (vec!["sent".to_owned(), "given_up".to_owned()], 0)
    );
    assert_eq!(alerts_with(&world, "could not be handled"), 1);
}

/// The runs after it die while the inbox is listed. That says nothing against the message.
#[test]
fn a_death_counts_once_for_the_message_that_was_begun() {
    let world = replied();
    let deadly = Watched::deadly(&world, "m1");
    for run in ["a", "b"] {
        assert!(look_with(&world, run, (&deadly, &world), &NoLimit, &keys("v1")).is_none());
    }
    world.plan(Plan::none().whenever("inbox.arrived", Fault::CrashBefore));
    for number in 0..4 {
        assert!(look(&world, &format!("c{number}")).is_none());
        assert_eq!(saved_state(&world).at_hand[0].failures, 1, "{number}");
    }
}
