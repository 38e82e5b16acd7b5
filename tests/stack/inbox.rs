//! The inbox: a new message raises an alert, is acknowledged once, and is linked to its sale (Inbox Watch, V1 to V10).

mod watched;

pub(crate) use watched::Watched;

use crate::{
    operators::{asked, decide, decided, listed, printed},
    world::{CANARY, Sale, World, by_link, email, question},
};
use serde_json::{Value, json};
use tests::{SOON, eventually};

const BODY: &str = "Your inquiry has been received by the 42Sisters.AI Oracle. Expect a response within 24 hours. \
    Thank you for reaching out. — 42 Sisters AI · oracle@42sisters.ai";

/// Inbox Watch, V1, and G7: the first run is reported.
#[tokio::test]
async fn a_first_run_takes_what_is_there_as_seen_and_says_so() {
    let watched = Watched::fresh().await;
    for number in 0..60 {
        let received = format!("2026-04-16T10:{:02}:00Z", number % 60);
        watched.put(json!({ "from": email(), "subject": "old", "receivedDateTime": received })).await;
    }
    let before = watched.events("inbox_seeded").await.len();
    watched.look().await;
    watched.look_finds(0, 0).await;
    assert_eq!(watched.memory().await["seen"].as_array().expect("a list").len(), 60, "all of them");
    // Other tests cause first runs too, and the same alert is sent once within a minute.
    let said = watched.lines("[ORACLE-INBOX] WARN").await;
    assert!(said.iter().all(|line| line.contains("first run: 60 message(s) taken as seen")), "{said:?}");
    assert_eq!(watched.events("inbox_seeded").await.len(), before + 1);
}

/// Inbox Watch, V2, V3, V9, V10.
#[tokio::test]
async fn every_new_message_is_announced_and_acknowledged_once() {
    let watched = Watched::seeded().await;
    // Later than the first run, and in a known order.
    let new = [("Hello", "Re: Hello"), ("Re: Hello", "Re: Hello"), ("RE: shout", "Re: RE: shout")];
    let mut expected = Vec::new();
    for (number, (subject, _)) in new.iter().enumerate() {
        let (from, received) = (email(), format!("2099-04-16T11:00:0{number}Z"));
        watched.put(json!({ "from": from, "subject": subject, "receivedDateTime": received })).await;
        expected.push(format!("Incoming: from {from} — subject: {subject}"));
    }
    watched.look().await;
    watched.look().await;
    let mut broadcasts = watched.broadcasts().await;
    broadcasts.sort();
    expected.sort();
    assert_eq!(broadcasts, expected);
    let mails = watched.mails().await;
    let subjects: Vec<&str> = mails.iter().map(|mail| mail["subject"].as_str().expect("a subject")).collect();
    assert_eq!(subjects, new.map(|(_, answer)| answer));
    for mail in &mails {
        assert_eq!((&mail["body"], &mail["headers"]["X-Auto-Response-Suppress"]), (&json!(BODY), &json!("All")));
    }
    let seen = watched.memory().await["seen"].to_string();
    for number in 0..3 {
        assert!(seen.contains(&format!("2099-04-16T11:00:0{number}Z")), "{seen}");
    }
    assert_eq!(watched.last_outcome().await, "sent");
    let calls = watched.world.calls("graph", "").await;
    assert!(!calls.is_empty());
    for call in calls {
        let (method, path) = (call["method"].as_str().expect("a method"), call["path"].as_str().expect("a path"));
        let drafts_only = path.ends_with("/messages") || path.ends_with("/send");
        assert!(method == "GET" || method == "POST" && drafts_only, "the inbox is read only: {method} {path}");
    }
}

/// Inbox Watch, V4, V5, V6, and all other mails that must not be answered.
#[tokio::test]
async fn senders_that_must_not_be_answered_are_alerted_on_all_the_same() {
    let watched = Watched::seeded().await;
    for from in ["noreply@stripe.com", "no-reply@anything.com", "NO-REPLY@anything.com", "oracle@42sisters.ai"] {
        watched.put(json!({ "from": from, "subject": "x" })).await;
    }
    let automatic =
        json!({ "from": email(), "subject": "Out of office", "headers": { "Auto-Submitted": "auto-replied" } });
    watched.put(automatic).await;
    watched.look_finds(5, 0).await;
    assert!(watched.memory().await["at_hand"] == json!([]));
}

/// Inbox Watch, V7.
#[tokio::test]
async fn the_seen_list_keeps_its_newest_500_entries() {
    let watched = Watched::seeded().await;
    let time = |n: usize| format!("2026-04-16T{:02}:{:02}:{:02}Z", n / 3600, n / 60 % 60, n % 60);
    let seen: Vec<Value> = (0..600).map(|n| json!({ "received_at": time(n), "message": format!("{n:016}") })).collect();
    watched.remember(json!({ "seeded_at": 1, "seen": seen })).await;
    watched.look().await;
    let seen = watched.memory().await["seen"].clone();
    let seen = seen.as_array().expect("a list");
    assert_eq!(
        (seen.len(), &seen[0]["received_at"], &seen[499]["received_at"]),
        (500, &json!(time(100)), &json!(time(599)))
    );
}

/// Inbox Watch, V8, FM-1: the invocation succeeds ([`World::aws`]'s `invoke` fails otherwise), and operators are
/// alerted once.
#[tokio::test]
async fn a_mailbox_that_fails_loses_nothing_and_alerts_once() {
    let watched = Watched::seeded().await;
    watched.put(json!({ "from": email(), "subject": "kept" })).await;
    let before = watched.memory().await["seen"].clone();
    watched.world.stack.faults("graph", json!([{ "status": 503 }, { "status": 500 }])).await;
    watched.look().await;
    assert_eq!(watched.memory().await["seen"], before);
    watched.look_finds(0, 0).await;
    watched.world.faults_are_used_up().await;
    watched.look_finds(1, 1).await;
    let said = watched.lines("[ORACLE-INBOX]").await;
    assert!(said.iter().any(|line| line.contains("cannot be watched (503)")), "{said:?}");
}

/// Inbox Watch, G4: a throttled mailbox is not called for as long as it asks.
#[tokio::test]
async fn a_throttled_mailbox_is_left_alone() {
    let watched = Watched::seeded().await;
    watched.put(json!({ "from": email(), "subject": "later" })).await;
    watched.world.stack.faults("graph", json!([{ "status": 429, "headers": { "Retry-After": "120" } }])).await;
    watched.look().await;
    let calls = watched.world.calls("graph", "").await.len();
    watched.look().await;
    assert_eq!(watched.world.calls("graph", "").await.len(), calls, "no call within the time it asked for");
    let mut memory = watched.memory().await;
    memory["wait_until"] = json!(1);
    watched.remember(memory).await;
    watched.look_finds(1, 1).await;
}

/// Inbox Watch, FM-2: a stored state that cannot be read counts as none.
#[tokio::test]
async fn a_memory_that_cannot_be_read_begins_anew_without_a_flood() {
    let watched = Watched::seeded().await;
    watched.put(json!({ "from": email(), "subject": "x" })).await;
    watched.remember(json!("garbage")).await;
    watched.look_finds(0, 0).await;
    watched.put(json!({ "from": email(), "subject": "y" })).await;
    watched.look_finds(1, 1).await;
}

/// Inbox Watch, FM-5.
#[tokio::test]
async fn a_message_without_a_time_hinders_nobody() {
    let watched = Watched::seeded().await;
    watched.put(json!({ "from": email(), "subject": "undated", "receivedDateTime": null })).await;
    watched.put(json!({ "from": email(), "subject": "dated" })).await;
    watched.look().await;
    watched.look_finds(2, 2).await;
}

/// Inbox Watch, FM-6, G1: one acknowledgement in 24 hours; operators are alerted to every message.
#[tokio::test]
async fn a_sender_is_acknowledged_once_a_day() {
    let watched = Watched::seeded().await;
    let from = email();
    for (announced, subject) in (1..).zip(["one", "two", "three"]) {
        watched.put(json!({ "from": from, "subject": subject })).await;
        watched.look_finds(announced, 1).await;
    }
    assert_eq!(watched.last_outcome().await, "skipped_cooldown");
    assert!(!watched.memory().await.to_string().contains('@'), "addresses are keyed hashes");
}

/// Inbox Watch, FM-4, G5: a lost reply causes no second mail; after a refusal no mail is sent, and that raises an
/// alert.
#[tokio::test]
async fn an_acknowledgement_is_never_sent_twice() {
    let watched = Watched::seeded().await;
    watched.put(json!({ "from": email(), "subject": "lost" })).await;
    // List, message, its new text, sale (found through its conversation), draft; then the reply to sending is lost.
    watched.world.stack.faults("graph", json!([{}, {}, {}, {}, {}, { "drop": true }])).await;
    watched.look().await;
    watched.look().await;
    watched.world.faults_are_used_up().await;
    assert_eq!((watched.mails().await.len(), watched.last_outcome().await), (1, json!("sent")));

    watched.put(json!({ "from": email(), "subject": "refused" })).await;
    watched.world.stack.faults("graph", json!([{}, {}, {}, {}, { "status": 400 }])).await;
    watched.look().await;
    watched.look().await;
    assert_eq!((watched.mails().await.len(), watched.last_outcome().await), (1, json!("not_sent")));
    let said = watched.lines("[ORACLE-INBOX] ERROR").await;
    assert!(said.len() == 1 && said[0].contains("was not sent (400): it is not tried again"), "{said:?}");
}

/// Inbox Watch, FM-8.
#[tokio::test]
async fn runs_that_overlap_tell_and_answer_once() {
    let watched = Watched::seeded().await;
    watched.put(json!({ "from": email(), "subject": "once" })).await;
    tokio::join!(watched.look(), watched.look(), watched.look(), watched.look());
    watched.look_finds(1, 1).await;
}

/// Silent Drop, GAP-SD-09: the reply is on an operator's list, can be read, and a re-attempt settles it.
#[tokio::test]
async fn a_reply_to_a_silent_drop_is_linked_to_its_sale() {
    let watched = Watched::seeded().await;
    let world = &watched.world;
    let (Sale { session, email: address, .. }, mut object) = by_link("quick");
    object["metadata"]["tier"] = json!("gold");
    world.stack.plant(&object).await;
    world.tell("checkout.session.completed", &object).await;
    let mail = eventually("the mail that asks", SOON, async || world.mails(&address).await.pop()).await;
    world.settled(&session).await;
    world.until(&session, "the notice on record", |sale| sale["notice"]["state"] == "sent").await;

    let text = format!("Should I sell the {CANARY}? Quick Take please.");
    let subject = "Re: We received your payment — please reply with your question";
    let reply = json!({ "from": address, "subject": subject, "body": text, "inReplyTo": mail["internet_message_id"] });
    watched.put(reply).await;
    watched.look().await;
    listed(world, &["list"], &session, true).await;
    listed(world, &["replies", "list"], &session, true).await;
    let shown = printed(world, &["replies", "show", &session]);
    assert!(shown.contains(&text) && shown.contains("from the buyer's address"), "{shown}");
    assert_eq!(world.mails(&address).await.len(), 2, "who is linked is acknowledged too");
    for item in world.aws.table().await {
        assert!(!item.contains(&text), "a reply's text is kept: {item}");
    }
    assert!(printed(world, &["show", &session]).contains("customer_reply"));

    let file = world.stack.directory.join("reply.txt");
    std::fs::write(&file, question()).expect("a file");
    let file = file.to_str().expect("a path");
    let again = ["reattempt", &session, "--tier", "quick", "--query-file", file];
    assert_eq!(decide(world, &again).0, Some(1), "--yes shows no reply, so it is named");
    decided(world, &[&again[..], &["--reply", &reply_of(world, &session)]].concat());
    assert_eq!(world.answered(&session).await.status, 200);
    listed(world, &["replies", "list"], &session, false).await;
    // The next test must not meet its mail.
    world.settled(&session).await;
}

/// The name of the only reply that waits.
fn reply_of(world: &World, session: &str) -> String {
    let (_, shown) = asked(world, &["replies", "show", session]);
    shown["replies"][0]["reply"].as_str().expect("a name").to_owned()
}

/// An operator settles a reply to a verdict.
#[tokio::test]
async fn a_reply_to_a_verdict_waits_until_an_operator_settles_it() {
    let watched = Watched::seeded().await;
    let world = &watched.world;
    let sale = world.bought("strategy").await;
    let mail = world.mails(&sale.email).await.pop().expect("the verdict's mail");
    let stranger = email();
    // In a separate conversation: Exchange opens one if a mail program omits the headers by which it assigns mails.
    let answers = json!({ "In-Reply-To": mail["internet_message_id"] });
    watched.put(json!({ "from": stranger, "subject": "Re: x", "headers": answers })).await;
    watched.look().await;
    listed(world, &["replies", "list"], &sale.session, true).await;
    assert!(printed(world, &["replies", "show", &sale.session]).contains("NOT from the buyer's address"));
    decided(world, &["replies", "settle", &sale.session, "--reply", &reply_of(world, &sale.session)]);
    listed(world, &["replies", "list"], &sale.session, false).await;
    listed(world, &["list"], &sale.session, false).await;
    assert_eq!(decide(world, &["replies", "settle", &sale.session]).0, Some(1), "nothing waits any more");
}

/// The list of inquiries is that of the whole stack, so the test's own is the one that is new.
#[tokio::test]
async fn a_strangers_message_waits_until_an_operator_settles_it() {
    let watched = Watched::seeded().await;
    let world = &watched.world;
    let names = || -> Vec<String> {
        let (code, rows) = asked(world, &["inquiries", "list"]);
        assert_eq!(code, Some(0), "{rows}");
        let rows = rows.as_array().expect("rows");
        rows.iter().map(|row| row["inquiry"].as_str().expect("a name").to_owned()).collect()
    };
    let earlier = names();
    let text = format!("Do you also answer in French? {CANARY}");
    watched.put(json!({ "from": email(), "subject": "Hello", "body": text })).await;
    watched.look().await;
    let new: Vec<String> = names().into_iter().filter(|name| !earlier.contains(name)).collect();
    let [name] = new.as_slice() else { panic!("one new inquiry: {new:?}") };
    let (code, shown) = asked(world, &["inquiries", "show", name]);
    assert!(code == Some(0) && shown["text"].as_str().is_some_and(|shown| shown.contains(&text)), "{shown}");
    decided(world, &["inquiries", "settle", name]);
    assert!(!names().contains(name));
    assert_eq!(decide(world, &["inquiries", "settle", name]).0, Some(1), "nothing waits any more");
}
