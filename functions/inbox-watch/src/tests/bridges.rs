//! Replies to the mails about a Bridge.

use super::*;
use domain::{
    chat::{BRIDGE_PREFIX, CURRENT_AGREEMENT, SubscriberId, SubscriberKey},
    operator::Operator,
    ports::StoredMails,
};

const MEMBER: &str = "member@example.com";
const TEXT: &str = "Tuesday at ten suits us.";

fn who() -> SubscriberId {
    let key = SubscriberKey::parse(&Secret::new(json!({ "subscriber_key": "k".repeat(32) }).to_string())).unwrap();
    SubscriberId::of(&key, &EmailAddress::parse(MEMBER).unwrap())
}

fn dana() -> Operator {
    Operator::parse("dana", Some("they asked for a call")).unwrap()
}

/// A world after its first run, whose member is granted access and has replied to a mail about the Bridge.
fn answered(sender: &str, text: &str) -> World {
    let world = begun();
    let key = SubscriberKey::parse(&Secret::new(json!({ "subscriber_key": "k".repeat(32) }).to_string())).unwrap();
    let address = EmailAddress::parse(MEMBER).unwrap();
    let (version, sha256) = (CURRENT_AGREEMENT.version, CURRENT_AGREEMENT.sha256.to_owned());
    let asked = bridge::AcceptanceRequest { version, sha256, name: "Sam Example".to_owned(), address };
    run(bridge::accept(bridges(&world), &who(), &bridge::check(&key, &who(), &asked).unwrap())).unwrap().unwrap();
    run(bridge::grant(bridges(&world), &who(), &dana(), at(30 * 86_400))).unwrap().unwrap();
    world.state().alerts.clear();
    mails(&world, "m1", sender, text);
    world
}

fn mails(world: &World, id: &str, sender: &str, text: &str) {
    let name = SessionId::parse(format!("{BRIDGE_PREFIX}{}", who().as_str())).unwrap();
    world.state().conversations.insert(format!("conversation of {id}"), name);
    arrives(world, id, sender, text);
}

/// The mails that an erasure of the Bridge removes.
fn removable(world: &World) -> Vec<String> {
    let name = SessionId::parse(format!("{BRIDGE_PREFIX}{}", who().as_str())).unwrap();
    run(StoredMails::of_sale(world, &name, &[])).unwrap().unwrap().ids
}

/// The texts of the thread, oldest first.
fn thread(world: &World) -> Vec<String> {
    let held = run(bridge::load(bridges(world), &who())).unwrap().unwrap();
    let shown = run(held.messages(world)).unwrap().unwrap();
    shown.into_iter().map(|message| message.text).collect()
}

#[test]
fn a_members_reply_by_mail_is_in_the_thread_and_operators_are_alerted() {
    let world = answered("Member@Example.com", &format!("{TEXT}\r\n"));
    look(&world, "a").unwrap().unwrap();
    assert_eq!(thread(&world), [TEXT]);
    assert_eq!(alerts_with(&world, "BRIDGE_MESSAGE"), 1);
    assert!(!is_inquiry(&world, "m1"), "it is work on the Bridge, and no second one");
    assert_eq!(outcomes(&world), ["sent"], "acknowledged like every message");
    assert_eq!(removable(&world), ["m1", "ack-0"]);
    mails(&world, "m2", MEMBER, "And Thursday.");
    look(&world, "b").unwrap().unwrap();
    assert_eq!(thread(&world), [TEXT, "And Thursday."]);
}

#[test]
fn a_reply_loads_its_account_and_its_bridge_once() {
    let world = answered(MEMBER, TEXT);
    world.state().boundaries.clear();
    look(&world, "a").unwrap().unwrap();
    assert_eq!(thread(&world), [TEXT]);
    let calls = |name: &str| world.state().boundaries.iter().filter(|call| **call == name).count();
    // One more each by the test.
    assert_eq!((calls("accounts.load"), calls("bridges.load")), (2, 2));
}

#[test]
fn a_reply_that_is_not_posted_is_an_inquiry() {
    let forged = answered(MEMBER, TEXT);
    forged.state().inbox[0].message.headers.clear();
    let revoked = answered(MEMBER, TEXT);
    run(bridge::revoke(bridges(&revoked), &who(), &dana())).unwrap().unwrap();
    let expired = answered(MEMBER, TEXT);
    expired.advance(Duration::from_secs(31 * 86_400));
    for (what, world) in [
        ("a stranger's", answered("stranger@example.com", TEXT)),
        ("another spelling's", answered("m.ember@example.com", TEXT)),
        ("without DMARC", forged),
        ("too long", answered(MEMBER, &"x".repeat(4_001))),
        ("empty", answered(MEMBER, " \r\n")),
        ("after a revocation", revoked),
        ("after the expiry", expired),
    ] {
        look(&world, "a").unwrap().unwrap();
        assert_eq!(thread(&world), Vec::<String>::new(), "{what}");
        assert!(is_inquiry(&world, "m1"), "{what}");
        let acknowledged = world.state().sent.len();
        assert_eq!(removable(&world).len(), 2 * acknowledged, "{what}: the message and its acknowledgement");
    }
}

#[test]
fn a_members_disclosure_is_in_the_thread_and_answered_with_the_resources() {
    let world = answered(MEMBER, "I want to kill myself");
    look(&world, "a").unwrap().unwrap();
    look(&world, "b").unwrap().unwrap();
    assert_eq!(thread(&world), ["I want to kill myself"]);
    assert_eq!(removable(&world), ["m1", "ack-0"], "the mail with the resources");
    let state = world.state();
    let sent: Vec<&str> = state.sent.iter().map(|(_, mail)| mail.body.as_str()).collect();
    assert!(sent.len() == 1 && sent[0].starts_with(domain::texts::CRISIS), "{sent:?}");
    let recorded = state.log.values().filter(|line| line.contains("authority_evaluated")).count();
    assert_eq!(recorded, 1);
}

/// With any fault at any step, the runs that follow post the text once.
#[test]
fn no_fault_posts_a_reply_twice_or_loses_it() {
    for (world, what) in broken(|| answered(MEMBER, TEXT), 10) {
        for later in ["b", "c", "d"] {
            drop(look(&world, later));
        }
        assert_eq!(thread(&world), [TEXT], "{what}");
        assert!(!is_inquiry(&world, "m1"), "{what}");
    }
}

/// The text of a reply that meets an erasure is in no thread, and nothing can open it.
#[test]
fn a_reply_to_an_erased_bridge_is_not_posted() {
    let world = answered(MEMBER, TEXT);
    let journal = bridges(&world).journal;
    let loaded = run(journal.load(&who())).unwrap().unwrap();
    let erase = |bridge: &mut domain::chat::Bridge, now| audit::Change::save(bridge.erase(now));
    drop(run(async { journal.commit(loaded, erase).await.unwrap().settle().await }).unwrap());
    look(&world, "a").unwrap().unwrap();
    assert_eq!(thread(&world), Vec::<String>::new());
    assert!(is_inquiry(&world, "m1"));
    assert!(world.state().acknowledged.is_empty(), "the mails of the Bridge may be removed already");
}
