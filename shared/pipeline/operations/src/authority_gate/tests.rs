//! Approvals by two people, roles, credentials, expiry, and locks that cannot be overridden.
//! The file has more than 300 lines because each rule of an approval has a short test of its own on the same sale.

use super::*;
use crate::NotDone::{self, Refused};
use crate::{
    Operator,
    reattempt::{self, ReattemptError, reattempt},
    testing::{
        self, at, decisions, journal, people, sale, session, stored, whatever_breaks, whatever_breaks_or_is_done,
        world_with,
    },
};
use domain::{
    Query, Submission, Tier,
    mail::Mail,
    money::{Authorisation, Money},
    open_work::Work,
    sale::{APPROVAL_LASTS, Fulfilment, HumanLock},
};
use std::time::Duration;
use testkit::{Plan, World, run, sale::WithField};

/// When the gate decided.
fn decided_at() -> Timestamp {
    at(-100)
}

fn declined(lock: HumanLock) -> World {
    world_with(testing::declined(lock, false, -100).with("query_hash", Some("q")))
}

fn with_money(world: World, money: &Money) -> World {
    let sale = stored(&world).with("money", money);
    world.state().sales.insert(session(), (sale, 1));
    world
}

fn approve_as(world: &World, name: &str, role: &str, credential: &str) -> Done<AuthorityDecision, DecideError> {
    let operator = Operator::parse(name, Some("looked at it")).unwrap();
    let by = Authority { operator: &operator, role, credential, identity: None };
    let approval = HumanDecision { by, session: &session(), read: decided_at() };
    run(approve(Ports { journal: journal(world), orders: world }, approval)).unwrap()
}

#[test]
fn two_different_people_let_it_be_answered() {
    let world = declined(people(2));
    assert_eq!(stored(&world).open_work().map(|open| open.work), Some(Work::Declined));
    let first = approve_as(&world, "dana", "physician", "npi_registry:123").unwrap();
    assert_eq!(first, AuthorityDecision::Approved { count: 1, needed: 2 });
    assert!(world.state().queue.is_empty() && stored(&world).declined().is_some());
    for (name, credential) in [
        ("dana", "npi_registry:999"),
        ("DANA", "npi_registry:998"),
        ("Scully, Dana", "npi_registry:997"),
        ("eve", "npi_registry:123"),
        ("eve", "npi_registry:1-2-3"),
    ] {
        let again = approve_as(&world, name, "physician", credential);
        assert!(
            matches!(again, Err(Refused(DecideError::NotApproved(NotApproved::SamePerson(_))))),
            "{name} {credential}"
        );
    }
    approve_as(&world, "eve", "pharmacist", "npi_registry:456").unwrap();
    let sale = stored(&world);
    assert!(sale.is_approved("q", "drug_dosing", at(1)));
    assert!(!sale.is_approved("another question", "drug_dosing", at(1)) && !sale.is_approved("q", "other", at(1)));
    assert!(!sale.is_approved("q", "drug_dosing", at(0).plus(APPROVAL_LASTS)), "it expires");
    assert!(matches!(sale.fulfilment(), Fulfilment::Ordered { .. }));
    assert_eq!(world.state().queue.len(), 1);
    let log = decisions(&world);
    assert_eq!(log.len(), 2);
    assert_eq!(log[1]["action"], "authority approve 2 of 2 as pharmacist by npi_registry:456");
}

/// The customer's other question was handed in, and declined for another reason, after the person had read the first.
#[test]
fn a_decision_about_another_question_than_was_read_is_refused() {
    let world = declined(people(2));
    let read = run(show(&world, &session())).unwrap().unwrap().declined.at;
    let since =
        Declined { at: at(-5), reason: "drug_interaction".into(), ..stored(&world).declined().unwrap().clone() };
    let sale = stored(&world).with("declined", Some(since));
    world.state().sales.insert(session(), (sale.clone(), 2));
    let ports = Ports { journal: journal(&world), orders: &world };
    let (eve, session) = (eve(), session());
    let decision = HumanDecision { by: by(&eve), session: &session, read };
    let approved = run(approve(ports, decision)).unwrap().map(drop);
    let rejected = run(reject(journal(&world), decision)).unwrap().map(drop);
    for refused in [approved, rejected] {
        let other = NotApproved::OtherDecision(at(-5));
        assert!(matches!(&refused, Err(Refused(DecideError::NotApproved(why))) if *why == other), "{refused:?}");
    }
    assert_eq!(stored(&world), sale);
    assert!(decisions(&world).is_empty());
}

/// The people who may approve come first, and then the time that `--decided` takes.
#[test]
fn a_declined_question_is_described_by_who_may_approve_and_when_the_gate_decided() {
    let declined = stored(&declined(people(2))).declined().unwrap().clone();
    assert_eq!(
        describe(&declined, at(0)),
        format!(
            "BLOCKED drug_dosing (medicine): 0 of 2 approvals by pharmacist or physician, credentials of npi_registry; \
             decided {}",
            decided_at().to_iso()
        )
    );
}

#[test]
fn an_approval_of_yesterday_does_not_count() {
    let world = declined(people(2));
    approve_as(&world, "dana", "physician", "npi_registry:123").unwrap();
    world.advance(APPROVAL_LASTS + Duration::from_secs(1));
    let second = approve_as(&world, "eve", "pharmacist", "npi_registry:456").unwrap();
    assert_eq!(second, AuthorityDecision::Approved { count: 1, needed: 2 });
}

/// The policy counts from the gate's decision, and waits for no second person.
#[test]
fn the_second_person_has_until_the_refund_or_until_the_first_approval_expires() {
    let world = declined(people(2));
    let (hour, refund) = (Duration::from_secs(3600), decided_at().plus(Duration::from_secs(24 * 3600)));
    let until = |now| run(show(&world, &session())).unwrap().unwrap().approvable_until(now);
    world.advance(23 * hour);
    let approved_at = at(0).plus(23 * hour);
    let before = until(approved_at);
    approve_as(&world, "dana", "physician", "npi_registry:123").unwrap();
    assert_eq!((before, until(approved_at)), (refund, refund));
    assert_eq!(
        stored(&world).due_work(refund).map(|open| open.work),
        Some(Work::Declined),
        "the approval moves nothing"
    );
    // The customer has a verdict by mail: no policy refunds the sale.
    world.change_sales("mail", &Mail::Sent { at: at(-400) });
    assert_eq!(until(approved_at.plus(hour)), approved_at.plus(APPROVAL_LASTS));
}

#[test]
fn a_role_or_a_credential_of_another_kind_does_not_count() {
    let world = declined(people(2));
    let role = approve_as(&world, "dana", "manager", "npi_registry:123");
    assert!(matches!(role, Err(Refused(DecideError::NotApproved(NotApproved::Role { .. })))));
    for credential in ["npi_registry", "npi_registry:", "friends:123", "npi_registry:1 2 3", "npi_registry:<b>"] {
        let refused = approve_as(&world, "dana", "physician", credential);
        assert!(matches!(refused, Err(Refused(DecideError::NotApproved(NotApproved::Credential(_))))), "{credential}");
    }
    assert!(decisions(&world).is_empty());
}

#[test]
fn every_attempt_to_override_what_is_locked_is_refused_and_on_record() {
    // A locked question is refunded within minutes.
    for money in [Money::Kept, Money::Refunded { at: at(-1) }] {
        let world = with_money(declined(HumanLock::Never), &money);
        for role in ["physician", "supervisor", "ceo"] {
            let refused = approve_as(&world, "dana", role, "npi_registry:123");
            assert!(matches!(refused, Err(Refused(DecideError::NotApproved(NotApproved::Locked)))));
        }
        let operator = Operator::parse("dana", None).unwrap();
        let ports = reattempt::Ports { journal: journal(&world), submissions: &world, orders: &world };
        assert!(matches!(
            run(reattempt(ports, &operator, &session(), None, &[])).unwrap(),
            Err(Refused(ReattemptError::Locked))
        ));
        let log = decisions(&world);
        assert_eq!(log.len(), 4, "{money:?}: {log:?}");
        assert!(log.iter().all(|record| record["action"].as_str().unwrap().starts_with("authority override refused")));
        assert_eq!(world.state().alerts.iter().filter(|alert| alert.line.contains("OVERRIDE")).count(), 4);
        assert!(stored(&world).declined().is_some_and(Declined::is_locked) && world.state().queue.is_empty());
    }
}

/// Handing in the declined text again, or the same in other words, is no other question. Its text is not kept.
#[test]
fn a_locked_question_that_is_handed_in_again_is_refused_and_on_record() {
    let submission = |text: &str| Submission { tier: Tier::Quick, query: Query::parse(text).unwrap() };
    let locked = submission("I want to kill myself");
    let operator = Operator::parse("dana", None).unwrap();
    for (lock, handed_in, is_refused) in [
        (HumanLock::Never, &locked, true),
        (HumanLock::Never, &submission("I want to end my life tonight"), true),
        (HumanLock::Never, &submission("Should I move?"), false),
        (people(2), &locked, false),
    ] {
        let world = declined(lock);
        world.change_sales("query_hash", &Some(audit::hash::query_hash(&locked.query)));
        let ports = reattempt::Ports { journal: journal(&world), submissions: &world, orders: &world };
        let tried = run(reattempt(ports, &operator, &session(), Some(handed_in), &[])).unwrap();
        assert_eq!(matches!(tried, Err(Refused(ReattemptError::Locked))), is_refused, "{tried:?}");
        assert_eq!(tried.is_err(), is_refused, "{tried:?}");
        let is_override =
            |record: &serde_json::Value| record["action"].as_str().unwrap().starts_with("authority override refused");
        assert_eq!(decisions(&world).iter().any(is_override), is_refused);
        let state = world.state();
        assert_eq!((state.submissions.is_empty(), state.queue.is_empty()), (is_refused, is_refused));
        assert_eq!(state.alerts.iter().any(|alert| alert.line.contains("OVERRIDE")), is_refused);
    }
}

#[test]
fn a_rejection_makes_the_refund_due_at_once_or_ends_the_sale_of_who_has_a_verdict() {
    let world = declined(people(2));
    assert!(stored(&world).open_work().unwrap().due > at(0));
    assert!(run(show(&world, &session())).unwrap().unwrap().gives_money_back);
    let operator = Operator::parse("dana", None).unwrap();
    let by = Authority { operator: &operator, role: "physician", credential: "npi_registry:123", identity: None };
    let rejection = HumanDecision { by, session: &session(), read: decided_at() };
    assert!(run(reject(journal(&world), rejection)).unwrap().unwrap());
    assert!(stored(&world).open_work().unwrap().due <= at(0));
    let served = declined(people(2));
    served.change_sales("mail", &Mail::Sent { at: at(-400) });
    assert!(!run(show(&served, &session())).unwrap().unwrap().gives_money_back);
    assert!(!run(reject(journal(&served), rejection)).unwrap().unwrap());
    assert_eq!(stored(&served).open_work(), None);
    let late = approve_as(&world, "eve", "pharmacist", "npi_registry:456");
    assert!(matches!(late, Err(Refused(DecideError::NotApproved(NotApproved::Nobody)))));
}

/// The follow-up's own row does not know of the refund yet. An attempt to override a lock is recorded all the same.
#[test]
fn a_follow_up_is_not_approved_once_its_session_stops_it() {
    let authorisation = Authorisation::by_policy("quarantine-24h", "held").unwrap();
    for (lock, expected, recorded) in [
        (people(2), NotApproved::MoneyWentBack("stopped with its session"), 0),
        (HumanLock::Never, NotApproved::Locked, 1),
    ] {
        let world = declined(lock);
        let followup = stored(&world).with("session_id", session().followup());
        let refund = Money::RefundAuthorised { authorisation: authorisation.clone(), at: at(-1) };
        world.state().sales =
            [(session(), (sale().with("money", refund), 1)), (session().followup(), (followup.clone(), 1))].into();
        let ports = Ports { journal: journal(&world), orders: &world };
        let (eve, followup_id) = (eve(), session().followup());
        let approval = HumanDecision { by: by(&eve), session: &followup_id, read: decided_at() };
        let refused = run(approve(ports, approval)).unwrap();
        assert!(matches!(refused, Err(Refused(DecideError::NotApproved(why))) if why == expected), "{expected}");
        assert_eq!(decisions(&world).len(), recorded, "{expected}");
        let kept = world.state().sales[&followup_id].0.clone();
        assert_eq!(kept.declined(), followup.declined(), "{expected}");
        assert!(world.state().queue.is_empty(), "{expected}");
    }
}

/// A person who rejects a locked question wants its money to go back, and does not try to lift the lock.
#[test]
fn a_rejection_of_what_is_locked_is_no_attempt_to_override_it() {
    for money in [Money::Kept, Money::Refunded { at: at(-1) }] {
        let world = with_money(declined(HumanLock::Never), &money);
        let refused = reject_by_eve(&world).unwrap();
        assert!(matches!(refused, Err(Refused(DecideError::NotApproved(NotApproved::Nobody)))), "{money:?}");
        assert!(decisions(&world).is_empty() && world.state().alerts.is_empty(), "{money:?}");
        assert!(stored(&world).declined().is_some_and(Declined::is_locked), "{money:?}");
    }
}

fn eve() -> Operator {
    Operator::parse("eve", Some("looked at it")).unwrap()
}

/// The arguments of a decision by `eve`, who may decide about medicine.
fn by(eve: &Operator) -> Authority<'_> {
    Authority { operator: eve, role: "pharmacist", credential: "npi_registry:456", identity: None }
}

fn approve_by_eve(world: &World) -> Option<Done<AuthorityDecision, DecideError>> {
    let ports = Ports { journal: journal(world), orders: world };
    run(approve(ports, HumanDecision { by: by(&eve()), session: &session(), read: decided_at() }))
}

fn reject_by_eve(world: &World) -> Option<Done<bool, DecideError>> {
    run(reject(journal(world), HumanDecision { by: by(&eve()), session: &session(), read: decided_at() }))
}

/// Whether a repeated decision is refused because it has been made.
fn is_decided(refused: &NotDone<DecideError>) -> bool {
    matches!(refused, Refused(DecideError::NotApproved(NotApproved::NotDeclined(_) | NotApproved::Nobody)))
}

#[test]
fn whatever_breaks_the_last_approval_counts_once_and_orders_the_verdict() {
    let fresh = || {
        let world = declined(people(2));
        approve_as(&world, "dana", "physician", "npi_registry:123").unwrap();
        world.plan(Plan::none());
        world
    };
    whatever_breaks_or_is_done(fresh, approve_by_eve, is_decided, |world, what| {
        let sale = stored(world);
        assert!(sale.is_approved("q", "drug_dosing", at(1)), "{what}");
        // If its message was not sent, the deadlines function finds it here and sends it.
        assert_eq!(sale.open_work().map(|open| open.work), Some(Work::InFlight), "{what}");
        assert!(world.state().queue.len() <= 1, "{what}");
        assert_eq!(decisions(world).len(), 2, "{what}");
    });
}

#[test]
fn whatever_breaks_a_rejection_is_on_record_once_and_makes_the_refund_due() {
    let check = |world: &World, what: &str| {
        assert!(stored(world).open_work().unwrap().due <= at(0), "{what}");
        assert_eq!(decisions(world).len(), 1, "{what}");
    };
    whatever_breaks_or_is_done(|| declined(people(2)), reject_by_eve, is_decided, check);
}

#[test]
fn whatever_breaks_an_attempt_to_override_is_on_record_with_an_alert() {
    // The refusal is what the attempt is answered with.
    let go = |world: &World| match approve_by_eve(world) {
        Some(Err(Refused(DecideError::NotApproved(NotApproved::Locked)))) => Some(Ok(())),
        other => other.map(|decided| decided.map(drop)),
    };
    let check = |world: &World, what: &str| {
        assert!(stored(world).declined().is_some_and(Declined::is_locked), "{what}");
        let records = decisions(world).len();
        assert!((1..=2).contains(&records), "{what}: {records}");
        let state = world.state();
        let raised = state.alerts.iter().chain(&state.logged_alerts);
        assert!(raised.filter(|alert| alert.line.contains("OVERRIDE")).count() >= records, "{what}");
        assert!(state.queue.is_empty(), "{what}");
    };
    whatever_breaks(|| declined(HumanLock::Never), go, check);
}
