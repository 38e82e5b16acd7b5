//! Bridges from the acceptance to the end of access, with faults at every effect.
//! The file has more than 300 lines because the helpers of the modules below are here, beside the tests of the whole
//! life.

mod erasure;
mod letters;
mod overtaken;
mod replies;

use super::*;
use domain::{
    CallerIdentity, EmailAddress, Secret,
    chat::{BridgeState, BridgeTask, CURRENT_AGREEMENT, ExchangeId, Message, SubscriberKey},
    operator::Operator,
};
use domain::{
    ports::{MailError, StoredMails},
    texts,
};
use overtaken::Overtaken;
use std::time::Duration;
use testkit::{Fault, Plan, World, every_single_fault, run};

const ADDRESS: &str = "someone@example.com";
const NAME: &str = "Sam Example";
const TEXT: &str = "May we speak about the harbour lease?";
const IDENTITY: &str = "arn:aws:iam::123456789012:user/ops/dana";
const SITE: &str = "https://oracle.example";
const REPLY: &str = "Yes. Please send us the lease and its last amendment.";

fn world() -> World {
    World::at(Timestamp::from_seconds(1_790_000_000))
}

fn ports(world: &World) -> Ports<'_> {
    let journal = BridgeJournal { store: world, log: world, alerts: world, clock: world };
    Ports { journal, accounts: world, keys: world }
}

fn now(world: &World) -> Timestamp {
    Timestamp::from_millis(world.state().now)
}

fn key() -> SubscriberKey {
    SubscriberKey::parse(&Secret::new(r#"{"subscriber_key":"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"}"#)).unwrap()
}

fn who() -> SubscriberId {
    SubscriberId::of(&key(), &EmailAddress::parse(ADDRESS).unwrap())
}

fn dana() -> Operator {
    let identity = CallerIdentity::parse(IDENTITY).unwrap();
    Operator::parse("dana", Some("they asked for a call")).unwrap().known_as(Some(identity))
}

fn id() -> ExchangeId {
    ExchangeId::parse("00000000-0000-4000-8000-000000000001").unwrap()
}

fn second() -> ExchangeId {
    ExchangeId::parse("00000000-0000-4000-8000-000000000002").unwrap()
}

fn message(text: &str) -> Message {
    Message::parse(text).unwrap()
}

fn asked() -> AcceptanceRequest {
    let (version, sha256) = (CURRENT_AGREEMENT.version, CURRENT_AGREEMENT.sha256.to_owned());
    AcceptanceRequest { version, sha256, name: NAME.to_owned(), address: EmailAddress::parse(ADDRESS).unwrap() }
}

async fn accepting(world: &World) -> Result<Versioned<Bridge>, StepNotTaken> {
    accept(ports(world), &who(), &check(&key(), &who(), &asked()).unwrap()).await
}

async fn granting(world: &World) -> Result<Versioned<Bridge>, DecideError> {
    let expires = Timestamp::from_seconds(1_790_000_000 + 30 * 86_400);
    grant(ports(world), &who(), &dana(), expires).await
}

async fn posting(world: &World) -> Result<Versioned<Bridge>, StepNotTaken> {
    post(ports(world), &who(), &id(), &message(TEXT), None).await
}

/// Replies to the last message that is stored when it begins.
async fn replying(world: &World) -> Result<Replied, ReplyError> {
    let last = world.state().bridges.get(&who()).and_then(|(bridge, _)| bridge.last_question().cloned());
    replying_to(world, last.as_ref()).await
}

async fn replying_to(world: &World, answers: Option<&ExchangeId>) -> Result<Replied, ReplyError> {
    reply(ports(world), world, SITE, &who(), &dana(), answers, &message(REPLY)).await
}

/// Posts a reply, after which it is not known whether its mail is sent.
fn leave_unsettled(world: &World, fault: Fault) {
    world.plan(Plan::none().whenever("mailbox.send_draft", fault));
    assert!(matches!(run(replying(world)).unwrap(), Err(ReplyError::Unsettled(_))), "{fault:?}");
    world.plan(Plan::none());
}

fn stored(world: &World) -> Bridge {
    run(load(ports(world), &who())).unwrap().unwrap().bridge.value
}

fn granted() -> World {
    let world = world();
    run(accepting(&world)).unwrap().unwrap();
    run(granting(&world)).unwrap().unwrap();
    world
}

/// A member who has been granted access and has written.
fn posted() -> World {
    let world = granted();
    run(posting(&world)).unwrap().unwrap();
    world
}

/// The recorded steps, in order.
fn steps(world: &World) -> Vec<String> {
    let records = world.state().records();
    let steps = records.iter().filter(|record| record["event"] == "bridge");
    steps.map(|record| record["details"]["step"].as_str().unwrap().to_owned()).collect()
}

/// The content of all stores except the mailbox.
fn kept(world: &World) -> String {
    let state = world.state();
    format!("{:?} {:?} {:?} {:?}", state.bridges, state.log, state.alerts, state.accounts)
}

fn state(world: &World) -> BridgeState {
    let state = world.state();
    state
        .bridges
        .get(&who())
        .map_or(BridgeState::Offered, |(bridge, _)| bridge.state(Timestamp::from_millis(state.now)))
}

#[test]
fn a_whole_life_is_on_record_without_a_text_a_name_or_an_address() {
    let world = posted();
    run(replying(&world)).unwrap().unwrap();
    assert_eq!(steps(&world), ["accepted", "granted", "message_posted", "reply_posted", "reply_mailed"]);
    let held = run(load(ports(&world), &who())).unwrap().unwrap();
    let shown = run(held.messages(&world)).unwrap().unwrap();
    assert_eq!(shown.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(), [TEXT, REPLY]);
    assert_eq!(shown.iter().map(|it| it.answers.clone()).collect::<Vec<_>>(), [None, Some(id())]);
    let person = run(held.person(&world)).unwrap().unwrap().unwrap();
    assert_eq!((person.name.as_str(), person.address.as_str()), (NAME, ADDRESS));
    let kept = kept(&world);
    for secret in [TEXT, REPLY, NAME, ADDRESS, "harbour", "lease"] {
        assert!(!kept.contains(secret), "{secret} is kept in the clear");
    }
    assert!(kept.contains(CURRENT_AGREEMENT.sha256), "the accepted bytes are on record");
    let state = world.state();
    let (_, mail) = state.sent.last().unwrap();
    assert_eq!((state.sent.len(), mail.to.as_str()), (1, ADDRESS));
    assert!(mail.body.contains(REPLY) && mail.body.contains("https://oracle.example/chat#bridge"));
    assert!(!mail.body.contains("dana"), "customers read no operator's name");
    let records = state.records();
    let signed = records.iter().filter(|record| record["details"]["by"] == "dana");
    assert!(signed.clone().all(|record| record["details"]["identity"] == IDENTITY), "{records:?}");
    assert_eq!(signed.count(), 2, "the grant and the reply");
}

/// A person reads what is posted; the record and the alert contain no word of it, and repeating the message adds none.
#[test]
fn a_disclosure_is_posted_recorded_and_alerted_once() {
    let text = "I want to kill myself";
    let disclosed = authority::evaluate(text, None);
    let world = granted();
    let go = || run(post(ports(&world), &who(), &id(), &message(text), Some(&disclosed))).unwrap();
    go().unwrap();
    go().unwrap();
    let held = run(load(ports(&world), &who())).unwrap().unwrap();
    assert_eq!(run(held.messages(&world)).unwrap().unwrap()[0].text, text);
    let state = world.state();
    let mut recorded = state.records();
    recorded.retain(|record| record["event"] == "authority_evaluated");
    assert_eq!(recorded.len(), 1);
    let details = &recorded[0]["details"];
    assert_eq!(details["bridge_message"], id().as_str());
    assert_eq!(details["authority"]["locked"], true);
    assert_eq!(state.alerts.iter().filter(|alert| alert.line.contains("BRIDGE_DISCLOSURE")).count(), 1);
    drop(state);
    assert!(!kept(&world).contains("kill"));
}

#[test]
fn another_text_hash_address_or_name_is_not_accepted() {
    let refused = |asked: AcceptanceRequest| check(&key(), &who(), &asked).err().unwrap();
    assert_eq!(
        refused(AcceptanceRequest { version: CURRENT_AGREEMENT.version + 1, ..asked() }),
        InvalidAcceptance::Changed
    );
    assert_eq!(refused(AcceptanceRequest { sha256: "0".repeat(64), ..asked() }), InvalidAcceptance::Changed);
    let other = EmailAddress::parse("other@example.com").unwrap();
    assert_eq!(refused(AcceptanceRequest { address: other, ..asked() }), InvalidAcceptance::OtherAddress);
    assert!(matches!(refused(AcceptanceRequest { name: " ".to_owned(), ..asked() }), InvalidAcceptance::Name(_)));
}

#[test]
fn nothing_is_granted_without_an_acceptance_and_a_reason() {
    let world = world();
    let refused = run(granting(&world)).unwrap().unwrap_err();
    assert_eq!(refused.to_string(), "the Bridge is offered and cannot become granted");
    run(accepting(&world)).unwrap().unwrap();
    let silent = Operator::parse("dana", None).unwrap();
    let expires = Timestamp::from_seconds(1_790_000_000 + 60);
    assert!(matches!(run(grant(ports(&world), &who(), &silent, expires)).unwrap(), Err(DecideError::NoReason)));
    assert!(matches!(run(revoke(ports(&world), &who(), &silent)).unwrap(), Err(DecideError::NoReason)));
    assert_eq!(state(&world), BridgeState::Accepted);
    assert!(run(posting(&world)).unwrap().is_err() && run(replying(&world)).unwrap().is_err());
}

#[test]
fn nobody_posts_or_is_mailed_after_a_revocation_or_the_expiry() {
    for ending in ["revoked", "expired"] {
        let world = posted();
        run(replying(&world)).unwrap().unwrap();
        if ending == "revoked" {
            run(revoke(ports(&world), &who(), &dana())).unwrap().unwrap();
        } else {
            world.advance(Duration::from_secs(30 * 86_400));
        }
        let closed = format!("the Bridge is {ending}; messages need it to be granted");
        assert_eq!(run(posting(&world)).unwrap().unwrap_err().to_string(), closed);
        let another = message("One more thing.");
        let refused = run(reply(ports(&world), &world, SITE, &who(), &dana(), Some(&id()), &another)).unwrap();
        assert_eq!(refused.unwrap_err().to_string(), closed);
        assert_eq!(stored(&world).thread().len(), 2, "{ending}");
        assert!(world.state().sent.len() == 1 && world.state().drafts.is_empty(), "{ending}");
    }
}

/// The clock ends the grant before the day in which operators promise an answer.
#[test]
fn a_message_that_waits_at_the_expiry_stays_listed_and_is_answered_by_mail() {
    let world = granted();
    world.advance(Duration::from_secs(30 * 86_400 - 60));
    run(posting(&world)).unwrap().unwrap();
    world.advance(Duration::from_secs(60));
    let row = || run(listed(&world, now(&world))).unwrap().unwrap().remove(0);
    assert_eq!((row().state, row().task), ("expired", Some("answer")));
    leave_unsettled(&world, Fault::Fail);
    assert_eq!(row().task, Some("mail"));
    world.advance(Duration::from_secs(300));
    run(replying(&world)).unwrap().unwrap();
    assert_eq!((row().task, world.state().sent.len()), (None, 1));
    let body = world.state().sent[0].1.body.clone();
    assert!(body.contains("nothing can be added") && !body.contains("on the page"), "{body}");
    assert_eq!(steps(&world)[2..], ["message_posted", "reply_posted", "reply_mailed"]);
    run(replying(&world)).unwrap().unwrap();
    assert_eq!(world.state().sent.len(), 1, "repeated");
}

/// A command that dies between draft and mail is not continued after a revocation.
#[test]
fn a_draft_from_before_a_revocation_is_not_sent() {
    let world = granted();
    leave_unsettled(&world, Fault::Fail);
    run(revoke(ports(&world), &who(), &dana())).unwrap().unwrap();
    assert!(matches!(run(replying(&world)).unwrap(), Err(ReplyError::Refused(_))));
    assert!(world.state().sent.is_empty());
}

/// Erases the Bridge as an erasure of the memory does.
async fn erase(ports: Ports<'_>, who: &SubscriberId) -> Result<(), StepError> {
    let bridge = ports.journal.load(who).await?;
    let _erased = commit(ports, bridge, |bridge, now| Ok(bridge.erase(now))).await?;
    Ok(())
}

#[test]
fn the_list_has_the_most_urgent_work_first_and_no_personal_data() {
    let world = posted();
    let other = EmailAddress::parse("other@example.com").unwrap();
    let second = SubscriberId::of(&key(), &other);
    let asked = AcceptanceRequest { address: other, ..asked() };
    world.advance(Duration::from_secs(60));
    run(accept(ports(&world), &second, &check(&key(), &second, &asked).unwrap())).unwrap().unwrap();
    let a_day_after_the_message = now(&world).as_millis() + 24 * 3_600_000 - 60_000;
    for (millis, is_overdue) in [(-1, false), (0, true)] {
        let at = Timestamp::from_millis(a_day_after_the_message + millis);
        let rows = run(listed(&world, at)).unwrap().unwrap();
        let seen: Vec<_> = rows.iter().map(|row| (row.task, row.overdue)).collect();
        assert_eq!(seen, [(Some("answer"), is_overdue), (Some("decide"), false)]);
    }
    assert_eq!(run(find(&world, second.prefix())).unwrap().unwrap(), second);
    assert!(matches!(run(find(&world, "")).unwrap(), Err(FindError::None(_))));
    world.plan(Plan::none().whenever("bridges.listed", Fault::Fail));
    assert_eq!(run(find(&world, second.as_str())).unwrap().unwrap(), second, "a whole id needs no list");
    assert!(matches!(run(find(&world, &"0".repeat(64))).unwrap(), Err(FindError::None(_))));
    let alerts: Vec<_> = world.state().alerts.iter().map(|alert| alert.line.clone()).collect();
    assert_eq!(alerts.len(), 3, "{alerts:?}");
    assert!(alerts.iter().all(|line| line.contains("[ORACLE-BRIDGE]") && line.contains("oracle bridge show")));
}

/// Repeats a step until it is done, as operators and the page do.
fn insist<T, E: std::fmt::Display>(world: &World, step: impl Fn() -> Option<Result<T, E>>, what: &str) {
    for _ in 0..4 {
        if matches!(step(), Some(Ok(_))) {
            return;
        }
        world.plan(Plan::none());
    }
    panic!("{what}: not done");
}

/// Runs every step with a fault, then repeats it. Each step is recorded once, and one mail is sent.
fn live(plan: Plan, what: &str) -> usize {
    let world = world();
    world.plan(plan);
    insist(&world, || run(accepting(&world)), what);
    insist(&world, || run(granting(&world)), what);
    insist(&world, || run(posting(&world)), what);
    insist(&world, || run(replying(&world)), what);
    let passed = world.passed();
    world.plan(Plan::none());
    // The next step publishes the records of an interrupted one.
    run(posting(&world)).unwrap().unwrap();
    run(revoke(ports(&world), &who(), &dana())).unwrap().unwrap();
    assert!(run(posting(&world)).unwrap().is_err(), "{what}: posted after the revocation");
    let expected = ["accepted", "granted", "message_posted", "reply_posted", "reply_mailed", "revoked"];
    assert_eq!(steps(&world), expected, "{what}");
    assert_eq!(world.state().sent.len(), 1, "{what}: mails");
    passed
}

#[test]
fn every_fault_at_every_effect() {
    let effects = live(Plan::none(), "nothing");
    for (plan, what) in every_single_fault(effects + 4, 29) {
        live(plan, &what);
    }
}

/// A decision that races with a revocation. In either order, nothing is posted after the revocation.
#[test]
fn a_message_that_races_with_a_revocation_is_refused() {
    let world = granted();
    let held = run(load(ports(&world), &who())).unwrap().unwrap();
    run(revoke(ports(&world), &who(), &dana())).unwrap().unwrap();
    let stale = held.bridge;
    let (bridge, posted) =
        run(commit(ports(&world), stale, |bridge, now| bridge.post(&id(), "sealed", now))).unwrap().unwrap();
    assert_eq!(posted, Err(BridgeRefused::Closed(BridgeState::Revoked)));
    assert!(bridge.value.thread().is_empty());
}
