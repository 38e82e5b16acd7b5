//! Whole runs over an inbox in memory, with everything going wrong.

use crate::{
    Ports, Report, Settings, WatchError,
    memory::{COOLDOWN, Memory},
    run as watch,
    watch::FUNCTION,
};
use audit::{AuditKey, FunctionJournal};
use domain::{
    EmailAddress, Sale, Secret, SessionId, Timestamp,
    inbox::{Arrival, Incoming, ReceivedAt},
    mail::Mail,
    open_work::Work,
    ports::MailError,
    sale::Fulfilment,
};
use serde_json::Value;
use std::time::Duration;
use testkit::{Fault, Plan, World, inbox::Unread, run};

const NOW: i64 = 1_800_000_000;
const FAULTS: [Fault; 4] = [Fault::Fail, Fault::LoseReply, Fault::CrashBefore, Fault::CrashAfter];

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(NOW + seconds)
}

fn session() -> SessionId {
    SessionId::parse("cs_test_a1B2c3D4e5F6").unwrap()
}

fn key() -> AuditKey {
    AuditKey::new("v1", Secret::new("0".repeat(64)))
}

fn unread(id: &str, second: u32, sender: &str) -> Unread {
    let received_at = ReceivedAt::parse(format!("2027-01-15T08:00:{second:02}Z")).ok();
    let message = Incoming {
        sender: sender.to_owned(),
        subject: "Hello".to_owned(),
        conversation: Some(format!("conversation of {id}")),
        headers: Vec::new(),
    };
    Unread { arrival: Arrival { received_at, id: id.to_owned() }, message }
}

/// A run, two minutes after the one before.
fn look(world: &World, id: &str) -> Option<Result<Report, WatchError>> {
    world.advance(Duration::from_secs(120));
    let journal = FunctionJournal { function: FUNCTION, notes: world, log: world, alerts: world, clock: world };
    let own = EmailAddress::parse("oracle@42sisters.ai").unwrap();
    let settings = Settings { own, lease: Duration::from_secs(110), budget: Duration::from_secs(50) };
    let audit_key = key();
    let ports = Ports { journal, store: world, inbox: world, mailbox: world, broadcast: world, audit_key: &audit_key };
    run(watch(ports, &settings, id))
}

/// A world after its first run, whose buyer has replied to a mail of a sale.
fn replied() -> World {
    let world = World::at(at(0));
    assert!(look(&world, "first").unwrap().unwrap().looked);
    world.state().alerts.clear();
    let tag = key().email_tag(&EmailAddress::parse("buyer@example.com").unwrap());
    let sale = Sale {
        fulfilment: Fulfilment::Unusable { at: at(-500) },
        notice: Mail::Sent { at: at(-400) },
        email_tag: Some(tag),
        ..Sale::ordered(session(), at(-600))
    };
    world.state().sales.insert(session(), (sale, 1));
    world.state().conversations.insert("conversation of m1".to_owned(), session());
    world.state().inbox.push(unread("m1", 1, "buyer@example.com"));
    world
}

fn memory(world: &World) -> Memory {
    let document: Value = serde_json::from_str(&world.state().notes[FUNCTION].0).unwrap();
    serde_json::from_value(document["memory"].clone()).unwrap()
}

fn outcomes(world: &World) -> Vec<String> {
    let state = world.state();
    let lines = state.log.values().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let outcomes = lines.filter(|line| line["event"] == "auto_response");
    outcomes.map(|line| line["details"]["outcome"].as_str().unwrap().to_owned()).collect()
}

fn told_of(world: &World, words: &str) -> usize {
    world.state().alerts.iter().filter(|alert| alert.line.contains(words)).count()
}

fn told_and_sent(world: &World) -> (usize, usize) {
    let state = world.state();
    (state.broadcasts.len(), state.sent.len())
}

#[test]
fn a_message_is_told_linked_acknowledged_and_recorded() {
    let world = replied();
    assert_eq!(look(&world, "a").unwrap().unwrap(), Report { looked: true, new: 1, finished: 1, failed: 0 });
    look(&world, "b").unwrap().unwrap();
    let state = world.state();
    assert_eq!(state.broadcasts, ["Incoming: from buyer@example.com — subject: Hello"]);
    assert_eq!((state.sent.len(), state.sent[0].1.subject.as_str()), (1, "Re: Hello"));
    let sale = &state.sales[&session()].0;
    assert_eq!(sale.open_work().map(|open| open.work), Some(Work::Reply));
    assert_eq!((sale.replies.len(), sale.replies[0].from_buyer), (1, Some(true)));
    let told: String = state.log.values().chain([&state.notes[FUNCTION].0]).cloned().collect();
    assert!(!told.contains('@') && told.contains("customer_reply"), "{told}");
    assert!(state.alerts.iter().all(|alert| !alert.line.contains('@')));
    drop(state);
    assert_eq!(outcomes(&world), ["sent"]);
}

/// What must hold after any faults, once runs succeed again: operators were told, the reply is on its sale once, the
/// acknowledgement went at most once, and where nobody can say that it went, that was said.
fn holds(world: &World, what: &str) {
    for number in 0..8 {
        look(world, &format!("later {number}")).expect(what).expect(what);
        assert!(world.state().sent.len() <= 1, "{what}: sent twice");
    }
    assert!(!world.state().broadcasts.is_empty(), "{what}: nobody was told");
    let sale = world.state().sales[&session()].0.clone();
    assert_eq!(sale.waiting_replies().count(), 1, "{what}");
    // A record that the log did not take waits in the sale for the deadlines function, as any other does.
    assert!(memory(world).at_hand.is_empty(), "{what}: something is left");
    assert!(world.state().drafts.len() <= 2, "{what}");
    let (outcomes, sent) = (outcomes(world), world.state().sent.len());
    assert_eq!(outcomes.len(), 1, "{what}: {outcomes:?}");
    match outcomes[0].as_str() {
        "sent" => assert_eq!(sent, 1, "{what}"),
        "not_sent" => {
            assert_eq!(sent, 0, "{what}");
            assert!(told_of(world, "was not sent") >= 1, "{what}: not announced");
        }
        "unknown" => assert!(told_of(world, "may or may not have gone") >= 1, "{what}: not announced"),
        other => panic!("{what}: {other}"),
    }
}

#[test]
fn whatever_breaks_nobody_is_answered_twice_and_nothing_is_lost() {
    let clean = replied();
    clean.plan(Plan::none());
    look(&clean, "a").unwrap().unwrap();
    let boundaries = clean.passed();
    assert!(boundaries > 20, "{boundaries}");
    for boundary in 0..boundaries {
        for fault in FAULTS {
            let what = format!("{fault:?} at {boundary}");
            let world = replied();
            world.plan(Plan::at(boundary, fault));
            drop(look(&world, "a"));
            world.plan(Plan::none());
            holds(&world, &what);
        }
    }
}

#[test]
fn nor_does_any_pair_of_faults() {
    let clean = replied();
    clean.plan(Plan::none());
    look(&clean, "a").unwrap().unwrap();
    let boundaries = clean.passed();
    for first in 0..boundaries {
        for second in first + 1..boundaries + 15 {
            for (one, other) in [
                (Fault::LoseReply, Fault::LoseReply),
                (Fault::LoseReply, Fault::CrashAfter),
                (Fault::CrashAfter, Fault::CrashAfter),
                (Fault::CrashAfter, Fault::Fail),
                (Fault::CrashBefore, Fault::LoseReply),
            ] {
                let what = format!("{one:?} at {first}, {other:?} at {second}");
                let world = replied();
                world.plan(Plan::at(first, one).and_at(second, other));
                for number in 0..3 {
                    drop(look(&world, &format!("a{number}")));
                }
                world.plan(Plan::none());
                holds(&world, &what);
            }
        }
    }
}

/// FM-8: the first run is still at work.
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

#[test]
fn trouble_is_told_once_and_so_is_its_end() {
    let world = replied();
    let refused = || world.state().mailbox_says.push_back(Some(MailError::ConsentRefused));
    for _ in 0..3 {
        refused();
        assert!(look(&world, "a").unwrap().is_err());
    }
    assert_eq!(told_of(&world, "] CRITICAL | "), 1);
    assert_eq!(told_of(&world, "cannot be watched (401)"), 1);
    look(&world, "b").unwrap().unwrap();
    look(&world, "c").unwrap().unwrap();
    assert_eq!(told_of(&world, "watched again"), 1);
    assert_eq!(world.state().sent.len(), 1);
}

#[test]
fn a_throttled_mailbox_is_left_alone_for_as_long_as_it_asks() {
    let world = replied();
    world.state().mailbox_says.push_back(Some(MailError::Throttled(Duration::from_secs(600))));
    assert!(look(&world, "a").unwrap().is_err());
    let before = world.state().boundaries.iter().filter(|name| name.starts_with("inbox.")).count();
    for _ in 0..4 {
        assert!(!look(&world, "b").unwrap().unwrap().looked);
    }
    assert_eq!(world.state().boundaries.iter().filter(|name| name.starts_with("inbox.")).count(), before);
    assert!(look(&world, "c").unwrap().unwrap().looked);
}

#[test]
fn a_sender_is_acknowledged_again_after_a_day_and_not_before() {
    let world = replied();
    for (number, later) in [(2, 0), (3, 0), (4, COOLDOWN.as_secs())] {
        look(&world, "a").unwrap().unwrap();
        world.advance(Duration::from_secs(later));
        world.state().inbox.push(unread(&format!("m{number}"), number, "Buyer@example.com"));
    }
    look(&world, "b").unwrap().unwrap();
    assert_eq!(told_and_sent(&world), (4, 2));
    assert_eq!(outcomes(&world), ["sent", "skipped_cooldown", "skipped_cooldown", "sent"]);
}

/// Fifty messages at once: all told and acknowledged, in several runs.
#[test]
fn a_flood_is_worked_off_in_order() {
    let world = replied();
    world.state().inbox.clear();
    for number in 0..50 {
        world.state().inbox.push(unread(&format!("f{number}"), number, &format!("s{number}@example.com")));
    }
    let new: Vec<usize> = (0..4).map(|_| look(&world, "a").unwrap().unwrap().new).collect();
    assert_eq!(new, [20, 20, 10, 0]);
    assert_eq!(told_and_sent(&world), (50, 50));
    let recipients: Vec<String> = world.state().sent.iter().map(|(_, mail)| mail.to.clone()).collect();
    assert_eq!(recipients[..3], ["s0@example.com", "s1@example.com", "s2@example.com"]);
}

#[test]
fn a_message_that_cannot_be_dealt_with_is_given_up_and_that_is_told() {
    let world = replied();
    world.plan(Plan::none().whenever("inbox.sale_of", Fault::Fail));
    for _ in 0..6 {
        look(&world, "a").unwrap().unwrap();
    }
    assert_eq!((outcomes(&world), world.state().broadcasts.len()), (vec!["given_up".to_owned()], 1));
    assert_eq!(told_of(&world, "look into the inbox"), 1);
}
