//! Refunds by policy, and the letters about refunds.

use super::*;
use crate::policy::{by_policy, policy};

/// Content filter, GAP-J: after 24 hours the money goes back, once, under every pair of faults.
#[test]
fn what_is_held_for_a_day_is_refunded_once_under_every_pair_of_faults() {
    let clean = world([held()]);
    later(&clean, 24 * HOUR);
    let boundaries = clean.passed();
    assert!(boundaries > 15, "{boundaries}");
    assert!(clean.state().alerts[0].line.contains("the money goes back by policy"));
    for first in 0..boundaries {
        for second in [first + 1, first + 2, first + 3, boundaries] {
            for one in FAULTS {
                for other in FAULTS {
                    let what = format!("{one:?} at {first}, {other:?} at {second}");
                    let world = world([held()]);
                    world.advance(24 * HOUR);
                    world.plan(Plan::at(first, one).and_at(second, other));
                    for _ in 0..4 {
                        let _ = run_once(&world, true);
                        world.advance(HOUR);
                    }
                    world.plan(Plan::none());
                    run_once(&world, true).unwrap();
                    assert_eq!(world.state().refunds.len(), 1, "{what}");
                    assert_eq!(steps(&world), ["authorised", "confirmed"], "{what}");
                    assert!(matches!(stored(&world).money(), Money::Refunded { .. }), "{what}");
                    assert_eq!(*stored(&world).letter(Letter::Refund), Mail::Ordered, "{what}");
                    let state = world.state();
                    let is_letter = |message: &Message| matches!(message, Message::Mail { letter: Letter::Refund, .. });
                    assert!(state.queue.iter().any(|(message, ..)| is_letter(message)), "{what}");
                }
            }
        }
    }
}

#[test]
fn the_policy_waits_a_day_names_itself_and_can_be_switched_off() {
    let world = world([held()]);
    later(&world, 24 * HOUR - Duration::from_secs(1));
    assert_eq!(*stored(&world).money(), Money::Kept);
    world.advance(Duration::from_secs(1));
    run_once(&world, false).unwrap();
    run_once(&world, false).unwrap();
    let alerts = world.state().alerts.clone();
    assert_eq!((alerts.len(), alerts[0].channel), (1, Channel::Critical), "one escalation a day");
    assert!(alerts[0].line.contains("24 h: held by the content filter"), "{}", alerts[0].line);
    assert_eq!(*stored(&world).money(), Money::Kept);
    later(&world, 24 * HOUR);
    assert!(matches!(stored(&world).money(), Money::Refunded { .. }));
    let state = world.state();
    assert!(state.log.values().next().unwrap().contains(r#""by":"policy quarantine-24h""#));
}

#[test]
fn a_customer_refunded_by_policy_gets_a_letter() {
    let world = world([held()]);
    let letters = || {
        let is_letter = |message: &Message| matches!(message, Message::Mail { letter: Letter::Refund, .. });
        world.state().queue.drain(..).filter(|(message, ..)| is_letter(message)).count()
    };
    later(&world, 24 * HOUR);
    assert!(matches!(stored(&world).money(), Money::Refunded { .. }));
    assert_eq!((letters(), stored(&world).letter(Letter::Refund)), (1, &Mail::Ordered));
    // The message was lost: the letter is overdue and is ordered again.
    later(&world, Duration::from_secs(20 * 60));
    assert_eq!(letters(), 1);
}

/// A sale whose question the authority gate declined and no role may approve.
fn declined(number: u32) -> Sale {
    declined_with(number, domain::sale::HumanLock::Nobody)
}

fn declined_with(number: u32, lock: domain::sale::HumanLock) -> Sale {
    let declined = domain::sale::Declined {
        state: domain::authority_state::State::Blocked,
        reason: "high_stakes".to_owned(),
        domain: "medicine".to_owned(),
        lock,
        helpers: Vec::new(),
        advice: Vec::new(),
        is_crisis: false,
        is_emergency: false,
        at: START,
        approvals: Vec::new(),
        approved_at: None,
    };
    sale(number)
        .with("fulfilment", Fulfilment::Failed { reason: "declined".into(), at: START })
        .with("declined", declined)
}

#[test]
fn a_declined_question_is_refunded_by_the_gates_policy_or_has_ended_if_nobody_may_approve_it() {
    let world = world([declined(1)]);
    world.advance(25 * HOUR);
    run_once(&world, false).unwrap();
    assert_eq!(world.state().refunds.len(), 1);
    assert!(world.state().log.values().next().unwrap().contains(r#""by":"policy authority-gate""#));
    let followup = declined(1).with("session_id", session(1).id.followup());
    assert!(followup.is_followup());
    let served = declined(1).with("mail", Mail::Sent { at: START });
    for (ended, why) in [
        (followup, "its page says who helps; its money is the sale's"),
        (served.clone(), "the customer has a verdict by mail"),
        (served.with("chased", 3), "the same, and its records were published late"),
    ] {
        let world = self::world([ended]);
        world.advance(25 * HOUR);
        assert_eq!(run_once(&world, true), Some(Report::default()), "{why}");
        let state = world.state();
        assert_eq!((state.refunds.len(), state.alerts.len()), (0, 0), "{why}");
    }
}

/// The verdict of a held or declined sale may have been delivered before it was lost and ordered again.
#[test]
fn a_policy_refunds_only_its_own_kind_of_work_and_no_customer_with_a_verdict() {
    let now = START.plus(25 * HOUR);
    let decided = |mut sale: Sale, work| {
        let policy = policy(work).unwrap();
        by_policy(&mut sale, work, &session(1), &policy, now).answer
    };
    let sent = Mail::Sent { at: START };
    for (sale, work, expected) in [
        (held(), Work::Review, true),
        (held(), Work::Declined, false),
        (held().with("mail", sent.clone()), Work::Review, false),
        (declined(1), Work::Declined, true),
        (declined(1), Work::Review, false),
        (declined(1).with("sent_again", true), Work::Declined, false),
        (declined(1).with("mail", sent), Work::Declined, false),
    ] {
        assert_eq!(decided(sale.clone(), work), expected, "{work:?} {sale:?}");
    }
}

/// An operator gave the verdict away, and the filter holds it: there is no money that the policy could give back.
#[test]
fn a_held_verdict_that_nobody_paid_for_is_a_humans_after_a_day() {
    let world = world([held().with("given", true)]);
    world.state().sessions.values_mut().for_each(|it| it.payment_status = PaymentStatus::NoPaymentRequired);
    world.advance(25 * HOUR);
    assert_eq!(run_once(&world, true), Some(Report { due: 1, failed: 0, left: 0 }));
    assert_eq!(*stored(&world).money(), Money::Kept);
    let state = world.state();
    assert!(state.refunds.is_empty());
    let alerts = state.alerts.iter().filter(|alert| alert.channel == Channel::Critical);
    let lines: Vec<&str> = alerts.map(|alert| alert.line.as_str()).collect();
    assert!(matches!(lines[..], [line] if line.contains("held by the content filter: approve")), "{lines:?}");
}

/// A letter that is being delivered is not ordered again, so that the customer gets one letter.
#[test]
fn a_refund_letter_that_is_being_retried_is_not_ordered_again() {
    let authorisation = Authorisation::parse("alex", "asked for it").unwrap();
    let retrying = Mail::Retrying { due: START.plus(48 * HOUR), progress: Progress::default() };
    let money = Money::RefundAuthorised { authorisation, at: START };
    for (letter, messages) in [(Mail::Ordered, 1), (retrying, 0)] {
        let world = world([sale(1).with("money", money.clone()).with("refund_letter", letter)]);
        testkit::run(give_back(ports(&world), &session(1).id)).unwrap().unwrap();
        assert!(matches!(stored(&world).money(), Money::Refunded { .. }));
        assert_eq!(world.state().queue.len(), messages);
    }
}

#[test]
fn who_has_a_verdict_already_is_not_refunded_by_policy() {
    let sent_again = held().with("sent_again", true).with("mail", Mail::Held);
    let sent = Mail::Sent { at: START };
    let people = domain::sale::HumanLock::People { persons: 1, roles: vec!["physician".into()], sources: Vec::new() };
    let declined = declined_with(1, people).with("mail", sent.clone());
    let chased = declined.clone().with("chased", 3);
    for served in [held().with("mail", sent), sent_again, declined, chased] {
        let world = world([served]);
        later(&world, 24 * HOUR);
        later(&world, HOUR);
        let state = world.state();
        assert_eq!((state.alerts.len(), state.refunds.len()), (1, 0), "one reminder a day");
    }
}
