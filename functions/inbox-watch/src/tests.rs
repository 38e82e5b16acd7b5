//! Whole runs over an in-memory inbox, with faults at every step.
//! The file has more than 300 lines because the helpers of the modules below are here, beside the tests of what holds
//! for every message.

use crate::{
    answer,
    error::WatchError,
    run::run as watch,
    state::{COOLDOWN, InboxState, MOST_FAILURES},
    watch::{FUNCTION, Keys, Ports, Report, Settings},
};
use async_trait::async_trait;
use audit::{AuditKeys, BridgeJournal, FunctionJournal};
use domain::{
    EmailAddress, Sale, Secret, SessionId, Timestamp,
    inbox::{Acknowledgement, Arrival, Arrivals, Correspondence, Incoming, Order, ReceivedAt},
    mail::{Draft, Mail},
    open_work::Work,
    ports::{Inbox, MailError, Mailbox, OutgoingMail, Pause},
    sale::Fulfilment,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Mutex, time::Duration};
use testkit::sale::WithField;
use testkit::{FAULTS, Fault, NoLimit, Plan, World, every_single_fault, inbox::Unread, run};

mod bridges;
mod changes;
mod disclosures;
mod faults;
mod followups;
mod reports;

const NOW: i64 = 1_800_000_000;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(NOW + seconds)
}

fn session() -> SessionId {
    SessionId::parse("cs_test_a1B2c3D4e5F6").unwrap()
}

/// A document of two keys, with this one as the current key.
fn keys(current: &str) -> AuditKeys {
    let document = json!({ "current": current, "keys": { "v1": "0".repeat(64), "v2": "1".repeat(64) } });
    AuditKeys::parse(&Secret::new(document.to_string())).unwrap()
}

fn tag(key: &str, address: &str) -> String {
    keys(key).current().unwrap().email_tag(&EmailAddress::parse(address).unwrap())
}

/// The headers with which the mailbox confirms the sender of a message.
fn vouched(sender: &str) -> Vec<(String, String)> {
    let domain = sender.rsplit_once('@').map_or("", |(_, domain)| domain);
    vec![("Authentication-Results".to_owned(), format!("spf=pass; dmarc=pass action=none header.from={domain}"))]
}

fn unread(id: &str, second: u32, sender: &str) -> Unread {
    let received_at = ReceivedAt::parse(format!("2027-01-15T08:00:{second:02}Z")).ok();
    let message = Incoming {
        sender: sender.to_owned(),
        subject: "Hello".to_owned(),
        conversation: Some(format!("conversation of {id}")),
        headers: vouched(sender),
    };
    Unread { arrival: Arrival { received_at, id: id.to_owned() }, message, text: "Please call me back.".to_owned() }
}

fn bridges(world: &World) -> bridge::Ports<'_> {
    let journal = BridgeJournal { store: world, log: world, alerts: world, clock: world };
    bridge::Ports { journal, accounts: world, keys: world }
}

/// A world after its first run.
fn begun() -> World {
    let world = World::at(at(0));
    assert!(look(&world, "first").unwrap().unwrap().looked);
    world.state().alerts.clear();
    world
}

/// A message arrives after all others.
fn arrives(world: &World, id: &str, sender: &str, text: &str) {
    let second = u32::try_from(world.state().inbox.len()).unwrap() + 1;
    world.state().inbox.push(Unread { text: text.to_owned(), ..unread(id, second, sender) });
}

fn is_inquiry(world: &World, id: &str) -> bool {
    let message = format!("\"message\":\"{id}\"");
    world.state().notes.get("inquiries").is_some_and(|(document, _)| document.contains(&message))
}

/// As many runs as this, which all succeed.
#[track_caller]
fn looks(world: &World, runs: u32, what: &str) {
    for number in 0..runs {
        look(world, &format!("later {number}")).expect(what).expect(what);
    }
}

/// The bodies of the sent mails, in order.
fn answers(world: &World) -> Vec<String> {
    world.state().sent.iter().map(|(_, letter)| letter.body.clone()).collect()
}

/// A run, two minutes after the previous one.
fn look(world: &World, id: &str) -> Option<Result<Report, WatchError>> {
    look_with(world, id, (world, world), &NoLimit, &keys("v1"))
}

fn look_with(
    world: &World,
    id: &str,
    (inbox, mailbox): (&dyn Inbox, &dyn Mailbox),
    pause: &dyn Pause,
    keys: &AuditKeys,
) -> Option<Result<Report, WatchError>> {
    world.advance(Duration::from_secs(120));
    let journal = FunctionJournal { function: FUNCTION, notes: world, log: world, alerts: world, clock: world };
    let own = EmailAddress::parse("oracle@42sisters.ai").unwrap();
    let seconds = Duration::from_secs;
    let settings = Settings { own, lease: seconds(110), budget: seconds(50), limit: seconds(40) };
    let keys = Keys { current: &keys.current().unwrap(), all: keys };
    let ports = Ports {
        journal,
        store: world,
        submissions: world,
        orders: world,
        bridges: bridges(world),
        inbox,
        relayed: world,
        mailbox,
        broadcast: world,
        pause,
        audit_keys: &world.secret(""),
        meter: world,
    };
    run(watch(ports, keys, &settings, id))
}

/// A world after its first run, in which the buyer has replied to a mail of a sale.
fn replied() -> World {
    let world = begun();
    let tag = tag("v1", "buyer@example.com");
    let sale = Sale::ordered(session(), at(-600))
        .with("fulfilment", Fulfilment::Unusable { at: at(-500) })
        .with("notice", Mail::Sent { at: at(-400) })
        .with("email_tag", Some(tag));
    world.state().sales.insert(session(), (sale, 1));
    world.state().conversations.insert("conversation of m1".to_owned(), session());
    world.state().inbox.push(unread("m1", 1, "buyer@example.com"));
    world
}

/// A fresh world for each fault at each step of a run, after that run. A run takes more than `least` steps.
fn broken(fresh: impl Fn() -> World, least: usize) -> impl Iterator<Item = (World, String)> {
    let clean = fresh();
    clean.plan(Plan::none());
    look(&clean, "a").unwrap().unwrap();
    every_single_fault(clean.passed(), least).map(move |(plan, what)| {
        let world = fresh();
        world.plan(plan);
        drop(look(&world, "a"));
        world.plan(Plan::none());
        (world, what)
    })
}

/// A run whose answer is claimed and not drafted, because the mailbox asks to wait.
fn busy_for_a_moment(world: &World) {
    let busy = MailError::Throttled { status: 429, wait: Duration::from_secs(60) };
    world.state().mailbox_says.extend([None, Some(busy)]);
    assert!(look(world, "busy").unwrap().is_err());
    assert_eq!(saved_state(world).answered.len(), 1, "the answer is claimed");
}

fn saved_state(world: &World) -> InboxState {
    let document: Value = serde_json::from_str(&world.state().notes[FUNCTION].0).unwrap();
    serde_json::from_value(document["memory"].clone()).unwrap()
}

fn outcomes(world: &World) -> Vec<String> {
    let records = world.state().records();
    let outcomes = records.iter().filter(|record| record["event"] == "auto_response");
    outcomes.map(|line| line["details"]["outcome"].as_str().unwrap().to_owned()).collect()
}

fn alerts_with(world: &World, words: &str) -> usize {
    world.state().alerts.iter().filter(|alert| alert.line.contains(words)).count()
}

/// A storm withholds errors. An alert about a message that may be on no list is a warning.
fn warnings_with(world: &World, words: &str) -> usize {
    let state = world.state();
    let warnings = state.alerts.iter().filter(|alert| alert.line.starts_with("[ORACLE-INBOX] WARN | "));
    warnings.filter(|alert| alert.line.contains(words)).count()
}

fn announced_and_sent(world: &World) -> (usize, usize) {
    let state = world.state();
    (state.broadcasts.len(), state.sent.len())
}

/// A sender's address can be forged: an acknowledgement to it would be spam from us, and a reply from it to a sale's
/// mail is not the buyer's.
#[test]
fn an_unverified_sender_is_announced_and_listed_but_not_acknowledged() {
    let world = replied();
    world.state().inbox[0].message.headers.clear();
    world.state().inbox.push(Unread { ..unread("m2", 2, "stranger@example.com") });
    world.state().inbox[1].message.headers = vouched("someone@other.example");
    look(&world, "a").unwrap().unwrap();
    assert_eq!(announced_and_sent(&world), (2, 0));
    assert_eq!(outcomes(&world), ["skipped_unauthenticated", "skipped_unauthenticated"]);
    let state = world.state();
    assert_eq!(state.sales[&session()].0.replies()[0].from_buyer, Some(false));
    assert!(state.notes["inquiries"].0.contains("\"message\":\"m2\""));
}

/// With any fault, a message that is no reply is on the list of inquiries once, without its address.
#[test]
fn a_message_that_is_no_reply_is_an_inquiry_once() {
    let fresh = || {
        let world = replied();
        world.state().inbox[0] = unread("m2", 2, "stranger@example.com");
        world.state().conversations.clear();
        world
    };
    for (world, what) in broken(fresh, 10) {
        for id in ["b", "c", "d"] {
            let _ = look(&world, id);
        }
        let state = world.state();
        let note = &state.notes["inquiries"].0;
        assert_eq!(note.matches("\"message\":\"m2\"").count(), 1, "{what}: {note}");
        assert!(!note.contains('@'), "{what}: {note}");
        for key in ["v1", "v2"] {
            assert!(note.contains(&tag(key, "stranger@example.com")), "{what}: a sale may have any key's tag: {note}");
        }
    }
}

/// SES's ids of a sale's mails outlive its erasure. A message that named the sale would be on no list, and nothing
/// would remove its acknowledgement.
#[test]
fn a_reply_to_a_mail_of_an_erased_sale_is_an_inquiry() {
    let world = replied();
    let dana = domain::Operator::parse("dana", Some("they asked for it")).unwrap();
    let mut state = world.state();
    state.sales.get_mut(&session()).unwrap().0.erase(&dana, at(0)).unwrap();
    state.conversations.clear();
    state.relay_links.insert("0100-mail".to_owned(), session());
    state.inbox[0].message.headers.push(("In-Reply-To".to_owned(), "<0100-mail@email.amazonses.com>".to_owned()));
    drop(state);
    look(&world, "a").unwrap().unwrap();
    let state = world.state();
    let inquiries = state.notes.get("inquiries").map_or("", |(document, _)| document.as_str());
    assert!(inquiries.contains("\"message\":\"m1\""), "{inquiries}");
    assert_eq!((state.sent.len(), state.acknowledged.len()), (1, 0), "the acknowledgement names no sale");
    assert!(state.sales[&session()].0.replies().is_empty());
}

#[test]
fn a_message_is_announced_linked_acknowledged_and_recorded() {
    let world = replied();
    assert_eq!(look(&world, "a").unwrap().unwrap(), Report { looked: true, new: 1, finished: 1, failed: 0 });
    look(&world, "b").unwrap().unwrap();
    let state = world.state();
    assert_eq!(state.broadcasts, ["Incoming: from buyer@example.com — subject: Hello"]);
    assert_eq!((state.sent.len(), state.sent[0].1.subject.as_str()), (1, "Re: Hello"));
    assert_eq!(state.acknowledged.get(&state.sent[0].0.id), Some(&session()), "an erasure of the sale finds it");
    let sale = &state.sales[&session()].0;
    assert_eq!(sale.open_work().map(|open| open.work), Some(Work::Reply));
    assert_eq!((sale.replies().len(), sale.replies()[0].from_buyer), (1, Some(true)));
    let written: String = state.log.values().chain([&state.notes[FUNCTION].0]).cloned().collect();
    assert!(!written.contains('@') && written.contains("customer_reply"), "{written}");
    assert!(state.alerts.iter().all(|alert| !alert.line.contains('@')));
    drop(state);
    assert_eq!(outcomes(&world), ["sent"]);
}

#[test]
fn an_outage_alerts_once_and_so_does_its_end() {
    let world = replied();
    let refused = || world.state().mailbox_says.push_back(Some(MailError::ConsentRefused));
    for _ in 0..3 {
        refused();
        assert!(look(&world, "a").unwrap().is_err());
    }
    assert_eq!(alerts_with(&world, "] CRITICAL | "), 1);
    assert_eq!(alerts_with(&world, "cannot be watched (401)"), 1);
    look(&world, "b").unwrap().unwrap();
    look(&world, "c").unwrap().unwrap();
    assert_eq!(alerts_with(&world, "watched again"), 1);
    assert_eq!(world.state().sent.len(), 1);
}

#[test]
fn a_throttled_mailbox_is_left_alone_for_as_long_as_it_asks() {
    let world = replied();
    world.state().mailbox_says.push_back(Some(MailError::Throttled { status: 429, wait: Duration::from_secs(600) }));
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
    assert_eq!(announced_and_sent(&world), (4, 2));
    assert_eq!(outcomes(&world), ["sent", "skipped_cooldown", "skipped_cooldown", "sent"]);
}

/// Fifty messages at once: all are alerted on and acknowledged, in several runs.
#[test]
fn a_flood_is_worked_off_in_order() {
    let world = replied();
    world.state().inbox.clear();
    for number in 0..50 {
        world.state().inbox.push(unread(&format!("f{number}"), number, &format!("s{number}@example.com")));
    }
    let new: Vec<usize> = (0..4).map(|_| look(&world, "a").unwrap().unwrap().new).collect();
    assert_eq!(new, [20, 20, 10, 0]);
    assert_eq!(announced_and_sent(&world), (50, 50));
    let recipients: Vec<String> = world.state().sent.iter().map(|(_, mail)| mail.to.clone()).collect();
    assert_eq!(recipients[..3], ["s0@example.com", "s1@example.com", "s2@example.com"]);
}

/// A flood delays replies and disclosures, so operators learn of it once, and of its end.
#[test]
fn a_backlog_alerts_once_and_so_does_its_end() {
    let world = begun();
    for number in 0..200 {
        world.state().inbox.push(unread(&format!("f{number:03}"), number % 60, &format!("s{number}@example.com")));
    }
    let alerts = || ["a run handles", "waits for a later run any more"].map(|words| alerts_with(&world, words));
    looks(&world, 9, "a backlog");
    assert_eq!(alerts(), [1, 0]);
    looks(&world, 3, "its end");
    assert_eq!(alerts(), [1, 1]);
    assert_eq!(world.state().broadcasts.len(), 200);
}

/// Inbox Watch, V3: every sender is acknowledged, an alert says that the message's sale is unknown, and operators are held
/// to the time that the acknowledgement promises.
#[test]
fn a_message_that_cannot_be_linked_is_acknowledged_all_the_same() {
    let world = replied();
    world.plan(Plan::none().whenever("inbox.sale_of", Fault::Fail));
    looks(&world, MOST_FAILURES + 1, "a sale that cannot be found stops no run");
    assert_eq!((outcomes(&world), announced_and_sent(&world)), (vec!["sent".to_owned()], (1, 1)));
    assert!(world.state().acknowledged.is_empty(), "it names no sale");
    assert_eq!(warnings_with(&world, "the search for a message's sale failed"), 1);
    assert!(is_inquiry(&world, "m1") && saved_state(&world).at_hand.is_empty());
}

/// The same after a run that claimed the acknowledgement, when the mailbox was busy for a moment.
#[test]
fn a_claimed_acknowledgement_does_not_wait_for_a_sale_that_cannot_be_found() {
    let world = replied();
    busy_for_a_moment(&world);
    world.plan(Plan::none().whenever("inbox.sale_of", Fault::Fail));
    looks(&world, MOST_FAILURES + 1, "a sale that cannot be found stops no run");
    assert_eq!((outcomes(&world), announced_and_sent(&world)), (vec!["sent".to_owned()], (1, 1)));
    assert_eq!(warnings_with(&world, "the search for a message's sale failed"), 1);
    assert_eq!(world.state().sales[&session()].0.waiting_replies().count(), 1);
    assert!(!is_inquiry(&world, "m1"), "the first run has put it on its sale's list");
}

/// The sale's tag was made with the previous key: the buyer is recognised all the same.
#[test]
fn a_buyer_is_known_after_the_key_was_rotated() {
    for (made_with, from, expected) in [
        ("v1", "Buyer@example.com", Some(true)),
        ("v2", "buyer@example.com", Some(true)),
        ("v1", "other@example.com", Some(false)),
        // With a key that is no longer stored, the answer is unknown.
        ("v0", "buyer@example.com", None),
    ] {
        let world = replied();
        let buyers = if made_with == "v0" {
            tag("v1", from).replace(":v1:", ":v0:")
        } else {
            tag(made_with, "buyer@example.com")
        };
        world.change_sales("email_tag", &buyers);
        world.state().inbox[0].message.sender = from.to_owned();
        look_with(&world, "a", (&world, &world), &NoLimit, &keys("v2")).unwrap().unwrap();
        assert_eq!(world.state().sales[&session()].0.replies()[0].from_buyer, expected, "{made_with} {from}");
    }
}

/// Equal alerts are sent at most once a minute. The alerts of two replies always differ, even if their sales have the
/// same prefix.
#[test]
fn the_alerts_of_two_replies_are_about_two_matters() {
    let world = replied();
    let other = SessionId::parse("cs_test_a1B2another").unwrap();
    assert_eq!(other.prefix(), session().prefix());
    let sale = world.state().sales[&session()].0.clone().with("session_id", other.clone());
    world.state().sales.insert(other.clone(), (sale, 1));
    world.state().conversations.insert("conversation of m2".to_owned(), other);
    world.state().inbox.push(unread("m2", 2, "other@example.com"));
    look(&world, "a").unwrap().unwrap();
    let state = world.state();
    let replies = state.alerts.iter().filter_map(|alert| alert.parts()).filter(|parts| parts.operation == "REPLY");
    let subjects: BTreeSet<&str> = replies.map(|parts| parts.subject).collect();
    assert_eq!(subjects.len(), 2, "{:?}", state.alerts);
}

/// Most runs find nothing new. The state has up to 35 KB, so a save that changes nothing costs as much as all others.
#[test]
fn a_run_without_a_new_message_saves_its_begin_and_its_end_alone() {
    let world = replied();
    looks(&world, 2, "the message is answered");
    world.plan(Plan::none());
    world.state().boundaries.clear();
    look(&world, "idle").unwrap().unwrap();
    assert_eq!(world.state().boundaries, ["notes.load", "notes.save", "inbox.arrived", "notes.save"]);
}

#[test]
fn what_is_written_stays_byte_for_byte() {
    let world = replied();
    world.plan(Plan::none().whenever("broadcast.tell", Fault::Fail));
    look(&world, "a").unwrap().unwrap();
    world.plan(Plan::none());
    look(&world, "b").unwrap().unwrap();
    world.state().inbox.push(unread("m2", 2, "Buyer@example.com"));
    world.state().inbox.push(unread("m3", 3, "other@example.com"));
    world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    look(&world, "c").unwrap().unwrap();
    world.plan(Plan::none());
    world.state().mailbox_says.push_back(Some(MailError::ConsentRefused));
    assert!(look(&world, "d").unwrap().is_err());
    look(&world, "e").unwrap().unwrap();
    testkit::golden::check(concat!(env!("CARGO_MANIFEST_DIR"), "/golden/looks.txt"), &world.written());
}
