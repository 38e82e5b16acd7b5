//! Replies to messages: repeated commands, drafts, and mails whose sending is in doubt.

use super::*;

#[test]
fn a_reply_with_an_internal_name_is_refused_and_says_which() {
    let world = granted();
    let text = message("MNEMOS and I looked at your lease.");
    let refused = run(reply(ports(&world), &world, SITE, &who(), &dana(), None, &text)).unwrap();
    let text = refused.unwrap_err().to_string();
    assert!(text.to_lowercase().contains("mnemos"), "{text}");
    assert!(world.state().sent.is_empty() && !steps(&world).contains(&"reply_posted".to_owned()));
}

#[test]
fn the_same_words_to_another_message_are_another_reply() {
    let world = posted();
    let first = run(replying(&world)).unwrap().unwrap();
    assert_eq!(run(replying(&world)).unwrap().unwrap(), first, "repeated");
    run(post(ports(&world), &who(), &second(), &message("And now?"), None)).unwrap().unwrap();
    assert_ne!(run(replying(&world)).unwrap().unwrap(), first);
    assert_eq!(world.state().sent.len(), 2);
}

/// The customer posts another message after the operator has read the thread and before the reply is posted.
#[test]
fn a_message_that_the_operator_has_not_read_still_waits() {
    let world = posted();
    run(post(ports(&world), &who(), &second(), &message("And now?"), None)).unwrap().unwrap();
    run(replying_to(&world, Some(&id()))).unwrap().unwrap();
    let bridge = stored(&world);
    assert_eq!(bridge.work(now(&world)).map(|work| work.task), Some(BridgeTask::Answer));
    assert_eq!(bridge.unanswered().map(domain::chat::Post::id).collect::<Vec<_>>(), [&second()]);
    assert_eq!(run(listed(&world, now(&world))).unwrap().unwrap()[0].task, Some("answer"));
}

/// The mail went and the operator does not know it: the customer has written when the command is repeated.
#[test]
fn a_repeated_command_whose_mail_went_posts_nothing_after_another_message() {
    let world = posted();
    let first = run(replying_to(&world, Some(&id()))).unwrap().unwrap();
    run(post(ports(&world), &who(), &second(), &message("And now?"), None)).unwrap().unwrap();
    assert_eq!(run(replying_to(&world, Some(&id()))).unwrap().unwrap(), first);
    assert_eq!(world.state().sent.len(), 1);
    assert_eq!(steps(&world).iter().filter(|step| *step == "reply_posted").count(), 1);
}

#[test]
fn a_reply_to_a_message_that_the_thread_lacks_is_refused() {
    let world = posted();
    let refused = run(replying_to(&world, Some(&second()))).unwrap().unwrap_err();
    assert_eq!(refused.to_string(), "the thread has no such message of the customer");
    assert!(world.state().sent.is_empty() && !steps(&world).contains(&"reply_posted".to_owned()));
}

/// The answer to sending was lost, and the mailbox still shows the draft; the customer writes before the command is
/// repeated.
#[test]
fn a_repeated_command_continues_its_reply_although_the_customer_has_written() {
    for fault in [Fault::Fail, Fault::LoseReply, Fault::Refuse(504)] {
        let world = posted();
        world.state().draft_lag = 240_000;
        leave_unsettled(&world, fault);
        world.advance(Duration::from_secs(300));
        run(post(ports(&world), &who(), &second(), &message("And now?"), None)).unwrap().unwrap();
        run(replying(&world)).unwrap().unwrap();
        assert_eq!(world.state().sent.len(), 1, "{fault:?}");
        assert_eq!(steps(&world).iter().filter(|step| *step == "reply_posted").count(), 1, "{fault:?}");
        assert!(stored(&world).work(now(&world)).is_none_or(|work| work.task != BridgeTask::Mail), "{fault:?}");
    }
}

/// The reply to the write that records the draft is lost, and the member writes before it is repeated.
#[test]
fn a_recorded_draft_is_sent_although_its_write_looks_like_a_conflict() {
    let world = posted();
    let store = Overtaken::new(&world);
    run(reply(store.ports(), &world, SITE, &who(), &dana(), Some(&id()), &message(REPLY))).unwrap().unwrap();
    assert!(store.has_lost() && world.state().drafts.is_empty());
    assert_eq!(world.state().sent.len(), 1);
    assert_eq!(steps(&world).last().unwrap(), "reply_mailed");
}

/// The draft was removed from the mailbox by hand: repeating the command finds it nowhere until an operator settles it.
#[test]
fn a_reply_whose_draft_is_gone_is_mailed_after_an_operator_settles_it() {
    let world = posted();
    leave_unsettled(&world, Fault::Fail);
    world.state().drafts.clear();
    assert!(matches!(run(replying(&world)).unwrap(), Err(ReplyError::OutcomeUnknown)));
    let reply = stored(&world).thread().last().unwrap().id().clone();
    run(settle(ports(&world), &world, &who(), &dana(), &reply, false)).unwrap().unwrap();
    assert_eq!(run(replying(&world)).unwrap().unwrap().id, reply);
    assert_eq!(world.state().sent.len(), 1);
    assert_eq!(steps(&world)[3..], ["reply_posted", "mail_settled", "reply_mailed"]);
}

/// The answer to sending was lost, and the mailbox still shows the draft. A second draft would be a second mail.
#[test]
fn a_mail_that_may_be_on_its_way_is_not_settled_as_unsent() {
    let world = posted();
    world.state().draft_lag = 240_000;
    leave_unsettled(&world, Fault::LoseReply);
    let reply = stored(&world).thread().last().unwrap().id().clone();
    let settling = || run(settle(ports(&world), &world, &who(), &dana(), &reply, false)).unwrap();
    assert!(matches!(settling(), Err(DecideError::DraftExists)));
    world.advance(Duration::from_secs(300));
    for look in ["mailbox.draft_exists", "mailbox.was_sent"] {
        world.plan(Plan::none().whenever(look, Fault::Fail));
        assert!(matches!(settling(), Err(DecideError::Mailbox(_))), "{look}");
        world.plan(Plan::none());
    }
    assert!(matches!(settling(), Err(DecideError::MailSent)));
    run(replying(&world)).unwrap().unwrap();
    assert_eq!(world.state().sent.len(), 1);
    assert_eq!(steps(&world)[3..], ["reply_posted", "reply_mailed"]);
}

/// The mail went out, but its answer was lost: the command finds it among the sent items.
#[test]
fn a_reply_whose_mail_is_among_the_sent_items_is_mailed() {
    let world = granted();
    world.plan(Plan::none().whenever("mailbox.send_draft", Fault::LoseReply));
    run(replying(&world)).unwrap().unwrap();
    assert_eq!(steps(&world).last().unwrap(), "reply_mailed");
    assert_eq!(world.state().sent.len(), 1);
}
