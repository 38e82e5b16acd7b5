//! Single transitions. [`super::exploration`] visits all of them.

mod conditions;
mod decisions;
mod refusals;

use super::*;
use crate::{
    inbox::MAX_REPLIES,
    mail::{Failure, Found, MailSchedule, Next},
    open_work::Work,
    operator::Operator,
    retry::{FailedAttempt, RetryTable},
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
        Fulfilment::InReview { gate: 1, at: at(1) },
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
fn the_page_orders_again_only_what_nobody_works_on() {
    let mut sale = sale();
    assert!(!sale.needs_order(at(59)));
    assert!(sale.needs_order(at(60)));
    sale.claim("a", Claimant::Customer, at(60), LEASE);
    assert!(!sale.needs_order(at(159)));
    assert!(sale.needs_order(at(160)));
}

#[test]
fn a_recorded_draft_survives_the_worker() {
    let mut sale = Sale { fulfilment: Fulfilment::Ready { at: at(0), archived: true }, ..sale() };
    let letter = Letter::Verdict;
    assert_eq!(sale.claim_mail(letter, "c", at(-100), LEASE), Claim::Granted);
    assert_eq!(sale.claim_mail(letter, "a", at(0), LEASE), Claim::Granted);
    assert!(!sale.delivering(letter, "a").unwrap().may_have_gone, "there was no draft to send");
    let recorded = Draft { id: "d1".into(), internet_message_id: "<1@x>".into() };
    sale.mail_drafted(letter, "a", &recorded, &rendered()).unwrap();
    assert_eq!(sale.claim_mail(letter, "b", at(1), LEASE), Claim::Busy(at(100)));
    assert_eq!(sale.claim_mail(letter, "b", at(100), LEASE), Claim::Granted);
    assert!(sale.delivering(letter, "a").is_none());
    let progress = sale.delivering(letter, "b").unwrap();
    assert_eq!((&progress.draft, progress.may_have_gone), (&Some(recorded), true));
    sale.mail = Mail::Sent { at: at(101) };
    assert_eq!(sale.claim_mail(letter, "b", at(999), LEASE), Claim::Done);
}

#[test]
fn a_retry_keeps_what_it_has_and_waits_until_it_is_due() {
    let progress = Progress { failures: vec!["503".into()], ..Progress::default() };
    let fulfilment = Fulfilment::Ready { at: at(0), archived: true };
    let mut sale = Sale { fulfilment, mail: Mail::Retrying { due: at(300), progress: progress.clone() }, ..sale() };
    assert_eq!(sale.claim_mail(Letter::Verdict, "a", at(299), LEASE), Claim::NotYet(at(300)));
    assert_eq!(sale.claim_mail(Letter::Verdict, "a", at(300), LEASE), Claim::Granted);
    assert_eq!(*sale.delivering(Letter::Verdict, "a").unwrap(), progress);
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

/// A sale that the authority gate declined, and whose question a physician may approve.
fn declined() -> Sale {
    let mut sale = sale();
    sale.claim("a", Claimant::Customer, at(0), LEASE);
    let lock = HumanLock::People { persons: 1, roles: vec!["physician".into()], sources: vec!["register".into()] };
    let declined = Declined {
        state: "BLOCKED".into(),
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

/// The mail with sources of help waits neither for Stripe nor for a decision about the money, and the refund does not
/// wait for the mail.
#[test]
fn the_mail_after_a_disclosure_goes_whatever_becomes_of_the_money() {
    let declined = Declined { is_crisis: true, lock: HumanLock::Never, ..declined().declined.unwrap() };
    let disclosed = |mut sale: Sale| {
        sale.claim("a", Claimant::Customer, at(0), LEASE);
        sale.decline("a", &bought(), declined.clone(), at(1)).unwrap();
        sale
    };
    let authorisation = crate::money::Authorisation::parse("o", "r").unwrap();
    for (money, gives_back) in [
        (Money::Kept, true),
        (Money::RefundAuthorised { authorisation, at: at(2) }, true),
        (Money::RefundFailed { at: at(2), refund: None }, true),
        (Money::Refunded { at: at(2) }, true),
        (Money::Disputed { at: at(2), refund: None, bounced: false }, false),
    ] {
        let mut sale = Sale { money, ..disclosed(sale()) };
        assert_eq!((sale.letter(Letter::Refund), sale.gives_money_back()), (&Mail::Ordered, gives_back));
        assert_eq!(sale.claim_mail(Letter::Refund, "b", at(3), LEASE), Claim::Granted, "{:?}", sale.money);
        sale.mail_sent(Letter::Refund, "b", at(4)).unwrap();
    }
    let mut served = disclosed(Sale { mail: Mail::Sent { at: at(0) }, ..sale() });
    assert_eq!(served.open_work().map(|open| open.work), Some(Work::InFlight), "no policy refunds it");
    assert!(!served.gives_money_back());
    served.refund_letter = Mail::Dead { at: at(2), progress: Progress::default() };
    assert_eq!(served.open_work().map(|open| open.work), Some(Work::DeadLetter));
    let reply = Reply { message: "m".into(), at: at(2), from_buyer: None, settled_at: None, followup: None };
    let answered = Sale { replies: vec![reply], ..served.clone() };
    assert_eq!(answered.open_work().map(|open| open.work), Some(Work::Reply), "on the list of replies");
    served.refund_letter = Mail::Sent { at: at(2) };
    assert_eq!(served.open_work(), None);
    let waiting = disclosed(sale());
    assert_eq!(waiting.open_work().map(|open| (open.work, open.due)), Some((Work::Declined, at(1))));
    let followup = disclosed(Sale { session_id: sale().session_id.followup(), ..sale() });
    assert_eq!((followup.letter(Letter::Refund), followup.open_work()), (&Mail::NotOrdered, None), "its page says it");
    let operator = Operator::parse("dana", None).unwrap();
    assert!(waiting.clone().reattempt(&operator, false, at(5)).is_err(), "the question stays declined");
    assert!(waiting.clone().reattempt(&operator, true, at(5)).is_ok(), "another question");
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
fn a_significant_divergence_orders_its_mail_once() {
    let mut sale = Sale {
        fulfilment: Fulfilment::Generating { owner: "a".into(), lease_until: at(9) },
        mail: Mail::Sent { at: at(1) },
        regenerated_at: Some(at(2)),
        colour: Some(Colour::Green),
        ..sale()
    };
    let event = sale.ready("a", &bought(), Colour::Red, "h", at(3)).unwrap();
    let compared = Comparison { first: Some(Colour::Green), second: Colour::Red, is_mailed: true };
    assert!(compared.is_announced());
    assert_eq!(event, Event::VerdictReady { colour: Colour::Red, regenerated: Some(compared) });
    assert_eq!((&sale.divergence, sale.colour), (&Mail::Ordered, Some(Colour::Green)));
    let minor = Comparison { second: Colour::Amber, ..compared };
    assert!(!minor.is_announced() && Comparison { first: None, ..minor }.is_announced());
    assert!(!Comparison { is_mailed: false, ..compared }.is_announced());
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
fn an_unknown_mail_is_sent_again_only_while_its_money_is_kept() {
    let operator = Operator::parse("o", None).unwrap();
    let unknown = Sale { mail: Mail::Unknown { at: at(1) }, ..sale() };
    let refunded = Sale { money: Money::Refunded { at: at(2) }, ..unknown.clone() };
    let mut kept = unknown.clone();
    kept.settle_mails(&operator, Found::NotSent, at(3)).unwrap();
    assert!(matches!(kept.mail, Mail::Retrying { .. }));
    let mut sale = refunded.clone();
    let refused = Err(Refused { part: Part::Money, from: "refunded", to: "sent again" });
    assert_eq!(sale.settle_mails(&operator, Found::NotSent, at(3)), refused);
    assert_eq!(sale, refunded);
    sale.settle_mails(&operator, Found::Sent, at(3)).unwrap();
    assert_eq!(sale.mail, Mail::Sent { at: at(3) });
    // The letter about the refund may be sent. The verdict's mail will not be: its claim asks for the money too.
    let mut both = Sale { refund_letter: Mail::Unknown { at: at(1) }, ..refunded };
    let event = both.settle_mails(&operator, Found::NotSent, at(3)).unwrap();
    assert_eq!(event, Event::MailsSettled(operator, vec![Letter::Verdict, Letter::Refund], Found::NotSent));
    assert_eq!(both.claim_mail(Letter::Verdict, "a", at(4), LEASE), Claim::Done);
    assert_eq!(both.claim_mail(Letter::Refund, "a", at(4), LEASE), Claim::Granted);
}

#[test]
fn a_verdict_with_a_draft_and_a_held_notice_are_not_replaced() {
    let held = Fulfilment::InReview { gate: 3, at: at(1) };
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
    let held = Fulfilment::InReview { gate: 3, at: at(1) };
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
    assert_eq!(free(&base, Decision::Approve, &Fulfilment::InReview { gate: 3, at: at(2) }, None), refused(&held));
    let delivered = Sale { fulfilment: ready.clone(), ..base };
    assert_eq!(free(&delivered, Decision::Approve, &ready, None), refused(&ready));
}

#[test]
fn the_mail_of_a_drop_is_recorded_only_after_the_drop() {
    let refused = |from| Err(Refused { part: Part::Mail(Letter::SilentDrop), from, to: "ordered" });
    let mut sale = sale();
    assert_eq!(sale.notice_ordered(), refused("not ordered"));
    sale.record_drop(crate::Unusable::Tier, None, None, charge(), at(1)).unwrap();
    let mut refunded = Sale { money: Money::Refunded { at: at(2) }, ..sale.clone() };
    assert_eq!(refunded.notice_ordered(), refused("not ordered"));
    assert_eq!(sale.notice_ordered(), Ok(()));
    assert_eq!(sale.notice_ordered(), refused("ordered"));
}

/// Audit Trail, invariant 8: the records of a drop carry the tier and the address's tag that the session has.
#[test]
fn a_drop_notes_the_tier_and_the_tag_and_forgets_neither() {
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
    Reply { message: format!("m{number}"), at: at(1), from_buyer: None, settled_at: None, followup: None }
}

#[test]
fn a_reply_is_noted_once_and_settled_once() {
    let operator = Operator::parse("dana", None).unwrap();
    let kept = |number| Ok(Event::Replied { reply: reply(number), kept: true });
    let mut sale = sale();
    assert_eq!(sale.replied(reply(1)), kept(1));
    assert!(sale.replied(reply(1)).is_err());
    assert_eq!(sale.waiting_replies().count(), 1);
    assert_eq!(sale.settle_replies(&operator, at(9)), Ok(Event::RepliesSettled(operator.clone(), 1)));
    assert!(sale.settle_replies(&operator, at(10)).is_err());
    assert!(sale.replied(reply(1)).is_err(), "what was settled does not wait again");
    for number in 2..=MAX_REPLIES + 1 {
        assert_eq!(sale.replied(reply(number)), kept(number));
    }
    assert_eq!(sale.replied(reply(99)), Ok(Event::Replied { reply: reply(99), kept: false }));
    assert_eq!(sale.replies.len(), MAX_REPLIES);
}

/// Email Retry, INV-02 and VER-03: the fifth failure is the last.
#[test]
fn a_mail_that_keeps_failing_becomes_a_dead_letter() {
    let failure = Failure {
        code: "503".into(),
        detail: "x".into(),
        retriable: true,
        asked: None,
        may_have_gone: false,
        needs_consent: false,
    };
    let mut sale = Sale { fulfilment: Fulfilment::Ready { at: at(0), archived: true }, ..sale() };
    let mut now = at(0);
    let mut follows = Vec::new();
    while !matches!(sale.mail, Mail::Dead { .. }) {
        if sale.delivering(Letter::Verdict, "a").is_none() {
            assert_eq!(sale.claim_mail(Letter::Verdict, "a", now, LEASE), Claim::Granted);
        }
        let failed =
            sale.mail_failed(Letter::Verdict, "a", &failure, Some(&rendered()), &MailSchedule::standard(), now);
        let Ok(Event::MailFailed { next, .. }) = failed else { panic!("{failed:?}") };
        if let Next::At(due) = next {
            now = due;
        }
        follows.push(next);
    }
    let due = |seconds| Next::At(at(seconds));
    assert_eq!(follows, [Next::AtOnce, due(300), due(2100), due(9300), Next::Dead]);
    let operator = Operator::parse("dana", None).unwrap();
    sale.redrive(&operator, now).unwrap();
    let kept = Progress { body_hash: Some("h".into()), ..Progress::default() };
    assert_eq!(sale.mail, Mail::Retrying { due: now, progress: kept });
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
        let (now, until) = (at(minute * 60), at(minute * 60 + 20));
        assert_eq!(sale.model_unavailable(None, until, &table, now), Ok(Event::ModelUnavailable));
        assert!(!sale.is_tried_again());
    }
    let end = sale.model_unavailable(None, at(20_000), &table, at(240 * 60));
    assert!(matches!(end, Ok(Event::Failed { .. })) && sale.model_wait.is_none());
    let mut claimed = self::sale();
    claimed.claim("a", Claimant::Customer, at(0), LEASE);
    assert!(claimed.model_unavailable(None, at(9), &table, at(1)).is_err(), "somebody is at it");
    let lapsed = at(1).plus(LEASE);
    assert!(claimed.clone().model_unavailable(None, lapsed.plus(LEASE), &table, lapsed).is_ok(), "the lease is over");
    assert!(claimed.model_unavailable(Some("b"), at(9), &table, at(1)).is_err());
    claimed.model_unavailable(Some("a"), at(9), &table, at(1)).unwrap();
    assert_eq!(claimed.waits_for_model(at(8)), Some(at(9)));
}

/// A verdict that is made again may have other words: a mail that was never sent shows those.
#[test]
fn a_mail_without_a_draft_forgets_the_lost_verdicts_bytes() {
    let draft = crate::mail::Draft { id: "d".into(), internet_message_id: "m".into() };
    for (draft, body_hash) in [(None, None), (Some(draft), Some("h".to_owned()))] {
        let progress = Progress { draft, body_hash: Some("h".into()), ..Progress::default() };
        let fulfilment = Fulfilment::Ready { at: at(0), archived: true };
        let mut sale = Sale { fulfilment, mail: Mail::Retrying { due: at(9), progress }, ..sale() };
        sale.reopen(at(1)).unwrap();
        assert_eq!(sale.mail.progress().unwrap().body_hash, body_hash);
    }
}
