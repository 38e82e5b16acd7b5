//! Single transitions. [`super::exploration`] visits all of them.

mod attempts;
mod conditions;
mod decisions;
mod mails;
mod refusals;

use super::*;
use crate::{
    inbox::MAX_REPLIES,
    mail::{Failure, MailOutcome, MailSchedule, Next},
    message::OrderedBy,
    open_work::Work,
    operator::Operator,
    retry::{
        FailedAttempt, RetryTable,
        Unavailable::{CircuitOpen, Delayed},
    },
    verdict::Comparison,
};

const LEASE: Duration = Duration::from_secs(100);

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

fn rendered() -> Rendered {
    Rendered { body_hash: "h".into(), email_tag: "t".into() }
}

fn sale() -> Sale {
    Sale::ordered(SessionId::parse("cs_test_1").unwrap(), at(0))
}

fn decline_followup(sale: &mut Sale) -> Result<Event, Refused> {
    sale.decline_followup(OrderedBy::FollowupPage, "e".into())
}

#[test]
fn the_page_orders_again_only_what_nobody_works_on() {
    let mut sale = sale();
    assert!(!sale.needs_order(at(59)));
    assert!(sale.needs_order(at(60)));
    sale.claim("a", Claimant::Customer, at(60), LEASE);
    assert!(!sale.needs_order(at(159)));
    assert!(sale.needs_order(at(160)));
}

#[test]
fn nothing_is_made_or_sent_for_money_that_went_back() {
    let authorisation = crate::money::Authorisation::parse("o", "r").unwrap();
    let ends = [
        Money::RefundAuthorised { authorisation, at: at(1) },
        Money::Refunded { at: at(1) },
        Money::Disputed { at: at(1), refund: None, bounced: false },
    ];
    for money in ends {
        let mut sale = Sale { money, ..sale() };
        assert_eq!(sale.claim("a", Claimant::Customer, at(1_000), LEASE), Claim::Done);
        assert_eq!(sale.claim_mail(Letter::Verdict, "a", at(1_000), LEASE), Claim::Done);
        assert!(!sale.needs_order(at(1_000)));
    }
}

#[test]
fn the_customer_hears_of_a_refund_by_policy_and_of_no_other() {
    use crate::{money::Authorisation, open_work::Work};
    let refunded = |authorisation: &Authorisation| {
        let mut sale = sale();
        sale.refund_authorised(authorisation, charge(), at(1)).unwrap();
        sale.refund_answered(RefundAnswer::Confirmed, charge(), at(2)).unwrap();
        sale
    };
    let by_hand = refunded(&Authorisation::parse("o", "r").unwrap());
    assert_eq!((by_hand.letter(Letter::Refund), by_hand.open_work()), (&Mail::NotOrdered, None));
    let mut sale = refunded(&Authorisation::by_policy("p", "r").unwrap());
    assert_eq!(sale.refunded_at(), Some(at(2)));
    let open = sale.open_work().unwrap();
    assert_eq!((open.work, open.since), (Work::InFlight, at(2)));
    assert_eq!(sale.claim_mail(Letter::Verdict, "a", at(3), LEASE), Claim::Done);
    assert_eq!(sale.claim_mail(Letter::Refund, "a", at(3), LEASE), Claim::Granted);
    assert!(sale.hold(HeldBy::Mailer { owner: "a", letter: Letter::Refund }, at(3)).is_err(), "no verdict is in it");
    sale.mail_sent(Letter::Refund, "a", at(4)).unwrap();
    assert_eq!(sale.open_work(), None);
    // A refund that bounces stops the letter until it is sent.
    let mut sale = refunded(&Authorisation::by_policy("p", "r").unwrap());
    sale.money = Money::RefundFailed { at: at(3), refund: None };
    assert_eq!(sale.claim_mail(Letter::Refund, "a", at(3), LEASE), Claim::Done);
    assert_eq!(sale.open_work().map(|open| open.work), Some(Work::RefundFailed));
}

#[test]
fn the_customer_hears_of_a_refund_by_policy_that_arrives_during_a_dispute() {
    use crate::money::{Authorisation, DisputeStatus, ObjectId, PaymentId, PaymentReport, RefundStatus};
    let payment = PaymentId::parse("pi_1").unwrap();
    let id = |text: &str| ObjectId::parse(text).unwrap();
    let (status, respond_by) = (DisputeStatus::NeedsResponse, None);
    let dispute = PaymentReport::Dispute { id: id("du_1"), status, respond_by, at: at(2) };
    let refund =
        PaymentReport::Refund { id: id("re_1"), amount: Some(100), status: RefundStatus::Succeeded, at: at(3) };
    let by_policy = Authorisation::by_policy("p", "r").unwrap();
    let by_hand = Authorisation::parse("o", "r").unwrap();
    for (authorisation, letter) in [(by_policy, Mail::Ordered), (by_hand, Mail::NotOrdered)] {
        let mut sale = sale();
        sale.refund_authorised(&authorisation, charge(), at(1)).unwrap();
        sale.payment_reported(&payment, &dispute, charge(), at(2)).unwrap();
        assert_eq!(sale.letter(Letter::Refund), &Mail::NotOrdered, "the bank decides");
        let event = sale.payment_reported(&payment, &refund, charge(), at(3)).unwrap();
        let Event::PaymentChanged { confirms, .. } = event else { panic!("{event:?}") };
        assert_eq!(confirms.map(|(by, _)| by), Some(authorisation));
        assert_eq!((sale.letter(Letter::Refund), sale.refunded_at()), (&letter, Some(at(3))));
    }
}

#[test]
fn the_record_survives_storage() {
    let mut sale = sale();
    sale.claim("a", Claimant::Customer, at(0), LEASE);
    let stored = serde_json::to_string(&sale).unwrap();
    assert_eq!(serde_json::from_str::<Sale>(&stored).unwrap(), sale);
}

fn bought() -> Purchase {
    Purchase { smoke: false, tier: Tier::Quick, query_hash: "q".into(), email_tag: None, locale: None }
}

/// A refusal names the current and the requested state, and changes nothing.
#[test]
fn a_refused_transition_names_both_states_and_changes_nothing() {
    let failed = Sale { fulfilment: Fulfilment::Failed { reason: "x".into(), at: at(1) }, ..sale() };
    let mut sale = failed.clone();
    let refused = sale.ready("a", &bought(), Colour::Green, "h", at(2)).unwrap_err();
    assert_eq!(refused.to_string(), "a sale cannot become ready while its verdict is failed");
    assert_eq!(
        sale.hold(HeldBy::Page, at(2)).unwrap_err().to_string(),
        "a sale cannot become in review while its verdict is failed"
    );
    let mail = sale.mail_sent(Letter::Verdict, "a", at(2)).unwrap_err();
    assert_eq!(mail.to_string(), "a sale cannot become sent while its verdict mail is not ordered");
    let money = sale.refund_answered(RefundAnswer::Confirmed, charge(), at(2)).unwrap_err();
    assert_eq!(money.to_string(), "a sale cannot become refunded while its money is kept");
    assert_eq!(sale, failed);
}

fn charge() -> Charge {
    Charge { amount_total: Some(100), currency: Some("cad".into()) }
}

/// A sale that the authority gate declined, and whose question a physician may approve.
fn declined() -> Sale {
    let mut sale = sale();
    sale.claim("a", Claimant::Customer, at(0), LEASE);
    let lock = HumanLock::People { persons: 1, roles: vec!["physician".into()], sources: vec!["register".into()] };
    let declined = Declined {
        state: crate::authority_state::State::Blocked,
        reason: "dose".into(),
        domain: "medicine".into(),
        lock,
        helpers: Vec::new(),
        advice: Vec::new(),
        is_crisis: false,
        is_emergency: false,
        at: at(1),
        approvals: Vec::new(),
        approved_at: None,
    };
    sale.decline("a", &bought(), declined, at(1)).unwrap();
    assert!(sale.declined().is_some());
    sale
}

/// There is no money to give back, or the customer has a verdict by mail and keeps it unless an operator refunds it.
#[test]
fn a_declined_sale_that_no_policy_refunds_ends_once_nobody_can_approve_it() {
    let operator = Operator::parse("dana", None).unwrap();
    let by = Authority { operator: &operator, role: "physician", credential: "register:123", identity: None };
    let followup = Sale { session_id: declined().session_id.followup(), ..declined() };
    let mut served = Sale { mail: Mail::Sent { at: at(0) }, ..declined() };
    for (mut sale, ends) in
        [(Sale { given: true, ..declined() }, true), (followup, true), (served.clone(), true), (declined(), false)]
    {
        assert_eq!(sale.open_work().map(|open| open.work), Some(Work::Declined));
        sale.reject_declined(by).unwrap();
        assert_eq!((sale.open_work().is_none(), sale.is_declined_for_good()), (ends, ends));
        assert!(sale.declined().is_some(), "its page still shows who helps");
    }
    served.reject_declined(by).unwrap();
    let authorisation = crate::money::Authorisation::parse("dana", "asked for it").unwrap();
    let charge = Charge { amount_total: Some(100), currency: Some("cad".into()) };
    assert!(served.refund_authorised(&authorisation, charge, at(3)).is_ok(), "an operator may still refund it");
    assert_eq!(served.open_work().map(|open| open.work), Some(Work::Refund));
}

#[test]
fn only_the_smoke_tests_own_sale_is_claimed_for_it() {
    let smoke = Claimant::SmokeTest { received_at: at(0) };
    let mut fresh = sale();
    assert_eq!(fresh.claim("a", smoke, at(1), LEASE), Claim::Granted);
    assert!(fresh.smoke);
    let mut customers = Sale { retrievals: 1, ..sale() };
    assert_eq!(customers.claim("a", smoke, at(1), LEASE), Claim::Foreign);
    assert!(!customers.smoke);
    // A customer pays for the smoke test's failed sale after all.
    fresh.fail("a", None, "refused", at(2)).unwrap();
    assert_eq!(fresh.claim("b", smoke, at(3), LEASE), Claim::Done);
    assert_eq!(fresh.claim("b", Claimant::Customer, at(3), LEASE), Claim::Granted);
}

#[test]
fn only_the_verdict_that_was_archived_is_recorded_as_dispatched() {
    let mut sale = Sale { fulfilment: Fulfilment::Ready { at: at(5), archived: false }, ..sale() };
    assert_eq!(sale.clone().dispatched(at(4), true), Err(sale.refuse("dispatched")));
    assert_eq!(sale.dispatched(at(5), true), Ok(()));
    assert_eq!((&sale.fulfilment, &sale.mail), (&Fulfilment::Ready { at: at(5), archived: true }, &Mail::Ordered));
    assert_eq!(sale.dispatched(at(5), false), Ok(()));
    assert_eq!(sale.fulfilment, Fulfilment::Ready { at: at(5), archived: true }, "the archive keeps it");
    sale.reopen(at(6)).unwrap();
    assert_eq!(sale.dispatched(at(5), true), Err(sale.refuse("dispatched")));
}

#[test]
fn a_verdict_with_a_draft_and_a_held_notice_are_not_replaced() {
    let held = Fulfilment::InReview { gate: crate::Gate::BeforeCache, at: at(1) };
    let new = NewVerdict { colour: Colour::Red, verdict_hash: "h" };
    let operator = Operator::parse("o", None).unwrap();
    let replace =
        |sale: &Sale| sale.clone().free(Decision::Replace, &held, Some(new), &operator, at(9)).map_err(|it| it.to);
    let approve = |sale: &Sale| sale.clone().free(Decision::Approve, &held, None, &operator, at(9)).is_ok();
    let draft = Draft { id: "d".into(), internet_message_id: "m".into() };
    let with = |draft: Option<Draft>| Progress { draft, ..Progress::default() };
    let sending = |lease_until, draft| Mail::Sending { owner: "a".into(), lease_until, progress: with(draft) };
    let base = Sale { fulfilment: held.clone(), ..sale() };
    for (mail, replaced) in [
        (Mail::Held, Ok(())),
        (sending(at(9), None), Ok(())),
        (sending(at(10), None), Err("replaced")),
        (sending(at(9), Some(draft.clone())), Err("replaced")),
        (Mail::Retrying { due: at(1), progress: with(None) }, Ok(())),
        (Mail::Retrying { due: at(1), progress: with(Some(draft.clone())) }, Err("replaced")),
        (Mail::Dead { at: at(1), progress: with(Some(draft)) }, Err("replaced")),
    ] {
        let sale = Sale { mail: mail.clone(), ..base.clone() };
        assert_eq!(replace(&sale).map(drop), replaced, "{mail:?}");
        assert!(approve(&sale), "{mail:?}");
    }
    let notice = Sale { notice: Mail::Held, ..base };
    assert_eq!(replace(&notice), Err("replaced by a verdict"));
    assert!(approve(&notice));
}

/// A decision releases only the hold that the operator has examined.
#[test]
fn only_the_hold_that_was_examined_is_released_and_approving_keeps_the_rendering() {
    let operator = Operator::parse("o", None).unwrap();
    let held = Fulfilment::InReview { gate: crate::Gate::BeforeCache, at: at(1) };
    let ready = Fulfilment::Ready { at: at(1), archived: true };
    let progress = Progress { body_hash: Some("b".into()), ..Progress::default() };
    let base = Sale { fulfilment: held.clone(), mail: Mail::Retrying { due: at(1), progress }, ..sale() };
    let free = |sale: &Sale, decision, held: &Fulfilment, verdict| {
        let mut sale = sale.clone();
        sale.free(decision, held, verdict, &operator, at(9))
            .map(|_| sale.mail.progress().and_then(|it| it.body_hash.clone()))
    };
    let verdict = Some(NewVerdict { colour: Colour::Red, verdict_hash: "h" });
    for approved in [None, verdict] {
        assert_eq!(free(&base, Decision::Approve, &held, approved), Ok(Some("b".into())));
    }
    assert_eq!(free(&base, Decision::Replace, &held, verdict), Ok(None));
    let refused =
        |fulfilment: &Fulfilment| Err(Refused { part: Part::Verdict, from: fulfilment.as_str(), to: "ready" });
    assert_eq!(
        free(&base, Decision::Approve, &Fulfilment::InReview { gate: crate::Gate::BeforeCache, at: at(2) }, None),
        refused(&held)
    );
    let delivered = Sale { fulfilment: ready.clone(), ..base };
    assert_eq!(free(&delivered, Decision::Approve, &ready, None), refused(&ready));
}

/// Audit Trail, invariant 8: the records of a drop carry the tier and the address's tag that the session has.
#[test]
fn a_drop_records_the_tier_and_the_tag_and_forgets_neither() {
    let mut dropped = sale();
    dropped.unusable(FoundBy::Page, Some(Tier::Full), None, "x", at(0)).unwrap();
    assert_eq!((dropped.tier(), dropped.email_tag()), (Some(Tier::Full), None));
    dropped.record_drop(crate::Unusable::Query, Some(Tier::Full), Some("tag"), charge(), at(1)).unwrap();
    assert_eq!((dropped.tier(), dropped.email_tag()), (Some(Tier::Full), Some("tag")));
    let mut known = Sale { tier: Some(Tier::Quick), email_tag: Some("tag".to_owned()), ..sale() };
    known.unusable(FoundBy::Page, None, None, "x", at(0)).unwrap();
    assert_eq!((known.tier(), known.email_tag()), (Some(Tier::Quick), Some("tag")));
}

fn reply(number: usize) -> Reply {
    let message = format!("m{number}");
    Reply { message, at: at(1), from_buyer: None, settled_at: None, followup: None, is_report: false }
}
