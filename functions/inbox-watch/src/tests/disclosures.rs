//! Messages that may disclose self-harm.
//! The file has more than 300 lines because each way in which the answer to a disclosure can be late or fail has a
//! short test of its own.

use super::*;
use domain::{Metric, texts};

const TEXT: &str = "I want to kill myself";

/// A world after its first run, to which a stranger has written.
fn written(text: &str) -> World {
    let world = begun();
    arrives(&world, "m1", "stranger@example.com", text);
    world
}

fn is_help(body: &str) -> bool {
    body.starts_with(texts::CRISIS) && !body.contains("inquiry")
}

/// The records of disclosures.
fn recorded(world: &World) -> Vec<Value> {
    let records = world.state().records();
    let recorded = records.iter().filter(|record| record["event"] == "authority_evaluated");
    recorded.map(|record| record["details"].clone()).collect()
}

#[test]
fn a_stranger_gets_the_resources_at_once_and_a_person_reads_the_message() {
    let world = written("Please call me back.");
    look(&world, "a").unwrap().unwrap();
    assert_eq!(answers(&world), [answer::BODY]);
    // Within a day of the acknowledgement.
    arrives(&world, "m2", "stranger@example.com", TEXT);
    look(&world, "b").unwrap().unwrap();
    look(&world, "c").unwrap().unwrap();
    let answers = answers(&world);
    assert!(answers.len() == 2 && is_help(&answers[1]) && answers[1].contains("9-8-8"), "{answers:?}");
    assert!(is_inquiry(&world, "m2"));
    assert_eq!(alerts_with(&world, "DISCLOSURE"), 1);
    let records = recorded(&world);
    assert_eq!(records.len(), 1);
    let decided = &records[0]["authority"];
    assert_eq!((&decided["state"], &decided["locked"]), (&json!("BLOCKED"), &json!(true)));
    assert_eq!(records[0]["sender"], tag("v1", "stranger@example.com"));
    let state = world.state();
    let notes = state.notes.values().map(|(note, _)| note);
    let kept: String = state.log.values().chain(notes).cloned().collect();
    assert!(!kept.contains("kill") && !kept.contains('@'), "{kept}");
    assert!(state.alerts.iter().all(|alert| !alert.line.contains("kill")));
}

/// A buyer of any tier; the country of the payment selects the resources.
#[test]
fn a_buyer_gets_the_resources_of_their_country_and_the_reply_waits_for_a_person() {
    let world = replied();
    world.state().inbox[0].text = TEXT.to_owned();
    world.change_sales("tier", "quick");
    world.change_sales("locale", &Some("und-US"));
    look(&world, "a").unwrap().unwrap();
    let answers = answers(&world);
    assert!(answers.len() == 1 && is_help(&answers[0]), "{answers:?}");
    assert!(answers[0].contains("988 Suicide & Crisis Lifeline") && !answers[0].contains("9-8-8"), "{answers:?}");
    let state = world.state();
    assert_eq!(state.acknowledged.get(&state.sent[0].0.id), Some(&session()), "an erasure of the sale finds it");
    assert_eq!(state.sales[&session()].0.waiting_replies().count(), 1);
}

#[test]
fn the_subject_of_a_new_message_is_read_and_that_of_a_reply_is_not() {
    let reply = ("In-Reply-To".to_owned(), "<earlier@example.com>".to_owned());
    for (header, expected) in [(None, true), (Some(reply), false)] {
        let world = written("Please.");
        {
            let message = &mut world.state().inbox[0].message;
            TEXT.clone_into(&mut message.subject);
            message.headers.extend(header);
        }
        look(&world, "a").unwrap().unwrap();
        assert_eq!(is_help(&answers(&world)[0]), expected);
    }
}

#[test]
fn machines_and_unconfirmed_senders_get_nothing_and_harmless_words_the_usual_answer() {
    let machine = written(TEXT);
    machine.state().inbox[0].message.headers.push(("Auto-Submitted".to_owned(), "auto-replied".to_owned()));
    look(&machine, "a").unwrap().unwrap();
    assert!(answers(&machine).is_empty() && recorded(&machine).is_empty());
    // A person may have written it all the same, and an operator reads it at once.
    let forged = written(TEXT);
    forged.state().inbox[0].message.headers.clear();
    look(&forged, "a").unwrap().unwrap();
    assert!(answers(&forged).is_empty() && recorded(&forged).len() == 1 && is_inquiry(&forged, "m1"));
    assert_eq!(alerts_with(&forged, "read it now; its sender is not confirmed and gets no mail"), 1);
    for text in ["How do I kill a subscription?", "Can I give my son two of my warfarin tablets?", ""] {
        let world = written(text);
        look(&world, "a").unwrap().unwrap();
        assert_eq!(answers(&world), [answer::BODY], "{text}");
        assert!(recorded(&world).is_empty(), "{text}");
    }
}

/// Each message has an answer of its own, up to a limit that ends two machines that answer each other.
#[test]
fn every_disclosure_is_answered_up_to_five_a_day() {
    let world = written(TEXT);
    for number in 2..=8 {
        look(&world, &format!("run {number}")).unwrap().unwrap();
        arrives(&world, &format!("m{number}"), "Stranger@example.com", TEXT);
    }
    look(&world, "last").unwrap().unwrap();
    assert_eq!(answers(&world).len(), 5);
    assert_eq!((recorded(&world).len(), alerts_with(&world, "DISCLOSURE")), (8, 8));
    assert_eq!(alerts_with(&world, "no sources of help are sent"), 3);
    assert!((1..=8).all(|number| is_inquiry(&world, &format!("m{number}"))));
    arrives(&world, "other", "other@example.com", TEXT);
    look(&world, "other").unwrap().unwrap();
    world.advance(COOLDOWN);
    arrives(&world, "later", "stranger@example.com", TEXT);
    look(&world, "later").unwrap().unwrap();
    let answers = answers(&world);
    assert!(answers.len() == 7 && answers.iter().all(|answer| is_help(answer)), "{answers:?}");
}

/// A message whose text cannot be read is acknowledged all the same (Inbox Watch, V3).
#[test]
fn a_text_that_cannot_be_read_delays_the_acknowledgement_and_does_not_withhold_it() {
    let world = written(TEXT);
    world.plan(Plan::none().whenever("inbox.new_text", Fault::Fail));
    looks(&world, MOST_FAILURES + 1, "a text that cannot be read stops no run");
    assert_eq!((answers(&world), saved_state(&world).at_hand.len()), (vec![answer::BODY.to_owned()], 0));
    assert!(is_inquiry(&world, "m1"), "an operator finds it");
}

/// Such a text may be above the limit and is never read. The subject is evaluated in the first run all the same.
#[test]
fn a_subject_that_discloses_counts_without_a_readable_text() {
    let world = written("Please.");
    TEXT.clone_into(&mut world.state().inbox[0].message.subject);
    world.plan(Plan::none().whenever("inbox.new_text", Fault::Fail));
    look(&world, "a").unwrap().unwrap();
    assert_eq!((recorded(&world).len(), alerts_with(&world, "DISCLOSURE")), (1, 1));
    looks(&world, MOST_FAILURES, "a text that cannot be read stops no run");
    let answers = answers(&world);
    assert!(answers.len() == 1 && is_help(&answers[0]), "{answers:?}");
    assert_eq!((recorded(&world).len(), alerts_with(&world, "DISCLOSURE")), (1, 1));
}

/// A mailbox that is busy after the answer was claimed withholds no sources of help, nor does a failing announcement.
#[test]
fn a_subject_that_discloses_suffices_after_other_failures_too() {
    let world = || {
        let world = written("Please.");
        TEXT.clone_into(&mut world.state().inbox[0].message.subject);
        world
    };
    let unread = || Plan::none().whenever("inbox.new_text", Fault::Fail);
    let (unannounced, unread_then_busy, read_then_busy) = (world(), world(), world());
    unannounced.plan(unread().whenever("broadcast.tell", Fault::Fail));
    unread_then_busy.plan(unread());
    looks(&unread_then_busy, MOST_FAILURES - 1, "a text that cannot be read stops no run");
    busy_for_a_moment(&unread_then_busy);
    looks(&unread_then_busy, 1, "the mailbox is free again");
    // A text that was read may be read again, and selects the sources better.
    busy_for_a_moment(&read_then_busy);
    read_then_busy.plan(unread());
    for world in [&unannounced, &read_then_busy] {
        looks(world, MOST_FAILURES - 1, "a text that cannot be read stops no run");
        assert!(answers(world).is_empty());
        looks(world, 1, "the last attempt");
    }
    for world in [unannounced, unread_then_busy, read_then_busy] {
        let answers = answers(&world);
        assert!(answers.len() == 1 && is_help(&answers[0]), "{answers:?}");
    }
}

/// Only the text says that the sender is a minor, and its first reads fail.
#[test]
fn a_text_that_is_read_after_its_subject_is_recorded_and_escalated_too() {
    let world = written("I'm 15. Please help me.");
    TEXT.clone_into(&mut world.state().inbox[0].message.subject);
    world.plan(Plan::none().whenever("inbox.new_text", Fault::Fail));
    looks(&world, 2, "a text that cannot be read stops no run");
    assert_eq!((recorded(&world).len(), world.state().counted(Metric::AuthorityEscalated)), (1, 0));
    world.plan(Plan::none());
    looks(&world, 2, "the text is read");
    let records = recorded(&world);
    assert_eq!(records.len(), 2, "{records:?}");
    assert_eq!(records[1]["authority"]["escalation"], json!(["988_SUICIDE_LIFELINE", "TRUST_AND_SAFETY"]));
    assert_eq!((alerts_with(&world, "DISCLOSURE"), world.state().counted(Metric::AuthorityEscalated)), (1, 1));
    assert!(is_help(&answers(&world)[0]));
}

/// An answer that was certainly not sent does not count for the sender's limit, and the alert says what was not sent.
#[test]
fn sources_of_help_that_were_not_sent_do_not_count() {
    let world = written(TEXT);
    world.plan(Plan::none().whenever("inbox.create_acknowledgement", Fault::Refuse(500)));
    for number in 2..=7 {
        look(&world, &format!("run {number}")).unwrap().unwrap();
        arrives(&world, &format!("m{number}"), "stranger@example.com", TEXT);
    }
    assert_eq!(alerts_with(&world, "sources of help were not sent"), 6);
    world.plan(Plan::none());
    look(&world, "last").unwrap().unwrap();
    let answers = answers(&world);
    assert!(answers.len() == 1 && is_help(&answers[0]), "{answers:?}");
    assert_eq!(world.state().sent[0].1.subject, "Re: your message");
}

/// The mailbox never says whether it has sent the sources of help.
#[test]
fn sources_of_help_that_may_not_have_gone_are_a_critical_alert() {
    let world = written(TEXT);
    world.plan(Plan::none().whenever("mailbox.send_draft", Fault::Fail));
    looks(&world, MOST_FAILURES, "an unknown outcome stops no run");
    assert_eq!(outcomes(&world), ["unknown"]);
    let state = world.state();
    let alerts: Vec<&str> = state.alerts.iter().map(|alert| alert.line.as_str()).collect();
    let is_of_help =
        |line: &&str| line.contains("] CRITICAL | ") && line.contains("sources of help may or may not have gone");
    assert!(alerts.iter().any(is_of_help), "{alerts:?}");
}

/// The answer was claimed, and then the text can no longer be read. The next disclosure of the sender is answered.
#[test]
fn sources_of_help_that_were_claimed_and_never_sent_are_a_critical_alert() {
    let world = written(TEXT);
    busy_for_a_moment(&world);
    world.plan(Plan::none().whenever("inbox.new_text", Fault::Fail));
    looks(&world, 2 * MOST_FAILURES, "a text that cannot be read stops no run");
    assert_eq!((outcomes(&world), answers(&world).len()), (vec!["given_up".to_owned()], 0));
    let is_told = |line: &str| line.contains("] CRITICAL | ") && line.contains("sources of help were not sent");
    assert!(world.state().alerts.iter().any(|alert| is_told(&alert.line)), "{:?}", world.state().alerts);
    assert!(saved_state(&world).answered.is_empty());
    world.plan(Plan::none());
    arrives(&world, "m2", "stranger@example.com", TEXT);
    look(&world, "later").unwrap().unwrap();
    assert!(is_help(&answers(&world)[0]));
}

/// The search for the sale may fail as long as the store does: the alert comes first.
#[test]
fn the_alert_does_not_wait_for_the_sale() {
    let world = written(TEXT);
    world.plan(Plan::none().whenever("inbox.sale_of", Fault::Fail));
    look(&world, "a").unwrap().unwrap();
    look(&world, "b").unwrap().unwrap();
    assert_eq!((answers(&world).len(), recorded(&world).len(), alerts_with(&world, "DISCLOSURE")), (0, 1, 1));
}

/// A person reads it as any other message, and the sources of help are sent.
#[test]
fn a_disclosure_whose_sale_cannot_be_found_is_an_inquiry() {
    let world = written(TEXT);
    world.plan(Plan::none().whenever("inbox.sale_of", Fault::Fail));
    looks(&world, MOST_FAILURES + 1, "a sale that cannot be found stops no run");
    let answers = answers(&world);
    assert!(answers.len() == 1 && is_help(&answers[0]), "{answers:?}");
    assert!(is_inquiry(&world, "m1") && saved_state(&world).at_hand.is_empty());
}

/// Nor do the alert and the answer wait for the announcement, which follows once (Inbox Watch, invariant 6).
#[test]
fn the_sources_of_help_do_not_wait_for_the_announcement() {
    for (is_confirmed, runs) in [(true, 1), (true, 3 * MOST_FAILURES), (false, 1)] {
        let world = written(TEXT);
        if !is_confirmed {
            world.state().inbox[0].message.headers.clear();
        }
        let helped = usize::from(is_confirmed);
        world.plan(Plan::none().whenever("broadcast.tell", Fault::Fail));
        looks(&world, runs, "an announcement that fails stops no run");
        let sent = answers(&world);
        assert!(sent.len() == helped && sent.iter().all(|answer| is_help(answer)), "{sent:?}");
        assert_eq!((recorded(&world).len(), alerts_with(&world, "DISCLOSURE")), (1, 1));
        assert!(is_inquiry(&world, "m1") && saved_state(&world).at_hand.len() == 1, "it is still to be announced");
        world.plan(Plan::none());
        looks(&world, 3, "the announcement follows");
        let announced = world.state().broadcasts.clone();
        assert_eq!(announced, ["Incoming: from stranger@example.com — subject: Hello"]);
        assert_eq!((answers(&world).len(), recorded(&world).len(), saved_state(&world).at_hand.len()), (helped, 1, 0));
        assert_eq!(outcomes(&world).len(), 1);
    }
}

/// The announcement's failures are not the text's: a text that cannot be read once is read again.
#[test]
fn a_text_is_read_again_after_announcements_that_failed() {
    let world = written(TEXT);
    world.plan(Plan::none().whenever("broadcast.tell", Fault::Fail).whenever("inbox.new_text", Fault::Fail));
    looks(&world, MOST_FAILURES - 1, "a text that cannot be read stops no run");
    world.plan(Plan::none().whenever("inbox.new_text", Fault::Fail));
    look(&world, "unread").unwrap().unwrap();
    assert_eq!(announced_and_sent(&world), (1, 0));
    world.plan(Plan::none());
    look(&world, "read").unwrap().unwrap();
    assert!(is_help(&answers(&world)[0]));
}

/// With any fault at any step a message gets at most one answer, which is the right one, and is recorded once.
#[test]
fn whatever_breaks_a_disclosure_is_answered_once() {
    for (world, what) in broken(|| written(TEXT), 15) {
        looks(&world, 8, &what);
        let answers = answers(&world);
        assert!(answers.iter().all(|answer| is_help(answer)), "{what}: {answers:?}");
        // A mailbox that fails is not asked again (Inbox Watch, FM-4): then a person answers.
        let is_failure = what.starts_with("Fail") || what.starts_with("LoseReply");
        let is_unsent = alerts_with(&world, "AUTORESPONSE") == 1 && is_failure;
        assert!(answers.len() == 1 || (answers.is_empty() && is_unsent), "{what}: {answers:?}");
        assert!(recorded(&world).len() == 1 && is_inquiry(&world, "m1"), "{what}: {:?}", recorded(&world));
        assert!(
            !world.state().broadcasts.is_empty() && saved_state(&world).at_hand.is_empty(),
            "{what}: not announced"
        );
        // An alert that cannot be raised is in the function's own log.
        let state = world.state();
        let mut alerts = state.alerts.iter().chain(&state.logged_alerts);
        assert!(alerts.any(|alert| alert.line.contains("DISCLOSURE")), "{what}");
    }
}
