//! The decisions of operators, approvals among them, and the money.

use super::*;
use crate::{CallerIdentity, mail::CHANGED};

#[test]
fn a_declined_question_is_decided_by_different_people_with_a_role_and_a_credential() {
    let people = |name: &str| Operator::parse(name, None).unwrap();
    let (dana, kim) = (people("dana"), people("kim"));
    let by = |operator, role, credential| Authority { operator, role, credential, identity: None };
    let mut sale = declined();
    sale.declined.as_mut().unwrap().lock =
        HumanLock::People { persons: 2, roles: vec!["physician".into()], sources: vec!["register".into()] };
    for (role, credential) in
        [("nurse", "register:123"), ("physician", "other:123"), ("physician", "register:12"), ("physician", "123")]
    {
        assert!(sale.approve_declined(by(&dana, role, credential), at(2)).is_err(), "{role} {credential}");
    }
    let (_, decision) = sale.approve_declined(by(&dana, "physician", "register:123"), at(2)).unwrap();
    assert_eq!(decision, AuthorityDecision::Approved { count: 1, needed: 2 });
    for (who, credential) in [(&dana, "register:456"), (&kim, "register:1-2-3")] {
        let again = sale.approve_declined(by(who, "physician", credential), at(3));
        assert_eq!(again.unwrap_err(), NotApproved::SamePerson(who.name().to_owned()));
    }
    assert!(!sale.is_approved("q", "dose", at(3)));
    // The first approval has lapsed, so this one is the first again.
    let late = at(2).plus(APPROVAL_LASTS);
    let (_, decision) = sale.clone().approve_declined(by(&kim, "physician", "register:456"), late).unwrap();
    assert_eq!(decision, AuthorityDecision::Approved { count: 1, needed: 2 });
    sale.approve_declined(by(&kim, "physician", "register:456"), at(3)).unwrap();
    assert_eq!(sale.fulfilment, Fulfilment::Ordered { at: at(3) });
    assert!(sale.is_approved("q", "dose", at(4)) && !sale.is_approved("q", "other", at(4)));
    assert!(!sale.is_approved("another question", "dose", at(4)));
    assert!(!sale.is_approved("q", "dose", at(3).plus(APPROVAL_LASTS)));
    let decided = sale.approve_declined(by(&dana, "physician", "register:123"), at(4));
    assert_eq!(decided.unwrap_err(), NotApproved::NotDeclined("ordered"));
}

#[test]
fn one_aws_identity_is_one_person_whatever_names_were_typed() {
    let [dana, kim] = ["dana", "kim"].map(|name| Operator::parse(name, None).unwrap());
    let [one, other] = ["user/dana", "user/kim"]
        .map(|name| CallerIdentity::parse(format!("arn:aws:iam::123456789012:{name}")).unwrap());
    let people = HumanLock::People { persons: 2, roles: vec!["physician".into()], sources: vec!["register".into()] };
    let approved_after = |first, second| {
        let mut sale = declined();
        sale.declined.as_mut().unwrap().lock = people.clone();
        let by = |operator, credential, identity| Authority { operator, role: "physician", credential, identity };
        sale.approve_declined(by(&dana, "register:123", first), at(2)).unwrap();
        sale.approve_declined(by(&kim, "register:456", second), at(3)).map(|(_, decision)| decision)
    };
    let same = approved_after(Some(&one), Some(&one));
    assert_eq!(same.unwrap_err(), NotApproved::SameIdentity(one.as_str().to_owned()));
    for (first, second) in [(Some(&one), Some(&other)), (None, Some(&one)), (Some(&one), None), (None, None)] {
        assert_eq!(approved_after(first, second), Ok(AuthorityDecision::Approved { count: 2, needed: 2 }));
    }
}

#[test]
fn a_rejected_question_is_approved_by_nobody_and_a_lock_is_lifted_by_nobody() {
    let operator = Operator::parse("dana", None).unwrap();
    let by = Authority { operator: &operator, role: "physician", credential: "register:123", identity: None };
    let mut sale = declined();
    assert_eq!(sale.refuse_override(by, false).unwrap_err(), NotApproved::NotDeclined("failed"), "without a lock");
    assert!(sale.refuse_override(by, true).is_ok(), "today's rules lock the question");
    sale.reject_declined(by).unwrap();
    assert_eq!(sale.approve_declined(by, at(2)).unwrap_err(), NotApproved::Nobody);
    assert_eq!(sale.reject_declined(by).unwrap_err(), NotApproved::Nobody);
    let mut locked = declined();
    locked.declined.as_mut().unwrap().lock = HumanLock::Never;
    assert_eq!(locked.approve_declined(by, at(2)).unwrap_err(), NotApproved::Locked);
    assert_eq!(locked.reject_declined(by).unwrap_err(), NotApproved::Nobody);
    assert!(locked.refuse_override(by, false).is_ok());
    let mut refunded = Sale { money: Money::Refunded { at: at(2) }, ..declined() };
    assert_eq!(refunded.approve_declined(by, at(3)).unwrap_err(), NotApproved::MoneyWentBack("refunded"));
}

#[test]
fn a_dead_letter_goes_back_to_its_first_attempt_with_its_draft() {
    let operator = Operator::parse("o", None).unwrap();
    let draft = Some(Draft { id: "d".into(), internet_message_id: "m".into() });
    let redriven = |draft: Option<Draft>, failure: &str| {
        let failures = vec!["503".to_owned(), failure.to_owned()];
        let progress = Progress { failures, draft, body_hash: Some("h".into()), ..Progress::default() };
        let fulfilment = Fulfilment::Ready { at: at(0), archived: true };
        let mut sale = Sale { mail: Mail::Dead { at: at(1), progress }, chased: 3, fulfilment, ..sale() };
        sale.redrive(&operator, at(2)).unwrap();
        assert_eq!(sale.chased, 0);
        let Mail::Retrying { due, progress } = sale.mail else { panic!("{:?}", sale.mail) };
        assert!(due == at(2) && progress.failures.is_empty());
        (progress.draft, progress.body_hash)
    };
    assert_eq!(redriven(draft.clone(), "503"), (draft.clone(), Some("h".into())));
    assert_eq!(redriven(None, "503"), (None, Some("h".into())));
    assert_eq!(redriven(None, CHANGED), (None, None), "it may render anew");
    assert_eq!(redriven(draft.clone(), CHANGED), (draft, Some("h".into())), "the draft has the old bytes");
    assert!(sale().redrive(&operator, at(2)).is_err());
}

#[test]
fn a_delivered_mail_is_sent_again_once_and_a_cached_verdict_is_removed_only_if_the_archive_has_it() {
    let operator = Operator::parse("o", None).unwrap();
    let ready = |archived| Fulfilment::Ready { at: at(0), archived };
    let mut sale = Sale { fulfilment: ready(true), mail: Mail::Sent { at: at(1) }, chased: 2, ..sale() };
    assert!(sale.remove_from_cache(&operator).is_ok());
    assert!(Sale { fulfilment: ready(false), ..sale.clone() }.remove_from_cache(&operator).is_err());
    assert!(Sale { money: Money::Refunded { at: at(2) }, ..sale.clone() }.send_again(&operator, at(3)).is_err());
    assert!(Sale { mail: Mail::Ordered, ..sale.clone() }.send_again(&operator, at(3)).is_err());
    sale.send_again(&operator, at(3)).unwrap();
    assert_eq!(sale.mail, Mail::Retrying { due: at(3), progress: Progress::default() });
    assert!(sale.is_sent_again() && sale.chased == 0);
    sale.mail = Mail::Sent { at: at(4) };
    assert!(sale.send_again(&operator, at(5)).is_err());
}

#[test]
fn an_erasure_is_finished_once_and_not_before_every_worker_has_ended() {
    let operator = Operator::parse("o", None).unwrap();
    let mut erased = sale();
    erased.erase(&operator, at(10)).unwrap();
    assert!(erased.is_erased() && erased.is_owed());
    assert!(erased.clone().erase(&operator, at(11)).is_err());
    let settles = at(10).plus(ERASURE_SETTLES_AFTER);
    assert!(erased.erasure_finished(Timestamp::from_millis(settles.as_millis() - 1)).is_err());
    erased.erasure_finished(settles).unwrap();
    assert!(erased.erasure_finished(settles).is_err());
    assert!(sale().erasure_finished(settles).is_err());
    let delivered = Sale { fulfilment: Fulfilment::Ready { at: at(0), archived: true }, ..sale() };
    let mailed = Sale { mail: Mail::Sent { at: at(1) }, ..sale() };
    let refunded = Sale { money: Money::Refunded { at: at(1) }, ..sale() };
    let sent_again = Sale { sent_again: true, ..sale() };
    let followup = Sale { session_id: sale().session_id.followup(), ..sale() };
    assert!(followup.is_followup());
    for served in [delivered, mailed, refunded, sent_again, followup] {
        assert!(!served.is_owed(), "{served:?}");
    }
}

/// The money comes back after the erasure, when nothing else remembers that nothing was delivered.
#[test]
fn what_is_erased_during_a_dispute_is_owed_once_the_dispute_is_won() {
    use crate::money::{DisputeStatus, ObjectId, PaymentId, PaymentReport};
    let payment = PaymentId::parse("pi_1").unwrap();
    let report = |status, seconds| {
        let id = ObjectId::parse("du_1").unwrap();
        PaymentReport::Dispute { id, status, respond_by: None, at: at(seconds) }
    };
    let failed = Fulfilment::Failed { reason: "x".into(), at: at(1) };
    let delivered = Fulfilment::Ready { at: at(1), archived: true };
    for (fulfilment, work) in [(failed, Some(Work::Owed)), (delivered, None)] {
        let mut sale = Sale { fulfilment, ..sale() };
        sale.payment_reported(&payment, &report(DisputeStatus::UnderReview, 2), charge(), at(2)).unwrap();
        sale.erase(&Operator::parse("o", None).unwrap(), at(3)).unwrap();
        sale.erasure_finished(at(3).plus(ERASURE_SETTLES_AFTER)).unwrap();
        assert_eq!((sale.is_owed(), sale.open_work()), (false, None), "the bank has the money");
        sale.payment_reported(&payment, &report(DisputeStatus::Won, 4), charge(), at(4)).unwrap();
        assert_eq!((sale.is_owed(), sale.open_work().map(|open| open.work)), (work.is_some(), work));
    }
}

#[test]
fn every_attempt_at_a_refund_that_stripe_failed_has_another_key() {
    let authorisation = crate::money::Authorisation::parse("o", "r").unwrap();
    let mut sale = sale();
    sale.refund_authorised(&authorisation, charge(), at(1)).unwrap();
    assert!(sale.refund_authorised(&authorisation, charge(), at(1)).is_err());
    assert_eq!(sale.refund_key(), "refund-cs_test_1");
    let id = crate::money::ObjectId::parse("re_1").unwrap();
    let status = crate::money::RefundStatus::Failed;
    let bounced = RefundAnswer::Bounced { code: "closed", id: &id, amount: Some(100), status };
    for (answer, key, chased) in [
        (RefundAnswer::Pending, "refund-cs_test_1", 1),
        (RefundAnswer::Refused("balance"), "refund-cs_test_1-1", 2),
        (RefundAnswer::Refused("balance"), "refund-cs_test_1-2", 3),
        (bounced, "refund-cs_test_1-3", 3),
    ] {
        sale.refund_answered(answer, charge(), at(2)).unwrap();
        assert_eq!((sale.refund_key().as_str(), sale.chased), (key, chased));
    }
    assert_eq!(sale.money.as_str(), "refund failed");
    sale.refund_authorised(&authorisation, charge(), at(3)).unwrap();
    assert_eq!((sale.chased, sale.reminded_at), (0, None));
    let operator = Operator::parse("o", None).unwrap();
    sale.refunded_by_hand(&operator, at(4)).unwrap();
    assert_eq!((sale.refunded_at(), sale.refund_key().as_str()), (Some(at(4)), "refund-cs_test_1-4"));
    assert!(sale.refunded_by_hand(&operator, at(5)).is_err());
}
