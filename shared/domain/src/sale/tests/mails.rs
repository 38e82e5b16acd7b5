//! The mails of a sale, and the customer's replies to them.

use super::*;

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
    let reply =
        Reply { message: "m".into(), at: at(2), from_buyer: None, settled_at: None, followup: None, is_report: false };
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
    assert!(minor.is_announced() && Comparison { first: None, ..minor }.is_announced(), "the page says it, no mail");
    assert!(!Comparison { second: Colour::Green, ..compared }.is_announced());
    assert!(!Comparison { is_mailed: false, ..compared }.is_announced());
}

#[test]
fn an_unknown_mail_is_sent_again_only_while_its_money_is_kept() {
    let operator = Operator::parse("o", None).unwrap();
    let unknown = Sale { mail: Mail::Unknown { at: at(1) }, ..sale() };
    let refunded = Sale { money: Money::Refunded { at: at(2) }, ..unknown.clone() };
    let mut kept = unknown.clone();
    kept.settle_mails(&operator, MailOutcome::NotSent, at(3)).unwrap();
    assert!(matches!(kept.mail, Mail::Retrying { .. }));
    let mut sale = refunded.clone();
    let refused = Err(Refused { part: Part::Money, from: "refunded", to: "sent again" });
    assert_eq!(sale.settle_mails(&operator, MailOutcome::NotSent, at(3)), refused);
    assert_eq!(sale, refunded);
    sale.settle_mails(&operator, MailOutcome::Sent, at(3)).unwrap();
    assert_eq!(sale.mail, Mail::Sent { at: at(3) });
    // The letter about the refund may be sent. The verdict's mail will not be: its claim asks for the money too.
    let mut both = Sale { refund_letter: Mail::Unknown { at: at(1) }, ..refunded };
    let event = both.settle_mails(&operator, MailOutcome::NotSent, at(3)).unwrap();
    assert_eq!(event, Event::MailsSettled(operator, vec![Letter::Verdict, Letter::Refund], MailOutcome::NotSent));
    assert_eq!(both.claim_mail(Letter::Verdict, "a", at(4), LEASE), Claim::Done);
    assert_eq!(both.claim_mail(Letter::Refund, "a", at(4), LEASE), Claim::Granted);
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

/// Rows without the flag, as they were stored before it, are replies, and a reply's row has no flag.
#[test]
fn a_report_says_that_it_is_no_reply_of_the_customer() {
    let stored = serde_json::to_value(reply(1)).unwrap();
    assert_eq!(stored.get("is_report"), None);
    assert_eq!(serde_json::from_value::<Reply>(stored).unwrap(), reply(1));
    let report = Reply { is_report: true, settled_at: Some(at(2)), ..reply(2) };
    assert_eq!(serde_json::from_value::<Reply>(serde_json::to_value(&report).unwrap()).unwrap(), report);
    let unreached = |replies| Sale { replies, ..sale() }.may_be_unreached();
    assert!(unreached(vec![report.clone()]));
    assert!(!unreached(vec![report, reply(1)]) && !unreached(Vec::new()));
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
