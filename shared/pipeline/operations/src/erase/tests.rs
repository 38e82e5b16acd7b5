//! Erasures at every point of a sale's life, with faults at every effect.
//! The file has more than 300 lines because the sales of every state and the stores with their data are made once, for
//! all tests.

use super::*;
use crate::NotDone::Refused;
use crate::testing::{at, decisions, journal, operator, sale, session, stored, whatever_breaks, world_with};
use crate::{quarantine, reattempt, redrive, settle};
use domain::{
    CachedVerdict, Query, Submission, Tier, Verdict,
    inbox::{Arrival, Incoming, Reply},
    mail::{Draft, Mail, Progress},
    money::Money,
    open_work::Work,
    ports::{DeadLetters, Quarantine, Queue, VerdictArchive},
    sale::ERASURE_SETTLES_AFTER,
};
use serde_json::json;
use std::collections::BTreeSet;
use testkit::{Fault, Passage, Plan, World, every_single_fault, inbox::Unread, run, sale::WithField, world::Delivered};

/// A word of the customer's text. No store may contain it afterwards.
const NEEDLE: &str = "Zanzibar";

fn ports(world: &World) -> Ports<'_> {
    Ports { journal: journal(world), data: world, mails: world }
}

fn other() -> SessionId {
    SessionId::parse("cs_test_otherSale01").unwrap()
}

fn cached() -> CachedVerdict {
    let verdict: Verdict =
        serde_json::from_value(json!({ "verdict": "GREEN", "summary": format!("Go to {NEEDLE}.") })).unwrap();
    CachedVerdict::first(Tier::Quick, &Query::parse(format!("Move to {NEEDLE}?")).unwrap(), verdict, at(-500))
}

fn letter(of: &SessionId) -> Delivered {
    let (to, subject) = ("someone@example.com".to_owned(), "Your 42 Sisters AI Verdict".to_owned());
    Delivered { session: of.clone(), to, subject, body: format!("On {NEEDLE}") }
}

fn draft(id: &str) -> Draft {
    Draft { id: id.to_owned(), internet_message_id: format!("<{id}@mail>") }
}

/// A world in which every store has data of a sale in this state, and of another sale.
fn full(sale: &Sale) -> World {
    let world = world_with(sale.clone());
    let mut state = world.state();
    for of in [&session(), &other()] {
        let text = if *of == session() { cached() } else { CachedVerdict { query: "Stay?".into(), ..other_verdict() } };
        state.cache_verdict(of, &text, at(-400));
        state.archive.insert(of.clone(), text);
        state.quarantine.push((of.clone(), "{}".to_owned()));
        state.dead_letters.insert(format!("{}/verdict-1", of.as_str()), "{}".to_owned());
        let query = Query::parse(if *of == session() { NEEDLE } else { "Stay?" }).unwrap();
        state.submissions.insert(of.clone(), Submission { tier: Tier::Quick, query });
        let (id, sent) = (draft(&format!("draft-{}", of.reference())), draft(&format!("sent-{}", of.reference())));
        let mail = if *of == session() { letter(of) } else { Delivered { body: "Stay.".into(), ..letter(of) } };
        state.drafts.insert(id.id.clone(), (id, mail.clone()));
        state.sent.push((sent, mail));
        state.sent_at.push(0);
        let message = Incoming {
            sender: "someone@example.com".into(),
            subject: if *of == session() { format!("Re: {NEEDLE}") } else { "Re: staying".to_owned() },
            conversation: Some(format!("conversation-{}", of.reference())),
            headers: Vec::new(),
        };
        let id = format!("reply-{}", of.reference());
        state.inbox.push(Unread { arrival: Arrival { received_at: None, id }, message, text: String::new() });
        state.conversations.insert(format!("conversation-{}", of.reference()), of.clone());
    }
    let raw = json!({ "summary": NEEDLE }).to_string();
    state.quarantine.push((session(), raw));
    drop(state);
    world
}

fn other_verdict() -> CachedVerdict {
    let verdict = serde_json::from_value(json!({ "verdict": "RED", "summary": "Stay." })).unwrap();
    CachedVerdict::first(Tier::Quick, &Query::parse("Stay?").unwrap(), verdict, at(-500))
}

fn hashed() -> Sale {
    let reply = Reply {
        message: "reply-elsewhere".into(),
        at: at(-50),
        from_buyer: Some(true),
        settled_at: None,
        followup: None,
        is_report: false,
    };
    sale().with("query_hash", "abc").with("email_tag", "v1:def").with("replies", vec![reply])
}

/// A sale at every stage of its life.
fn lives() -> Vec<Sale> {
    let generating = Fulfilment::Generating { owner: "m".into(), lease_until: at(100) };
    let progress = Progress { draft: Some(draft("draft-x")), ..Progress::default() };
    let sending = Mail::Sending { owner: "m".into(), lease_until: at(60), progress: progress.clone() };
    vec![
        hashed(),
        hashed().with("fulfilment", Fulfilment::Ordered { at: at(-1) }).with("mail", Mail::NotOrdered),
        hashed().with("fulfilment", generating).with("mail", Mail::NotOrdered),
        hashed().with("fulfilment", Fulfilment::Ready { at: at(-1), archived: false }).with("mail", Mail::NotOrdered),
        hashed().with("fulfilment", Fulfilment::InReview { gate: domain::Gate::BeforeCache, at: at(-1) }),
        hashed().with("fulfilment", Fulfilment::Failed { reason: "QUOTA".into(), at: at(-1) }),
        hashed().with("fulfilment", Fulfilment::Unusable { at: at(-1) }).with("mail", Mail::NotOrdered),
        hashed().with("mail", sending),
        hashed().with("mail", Mail::Retrying { due: at(60), progress: progress.clone() }),
        hashed().with("mail", Mail::Dead { at: at(-1), progress }),
        hashed().with("mail", Mail::Unknown { at: at(-1) }),
        hashed().with("money", Money::Refunded { at: at(-1) }),
    ]
}

async fn go(world: &World) -> Done<Erased, EraseError> {
    erase(ports(world), &operator(), &session()).await
}

/// The run of the deadlines function after no worker can write any more.
fn settled(world: &World) -> Outcome {
    world.advance(ERASURE_SETTLES_AFTER);
    run(erasure::carry_out(ports(world), &session())).unwrap().unwrap()
}

fn traces(world: &World) -> Vec<&'static str> {
    world.state().traces(&session(), NEEDLE)
}

#[test]
fn at_every_point_of_its_life_a_sale_is_forgotten_whole_and_no_other_sale_is_touched() {
    for life in lives() {
        let world = full(&life);
        assert!(traces(&world).len() >= 8, "{:?}", traces(&world));
        let mail = world.state().sent.len();
        let erased = run(go(&world)).unwrap().unwrap();
        assert_eq!(
            erased.removed,
            BTreeMap::from([("archive", 1), ("dead letters", 1), ("mailbox", 3), ("quarantine", 2), ("table", 2),]),
            "{life:?}"
        );
        assert_eq!(traces(&world), [""; 0], "{life:?}");
        let left = world.state().traces(&other(), "");
        assert!(left.len() >= 7, "{left:?}");
        assert_eq!(world.state().sent.len(), mail, "what the customer received stays theirs");
        assert_eq!(stored(&world).money(), life.money());
        assert!(matches!(settled(&world), Outcome::Finished(_)));
        let work = stored(&world).open_work().map(|open| open.work);
        assert_eq!((work, traces(&world).len()), (life.is_owed().then_some(Work::Owed), 0));
        assert_eq!(decisions(&world).len(), 1);
        let lines: String = world.state().log.values().cloned().collect();
        assert!(lines.contains("\"action\":\"erase\"") && lines.contains("\"event\":\"erasure\""), "{lines}");
    }
}

#[test]
fn whatever_breaks_repeating_the_command_or_waiting_forgets_all_of_it() {
    for life in lives() {
        let check = |world: &World, what: &str| {
            assert!(matches!(settled(world), Outcome::Finished(_)), "{what}");
            assert_eq!((traces(world), decisions(world).len()), (Vec::new(), 1), "{what}");
        };
        whatever_breaks(|| full(&life), |world| run(go(world)), check);
        // Without a repeated command, the deadlines function either finds a sale that is to be erased, or an undecided
        // one.
        let clean = full(&life);
        run(go(&clean)).unwrap().unwrap();
        for (plan, what) in every_single_fault(clean.passed(), 5) {
            let world = full(&life);
            world.plan(plan);
            drop(run(go(&world)));
            world.plan(Plan::none());
            let decided = stored(&world).is_erased();
            let outcome = settled(&world);
            let what = format!("{what}: {outcome:?}");
            assert_eq!(matches!(outcome, Outcome::Finished(_)), decided, "{what}");
            assert_eq!(traces(&world).is_empty(), decided, "{what}");
        }
    }
}

#[test]
fn a_crash_at_every_effect_of_the_last_look_is_followed_by_another_look() {
    let last = |world: &World| run(erasure::carry_out(ports(world), &session()));
    let decided = || {
        let world = full(&hashed());
        run(go(&world)).unwrap().unwrap();
        world.advance(ERASURE_SETTLES_AFTER);
        world.plan(Plan::none());
        world
    };
    let clean = decided();
    last(&clean).unwrap().unwrap();
    for (plan, what) in every_single_fault(clean.passed(), 5) {
        let world = decided();
        world.plan(plan);
        drop(last(&world));
        world.plan(Plan::none());
        last(&world).unwrap().unwrap();
        assert_eq!((traces(&world), stored(&world).open_work()), (Vec::new(), None), "{what}");
        let ends = world.state().log.values().filter(|line| line.contains("\"event\":\"erasure\"")).count();
        assert_eq!(ends, 1, "{what}");
    }
}

#[test]
fn what_a_worker_that_had_begun_before_still_writes_is_removed_in_the_end() {
    let world = full(&hashed());
    run(go(&world)).unwrap().unwrap();
    run(async {
        VerdictArchive::keep(&world, &session(), &cached()).await.unwrap();
        Quarantine::hold(&world, &session(), at(1), NEEDLE).await.unwrap();
        DeadLetters::keep(&world, &session(), Letter::Verdict, at(1), NEEDLE).await.unwrap();
    });
    assert_eq!(traces(&world), ["archive", "quarantine", "dead letters"]);
    let Outcome::Settling(..) = run(erasure::carry_out(ports(&world), &session())).unwrap().unwrap() else {
        panic!("finished while a worker may still write");
    };
    assert_eq!(stored(&world).open_work().map(|open| open.due), Some(at(15 * 60)));
    assert!(matches!(settled(&world), Outcome::Finished(_)));
    assert_eq!(traces(&world), [""; 0]);
}

#[test]
fn a_second_erasure_changes_nothing() {
    let world = full(&hashed());
    run(go(&world)).unwrap().unwrap();
    assert!(run(go(&world)).unwrap().unwrap().decided_before);
    settled(&world);
    let sale = stored(&world);
    let log = world.state().log.clone();
    assert_eq!(run(go(&world)).unwrap().unwrap().removed, BTreeMap::new());
    assert_eq!(stored(&world), sale);
    assert_eq!(world.state().log, log);
}

/// Only the sale's own mails lead to their conversation, so they are removed when nothing else of it is left.
#[test]
fn the_mails_of_a_long_conversation_are_removed_in_several_attempts() {
    let world = full(&hashed());
    let reply = world.state().inbox[0].clone();
    let (sent, mail) = world.state().sent[0].clone();
    let more = |number: usize| {
        let arrival = Arrival { id: format!("reply-{number}"), ..reply.arrival.clone() };
        Unread { arrival, ..reply.clone() }
    };
    world.state().inbox.extend((1..250).map(more));
    let copy = |number: usize| (Draft { id: format!("sent-{number}"), ..sent.clone() }, mail.clone());
    world.state().sent.extend((1..120).map(copy));
    assert!(run(go(&world)).unwrap().is_err_and(|error| matches!(error, NotDone::Unfinished(_))));
    world.advance(ERASURE_SETTLES_AFTER);
    let attempt = || run(erasure::carry_out(ports(&world), &session())).unwrap();
    assert_eq!((0..9).take_while(|_| attempt().is_err()).count(), 3);
    assert_eq!((traces(&world).len(), world.state().inbox.len()), (0, 1), "the other sale's reply stays");
    assert_eq!(stored(&world).open_work(), None);
}

#[test]
fn no_decision_of_an_operator_brings_an_erased_sale_back() {
    let world = full(&hashed());
    run(go(&world)).unwrap().unwrap();
    let queue = &world as &dyn Queue;
    let (journal, submission) =
        (journal(&world), Submission { tier: Tier::Quick, query: Query::parse("Again?").unwrap() });
    let again = reattempt::Ports { journal, submissions: &world, orders: queue };
    let held = quarantine::Ports {
        journal,
        quarantine: &world,
        payments: &world,
        submissions: &world,
        orders: queue,
        retries: queue,
        notices: queue,
    };
    let retries = redrive::Ports { journal, retries: queue };
    run(async {
        let operator = operator();
        let reattempted = reattempt::reattempt(again, &operator, &session(), Some(&submission), &[]).await;
        assert!(reattempted.unwrap_err().is_refusal());
        assert!(quarantine::approve(held, &operator, &session()).await.unwrap_err().is_refusal());
        assert!(redrive::redrive(retries, &operator, &session()).await.is_ok_and(|letters| letters.is_empty()));
        let settled = settle::settle(retries, &operator, &session(), settle::MailOutcome::NotSent).await;
        assert!(settled.is_ok_and(|letters| letters.is_empty()));
    });
    assert!(stored(&world).is_erased() && world.state().queue.is_empty() && traces(&world).is_empty());
}

#[test]
fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    let held = hashed().with("fulfilment", Fulfilment::InReview { gate: domain::Gate::BeforeCache, at: at(-1) });
    let world = full(&held.with("mail", Mail::NotOrdered));
    let before = (stored(&world), traces(&world));
    let plan = run(plan(ports(&world), &session())).unwrap().unwrap();
    assert_eq!((plan.verdict, plan.owed, plan.removes["quarantine"]), ("in review", true, 2));
    assert_eq!(plan.ends, ["the verdict is held for review", "replies that nobody has read yet: 1"]);
    assert_eq!((stored(&world), traces(&world)), before);
}

/// The operator must not rely on a schedule that knows of no decision.
#[test]
fn an_unreadable_store_is_an_error_and_nothing_is_decided() {
    for store in ["stored_mails.of_sale", "sale_data.kept"] {
        let world = full(&hashed());
        world.plan(Plan::none().whenever(store, Fault::Fail));
        let error = run(plan(ports(&world), &session())).unwrap().unwrap_err();
        assert!(matches!(error, NotDone::Undecided(_)) && !error.is_refusal(), "{store}: {error:?}");
        assert!(error.to_string().contains("nothing is decided"), "{store}: {error}");
        assert!(!stored(&world).is_erased(), "{store}");
    }
}

/// An earlier run has decided, and what stopped it still fails.
#[test]
fn a_decision_is_not_denied_because_what_is_left_cannot_be_looked_at() {
    for store in ["stored_mails.of_sale", "sale_data.kept"] {
        let world = full(&hashed());
        world.plan(Plan::none().whenever("stored_mails.of_sale", Fault::Fail));
        assert!(run(go(&world)).unwrap().is_err_and(|error| matches!(error, NotDone::Unfinished(_))), "{store}");
        world.plan(Plan::none().whenever(store, Fault::Fail));
        let error = run(plan(ports(&world), &session())).unwrap().unwrap_err();
        assert!(matches!(error, NotDone::Unfinished(_)) && !error.is_refusal(), "{store}: {error:?}");
        assert!(error.to_string().starts_with("the erasure is decided"), "{store}: {error}");
    }
}

/// The review, and with it the refund by policy, ends with the erasure; an operator still has to give the money back.
#[test]
fn what_was_paid_and_not_delivered_stays_on_the_list_until_its_money_is_back() {
    use domain::sale::NotPaid;
    let held = hashed()
        .with("fulfilment", Fulfilment::InReview { gate: domain::Gate::BeforeCache, at: at(-1) })
        .with("mail", Mail::NotOrdered);
    let failed = held.with("fulfilment", Fulfilment::Failed { reason: "QUOTA".to_owned(), at: at(-1) });
    for (sale, owed) in [
        (held.clone(), true),
        (failed.clone(), true),
        (failed.clone().with("not_paid", Some(NotPaid::Over)), false),
        (failed.with("given", true), false),
        (held.with("mail", Mail::Sent { at: at(-2) }), false),
        (held.with("money", Money::Refunded { at: at(-1) }), false),
        (hashed(), false),
    ] {
        let world = full(&sale);
        assert_eq!(run(go(&world)).unwrap().unwrap().owed, owed, "{sale:?}");
        assert_eq!(stored(&world).open_work().map(|open| open.work), Some(Work::Erasure));
        world.advance(ERASURE_SETTLES_AFTER);
        let repeated = run(go(&world)).unwrap().unwrap();
        assert!(repeated.decided_before && repeated.owed == owed);
        assert_eq!(stored(&world).open_work().map(|open| open.work), owed.then_some(Work::Owed), "{sale:?}");
        let refunded = stored(&world).with("money", Money::Refunded { at: at(-1) });
        assert_eq!((refunded.open_work(), refunded.is_owed()), (None, false));
    }
}

/// An erased sale forgets that it was not paid, so a payment that arrived later would be kept and on no list.
#[test]
fn what_may_still_be_paid_is_erased_when_it_is_paid_or_over() {
    use domain::sale::NotPaid;
    let failed = hashed().with("fulfilment", Fulfilment::Failed { reason: "QUOTA".to_owned(), at: at(-1) });
    for why in [NotPaid::Unpaid, NotPaid::Unknown] {
        let world = full(&failed.with("not_paid", Some(why)));
        let before = (stored(&world), traces(&world));
        assert!(
            matches!(run(plan(ports(&world), &session())).unwrap(), Err(Refused(EraseError::MayStillBePaid))),
            "{why:?}"
        );
        let refused = run(go(&world)).unwrap().unwrap_err();
        assert!(matches!(refused, Refused(EraseError::MayStillBePaid)), "{why:?}: {refused}");
        assert_eq!((stored(&world), traces(&world)), before, "{why:?}");
    }
}

#[test]
fn what_no_customer_owns_and_what_has_no_reason_is_refused() {
    let world = full(&hashed().with("smoke", true));
    assert!(run(go(&world)).unwrap().unwrap_err().is_refusal());
    let world = full(&hashed());
    let silent = Operator::parse("dana", None).unwrap();
    assert!(run(erase(ports(&world), &silent, &session())).unwrap().unwrap_err().is_refusal());
    assert!(run(erase(ports(&world), &operator(), &other())).unwrap().unwrap_err().is_refusal());
    assert!(!stored(&world).is_erased());
}

/// A world in which every store has data of a sale and of its follow-up.
fn followed() -> World {
    let world = full(&hashed());
    let followup = hashed().with("session_id", session().followup()).with("replies", Vec::<Reply>::new());
    let mut state = world.state();
    state.sales.insert(session().followup(), (followup, 1));
    state.archive.insert(session().followup(), cached());
    state.cache_verdict(&session().followup(), &cached(), at(-5));
    let query = Query::parse(NEEDLE).unwrap();
    state.submissions.insert(session().followup(), Submission { tier: Tier::Strategy, query });
    drop(state);
    world
}

/// The command may die between its two decisions, and nobody may repeat it.
#[test]
fn whatever_breaks_a_sale_that_is_forgotten_is_forgotten_with_its_followup() {
    let clean = followed();
    run(go(&clean)).unwrap().unwrap();
    let mut outcomes = BTreeSet::new();
    for (plan, what) in every_single_fault(clean.passed(), 5) {
        let world = followed();
        world.plan(plan);
        drop(run(go(&world)));
        world.plan(Plan::none());
        let decided = stored(&world).is_erased();
        settled(&world);
        world.advance(ERASURE_SETTLES_AFTER);
        run(erasure::carry_out(ports(&world), &session().followup())).unwrap().unwrap();
        for of in [session(), session().followup()] {
            assert_eq!(world.state().sales[&of].0.is_erased(), decided, "{what}: {}", of.as_str());
            assert_eq!(world.state().traces(&of, NEEDLE).is_empty(), decided, "{what}: {}", of.as_str());
        }
        assert_eq!(decisions(&world).len(), if decided { 2 } else { 0 }, "{what}");
        outcomes.insert(decided);
    }
    assert_eq!(outcomes, BTreeSet::from([false, true]), "some faults come before the decision, others after it");
}

/// The id of either sale names both.
#[test]
fn a_sale_is_forgotten_with_its_followup() {
    for named in [session(), session().followup()] {
        let world = followed();
        let planned = run(plan(ports(&world), &named)).unwrap().unwrap();
        assert_eq!((planned.removes["archive"], planned.removes["table"]), (2, 4));
        let erased = run(erase(ports(&world), &operator(), &named)).unwrap().unwrap();
        assert_eq!((erased.removed["archive"], erased.removed["table"]), (2, 4));
        assert_eq!(traces(&world), [""; 0]);
        assert_eq!(world.state().traces(&session().followup(), NEEDLE), [""; 0]);
        assert!(world.state().sales[&session().followup()].0.is_erased() && stored(&world).is_erased());
    }
}

/// The schedule finds the session erased and its follow-up not, while the command that was repeated decides about it.
#[test]
fn a_followup_that_is_erased_meanwhile_holds_up_no_erasure() {
    let world: &'static World = Box::leak(Box::new(followed()));
    world.state().sales.get_mut(&session()).unwrap().0.erase(&operator(), at(0)).unwrap();
    world.surround(Box::new(move |name, _| {
        if name == "store.save" {
            let mut state = world.state();
            let (followup, version) = state.sales.get_mut(&session().followup()).unwrap();
            *version += u64::from(followup.erase(&operator(), at(0)).is_ok());
        }
        Passage::default()
    }));
    let outcome = run(erasure::carry_out(ports(world), &session())).unwrap();
    assert!(matches!(outcome, Ok(Outcome::Settling(..))), "{outcome:?}");
    assert!(decisions(world).is_empty(), "the command records its decision");
}

/// A payment for an erased sale appears on no list.
#[test]
fn an_erasure_is_not_finished_while_its_followup_may_still_be_paid() {
    use domain::sale::NotPaid;
    let world = followed();
    let failed = Fulfilment::Failed { reason: "QUOTA".to_owned(), at: at(-1) };
    let mut state = world.state();
    state.sales.get_mut(&session()).unwrap().0.erase(&operator(), at(-1)).unwrap();
    let (followup, _) = state.sales.get_mut(&session().followup()).unwrap();
    *followup = followup.with("fulfilment", failed).with("not_paid", Some(NotPaid::Unknown));
    drop(state);
    world.advance(ERASURE_SETTLES_AFTER);
    let outcome = run(erasure::carry_out(ports(&world), &session())).unwrap();
    assert!(outcome.is_err(), "{outcome:?}");
    assert!(!world.state().sales[&session().followup()].0.is_erased());
    let left = run(erasure::look(ports(&world), &session(), &[])).unwrap().unwrap();
    assert!(left.values().all(|kept| *kept == 0), "the data of the session does not wait for that: {left:?}");
}
