//! Replies that order the follow-up of a Strategy Session.

use super::*;
use domain::{
    CachedVerdict, Query, Tier,
    inbox::FollowupReply,
    message::{Message, OrderedBy},
    texts,
};

/// A world after its first run, whose buyer has a delivered Strategy Session and has replied to its mail.
fn asked(text: &str) -> World {
    let world = World::at(at(0));
    assert!(look(&world, "first").unwrap().unwrap().looked);
    world.state().alerts.clear();
    let sale = Sale::ordered(session(), at(-600))
        .with("tier", "strategy")
        .with("fulfilment", Fulfilment::Ready { at: at(-500), archived: true })
        .with("mail", Mail::Sent { at: at(-400) })
        .with("email_tag", Some(tag("v1", "buyer@example.com")));
    world.state().sales.insert(session(), (sale, 1));
    let verdict = serde_json::from_value(json!({ "verdict": "GREEN", "summary": "Yes." })).unwrap();
    let question = Query::parse("Should we open a second bakery?").unwrap();
    world.state().cache.insert(session(), CachedVerdict::first(Tier::Strategy, &question, verdict, at(-500)));
    replies(&world, "m1", "buyer@example.com", text);
    world
}

fn replies(world: &World, id: &str, sender: &str, text: &str) {
    let second = u32::try_from(world.state().inbox.len()).unwrap() + 1;
    world.state().conversations.insert(format!("conversation of {id}"), session());
    world.state().inbox.push(Unread { text: text.to_owned(), ..unread(id, second, sender) });
}

/// The bodies that were sent, in order.
fn answers(world: &World) -> Vec<String> {
    world.state().sent.iter().map(|(_, letter)| letter.body.clone()).collect()
}

/// The text of the follow-up that is ordered.
fn ordered(world: &World) -> Option<String> {
    let state = world.state();
    let kept = state.submissions.get(&session().followup())?;
    assert!(state.sales.contains_key(&session().followup()));
    Some(kept.query.as_str().to_owned())
}

fn outcome(world: &World, id: &str) -> Option<FollowupReply> {
    let sale = world.state().sales[&session()].0.clone();
    sale.replies().iter().find(|reply| reply.message == id).unwrap().followup
}

fn waiting(world: &World) -> usize {
    world.state().sales[&session()].0.waiting_replies().count()
}

#[test]
fn a_reply_by_the_buyer_orders_the_followup_and_is_nobodys_work() {
    let world = asked("And if the rent is higher?\r\n");
    look(&world, "a").unwrap().unwrap();
    assert_eq!(ordered(&world).as_deref(), Some("And if the rent is higher?"));
    let queue = world.state().queue.clone();
    assert!(matches!(&queue[0].0, Message::Order { ordered_by: OrderedBy::FollowupReply, .. }) && queue.len() == 1);
    assert_eq!(answers(&world), [texts::FOLLOWUP_ORDERED]);
    assert_eq!((outcome(&world, "m1"), waiting(&world)), (Some(FollowupReply::Ordered), 0));
    assert!(world.state().alerts.is_empty(), "{:?}", world.state().alerts);
    let state = world.state();
    let notes = state.notes.values().map(|(note, _)| note);
    let written: String = state.log.values().chain(notes).cloned().collect();
    assert!(!written.contains("rent"), "{written}");
}

/// Within a day of the first answer, too.
#[test]
fn a_second_one_is_answered_once_that_it_is_used_and_a_person_reads_it() {
    let world = asked("And if the rent is higher?");
    look(&world, "a").unwrap().unwrap();
    replies(&world, "m2", "buyer@example.com", "And in Halifax?");
    replies(&world, "m3", "buyer@example.com", "And in Toronto?");
    look(&world, "b").unwrap().unwrap();
    assert_eq!(answers(&world), [texts::FOLLOWUP_ORDERED, texts::FOLLOWUP_USED]);
    assert_eq!((outcome(&world, "m2"), outcome(&world, "m3")), (Some(FollowupReply::Used), None));
    assert_eq!((ordered(&world).as_deref(), waiting(&world)), (Some("And if the rent is higher?"), 2));
}

#[test]
fn the_same_reply_twice_is_one_followup() {
    let world = asked("And if the rent is higher?");
    replies(&world, "m2", "buyer@example.com", "And if the rent is higher?");
    look(&world, "a").unwrap().unwrap();
    assert_eq!(world.state().sales.len(), 2);
    assert_eq!(answers(&world), [texts::FOLLOWUP_ORDERED, texts::FOLLOWUP_ORDERED]);
    assert_eq!(waiting(&world), 0);
}

#[test]
fn what_must_not_be_answered_is_refused_by_mail_and_uses_nothing() {
    let world = asked("Can I give my son two of my warfarin tablets?");
    replies(&world, "m2", "buyer@example.com", "I want to kill myself");
    look(&world, "a").unwrap().unwrap();
    assert_eq!(ordered(&world), None);
    let answers = answers(&world);
    assert!(answers[0].contains("could do harm") && answers[0].ends_with(texts::FOLLOWUP_NOT_USED), "{answers:?}");
    assert!(answers[1].contains("really hard") && !answers[1].contains("follow-up"), "{answers:?}");
    assert_eq!((outcome(&world, "m1"), waiting(&world)), (Some(FollowupReply::Refused), 2));
    // Nobody is answered without end.
    for number in 3..20 {
        replies(&world, &format!("m{number}"), "buyer@example.com", "?");
        look(&world, &format!("later {number}")).unwrap().unwrap();
    }
    assert!(world.state().sent.len() <= 6, "{}", world.state().sent.len());
    replies(&world, "m99", "buyer@example.com", "And in Halifax?");
    look(&world, "b").unwrap().unwrap();
    assert_eq!(ordered(&world).as_deref(), Some("And in Halifax?"));
}

#[test]
fn other_senders_machines_and_empty_replies_order_nothing() {
    let automatic = |world: &World| {
        let header = ("Auto-Submitted".to_owned(), "auto-replied".to_owned());
        world.state().inbox[0].message.headers.push(header);
    };
    let stranger = |world: &World| world.state().inbox[0].message.sender = "stranger@example.com".to_owned();
    let too_long = "long ".repeat(5_000);
    type Case<'a> = (&'a str, &'a str, &'a dyn Fn(&World));
    let cases: [Case; 5] = [
        ("an auto-reply", "And in Halifax?", &automatic),
        ("another sender", "And in Halifax?", &stranger),
        ("nothing but a quotation", "  \r\n", &|_| {}),
        ("a text that is too long", &too_long, &|_| {}),
        ("another tier", "And in Halifax?", &|world: &World| {
            let (sale, version) = world.state().sales[&session()].clone();
            world.state().sales.insert(session(), (sale.with("tier", "full"), version));
        }),
    ];
    for (what, text, change) in cases {
        let world = asked(text);
        change(&world);
        look(&world, "a").unwrap().unwrap();
        assert_eq!(ordered(&world), None, "{what}");
        assert!(world.state().queue.is_empty(), "{what}");
        assert!(answers(&world).iter().all(|answer| answer == answer::BODY), "{what}");
    }
}

/// Any single fault: exactly one follow-up with the customer's words, and at most one answer, the right one.
#[test]
fn whatever_breaks_a_reply_orders_one_followup() {
    let clean = asked("And in Halifax?");
    clean.plan(Plan::none());
    look(&clean, "a").unwrap().unwrap();
    let boundaries = clean.passed();
    assert!(boundaries > 20, "{boundaries}");
    for boundary in 0..boundaries {
        for fault in FAULTS {
            let what = format!("{fault:?} at {boundary}");
            let world = asked("And in Halifax?");
            world.plan(Plan::at(boundary, fault));
            drop(look(&world, "a"));
            world.plan(Plan::none());
            for number in 0..8 {
                look(&world, &format!("later {number}")).expect(&what).expect(&what);
            }
            assert_eq!(ordered(&world).as_deref(), Some("And in Halifax?"), "{what}");
            assert!(!world.state().queue.is_empty() || told_of(&world, "ORACLE-FOLLOWUP") > 0, "{what}");
            assert_eq!((outcome(&world, "m1"), waiting(&world)), (Some(FollowupReply::Ordered), 0), "{what}");
            let answers = answers(&world);
            assert!(answers.len() <= 1 && answers.iter().all(|answer| answer == texts::FOLLOWUP_ORDERED), "{what}");
        }
    }
}
