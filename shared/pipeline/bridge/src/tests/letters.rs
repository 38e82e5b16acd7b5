//! Letters, and the mails of erased Bridges.

use super::*;
use domain::{
    SessionId,
    chat::BRIDGE_PREFIX,
    due::Report,
    inbox::{Arrival, Incoming},
    sending::MOVED_WITHIN,
};
use testkit::inbox::Unread;

fn letters(world: &World) -> Letters<'_> {
    Letters { bridges: ports(world), mailbox: world, mails: world, site: SITE }
}

fn mailing(world: &World) -> Option<Result<Report, domain::ports::StorageError>> {
    run(mail_letters(letters(world)))
}

/// The subjects of the sent mails, in order.
fn subjects(world: &World) -> Vec<String> {
    world.state().sent.iter().map(|(_, mail)| mail.subject.clone()).collect()
}

#[test]
fn a_grant_its_expiry_and_a_revocation_are_each_mailed_once() {
    let world = granted();
    let report = |due| Report { due, failed: 0, left: 0 };
    assert_eq!(mailing(&world).unwrap().unwrap(), report(1));
    assert_eq!(mailing(&world).unwrap().unwrap(), report(0));
    world.advance(Duration::from_secs(30 * 86_400));
    assert_eq!(mailing(&world).unwrap().unwrap(), report(1));
    assert_eq!(mailing(&world).unwrap().unwrap(), report(0));
    run(revoke(ports(&world), &who(), &dana())).unwrap().unwrap();
    mailing(&world).unwrap().unwrap();
    let (granted, expired, revoked) =
        (texts::BRIDGE_GRANTED_SUBJECT, texts::BRIDGE_EXPIRED_SUBJECT, texts::BRIDGE_REVOKED_SUBJECT);
    assert_eq!(subjects(&world), [granted, expired, revoked]);
    let expected = ["accepted", "granted", "letter_mailed", "expired", "letter_mailed", "revoked", "letter_mailed"];
    assert_eq!(steps(&world), expected);
    let state = world.state();
    let body = |index: usize| state.sent[index].1.body.as_str();
    assert!(body(0).contains("until 2026-10-21 14:13 UTC"), "{}", body(0));
    assert!(body(1).contains("2026-10-21 14:13 UTC"), "{}", body(1));
    for (_, mail) in &state.sent {
        assert_eq!(
            (mail.to.as_str(), mail.session.as_str()),
            (ADDRESS, format!("cs_bridge_{}", who().as_str()).as_str())
        );
        assert!(!mail.body.contains('{') && !mail.body.contains("dana") && !mail.body.contains("a call"));
    }
}

#[test]
fn declined_access_is_mailed_and_a_new_acceptance_removes_an_unsent_letter() {
    let world = world();
    run(accepting(&world)).unwrap().unwrap();
    run(revoke(ports(&world), &who(), &dana())).unwrap().unwrap();
    mailing(&world).unwrap().unwrap();
    assert_eq!(subjects(&world), [texts::BRIDGE_DECLINED_SUBJECT]);
    run(accepting(&world)).unwrap().unwrap();
    run(granting(&world)).unwrap().unwrap();
    run(revoke(ports(&world), &who(), &dana())).unwrap().unwrap();
    mailing(&world).unwrap().unwrap();
    assert_eq!(subjects(&world)[1..], [texts::BRIDGE_REVOKED_SUBJECT], "the letter about the grant is replaced");
    assert!(world.state().drafts.is_empty());
}

#[test]
fn nothing_is_mailed_after_an_erasure() {
    let world = granted();
    run(erase(ports(&world), &who())).unwrap().unwrap();
    world.advance(Duration::from_secs(40 * 86_400));
    assert_eq!(mailing(&world).unwrap().unwrap(), Report { due: 1, failed: 0, left: 0 }, "its mails are removed");
    assert_eq!(mailing(&world).unwrap().unwrap(), Report::default());
    assert!(world.state().sent.is_empty());
}

/// The name of the Bridge's mails.
fn name() -> SessionId {
    SessionId::parse(format!("{BRIDGE_PREFIX}{}", who().as_str())).unwrap()
}

/// A message arrives in the conversation of a mail about the Bridge.
fn answers(world: &World, number: usize) {
    let mut state = world.state();
    state.conversations.insert("c".to_owned(), name());
    let conversation = Some("c".to_owned());
    let message = Incoming { sender: ADDRESS.to_owned(), subject: String::new(), conversation, headers: Vec::new() };
    let arrival = Arrival { received_at: None, id: format!("answer-{number}") };
    state.inbox.push(Unread { arrival, message, text: String::new() });
}

/// A world with a member who has a letter and a reply by mail and has answered one of them, and whose Bridge was erased
/// ten minutes ago.
fn erased() -> World {
    let world = granted();
    mailing(&world).unwrap().unwrap();
    run(posting(&world)).unwrap().unwrap();
    run(replying(&world)).unwrap().unwrap();
    answers(&world, 0);
    run(erase(ports(&world), &who())).unwrap().unwrap();
    world.advance(Duration::from_secs(600));
    world
}

/// The mails that the mailbox still has of the Bridge, with the answers to them.
fn mails_left(world: &World) -> usize {
    let ours = run(StoredMails::named(world, &name())).unwrap().unwrap();
    ours.len() + world.state().inbox.len()
}

#[test]
fn the_mails_of_an_erased_bridge_are_removed_before_access_is_granted_again() {
    let world = erased();
    world.state().now -= 1;
    assert_eq!(
        (mailing(&world).unwrap().unwrap(), mails_left(&world)),
        (Report::default(), 3),
        "one may be on its way"
    );
    run(accepting(&world)).unwrap().unwrap();
    let refused = run(granting(&world)).unwrap();
    assert!(matches!(refused, Err(DecideError::Refused(BridgeRefused::MailsLeft(_)))), "{refused:?}");
    world.advance(Duration::from_secs(1));
    assert_eq!((mailing(&world).unwrap().unwrap().failed, mails_left(&world)), (0, 0));
    run(granting(&world)).unwrap().unwrap();
    mailing(&world).unwrap().unwrap();
    assert_eq!(mails_left(&world), 1, "the letter about the new grant");
    assert!(steps(&world).contains(&"mails_removed".to_owned()));
}

/// A long thread has more mails than one run removes. The answers are removed first, since only ours lead to them. The
/// last run removes as many as a run can.
#[test]
fn the_mails_of_a_long_thread_are_removed_in_several_runs() {
    let world = erased();
    let (draft, mail) = world.state().sent[0].clone();
    let copy = |n: usize| (domain::mail::Draft { id: format!("sent-{n}"), ..draft.clone() }, mail.clone());
    world.state().sent.extend((0..38).map(copy));
    (1..60).for_each(|number| answers(&world, number));
    let left: Vec<usize> = (0..2).map(|_| (mailing(&world).unwrap().unwrap(), mails_left(&world)).1).collect();
    assert_eq!(left, [50, 0]);
    assert_eq!(steps(&world).iter().filter(|step| *step == "mails_removed").count(), 1);
    assert_eq!(mailing(&world).unwrap().unwrap(), Report::default(), "nothing is left to do");
}

/// Exchange may put an answer into a conversation of its own. The mailbox's id of a posted mail leads to it.
#[test]
fn a_posted_mail_outside_our_conversations_is_removed_too() {
    let world = granted();
    answers(&world, 0);
    world.state().conversations.clear();
    let posted = || {
        let address = EmailAddress::parse(ADDRESS).unwrap();
        let held = run(load(ports(&world), &who())).unwrap().unwrap();
        run(post_mail(ports(&world), held, "answer-0", &address, &message(TEXT))).unwrap().unwrap()
    };
    assert!(posted() && posted());
    let kept = || stored(&world).posted_mails().to_vec();
    assert_eq!(kept(), ["answer-0"], "once");
    run(erase(ports(&world), &who())).unwrap().unwrap();
    assert_eq!((kept().len(), mails_left(&world)), (1, 1));
    world.advance(Duration::from_secs(600));
    mailing(&world).unwrap().unwrap();
    assert_eq!((kept().len(), mails_left(&world)), (0, 0));
}

#[test]
fn every_fault_at_every_effect_of_the_removal_of_mails() {
    let clean = erased();
    clean.plan(Plan::none());
    mailing(&clean).unwrap().unwrap();
    for (plan, what) in every_single_fault(clean.passed(), 5) {
        let world = erased();
        world.plan(plan);
        drop(mailing(&world));
        world.plan(Plan::none());
        for _ in 0..2 {
            mailing(&world).unwrap().unwrap();
        }
        assert_eq!((mails_left(&world), mailing(&world).unwrap().unwrap()), (0, Report::default()), "{what}");
    }
}

/// A refused address is abandoned at once, and a mailbox that fails for a day after a day. Operators get an alert. The day
/// begins with the first attempt, because the schedule may have failed until then.
#[test]
fn a_letter_that_cannot_be_sent_is_abandoned_with_an_alert() {
    for (refusal, tries) in [(MailError::Rejected, 0), (MailError::Unavailable(503), 2)] {
        let world = granted();
        for hours in [24, 23].into_iter().take(tries) {
            world.advance(Duration::from_secs(hours * 3600));
            world.state().mailbox_says.push_back(Some(MailError::Unavailable(503)));
            assert_eq!(mailing(&world).unwrap().unwrap().failed, 1, "the letter stays due");
        }
        world.advance(Duration::from_secs(3600));
        world.state().mailbox_says.push_back(Some(refusal));
        assert_eq!(mailing(&world).unwrap().unwrap().failed, 0);
        assert_eq!(steps(&world).last().unwrap(), "letter_abandoned");
        let is_warning =
            |line: &str| line.starts_with("[ORACLE-BRIDGE] WARN | ") && line.contains(" | BRIDGE_LETTER | ");
        assert!(world.state().alerts.iter().any(|alert| is_warning(&alert.line)), "no storm withholds it");
        assert!(world.state().sent.is_empty());
        assert_eq!(mailing(&world).unwrap().unwrap().due, 0);
    }
    let world = granted();
    world.state().mailbox_says.push_back(Some(MailError::Unavailable(503)));
    assert_eq!(mailing(&world).unwrap().unwrap().failed, 1, "a new letter stays due");
    mailing(&world).unwrap().unwrap();
    assert_eq!(world.state().sent.len(), 1);
}

#[test]
fn every_fault_at_every_effect_of_a_letter_sends_it_once() {
    let clean = granted();
    clean.plan(Plan::none());
    mailing(&clean).unwrap().unwrap();
    for (plan, what) in every_single_fault(clean.passed(), 8) {
        let world = granted();
        world.state().draft_lag = 240_000;
        world.plan(plan);
        drop(mailing(&world));
        world.plan(Plan::none());
        for _ in 0..3 {
            world.advance(Duration::from_secs(300));
            mailing(&world).unwrap().unwrap();
        }
        assert_eq!(subjects(&world), [texts::BRIDGE_GRANTED_SUBJECT], "{what}");
        run(posting(&world)).unwrap().unwrap();
        assert_eq!(steps(&world), ["accepted", "granted", "letter_mailed", "message_posted"], "{what}");
    }
}

/// The reply to the write that records the draft is lost, and the member writes before it is repeated.
#[test]
fn a_recorded_draft_of_a_letter_is_sent_although_its_write_looks_like_a_conflict() {
    let world = granted();
    let store = Overtaken::new(&world);
    let letters = Letters { bridges: store.ports(), ..letters(&world) };
    assert_eq!(run(mail_letters(letters)).unwrap().unwrap(), Report { due: 1, failed: 0, left: 0 });
    assert_eq!(subjects(&world), [texts::BRIDGE_GRANTED_SUBJECT]);
    assert!(store.has_lost() && world.state().drafts.is_empty());
    assert_eq!(steps(&world).last().unwrap(), "letter_mailed");
}

/// A run that read the Bridge before a revocation sends no letter about the grant after it.
#[test]
fn a_letter_that_is_replaced_meanwhile_is_not_drafted() {
    let world = granted();
    let mut stale = stored(&world);
    let letter = stale.letter().unwrap().clone();
    run(revoke(ports(&world), &who(), &dana())).unwrap().unwrap();
    let mut bridge = stored(&world);
    let draft = domain::mail::Draft { id: "d".to_owned(), internet_message_id: String::new() };
    let at = now(&world);
    assert_eq!(stale.record_letter_draft(&letter, &draft, at), Ok(()));
    assert_eq!(stale.record_letter_draft(&letter, &draft, at), Ok(()), "the recorded one");
    assert_eq!(bridge.record_letter_draft(&letter, &draft, at), Err(BridgeRefused::NoSuchMail));
    assert!(!bridge.claim_letter(&letter, MOVED_WITHIN, at) && !bridge.record_letter_try(&letter, at));
    assert_eq!(bridge.end_letter(&letter, true), None);
}

/// The first run has recorded the draft and asked the mailbox to send it, which still shows the draft. The second one was
/// delivered with it, or was started by hand.
#[test]
fn two_runs_send_a_letter_once() {
    let world = granted();
    world.state().draft_lag = 240_000;
    world.plan(Plan::none().whenever("mailbox.send_draft", Fault::LoseReply));
    assert_eq!(mailing(&world).unwrap().unwrap().failed, 1);
    world.plan(Plan::none());
    let requests = || world.state().boundaries.iter().filter(|name| **name == "mailbox.send_draft").count();
    let before = requests();
    for _ in 0..2 {
        world.advance(Duration::from_secs(100));
        assert_eq!(mailing(&world).unwrap().unwrap(), Report { due: 1, failed: 0, left: 0 });
    }
    assert_eq!(requests(), before, "the mailbox may be sending the draft");
    // Two later runs at once: one has claimed the draft, and the other one loads the Bridge after it.
    world.advance(Duration::from_secs(100));
    let mut bridge = stored(&world);
    let letter = bridge.letter().unwrap().clone();
    assert!(
        bridge.claim_letter(&letter, MOVED_WITHIN, now(&world))
            && !bridge.claim_letter(&letter, MOVED_WITHIN, now(&world))
    );
    mailing(&world).unwrap().unwrap();
    assert_eq!(subjects(&world), [texts::BRIDGE_GRANTED_SUBJECT]);
    assert_eq!(steps(&world).last().unwrap(), "letter_mailed");
}
