//! The conditions of single transitions that differ in one fact.
//! The file has more than 300 lines because it has a short test for each condition.

use super::*;
use crate::{
    Tier,
    audit_trail::{AuditTrail, Audited},
    money::{Authorisation, PaymentReport, RefundStatus},
    open_work::Work,
};

fn ready() -> Sale {
    Sale { fulfilment: Fulfilment::Ready { at: at(0), archived: true }, ..sale() }
}

#[test]
fn a_follow_up_is_offered_after_a_kept_strategy_session_with_a_verdict_and_to_nobody_else() {
    let offered = || Sale { tier: Some(Tier::Strategy), ..ready() };
    assert!(offered().offers_followup());
    let others = [
        Sale { tier: Some(Tier::Full), ..offered() },
        Sale { tier: None, ..offered() },
        Sale { smoke: true, ..offered() },
        Sale { money: Money::Refunded { at: at(1) }, ..offered() },
        Sale { fulfilment: Fulfilment::Ordered { at: at(0) }, ..offered() },
        Sale { fulfilment: offered().fulfilment, tier: Some(Tier::Strategy), ..offered().ordered_followup(at(1)) },
    ];
    for sale in others {
        assert!(!sale.offers_followup(), "{:?} {:?} {:?}", sale.tier, sale.money, sale.fulfilment);
    }
}

#[test]
fn declined_follow_ups_and_retrievals_are_counted_up_to_their_limit() {
    let mut sale = ready();
    for count in 1..=MAX_RECORDED_DECLINES {
        decline_followup(&mut sale).unwrap();
        assert_eq!(sale.followups_declined, count);
    }
    assert!(decline_followup(&mut sale).is_err());
    for count in 1..=MAX_RECORDED_RETRIEVALS {
        sale.serve(Some("1")).unwrap();
        assert_eq!(sale.retrievals(), count);
    }
    assert!(sale.serve(None).is_err());
    // What a block list changes is recorded once more, also while two releases serve with a list each.
    assert!(["1", "2"].into_iter().all(|list| sale.serve(Some(list)).is_ok()));
    assert!(["1", "2", "1"].into_iter().all(|list| sale.serve(Some(list)).is_err()));
}

#[test]
fn a_message_that_a_queue_refuses_is_reported_once_and_only_while_work_is_due() {
    let mut sale = sale();
    let open = sale.open_work().unwrap();
    assert_eq!(open.work, Work::InFlight);
    let due = open.due;
    assert!(sale.chase_refused(at(1)).is_err(), "not due");
    assert_eq!(sale.chase_refused(due), Ok(()));
    assert_eq!(sale.chased(), 1);
    assert!(sale.chase_refused(at(1_000_000)).is_err(), "reported");
    let mut held =
        Sale { fulfilment: Fulfilment::InReview { gate: crate::Gate::BeforeCache, at: at(0) }, ..super::sale() };
    assert!(held.chase_refused(at(100_000_000)).is_err(), "a human's work");
}

#[test]
fn a_mail_goes_early_once_for_each_scheduled_attempt_and_not_before_the_mailbox_allows() {
    let retrying = |progress: Progress| Sale { mail: Mail::Retrying { due: at(300), progress }, ..ready() };
    let early = |sale: &mut Sale| sale.claim_mail_early(Letter::Verdict, "a", at(100), LEASE);
    let mut sale = retrying(Progress::default());
    assert_eq!(early(&mut sale), Claim::Granted);
    assert_eq!(sale.delivering(Letter::Verdict, "a").unwrap().early, Some(at(300)));
    assert_eq!(early(&mut retrying(Progress { early: Some(at(300)), ..Progress::default() })), Claim::NotYet(at(300)));
    let failed = |seconds| Progress { failed_at: Some(at(seconds)), ..Progress::default() };
    assert_eq!(early(&mut retrying(failed(101))), Claim::NotYet(at(300)));
    assert_eq!(early(&mut retrying(failed(100))), Claim::Granted);
    // An attempt at its time is no early one, and the mark of an earlier one ends with it.
    let mut sale = retrying(Progress { early: Some(at(300)), ..Progress::default() });
    assert_eq!(sale.claim_mail(Letter::Verdict, "a", at(300), LEASE), Claim::Granted);
    assert_eq!(sale.delivering(Letter::Verdict, "a").unwrap().early, None);
    let mut sale = retrying(Progress { early: Some(at(400)), ..Progress::default() });
    assert_eq!(sale.claim_mail(Letter::Verdict, "a", at(300), LEASE), Claim::Granted);
    assert_eq!(sale.delivering(Letter::Verdict, "a").unwrap().early, Some(at(400)));
}

#[test]
fn only_the_first_delivery_of_a_verdict_is_measured() {
    let sent = |letter, sale: Sale| {
        let mut sale = sale;
        assert_eq!(sale.claim_mail(letter, "a", at(7), LEASE), Claim::Granted);
        match sale.mail_sent(letter, "a", at(9)).unwrap() {
            Event::MailSent { waited_ms, .. } => waited_ms,
            event => panic!("{event:?}"),
        }
    };
    assert_eq!(sent(Letter::Verdict, ready()), Some(9_000));
    assert_eq!(sent(Letter::Verdict, Sale { sent_again: true, ..ready() }), None);
    assert_eq!(sent(Letter::Divergence, Sale { divergence: Mail::Ordered, ..ready() }), None);
}

#[test]
fn another_worker_records_nothing_and_a_second_draft_is_refused() {
    let draft = |id: &str| Draft { id: id.into(), internet_message_id: format!("<{id}@x>") };
    let mut sale = ready();
    sale.claim_mail(Letter::Verdict, "a", at(0), LEASE);
    assert!(sale.mail_drafted(Letter::Verdict, "b", &draft("1"), &rendered()).is_err());
    sale.mail_drafted(Letter::Verdict, "a", &draft("1"), &rendered()).unwrap();
    assert!(sale.mail_drafted(Letter::Verdict, "a", &draft("2"), &rendered()).is_err());
    let mut refunded = ready();
    refunded.claim_mail(Letter::Verdict, "a", at(0), LEASE);
    refunded.money = Money::Refunded { at: at(1) };
    assert!(refunded.mail_drafted(Letter::Verdict, "a", &draft("1"), &rendered()).is_err());
}

#[test]
fn a_refund_that_bounces_is_counted_once_and_reminds_anew() {
    let id = crate::money::ObjectId::parse("re_1").unwrap();
    let payment = crate::money::PaymentId::parse("pi_1").unwrap();
    let report = |status, seconds| PaymentReport::Refund { id: id.clone(), amount: Some(100), status, at: at(seconds) };
    let authorisation = Authorisation::by_policy("p", "r").unwrap();
    let mut sale = ready();
    sale.refund_authorised(&authorisation, charge(), at(1)).unwrap();
    sale.refund_answered(RefundAnswer::Confirmed, charge(), at(2)).unwrap();
    sale.reminded_at = Some(at(2));
    sale.payment_reported(&payment, &report(RefundStatus::Succeeded, 3), charge(), at(3)).unwrap();
    assert_eq!((sale.refund_attempts, sale.reminded_at), (0, Some(at(2))));
    let event = sale.payment_reported(&payment, &report(RefundStatus::Failed, 4), charge(), at(4)).unwrap();
    let Event::PaymentChanged { returned, .. } = event else { panic!("{event:?}") };
    assert_eq!((sale.refund_attempts, sale.reminded_at, returned), (1, None, None));
    assert!(matches!(sale.money, Money::RefundFailed { .. }));
    // Reported again, it changes nothing.
    assert!(sale.payment_reported(&payment, &report(RefundStatus::Failed, 5), charge(), at(5)).is_err());
    assert_eq!(sale.refund_attempts, 1);
}

/// Otherwise a refund that was made again, or by hand, is asked for once more, and the customer has the money twice.
#[test]
fn a_late_report_of_a_bounce_undoes_no_refund_that_followed() {
    use crate::money::{ObjectId, PaymentId};
    let (payment, id) = (PaymentId::parse("pi_1").unwrap(), ObjectId::parse("re_1").unwrap());
    let (amount, status) = (Some(100), RefundStatus::Failed);
    let late = PaymentReport::Refund { id: id.clone(), amount, status, at: at(9) };
    let authorisation = Authorisation::parse("o", "r").unwrap();
    let operator = Operator::parse("o", None).unwrap();
    let mut under_way = ready();
    under_way.refund_authorised(&authorisation, charge(), at(1)).unwrap();
    let mut bounced = under_way.clone();
    bounced.refund_answered(RefundAnswer::Bounced { code: "x", id: &id, amount, status }, charge(), at(2)).unwrap();
    let mut asked_again = bounced.clone();
    asked_again.refund_authorised(&authorisation, charge(), at(3)).unwrap();
    let mut made_again = asked_again.clone();
    made_again.refund_answered(RefundAnswer::Confirmed, charge(), at(4)).unwrap();
    for sale in [&mut bounced.clone(), &mut asked_again, &mut made_again] {
        let before = sale.clone();
        let known = sale.payment_reported(&payment, &late, charge(), at(9));
        assert!(known.is_err(), "Stripe's answer had it: {before:?}");
        assert_eq!(*sale, before);
    }
    // The bounce is not known when the refund by hand is recorded.
    for mut by_hand in [under_way, bounced] {
        by_hand.refunded_by_hand(&operator, at(5)).unwrap();
        let attempts = by_hand.refund_attempts;
        let other = PaymentReport::Refund { id: ObjectId::parse("re_2").unwrap(), amount, status, at: at(9) };
        by_hand.payment_reported(&payment, &other, charge(), at(9)).unwrap();
        assert_eq!((&by_hand.money, by_hand.refund_attempts), (&Money::Refunded { at: at(5) }, attempts));
        let stored = serde_json::to_string(&by_hand).unwrap();
        assert!(serde_json::from_str::<Sale>(&stored).unwrap().refunded_by_hand);
    }
    assert!(!ready().refunded_by_hand && serde_json::to_value(ready()).unwrap().get("refunded_by_hand").is_none());
}

/// A part was given back in Stripe's dashboard: Stripe is still asked for the rest.
#[test]
fn a_part_that_bounces_ends_no_refund_of_ours() {
    use crate::money::{DisputeStatus, ObjectId, PaymentId};
    let payment = PaymentId::parse("pi_1").unwrap();
    let id = |text: &str| ObjectId::parse(text).unwrap();
    let refund = |name: &str, amount, status| PaymentReport::Refund { id: id(name), amount, status, at: at(5) };
    let part = refund("re_part", Some(40), RefundStatus::Failed);
    let after = |reports: &[&PaymentReport]| {
        let mut sale = ready();
        sale.refund_authorised(&Authorisation::parse("o", "r").unwrap(), charge(), at(1)).unwrap();
        for report in reports {
            sale.payment_reported(&payment, report, charge(), at(6)).unwrap();
        }
        (sale.money.as_str(), sale.refund_attempts)
    };
    assert_eq!(after(&[&part]), ("refund authorised", 0));
    for amount in [Some(100), None] {
        assert_eq!(after(&[&refund("re_1", amount, RefundStatus::Failed)]), ("refund failed", 1), "{amount:?}");
    }
    let (open, respond_by) = (DisputeStatus::NeedsResponse, None);
    let dispute = |status, seconds| PaymentReport::Dispute { id: id("du_1"), status, respond_by, at: at(seconds) };
    let (opened, won) = (dispute(open, 5), dispute(DisputeStatus::Won, 6));
    for reports in [[&part, &opened, &won], [&opened, &part, &won]] {
        assert_eq!(after(&reports), ("refund authorised", 0), "{reports:?}");
    }
    // Together they were all of the payment, so what bounced is missing.
    let rest = refund("re_1", Some(60), RefundStatus::Succeeded);
    assert_eq!(after(&[&rest, &part]), ("refund failed", 1));
    let whole = PaymentReport::Charge { returned: 100, whole: true, at: at(4) };
    assert_eq!(after(&[&whole, &part]), ("refund failed", 1));
}

/// Otherwise a machine would refund what a human has given back in another way by then.
#[test]
fn a_refund_that_bounced_is_a_humans_again_after_a_dispute_that_is_won() {
    use crate::money::{DisputeStatus, ObjectId, PaymentId};
    let payment = PaymentId::parse("pi_1").unwrap();
    let id = |text: &str| ObjectId::parse(text).unwrap();
    let dispute =
        |status, seconds| PaymentReport::Dispute { id: id("du_1"), status, respond_by: None, at: at(seconds) };
    let (opened, won) = (dispute(DisputeStatus::NeedsResponse, 3), dispute(DisputeStatus::Won, 5));
    let bounce = PaymentReport::Refund { id: id("re_1"), amount: Some(100), status: RefundStatus::Failed, at: at(4) };
    let operator = Operator::parse("o", None).unwrap();
    let authorisation = Authorisation::by_policy("p", "r").unwrap();
    let ours = Money::RefundAuthorised { authorisation: authorisation.clone(), at: at(1) };
    // The other one was made in Stripe's dashboard.
    for (money, refund) in [(ours, Some(authorisation)), (Money::Refunded { at: at(1) }, None)] {
        for reports in [[&bounce, &opened], [&opened, &bounce]] {
            let what = format!("{money:?} {reports:?}");
            let mut sale = Sale { money: money.clone(), ..ready() };
            for report in reports {
                sale.payment_reported(&payment, report, charge(), at(6)).unwrap();
            }
            assert_eq!(sale.money, Money::Disputed { at: at(6), refund: refund.clone(), bounced: true }, "{what}");
            let mut by_hand = sale.clone();
            by_hand.refunded_by_hand(&operator, at(7)).unwrap();
            sale.payment_reported(&payment, &won, charge(), at(8)).unwrap();
            assert_eq!(sale.money, Money::RefundFailed { at: at(8), refund: refund.clone() }, "{what}");
            assert_eq!(sale.open_work().map(|open| open.work), Some(Work::RefundFailed), "{what}");
            assert_eq!(sale.refund_attempts, 1, "{what}: it bounced once");
            by_hand.payment_reported(&payment, &won, charge(), at(8)).unwrap();
            assert_eq!(by_hand.money, Money::Refunded { at: at(7) }, "{what}");
        }
    }
    // Without a bounced refund the bank decides, except about a follow-up, which stops with its session.
    let disputed = Money::Disputed { at: at(1), refund: None, bounced: false };
    let mut kept = Sale { money: disputed.clone(), ..ready() };
    assert!(kept.refunded_by_hand(&operator, at(2)).is_err());
    let mut followup = Sale { money: disputed, ..sale().ordered_followup(at(0)) };
    assert!(followup.refunded_by_hand(&operator, at(2)).is_ok());
}

#[test]
fn a_sale_is_published_when_neither_records_nor_alerts_wait() {
    let alert = || crate::Alert::about("t", crate::alert::Severity::Warn, at(1), "OPERATION", "-", "detail");
    let mut sale = sale();
    assert!(sale.trail().is_published());
    sale.trail_mut().keep_alerts([alert()]);
    assert!(!sale.trail().is_published());
    sale.trail_mut().outbox_mut().1.clear();
    assert!(sale.trail().is_published());
    let entry = AuditEntry { key: "k".into(), line: "{}".into(), measurements: Vec::new() };
    sale.trail_mut().append(entry, AuditHead { opened: "2026-01-01".into(), count: 1, hash: "h".into() });
    assert!(!sale.trail().is_published());
}

#[test]
fn a_declined_question_has_the_sentence_of_its_state() {
    use crate::{authority_state::State, texts};
    let sentence = |state: State, is_crisis| {
        let mut declined = declined().declined.unwrap();
        (declined.state, declined.is_crisis) = (state, is_crisis);
        declined.sentence()
    };
    assert_eq!(sentence(State::Blocked, true), texts::CRISIS);
    assert_eq!(sentence(State::RequiresSpecification, true), texts::CRISIS);
    assert_eq!(sentence(State::RequiresSpecification, false), texts::DECLINED_INCOMPLETE);
    assert_eq!(sentence(State::AmbiguousMapping, false), texts::DECLINED_INCOMPLETE);
    assert_eq!(sentence(State::RequiresOracleVerification, false), texts::DECLINED_UNVERIFIED);
    assert_eq!(sentence(State::Unresolvable, false), texts::DECLINED_UNREADABLE);
    assert_eq!(sentence(State::Blocked, false), texts::DECLINED);
    // Rows and replies have the same word.
    assert!(State::ALL.into_iter().all(|state| serde_json::json!(state) == state.as_str()));
}

#[test]
fn what_holds_a_sale_has_its_gate_and_decisions_have_names() {
    use super::super::event::HeldAt;
    use crate::Gate::{BeforeCache, BeforeDelivery};
    let gates = [HeldAt::BeforeCache, HeldAt::AuthorityGate, HeldAt::Page, HeldAt::Mail(Letter::Verdict)];
    assert_eq!(gates.map(HeldAt::gate), [BeforeCache, BeforeCache, BeforeDelivery, BeforeDelivery]);
    assert_eq!([Decision::Approve, Decision::Replace].map(Decision::as_str), ["approve", "replace"]);
}

#[test]
fn facts_are_those_of_the_record() {
    let alert = crate::Alert::about("t", crate::alert::Severity::Warn, at(1), "OPERATION", "-", "detail");
    let mut trail = AuditTrail::new();
    trail.keep_alerts([alert.clone()]);
    let sale = Sale {
        query_hash: Some("q".into()),
        locale: Some("fr".into()),
        amount_noted: true,
        regenerated_at: Some(at(3)),
        drop_recorded: true,
        reminded_at: Some(at(4)),
        chased: 2,
        retrievals: 5,
        sent_again: true,
        trail,
        ..ready()
    };
    assert_eq!((sale.query_hash(), sale.locale()), (Some("q"), Some("fr")));
    assert_eq!((sale.regenerated_at(), sale.reminded_at()), (Some(at(3)), Some(at(4))));
    assert_eq!((sale.chased(), sale.retrievals(), sale.alerts()), (2, 5, &[alert][..]));
    assert!(sale.is_amount_noted() && sale.is_drop_recorded() && sale.is_sent_again());
    let plain = ready();
    assert!(!plain.is_amount_noted() && !plain.is_drop_recorded() && !plain.is_sent_again());
    assert!(plain.payment().is_empty());
    let report = PaymentReport::Charge { returned: 1, whole: false, at: at(1) };
    let mut reported = ready();
    reported.payment.record_report(&report, Some(100));
    assert!(!reported.payment().is_empty());
    // A counter of zero is not stored.
    let stored = |sale: &Sale| serde_json::to_value(sale).unwrap();
    assert_eq!(stored(&sale)["chased"], 2);
    assert!(stored(&plain).get("followups_declined").is_none());
    let declined = stored(&Sale { followups_declined: 1, ..ready() });
    assert_eq!(declined["followups_declined"], 1);
}

#[test]
fn a_silent_drop_is_alerted_once_and_not_after_it_is_recorded() {
    let drop = || sale();
    let mut open = drop();
    assert!(open.is_drop_open());
    assert_eq!(open.drop_alerted(), Ok(()));
    assert!(open.drop_alerted().is_err(), "alerted");
    assert!(Sale { drop_recorded: true, ..drop() }.drop_alerted().is_err(), "recorded");
    assert!(ready().drop_alerted().is_err(), "no drop");
}

#[test]
fn a_different_regenerated_verdict_orders_one_note_to_who_has_the_first() {
    let first = |mail: Mail, divergence: Mail| Sale {
        regenerated_at: Some(at(2)),
        colour: Some(Colour::Green),
        mail,
        divergence,
        ..ready()
    };
    let divergence_of = |mut sale: Sale, colour| {
        sale.record_verdict(colour, "h", at(3));
        sale.divergence
    };
    let sent = || Mail::Sent { at: at(1) };
    assert_eq!(divergence_of(first(sent(), Mail::NotOrdered), Colour::Red), Mail::Ordered);
    assert_eq!(divergence_of(first(sent(), Mail::NotOrdered), Colour::Green), Mail::NotOrdered);
    assert_eq!(divergence_of(first(Mail::Ordered, Mail::NotOrdered), Colour::Red), Mail::NotOrdered);
    assert_eq!(divergence_of(first(sent(), sent()), Colour::Red), sent());
}

/// Regen Consistency, invariant 4: the mailed verdict is the original.
#[test]
fn a_regenerated_verdict_is_compared_with_the_one_that_is_mailed() {
    let draft = Draft { id: "1".into(), internet_message_id: "<1@x>".into() };
    let progress = Progress { draft: Some(draft), ..Progress::default() };
    let sending = |lease_until| Mail::Sending { owner: "a".into(), lease_until, progress: Progress::default() };
    for (mail, sent_again, is_mailed) in [
        (Mail::NotOrdered, false, false),
        (Mail::Ordered, false, false),
        (Mail::Held, false, false),
        (Mail::NoAddress, false, false),
        (Mail::Retrying { due: at(9), progress: Progress::default() }, false, false),
        (Mail::Retrying { due: at(9), progress: Progress::default() }, true, true),
        (Mail::Retrying { due: at(9), progress: progress.clone() }, false, true),
        (Mail::Dead { at: at(1), progress }, false, true),
        (sending(at(3)), false, false),
        // A worker may be sending the first one at this moment.
        (sending(at(4)), false, true),
        (Mail::Sent { at: at(1) }, false, true),
        (Mail::Unknown { at: at(1) }, false, true),
    ] {
        let what = format!("{mail:?}");
        let mut sale = Sale { regenerated_at: Some(at(2)), colour: Some(Colour::Green), mail, sent_again, ..ready() };
        let compared = sale.record_verdict(Colour::Red, "h", at(3)).unwrap();
        assert_eq!((compared.is_mailed, compared.is_announced()), (is_mailed, is_mailed), "{what}");
        let kept = if is_mailed { (Some(Colour::Green), Some(Colour::Red)) } else { (Some(Colour::Red), None) };
        assert_eq!((sale.colour, sale.page_colour), kept, "{what}");
    }
}

/// Regen Consistency, invariant 5: the draft of the first verdict leaves after the regeneration.
#[test]
fn a_mail_that_leaves_after_a_regeneration_orders_the_note_about_it() {
    let draft = Draft { id: "1".into(), internet_message_id: "<1@x>".into() };
    let drafted = || {
        let mut sale = Sale { colour: Some(Colour::Green), ..ready() };
        assert_eq!(sale.claim_mail(Letter::Verdict, "a", at(1), LEASE), Claim::Granted);
        sale.mail_drafted(Letter::Verdict, "a", &draft, &rendered()).unwrap();
        sale.regenerated_at = Some(at(2));
        sale
    };
    for (second, expected) in
        [(Colour::Red, Mail::Ordered), (Colour::Amber, Mail::NotOrdered), (Colour::Green, Mail::NotOrdered)]
    {
        let mut sale = drafted();
        sale.record_verdict(second, "h", at(3));
        assert_eq!(sale.divergence, Mail::NotOrdered, "{second:?}: nothing has left");
        sale.mail_sent(Letter::Verdict, "a", at(4)).unwrap();
        assert_eq!(sale.divergence, expected, "{second:?}");
    }
    let mut unknown = drafted();
    unknown.record_verdict(Colour::Red, "h", at(3));
    unknown.mail = Mail::Unknown { at: at(4) };
    let operator = Operator::parse("o", None).unwrap();
    let mut found = unknown.clone();
    found.settle_mails(&operator, MailOutcome::Sent, at(5)).unwrap();
    assert_eq!(found.divergence, Mail::Ordered);
    // The mail that is sent instead shows the new verdict.
    unknown.settle_mails(&operator, MailOutcome::NotSent, at(5)).unwrap();
    assert_eq!(unknown.claim_mail(Letter::Verdict, "b", at(6), LEASE), Claim::Granted);
    unknown.mail_drafted(Letter::Verdict, "b", &draft, &rendered()).unwrap();
    unknown.mail_sent(Letter::Verdict, "b", at(7)).unwrap();
    assert_eq!((unknown.divergence, unknown.colour, unknown.page_colour), (Mail::NotOrdered, Some(Colour::Red), None));
}

/// The customer has the first verdict by mail, and then the one that the page shows.
#[test]
fn a_mail_that_is_sent_once_more_is_not_the_original() {
    let mut sale = Sale { colour: Some(Colour::Green), mail: Mail::Sent { at: at(1) }, ..ready() };
    sale.send_again(&Operator::parse("o", Some("asked")).unwrap(), at(2)).unwrap();
    sale.regenerated_at = Some(at(3));
    sale.record_verdict(Colour::Red, "h", at(4));
    assert_eq!(sale.claim_mail(Letter::Verdict, "a", at(5), LEASE), Claim::Granted);
    let draft = Draft { id: "1".into(), internet_message_id: "<1@x>".into() };
    sale.mail_drafted(Letter::Verdict, "a", &draft, &rendered()).unwrap();
    sale.mail_sent(Letter::Verdict, "a", at(6)).unwrap();
    assert_eq!((sale.divergence, sale.colour), (Mail::Ordered, Some(Colour::Green)));
}

#[test]
fn the_page_orders_only_a_new_sale_or_one_that_nobody_works_on() {
    assert!(sale().order_again(at(0)).is_ok(), "new");
    assert!(sale().order_again(at(1)).is_err(), "a minute has not passed");
    assert!(sale().order_again(at(60)).is_ok());
    let mut claimed = sale();
    claimed.claim("a", Claimant::Customer, at(0), LEASE);
    assert!(claimed.clone().order_again(at(99)).is_err());
    assert!(claimed.order_again(at(100)).is_ok());
}

#[test]
fn a_failed_sale_is_tried_again_with_or_without_a_submission_and_an_unusable_one_only_with() {
    let operator = Operator::parse("o", None).unwrap();
    let failed = || Sale { fulfilment: Fulfilment::Failed { reason: "x".into(), at: at(1) }, ..sale() };
    let unusable = || Sale { fulfilment: Fulfilment::Unusable { at: at(1) }, ..sale() };
    for (mut sale, resubmits, is_tried) in [
        (failed(), false, true),
        (failed(), true, true),
        (unusable(), false, false),
        (unusable(), true, true),
        (Sale { resubmitted: true, ..unusable() }, false, true),
        (ready(), true, false),
    ] {
        assert_eq!(sale.reattempt(&operator, resubmits, at(2)).is_ok(), is_tried, "{:?} {resubmits}", sale.fulfilment);
    }
}

#[test]
fn refunded_money_stays_refunded_since_then_and_only_a_bounce_fails_a_refund() {
    let payment = crate::money::PaymentId::parse("pi_1").unwrap();
    let object = |name| crate::money::ObjectId::parse(name).unwrap();
    let dispute = PaymentReport::Dispute {
        id: object("du_1"),
        status: crate::money::DisputeStatus::NeedsResponse,
        respond_by: None,
        at: at(3),
    };
    let whole =
        PaymentReport::Refund { id: object("re_1"), amount: Some(100), status: RefundStatus::Succeeded, at: at(4) };
    let part = PaymentReport::Charge { returned: 1, whole: false, at: at(5) };
    let mut sale = Sale { money: Money::Refunded { at: at(2) }, ..ready() };
    for report in [&dispute, &whole] {
        sale.payment_reported(&payment, report, charge(), at(6)).unwrap();
        assert_eq!(sale.money, Money::Refunded { at: at(2) }, "{report:?}");
    }
    let authorised = Money::RefundAuthorised { authorisation: Authorisation::by_policy("p", "r").unwrap(), at: at(1) };
    let mut sale = Sale { money: authorised.clone(), ..ready() };
    sale.payment_reported(&payment, &part, charge(), at(6)).unwrap();
    assert_eq!(sale.money, authorised);
}
