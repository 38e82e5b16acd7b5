//! Runs that finish erasures of the chat's memories, mail letters to members of the Bridge and remove sign-in mails.

use super::*;
use audit::{BridgeJournal, Change, ChatJournal, ChatStatus, Record};
use bridge::AcceptanceRequest;
use domain::{
    EmailAddress, Operator, Secret,
    audit_trail::Audited,
    chat::{
        Account, Ask, Bridge, BridgeEvent, CURRENT_AGREEMENT, ExchangeId, SubscriberId, SubscriberKey, sign_in_mails,
    },
    ports::{Mailbox, OutgoingMail, StoredMails},
    texts,
};

pub(super) fn memories(world: &World) -> forgetting::Ports<'_> {
    let journal = ChatJournal { store: world, log: world, alerts: world, clock: world };
    forgetting::Ports { journal, bridges: bridges(world).journal, logs: world, keys: world }
}

pub(super) fn letters(world: &World) -> bridge::Letters<'_> {
    bridge::Letters { bridges: bridges(world), mailbox: world, mails: world, site: "https://oracle.example" }
}

fn bridges(world: &World) -> bridge::Ports<'_> {
    let journal = BridgeJournal { store: world, log: world, alerts: world, clock: world };
    bridge::Ports { journal, accounts: world, keys: world }
}

/// A world with a member of the Bridge who was granted access and has no letter about it yet.
fn member() -> World {
    let world = world([]);
    let key = SubscriberKey::parse(&Secret::new(r#"{"subscriber_key":"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"}"#)).unwrap();
    let address = EmailAddress::parse("someone@example.com").unwrap();
    let who = SubscriberId::of(&key, &address);
    let (version, sha256) = (CURRENT_AGREEMENT.version, CURRENT_AGREEMENT.sha256.to_owned());
    let asked = AcceptanceRequest { version, sha256, name: "Sam Example".to_owned(), address };
    let dana = Operator::parse("dana", Some("they asked for a call")).unwrap();
    testkit::run(async {
        bridge::accept(bridges(&world), &who, &bridge::check(&key, &who, &asked).unwrap()).await.unwrap();
        bridge::grant(bridges(&world), &who, &dana, START.plus(30 * 24 * HOUR)).await.unwrap();
    })
    .unwrap();
    world
}

/// Another customer's account, whose call to erase its memory died after its first write.
fn erasing(world: &World) {
    let other = SubscriberId::parse("e".repeat(64)).unwrap();
    testkit::run(async {
        let account = memories(world).journal.load(&other).await.unwrap();
        memories(world).keys.find_or_create(&account.value.memory()).await.unwrap();
        forgetting::begin(memories(world).journal, account, None).await.unwrap();
    })
    .unwrap();
}

fn subjects(world: &World) -> Vec<String> {
    world.state().sent.iter().map(|(_, mail)| mail.subject.clone()).collect()
}

fn is_erasing(world: &World) -> bool {
    world.state().accounts.values().any(|(account, _)| account.is_erasing())
}

#[test]
fn an_interrupted_erasure_of_a_memory_is_finished() {
    let world = world([]);
    erasing(&world);
    assert_eq!(run_once(&world, true), Some(Report::default()), "the customer's call may still be running");
    world.advance(HOUR);
    assert_eq!(run_once(&world, true), Some(Report { due: 1, failed: 0, left: 0 }));
    assert!(!is_erasing(&world) && world.state().memory_keys.is_empty());
}

#[test]
fn a_member_gets_the_letter_about_a_grant_once() {
    let world = member();
    assert_eq!(run_once(&world, true), Some(Report { due: 1, failed: 0, left: 0 }));
    assert_eq!(run_once(&world, true), Some(Report::default()));
    assert_eq!(subjects(&world), [texts::BRIDGE_GRANTED_SUBJECT]);
}

/// The mailbox would keep the address of everybody who ever signed in, and no erasure would find it.
#[test]
fn sign_in_mails_are_removed_after_their_links_have_expired() {
    let world = world([]);
    let name = sign_in_mails(START);
    let mail = |to: &str| OutgoingMail {
        to: EmailAddress::parse(to).unwrap(),
        subject: texts::CHAT_LINK_SUBJECT.to_owned(),
        body: "a link".to_owned(),
        session_id: name.clone(),
    };
    testkit::run(async {
        let sent = world.create_draft(&mail("someone@example.com")).await.unwrap();
        world.send_draft(&sent).await.unwrap();
        // A call died before it sent its draft.
        world.create_draft(&mail("other@example.com")).await.unwrap();
    })
    .unwrap();
    let left = || testkit::run(StoredMails::named(&world, &name)).unwrap().unwrap().len();
    assert_eq!((run_once(&world, true), left()), (Some(Report::default()), 2));
    world.advance(HOUR);
    assert_eq!(
        (run_once(&world, true), left()),
        (Some(Report::default()), 2),
        "the last one of that hour may be a second old"
    );
    world.advance(HOUR);
    world.plan(Plan::none().whenever("stored_mails.remove", Fault::Fail));
    assert_eq!((run_once(&world, true), left()), (Some(Report { due: 2, failed: 2, left: 0 }), 2));
    world.plan(Plan::none());
    assert_eq!((run_once(&world, true), left()), (Some(Report { due: 2, failed: 0, left: 0 }), 0));
    world.plan(Plan::none().whenever("stored_mails.named", Fault::Fail));
    assert_eq!(run_once(&world, true), Some(Report { due: 0, failed: 1, left: 0 }));
}

/// The log failed, and the customer makes no further call.
#[test]
fn records_that_could_not_be_published_are_published_by_a_later_run() {
    let world = member();
    assert_eq!(run_once(&world, true), Some(Report { due: 1, failed: 0, left: 0 }));
    let (chat, members) = (memories(&world).journal, bridges(&world).journal);
    world.plan(Plan::none().whenever("log.publish", Fault::Fail));
    testkit::run(async {
        let somebody = SubscriberId::parse("e".repeat(64)).unwrap();
        let declined = |_: &mut Account, now| {
            Change::recorded(vec![Record::chat(now, now, ChatStatus::Declined, Default::default())], ())
        };
        chat.commit(chat.load(&somebody).await.unwrap(), declined).await.unwrap().settle().await;
        // A subscriber without an acceptance, and a member.
        let member = world.state().bridges.keys().next().unwrap().clone();
        for id in [somebody, member] {
            let record = |_: &mut Bridge, now| Change::recorded(vec![Record::bridge(now, BridgeEvent::Expired)], ());
            members.commit(members.load(&id).await.unwrap(), record).await.unwrap().settle().await;
        }
    })
    .unwrap();
    let waiting = |world: &World| {
        let state = world.state();
        let accounts = state.accounts.values().map(|(account, _)| account.trail());
        let trails = accounts.chain(state.bridges.values().map(|(bridge, _)| bridge.trail()));
        trails.filter(|trail| !trail.is_published()).count()
    };
    run_once(&world, true).unwrap();
    assert_eq!(waiting(&world), 3, "the log still fails");
    world.plan(Plan::none());
    assert_eq!(run_once(&world, true), Some(Report { due: 3, failed: 0, left: 0 }));
    assert_eq!(waiting(&world), 0);
    assert_eq!(run_once(&world, true), Some(Report::default()), "nothing is listed any more");
}

/// The process that had claimed a message ended, and the customer makes no further call.
#[test]
fn the_evaluation_of_an_interrupted_exchange_is_recorded_by_a_later_run() {
    let world = world([]);
    let ask = Ask {
        id: ExchangeId::parse("00000000-0000-4000-8000-000000000001").unwrap(),
        fingerprint: "f".to_owned(),
        owner: "o".to_owned(),
        is_free: true,
        evaluation: "e".into(),
    };
    let (journal, somebody) = (memories(&world).journal, SubscriberId::parse("e".repeat(64)).unwrap());
    testkit::run(async {
        let claim = |account: &mut Account, now| Change::save(account.claim(&ask, now, HOUR));
        journal.commit(journal.load(&somebody).await.unwrap(), claim).await.unwrap().settle().await;
    })
    .unwrap();
    assert_eq!(run_once(&world, true), Some(Report::default()), "it may still run");
    world.advance(HOUR);
    for due in [1, 0] {
        assert_eq!(run_once(&world, true), Some(Report { due, failed: 0, left: 0 }));
        let records = world.state().records();
        let recorded: Vec<_> = records.iter().filter(|line| line["event"] == "authority_evaluated").collect();
        assert_eq!((recorded.len(), &recorded[0]["details"]["authority"]), (1, &"e".into()));
    }
}

#[test]
fn a_list_that_cannot_be_read_counts_as_one_failure_and_holds_up_no_other() {
    let world = member();
    erasing(&world);
    world.advance(HOUR);
    world.plan(Plan::none().whenever("accounts.erasures_due", Fault::Fail));
    assert_eq!(run_once(&world, true), Some(Report { due: 1, failed: 1, left: 0 }));
    assert_eq!((subjects(&world).len(), is_erasing(&world)), (1, true));
    world.plan(Plan::none());
    assert_eq!(run_once(&world, true), Some(Report { due: 1, failed: 0, left: 0 }));
    assert!(!is_erasing(&world));
}
