//! The claims of a sale and the attempts at its verdict.

use super::*;

#[test]
fn one_claim_at_a_time() {
    let mut sale = sale();
    assert_eq!(sale.claim("a", Claimant::Customer, at(0), LEASE), Claim::Granted);
    for owner in ["a", "b"] {
        assert_eq!(sale.claim(owner, Claimant::Customer, at(99), LEASE), Claim::Busy(at(100)));
    }
    assert!(sale.generates("a") && !sale.generates("b"));
    assert_eq!(sale.claim("b", Claimant::Customer, at(100), LEASE), Claim::Granted);
    assert!(sale.generates("b") && !sale.generates("a"));
}

#[test]
fn an_ended_sale_is_not_worked_on_again() {
    let ends = [
        Fulfilment::Ready { at: at(1), archived: false },
        Fulfilment::InReview { gate: crate::Gate::BeforeCache, at: at(1) },
        Fulfilment::Failed { reason: "x".into(), at: at(1) },
        Fulfilment::Unusable { at: at(1) },
    ];
    for end in ends {
        let mut sale = Sale { fulfilment: end.clone(), ..sale() };
        assert_eq!(sale.claim("a", Claimant::Customer, at(1_000_000), LEASE), Claim::Done);
        assert!(!sale.needs_order(at(1_000_000)));
        assert_eq!(sale.fulfilment, end);
    }
}

#[test]
fn regeneration_is_limited_to_one_in_five_minutes() {
    let ready = Fulfilment::Ready { at: at(0), archived: true };
    let mut sale = Sale { fulfilment: ready.clone(), ..sale() };
    assert_eq!(sale.reopen(at(10)), Ok(()));
    assert_eq!(sale.reopen(at(11)), Err(sale.refuse("ordered")), "it is not ready now");
    sale.fulfilment = ready;
    assert!(sale.reopen(at(309)).is_err());
    assert!(sale.reopen(at(310)).is_ok());
}

#[test]
fn only_the_holder_of_the_claim_ends_it() {
    let mut sale = sale();
    sale.claim("a", Claimant::Customer, at(0), LEASE);
    assert!(sale.fail("b", None, "x", at(1)).is_err() && sale.unpaid("b", NotPaid::Unpaid, at(1)).is_err());
    assert!(sale.unusable(FoundBy::Maker { owner: "b" }, None, None, "x", at(1)).is_err());
    assert!(sale.release_claim("b", at(1)).is_err());
    assert_eq!(sale.release_claim("a", at(1)), Ok(()));
    assert_eq!(sale.claim("b", Claimant::Customer, at(1), LEASE), Claim::Granted);
    assert!(sale.ready("a", &bought(), Colour::Green, "h", at(2)).is_err());
    let ready = sale.ready("b", &bought(), Colour::Green, "h", at(2));
    assert_eq!(ready, Ok(Event::VerdictReady { colour: Colour::Green, regenerated: None }));
}

/// The customer of an approved question whose verdict then fails hears of the failure, not that the question could do harm,
/// and an operator can order it again while the approval is valid.
#[test]
fn an_approved_question_that_fails_is_a_failure_and_stays_approved() {
    let mut sale = declined();
    let operator = Operator::parse("dana", None).unwrap();
    let by = Authority { operator: &operator, role: "physician", credential: "register:123", identity: None };
    sale.approve_declined(by, at(2)).unwrap();
    sale.claim("b", Claimant::Customer, at(3), LEASE);
    sale.fail("b", None, "UPSTREAM 503", at(4)).unwrap();
    assert_eq!((sale.declined(), sale.open_work().map(|open| open.work)), (None, Some(Work::Failed)));
    sale.reattempt(&operator, false, at(5)).unwrap();
    assert!(sale.is_approved("q", "dose", at(6)) && !sale.is_approved("another", "dose", at(6)));
}

/// Otherwise a question that must not be answered would be charged for and kept. A day after the failure the approvals
/// are over.
#[test]
fn a_failed_question_whose_approvals_are_over_is_declined_again() {
    let operator = Operator::parse("dana", None).unwrap();
    let by = Authority { operator: &operator, role: "physician", credential: "register:123", identity: None };
    for is_given in [false, true] {
        let mut sale = declined();
        sale.given = is_given;
        sale.approve_declined(by, at(2)).unwrap();
        sale.claim("b", Claimant::Customer, at(3), LEASE);
        sale.fail("b", None, "SAFETY", at(4)).unwrap();
        let lapsed = at(2).plus(APPROVAL_LASTS);
        assert!(sale.has_lapsed_approvals(lapsed) && !sale.has_lapsed_approvals(at(4)));
        assert!(sale.remind(lapsed).is_err() && sale.declined().is_none(), "not due before a day after the failure");
        let due = at(4).plus(APPROVAL_LASTS);
        sale.remind(due).unwrap();
        assert!(sale.declined().is_some() && !sale.has_lapsed_approvals(due));
        let open = sale.open_work().unwrap();
        let next = if is_given { due.plus(APPROVAL_LASTS) } else { due };
        assert_eq!((open.work, open.due), (Work::Declined, next), "the policy's refund is due at once");
    }
}

/// The decision is about one question. The same question, ordered again, keeps it.
#[test]
fn another_question_that_fails_is_not_declined() {
    let operator = Operator::parse("dana", None).unwrap();
    for resubmits in [true, false] {
        let mut sale = declined();
        sale.reattempt(&operator, resubmits, at(2)).unwrap();
        sale.claim("b", Claimant::Customer, at(3), LEASE);
        sale.fail("b", None, "UPSTREAM 503", at(4)).unwrap();
        assert_eq!(sale.declined().is_none(), resubmits);
    }
}

/// A failed model call leads to the next attempt by the table, and to a human only after the last attempt.
#[test]
fn a_sale_whose_model_call_failed_is_tried_again_until_the_table_ends() {
    let (mut sale, table, mut now) = (sale(), RetryTable::standard(), at(0));
    let mut waits = Vec::new();
    while !matches!(sale.fulfilment, Fulfilment::Failed { .. }) {
        assert_eq!(sale.claim("a", Claimant::Customer, now, LEASE), Claim::Granted);
        let event = sale.model_failed("a", &bought(), failed_until(None), &table, 0.0, now).unwrap();
        let Event::ModelFailed { due, .. } = event else { break };
        waits.push(due.since(now).as_secs());
        assert!(sale.is_tried_again() && !sale.needs_order(due.plus(Duration::from_secs(1)).min(at(59))));
        assert_eq!(sale.claim("b", Claimant::Customer, now, LEASE), Claim::NotYet(due));
        assert!(sale.open_work().unwrap().due > due, "nobody chases what is not due");
        now = due;
    }
    assert_eq!(waits, [15, 30, 60, 120, 300, 1200, 3600, 3600, 3600]);
    assert!((sale.unavailable_until, &sale.model_wait) == (None, &None));
    sale.reattempt(&Operator::parse("dana", None).unwrap(), false, now).unwrap();
    assert_eq!(sale.claim("a", Claimant::Customer, now, LEASE), Claim::Granted);
}

fn failed_until(not_before: Option<Timestamp>) -> FailedAttempt<'static> {
    FailedAttempt { reason: "503", open_until: None, not_before }
}

/// A vendor's delay that is longer than the table's wait is kept, and a shorter one changes nothing.
#[test]
fn a_failed_attempt_is_repeated_no_earlier_than_the_vendor_asked_for() {
    for (not_before, expected) in [(None, 15), (Some(at(5)), 15), (Some(at(60)), 60)] {
        let (mut sale, table) = (sale(), RetryTable::standard());
        assert_eq!(sale.claim("a", Claimant::Customer, at(0), LEASE), Claim::Granted);
        sale.model_failed("a", &bought(), failed_until(not_before), &table, 0.0, at(0)).unwrap();
        assert_eq!(sale.claim("b", Claimant::Customer, at(1), LEASE), Claim::NotYet(at(expected)));
    }
}

/// The failure that opens the circuit lets the circuit decide: its half-open call may come before the table's next attempt.
#[test]
fn a_failed_attempt_is_repeated_when_the_circuit_lets_a_call_through() {
    for (open_until, not_before, expected) in
        [(Some(at(5)), None, 5), (Some(at(60)), None, 15), (Some(at(5)), Some(at(10)), 10)]
    {
        let (mut sale, table) = (sale(), RetryTable::standard());
        assert_eq!(sale.claim("a", Claimant::Customer, at(0), LEASE), Claim::Granted);
        let attempt = FailedAttempt { open_until, ..failed_until(not_before) };
        sale.model_failed("a", &bought(), attempt, &table, 0.0, at(0)).unwrap();
        assert_eq!(sale.claim("b", Claimant::Customer, at(1), LEASE), Claim::NotYet(at(expected)));
    }
}

/// An open circuit is not a failure of the sale, but a sale does not wait for it for ever.
#[test]
fn a_sale_waits_for_a_circuit_without_failing_and_no_longer_than_the_table() {
    let (mut sale, table) = (sale(), RetryTable::standard());
    for minute in 0..240 {
        let (now, until) = (at(minute * 60), CircuitOpen(at(minute * 60 + 20)));
        assert_eq!(sale.model_unavailable(None, until, &table, now), Ok(Event::ModelUnavailable));
        assert!(!sale.is_tried_again());
    }
    let end = sale.model_unavailable(None, CircuitOpen(at(20_000)), &table, at(240 * 60));
    assert!(matches!(end, Ok(Event::Failed { .. })) && sale.model_wait.is_none());
    let mut claimed = self::sale();
    claimed.claim("a", Claimant::Customer, at(0), LEASE);
    let until = CircuitOpen(at(9));
    assert!(claimed.model_unavailable(None, until, &table, at(1)).is_err(), "somebody is at it");
    let lapsed = at(1).plus(LEASE);
    let later = CircuitOpen(lapsed.plus(LEASE));
    assert!(claimed.clone().model_unavailable(None, later, &table, lapsed).is_ok(), "the lease is over");
    assert!(claimed.model_unavailable(Some("b"), until, &table, at(1)).is_err());
    claimed.model_unavailable(Some("a"), until, &table, at(1)).unwrap();
    assert_eq!(claimed.waits_for_model(at(8)), Some(at(9)));
}

/// A sale that has waited since the beginning, failed this often, and is claimed at this time.
fn waiting(failures: u32, now: Timestamp) -> Sale {
    let mut sale = Sale { model_wait: Some(ModelWait { since: at(0), failures }), ..sale() };
    assert_eq!(sale.claim("a", Claimant::Customer, now, LEASE), Claim::Granted);
    sale
}

/// The page promises four hours. A vendor's delay is not shortened: one that ends later fails the sale.
#[test]
fn no_attempt_is_due_after_four_hours() {
    let (table, end, late) = (RetryTable::standard(), at(4 * 3600), at(4 * 3600 + 1));
    let now = at(225 * 60);
    for (unavailable, is_failed) in [(Delayed(end), false), (Delayed(late), true), (CircuitOpen(late), false)] {
        let mut sale = waiting(0, now);
        sale.model_unavailable(Some("a"), unavailable, &table, now).unwrap();
        assert_eq!(matches!(sale.fulfilment, Fulfilment::Failed { .. }), is_failed, "{unavailable:?}");
    }
    let now = at(216 * 60);
    for (not_before, expected) in [(None, Some(end)), (Some(end), Some(end)), (Some(late), None)] {
        let mut sale = waiting(6, now);
        sale.model_failed("a", &bought(), failed_until(not_before), &table, 0.0, now).unwrap();
        assert_eq!(sale.unavailable_until, expected, "after an hour by the table");
        assert_eq!(matches!(sale.fulfilment, Fulfilment::Failed { .. }), expected.is_none());
    }
}

#[test]
fn the_retries_begin_anew_after_a_dispute_that_is_won() {
    use crate::money::{DisputeStatus, ObjectId, PaymentId, PaymentReport};
    let (payment, id) = (PaymentId::parse("pi_1").unwrap(), ObjectId::parse("du_1").unwrap());
    let (disputed, won) = (at(60), at(40 * 86_400));
    let (mut sale, table) = (waiting(0, at(0)), RetryTable::standard());
    sale.model_failed("a", &bought(), failed_until(None), &table, 0.0, at(0)).unwrap();
    for (status, at) in [(DisputeStatus::NeedsResponse, disputed), (DisputeStatus::Won, won)] {
        let report = PaymentReport::Dispute { id: id.clone(), status, respond_by: None, at };
        sale.payment_reported(&payment, &report, charge(), at).unwrap();
    }
    assert_eq!(sale.claim("b", Claimant::Customer, won, LEASE), Claim::Granted);
    let event = sale.model_failed("b", &bought(), failed_until(None), &table, 0.0, won);
    assert!(matches!(event, Ok(Event::ModelFailed { failures: 1, .. })), "{event:?}");
}
