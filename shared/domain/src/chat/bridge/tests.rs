//! Single steps of a Bridge.

mod histories;

use super::*;
use crate::{
    CallerIdentity,
    chat::{CURRENT_AGREEMENT, ExchangeId},
    mail::Draft,
};
use serde_json::json;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(1_790_000_000 + seconds)
}

fn bridge() -> Bridge {
    Bridge::new(SubscriberId::parse("b".repeat(64)).unwrap())
}

fn id(n: u32) -> ExchangeId {
    ExchangeId::parse(format!("00000000-0000-4000-8000-{n:012}")).unwrap()
}

fn dana() -> Operator {
    Operator::parse("dana", None).unwrap()
}

fn granted() -> Bridge {
    let mut bridge = bridge();
    bridge.accept(&CURRENT_AGREEMENT, "memory", "person", at(0)).unwrap();
    bridge.grant(&dana(), "asked", at(1000), at(1)).unwrap();
    bridge
}

#[test]
fn events_and_the_record_say_who_accepted_which_bytes_and_when() {
    let mut bridge = bridge();
    let accepted = bridge.accept(&CURRENT_AGREEMENT, "memory", "person", at(0)).unwrap();
    let (version, sha256) = (CURRENT_AGREEMENT.version, CURRENT_AGREEMENT.sha256.to_owned());
    assert_eq!(accepted, Some(BridgeEvent::Accepted { version, sha256 }));
    assert_eq!(bridge.accept(&CURRENT_AGREEMENT, "memory", "person", at(1)), Ok(None));
    let acceptance = bridge.acceptance().unwrap();
    assert_eq!((acceptance.at(), acceptance.memory(), acceptance.person()), (at(0), "memory", "person"));
    let identity = CallerIdentity::parse("arn:aws:iam::123456789012:user/dana").ok();
    let operator = dana().known_as(identity.clone());
    let expires = at(1000).to_iso();
    let granted = bridge.grant(&operator, "asked", at(1000), at(1)).unwrap();
    let (by, reason) = (SignedBy { by: "dana".to_owned(), identity }, "asked".to_owned());
    assert_eq!(granted, Some(BridgeEvent::Granted { by, reason, expires }));
    let record = serde_json::to_value(granted).unwrap();
    assert_eq!((&record["by"], &record["identity"]), (&json!("dana"), &json!(operator.identity())));
    assert_eq!(bridge.grant(&dana(), "asked", at(1000), at(2)), Ok(None), "repeated");
    assert_eq!(bridge.decision(), Some(("dana", "asked", at(1))));
}

#[test]
fn a_grant_ends_in_the_future_and_within_a_year() {
    let mut bridge = granted();
    let too_far = at(2).plus(LONGEST_GRANT).plus(std::time::Duration::from_millis(1));
    for expires in [at(0), at(2), too_far] {
        assert_eq!(bridge.grant(&dana(), "asked", expires, at(2)), Err(BridgeRefused::Expiry));
    }
    assert!(bridge.grant(&dana(), "asked", at(2).plus(LONGEST_GRANT), at(2)).unwrap().is_some());
    let bridge = granted();
    assert_eq!([999, 1000].map(|seconds| bridge.state(at(seconds))), [BridgeState::Granted, BridgeState::Expired]);
}

#[test]
fn a_message_is_posted_once_and_its_id_is_not_used_for_another() {
    let mut bridge = granted();
    assert!(bridge.post(&id(1), "one", at(2)).unwrap().is_some());
    assert_eq!(bridge.post(&id(1), "one", at(3)), Ok(None));
    assert_eq!(bridge.post(&id(1), "two", at(3)), Err(BridgeRefused::OtherMessage));
    assert_eq!(bridge.reply(&id(1), &dana(), None, "one", at(3)), Err(BridgeRefused::OtherMessage));
    assert_eq!(bridge.thread().len(), 1);
    assert_eq!(bridge.message(&id(1)).unwrap().at(), at(2));
}

#[test]
fn a_full_thread_can_still_be_answered() {
    let mut bridge = granted();
    let text = "x".repeat(39_600);
    for n in 0..7 {
        assert!(bridge.post(&id(n), &text, at(2)).is_ok());
    }
    assert_eq!(bridge.post(&id(8), "x", at(2)), Err(BridgeRefused::Full));
    assert!(bridge.reply(&id(9), &dana(), None, &text, at(2)).is_ok());
    assert_eq!(bridge.reply(&id(10), &dana(), None, "x", at(2)), Err(BridgeRefused::Full));
    assert!(serde_json::to_string(&bridge).unwrap().len() < 380_000, "a row of the table holds 400 KB");
}

/// A short message takes more of the row than its text.
#[test]
fn a_thread_of_short_messages_is_full_before_its_row_is_and_can_still_be_answered() {
    let mut bridge = granted();
    let text = "x".repeat(60);
    let mut ids = (0..).map(id);
    let posted = ids.by_ref().take_while(|id| bridge.post(id, &text, at(2)) != Err(BridgeRefused::Full)).count();
    (0..posted).for_each(|_| bridge.record_posted_mail(&"A".repeat(152)));
    let draft = Draft { id: "A".repeat(152), internet_message_id: format!("<{}>", "x".repeat(76)) };
    let mut replied = 0;
    while let Some(id) = ids.next().filter(|id| bridge.reply(id, &dana(), None, &text, at(2)).is_ok()) {
        bridge.record_draft(&id, &draft, at(2)).unwrap();
        replied += 1;
    }
    assert!(posted > 500 && replied > 50, "{posted} messages, {replied} replies");
    assert!(serde_json::to_string(&bridge).unwrap().len() < 380_000, "a row of the table holds 400 KB");
}

#[test]
fn a_reply_has_one_draft_which_is_sent_once() {
    let draft = |id: &str| Draft { id: id.to_owned(), internet_message_id: String::new() };
    let mut bridge = granted();
    bridge.post(&id(1), "one", at(2)).unwrap();
    bridge.reply(&id(2), &dana(), None, "two", at(3)).unwrap();
    assert_eq!(bridge.record_mailed(&id(2)), Err(BridgeRefused::NoSuchMail), "nothing was drafted");
    assert_eq!(bridge.record_draft(&id(1), &draft("a"), at(4)), Err(BridgeRefused::NoSuchMail));
    bridge.record_draft(&id(2), &draft("a"), at(4)).unwrap();
    assert_eq!(bridge.record_draft(&id(2), &draft("a"), at(5)), Ok(()), "the recorded one");
    assert_eq!(bridge.record_draft(&id(2), &draft("b"), at(5)), Err(BridgeRefused::NoSuchMail));
    assert_eq!(bridge.message(&id(2)).unwrap().mail(), Some(&MailStep::Drafted(draft("a"))));
    assert_eq!(bridge.record_mailed(&id(2)), Ok(Some(BridgeEvent::ReplyMailed { id: id(2) })));
    assert_eq!(bridge.record_mailed(&id(2)), Ok(None));
    let mut bridge = granted();
    bridge.reply(&id(2), &dana(), None, "two", at(3)).unwrap();
    bridge.revoke(&dana(), "over", at(4)).unwrap();
    let closed = BridgeRefused::Closed(BridgeState::Revoked);
    assert_eq!(bridge.record_draft(&id(2), &draft("a"), at(4)), Err(closed), "no mail after a revocation");
}

#[test]
fn work_waits_for_a_decision_an_answer_or_a_mail() {
    let day = ANSWER_WITHIN.as_secs() as i64;
    let waiting = |bridge: &Bridge, now| bridge.work(at(now)).map(|work| (work.task, work.due));
    let mut bridge = bridge();
    assert_eq!(waiting(&bridge, 0), None);
    bridge.accept(&CURRENT_AGREEMENT, "memory", "person", at(0)).unwrap();
    assert_eq!(waiting(&bridge, 1), Some((BridgeTask::Decide, at(day))));
    bridge.grant(&dana(), "asked", at(1000), at(1)).unwrap();
    assert_eq!(waiting(&bridge, 1), None);
    bridge.post(&id(1), "one", at(10)).unwrap();
    bridge.post(&id(2), "two", at(20)).unwrap();
    assert_eq!(waiting(&bridge, 30), Some((BridgeTask::Answer, at(10 + day))), "of the first that waits");
    bridge.reply(&id(3), &dana(), Some(&id(2)), "three", at(30)).unwrap();
    assert_eq!(waiting(&bridge, 31), Some((BridgeTask::Mail, at(30))));
    let draft = Draft { id: "d".to_owned(), internet_message_id: String::new() };
    bridge.record_draft(&id(3), &draft, at(31)).unwrap();
    bridge.record_mailed(&id(3)).unwrap();
    assert_eq!(waiting(&bridge, 32), None);
    bridge.post(&id(4), "four", at(40)).unwrap();
    assert_eq!(waiting(&bridge, 999), Some((BridgeTask::Answer, at(40 + day))));
    assert_eq!(waiting(&bridge, 1000), Some((BridgeTask::Answer, at(40 + day))), "the expiry is no answer");
    bridge.revoke(&dana(), "over", at(1001)).unwrap();
    assert_eq!(waiting(&bridge, 1001), None, "an operator has ended the access");
}

#[test]
fn after_the_expiry_only_messages_that_wait_are_answered() {
    let closed = Err(BridgeRefused::Closed(BridgeState::Expired));
    let mut bridge = granted();
    bridge.post(&id(1), "one", at(10)).unwrap();
    bridge.reply(&id(2), &dana(), Some(&id(1)), "two", at(20)).unwrap();
    bridge.post(&id(3), "three", at(999)).unwrap();
    assert_eq!(bridge.post(&id(4), "four", at(1000)), closed);
    for answers in [None, Some(&id(1)), Some(&id(2)), Some(&id(9))] {
        assert_eq!(bridge.reply(&id(5), &dana(), answers, "five", at(1000)), closed, "{answers:?}");
    }
    assert!(bridge.reply(&id(5), &dana(), Some(&id(3)), "five", at(1000)).unwrap().is_some());
    assert_eq!(bridge.reply(&id(5), &dana(), Some(&id(3)), "five", at(1001)), Ok(None), "repeated");
    assert_eq!(bridge.reply(&id(6), &dana(), Some(&id(3)), "six", at(1001)), closed, "it is answered");
    for (reply, mail) in [(id(2), "a"), (id(5), "b")] {
        let draft = Draft { id: mail.to_owned(), internet_message_id: String::new() };
        bridge.record_draft(&reply, &draft, at(1002)).unwrap();
        assert!(bridge.record_mailed(&reply).unwrap().is_some());
    }
    assert_eq!(bridge.work(at(1003)), None);
}

#[test]
fn an_operator_settles_a_mail_that_is_not_sent() {
    let draft = |id: &str| Draft { id: id.to_owned(), internet_message_id: String::new() };
    let mut bridge = granted();
    bridge.post(&id(1), "one", at(2)).unwrap();
    bridge.reply(&id(2), &dana(), Some(&id(1)), "two", at(3)).unwrap();
    assert_eq!(bridge.settle_mail(&id(1), &dana(), "looked", true), Err(BridgeRefused::NoSuchMail));
    assert_eq!(bridge.settle_mail(&id(2), &dana(), "looked", false), Ok(None), "it waits for a draft already");
    bridge.record_draft(&id(2), &draft("a"), at(4)).unwrap();
    assert!(bridge.settle_mail(&id(2), &dana(), "removed by hand", false).unwrap().is_some());
    assert_eq!(bridge.record_draft(&id(2), &draft("b"), at(5)), Ok(()), "a new draft");
    assert!(bridge.settle_mail(&id(2), &dana(), "sent by hand", true).unwrap().is_some());
    assert_eq!(bridge.work(at(6)), None);
    assert_eq!(bridge.settle_mail(&id(2), &dana(), "sent by hand", true), Ok(None));
    assert_eq!(bridge.settle_mail(&id(2), &dana(), "looked", false), Err(BridgeRefused::NoSuchMail), "sent twice");
}

/// A message that the operator has not read when they reply waits, whenever it was posted.
#[test]
fn a_message_that_came_while_the_reply_was_written_still_waits() {
    let day = ANSWER_WITHIN.as_secs() as i64;
    let mut bridge = granted();
    let mail = |bridge: &mut Bridge, of: &ExchangeId| {
        let draft = Draft { id: "d".to_owned(), internet_message_id: String::new() };
        bridge.record_draft(of, &draft, at(30)).unwrap();
        bridge.record_mailed(of).unwrap();
        bridge.work(at(31)).map(|work| (work.task, work.due))
    };
    for n in [1, 2, 3] {
        bridge.post(&id(n), "text", at(10 * i64::from(n))).unwrap();
    }
    bridge.reply(&id(4), &dana(), Some(&id(1)), "to one", at(30)).unwrap();
    assert_eq!(mail(&mut bridge, &id(4)), Some((BridgeTask::Answer, at(20 + day))));
    assert_eq!(bridge.unanswered().map(Post::id).collect::<Vec<_>>(), [&id(2), &id(3)]);
    assert_eq!(bridge.reply(&id(4), &dana(), Some(&id(1)), "to one", at(31)), Ok(None), "repeated");
    bridge.reply(&id(5), &dana(), None, "before anything was read", at(30)).unwrap();
    assert_eq!(mail(&mut bridge, &id(5)), Some((BridgeTask::Answer, at(20 + day))));
    bridge.reply(&id(6), &dana(), Some(&id(3)), "to three", at(30)).unwrap();
    assert_eq!(mail(&mut bridge, &id(6)), None);
    bridge.reply(&id(7), &dana(), Some(&id(1)), "to one again", at(30)).unwrap();
    assert_eq!(mail(&mut bridge, &id(7)), None, "an answered message stays answered");
    for unknown in [id(6), id(99)] {
        let refused = bridge.reply(&id(8), &dana(), Some(&unknown), "to what?", at(30));
        assert_eq!(refused, Err(BridgeRefused::NoSuchMessage));
    }
}

/// An earlier version stored replies without how far their operator had read: they answer all messages before them.
#[test]
fn a_stored_reply_of_before_answers_the_messages_before_it() {
    let mut bridge = granted();
    bridge.post(&id(1), "one", at(2)).unwrap();
    bridge.reply(&id(2), &dana(), Some(&id(1)), "two", at(3)).unwrap();
    bridge.post(&id(3), "three", at(4)).unwrap();
    let mut stored = serde_json::to_value(&bridge).unwrap();
    assert_eq!(stored["thread"][1].as_object_mut().unwrap().remove("read"), Some(json!(1)));
    let bridge: Bridge = serde_json::from_value(stored).unwrap();
    assert_eq!(bridge.unanswered().map(Post::id).collect::<Vec<_>>(), [&id(3)]);
}

#[test]
fn what_is_stored_is_read_again() {
    let mut bridge = granted();
    bridge.post(&id(1), "one", at(2)).unwrap();
    bridge.reply(&id(2), &dana(), None, "two", at(3)).unwrap();
    let stored = serde_json::to_string(&bridge).unwrap();
    assert_eq!(serde_json::from_str::<Bridge>(&stored).unwrap(), bridge);
    bridge.revoke(&dana(), "over", at(4)).unwrap();
    let stored = serde_json::to_string(&bridge).unwrap();
    assert_eq!(serde_json::from_str::<Bridge>(&stored).unwrap(), bridge);
}

#[test]
fn an_acceptance_names_the_text_and_a_letter_its_change() {
    let mut bridge = bridge();
    bridge.accept(&CURRENT_AGREEMENT, "memory", "person", at(0)).unwrap();
    let acceptance = bridge.acceptance().unwrap();
    assert_eq!((acceptance.sha256(), acceptance.version()), (CURRENT_AGREEMENT.sha256, CURRENT_AGREEMENT.version));
    let names = [
        AccessChange::Granted { expires: at(1) },
        AccessChange::Expired,
        AccessChange::Revoked,
        AccessChange::Declined,
    ]
    .map(AccessChange::as_str);
    assert_eq!(names, ["granted", "expired", "revoked", "declined"]);
}
