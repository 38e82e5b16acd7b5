//! Replies that order the follow-up of a Strategy Session.
//! The file has more than 300 lines because each kind of reply has a test of its own, which checks the order, the mail
//! and the record that follow.

use super::*;
use domain::{
    CachedVerdict, Query, Tier,
    inbox::FollowupReply,
    message::{Message, OrderedBy},
    texts,
};

/// A world after its first run, whose buyer has a delivered Strategy Session and has replied to its mail.
fn asked(text: &str) -> World {
    let world = begun();
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
    world.state().conversations.insert(format!("conversation of {id}"), session());
    arrives(world, id, sender, text);
}

/// The buyer has used the follow-up by the page.
fn use_by_page(world: &World, at: Timestamp) {
    let text = domain::Submission { tier: Tier::Strategy, query: Query::parse("By the page").unwrap() };
    let mut state = world.state();
    state.sales.insert(session().followup(), (Sale::ordered(session().followup(), at), 1));
    state.submissions.insert(session().followup(), text);
}

/// The text of the ordered follow-up.
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

/// The specific answer is also sent within a day of the first one.
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
fn the_same_reply_twice_is_one_followup_and_one_answer() {
    let world = asked("And if the rent is higher?");
    replies(&world, "m2", "buyer@example.com", "And if the rent is higher?");
    look(&world, "a").unwrap().unwrap();
    assert_eq!(world.state().sales.len(), 2);
    assert_eq!((outcome(&world, "m2"), waiting(&world)), (Some(FollowupReply::Ordered), 0));
    // A machine that answers every mail with the same words comes to an end.
    for (id, run) in [("m3", "b"), ("m4", "c")] {
        replies(&world, id, "buyer@example.com", "And if the rent is higher?");
        look(&world, run).unwrap().unwrap();
    }
    assert_eq!(answers(&world), [texts::FOLLOWUP_ORDERED]);
}

/// A world whose first run has put the reply on the sale while no follow-up was offered, and then stopped.
fn stopped() -> World {
    let worlds = (0..).map(|boundary| {
        let world = asked("And in Halifax?");
        world.change_sales("fulfilment", &Fulfilment::Ordered { at: at(-1) });
        world.plan(Plan::at(boundary, Fault::CrashBefore));
        assert!(look(&world, "a").is_none(), "the run ends before the reply is on the sale");
        world
    });
    let is_on_the_sale = |world: &World| !world.state().sales[&session()].0.replies().is_empty();
    let world = { worlds }.find(is_on_the_sale).unwrap();
    world.plan(Plan::none());
    world
}

/// The reply is an operator's, although a follow-up is offered, or used, when the next run finds it.
#[test]
fn a_reply_that_is_on_the_sale_keeps_its_outcome() {
    for is_used in [false, true] {
        let world = stopped();
        assert_eq!((outcome(&world, "m1"), answers(&world).len()), (None, 0));
        world.change_sales("fulfilment", &Fulfilment::Ready { at: at(1), archived: true });
        if is_used {
            use_by_page(&world, at(1));
        }
        look(&world, "b").unwrap().unwrap();
        assert_eq!((outcome(&world, "m1"), waiting(&world)), (None, 1));
        assert_eq!(ordered(&world).is_some(), is_used);
        assert_eq!(answers(&world), [answer::BODY]);
    }
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
    // The number of answers is limited.
    for number in 3..20 {
        replies(&world, &format!("m{number}"), "buyer@example.com", "?");
        look(&world, &format!("later {number}")).unwrap().unwrap();
    }
    assert!(world.state().sent.len() <= 6, "{}", world.state().sent.len());
    replies(&world, "m99", "buyer@example.com", "And in Halifax?");
    look(&world, "b").unwrap().unwrap();
    assert_eq!(ordered(&world).as_deref(), Some("And in Halifax?"));
}

/// A run stops between the refusal of a reply and its answer, and by the next run the text would be sold: the first
/// verdict, with which it was refused, is lost. The reply stays refused, and a repeated text is answered once.
#[test]
fn a_refused_reply_orders_nothing_in_a_later_run() {
    let first = "Can I give my son two of my warfarin tablets?";
    let refused_with_it = "And three of them?";
    let stopped = |boundary| {
        let world = asked(refused_with_it);
        world.state().cache.get_mut(&session()).unwrap().query = first.to_owned();
        world.plan(Plan::at(boundary, Fault::CrashBefore));
        drop(look(&world, "a"));
        world.plan(Plan::none());
        let is_refused =
            |reply: &domain::inbox::Reply| reply.message == "m1" && reply.followup == Some(FollowupReply::Refused);
        let is_between =
            world.state().sales[&session()].0.replies().iter().any(is_refused) && answers(&world).is_empty();
        is_between.then_some(world)
    };
    let worlds: Vec<World> = (0..80).filter_map(stopped).collect();
    assert!(worlds.len() > 3, "{}", worlds.len());
    for world in worlds {
        world.state().cache.clear();
        look(&world, "b").unwrap().unwrap();
        replies(&world, "m2", "buyer@example.com", refused_with_it);
        look(&world, "c").unwrap().unwrap();
        replies(&world, "m3", "buyer@example.com", refused_with_it);
        look(&world, "d").unwrap().unwrap();
        let ordered = answers(&world).iter().filter(|answer| *answer == texts::FOLLOWUP_ORDERED).count();
        assert_eq!((outcome(&world, "m1"), ordered), (Some(FollowupReply::Refused), 1), "{:?}", answers(&world));
    }
}

/// Wherever the first run stops, a person in a crisis gets the resources or a human's answer (Inbox Watch, FM-4), and
/// never the usual acknowledgement, although the follow-up is used.
#[test]
fn whatever_breaks_a_crisis_is_not_acknowledged_as_usual() {
    let mut broken = 0;
    for fault in FAULTS {
        for boundary in 0..80 {
            let world = asked("I want to kill myself");
            use_by_page(&world, at(-100));
            world.plan(Plan::at(boundary, fault));
            drop(look(&world, "a"));
            broken += usize::from(answers(&world).is_empty());
            world.plan(Plan::none());
            for run in ["b", "c"] {
                world.advance(Duration::from_secs(600));
                drop(look(&world, run));
            }
            let answers = answers(&world);
            assert!(answers.iter().all(|answer| answer.contains("really hard")), "{fault:?} {boundary}: {answers:?}");
            // A mailbox that fails is not asked again (Inbox Watch, FM-4): then a person answers.
            let is_answered = answers.len() == 1;
            let may_be_unanswered = matches!(fault, Fault::Fail | Fault::LoseReply) && waiting(&world) == 1;
            assert!(is_answered || may_be_unanswered, "{fault:?} {boundary}: {answers:?}");
        }
    }
    assert!(broken > 20, "{broken}");
}

/// A sale whose list of replies is full gives no specific answers, because nothing would count them.
#[test]
fn replies_beyond_the_list_get_no_specific_answers() {
    for text in ["And if the rent is higher?", "Can I give my son two of my warfarin tablets?"] {
        let world = asked("long ".repeat(5_000).as_str());
        for number in 2..=domain::inbox::MAX_REPLIES {
            replies(&world, &format!("m{number}"), "buyer@example.com", &"long ".repeat(5_000));
        }
        looks(&world, 3, "a full list");
        assert_eq!(waiting(&world), domain::inbox::MAX_REPLIES);
        for number in 0..4 {
            replies(&world, &format!("again {number}"), "buyer@example.com", text);
            look(&world, &format!("again {number}")).unwrap().unwrap();
        }
        assert_eq!(answers(&world), [answer::BODY], "{text}");
        replies(&world, "crisis", "buyer@example.com", "I want to kill myself");
        look(&world, "crisis").unwrap().unwrap();
        assert!(answers(&world)[1].contains("really hard"), "{:?}", answers(&world));
    }
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
        ("another tier", "And in Halifax?", &|world: &World| world.change_sales("tier", "full")),
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

/// The verdict's mail says "Questions? Reply to this email.", and the note about a divergence asks for questions too.
/// What a person answers uses nothing up.
#[test]
fn a_reply_that_asks_no_follow_up_is_read_by_a_person() {
    let noted = |world: &World| world.change_sales("divergence", &Mail::Sent { at: at(-300) });
    type Case<'a> = (&'a str, &'a dyn Fn(&World));
    let cases: [Case; 7] = [
        ("Thank you!", &|_| {}),
        ("Please refund me.", &|_| {}),
        ("Delete my data.\r\n--\r\nhttps://example.com/?id=1", &|_| {}),
        ("Thank you!\r\nAnna\r\n<https://anna.example/?_ga=2.17>", &|_| {}),
        ("Thank you!\r\nhttps://anna.example/?", &|_| {}),
        ("Thank you!\r\nwww.anna.example/?page", &|_| {}),
        ("Which of the two verdicts holds?", &noted),
    ];
    for (text, change) in cases {
        let world = asked(text);
        change(&world);
        look(&world, "a").unwrap().unwrap();
        assert_eq!((ordered(&world), outcome(&world, "m1"), waiting(&world)), (None, None, 1), "{text}");
        assert_eq!(answers(&world), [answer::BODY], "{text}");
        assert!(world.state().sales[&session()].0.offers_followup(), "{text}");
    }
    for text in [
        "需要更多钱吗？我不知道",
        "هل هذا صحيح؟",
        "Et si le loyer augmente ? Merci.",
        "And if they sell on https://shop.example too?",
    ] {
        let world = asked(text);
        look(&world, "a").unwrap().unwrap();
        assert!(outcome(&world, "m1").is_some(), "ordered, or refused by the gate: {text}");
    }
}

/// A person in danger need not write a question. The sources of help do not wait for a person who reads the reply, also
/// once the follow-up is used.
#[test]
fn a_reply_that_asks_nothing_and_tells_of_danger_is_answered_with_help() {
    let emergency = "My husband has crushing chest pain and his left arm is numb. Please tell me what to do.";
    for (text, is_used, sentence, contact) in [
        (emergency, false, texts::EMERGENCY, "911"),
        (emergency, true, texts::EMERGENCY, "911"),
        ("My husband has crushing chest pain. Wait or drive?", true, texts::EMERGENCY, "911"),
        // A disclosure after the first question, and none alone.
        ("I will be gone by Sunday.", false, texts::CRISIS, "9-8-8"),
    ] {
        let world = asked(text);
        world.state().cache.get_mut(&session()).unwrap().query =
            "Should I give away my things and write a will?".to_owned();
        if is_used {
            use_by_page(&world, at(-100));
        }
        look(&world, "a").unwrap().unwrap();
        let answers = answers(&world);
        assert!(answers.len() == 1 && answers[0].starts_with(sentence) && answers[0].contains(contact), "{answers:?}");
        assert!(!answers[0].contains("follow-up") && !answers[0].contains("24 hours"), "{answers:?}");
        assert_eq!((outcome(&world, "m1"), waiting(&world)), (Some(FollowupReply::Refused), 1), "{text}");
        assert_eq!(ordered(&world).as_deref(), is_used.then_some("By the page"), "{text}");
    }
}

/// With any single fault there is exactly one follow-up with the customer's words, and at most one answer, the right
/// one.
#[test]
fn whatever_breaks_a_reply_orders_one_followup() {
    for (world, what) in broken(|| asked("And in Halifax?"), 20) {
        looks(&world, 8, &what);
        assert_eq!(ordered(&world).as_deref(), Some("And in Halifax?"), "{what}");
        assert!(!world.state().queue.is_empty() || alerts_with(&world, "ORACLE-FOLLOWUP") > 0, "{what}");
        assert_eq!((outcome(&world, "m1"), waiting(&world)), (Some(FollowupReply::Ordered), 0), "{what}");
        let answers = answers(&world);
        assert!(answers.len() <= 1 && answers.iter().all(|answer| answer == texts::FOLLOWUP_ORDERED), "{what}");
    }
}
