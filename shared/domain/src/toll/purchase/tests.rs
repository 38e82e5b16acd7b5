//! The table of stages, step by step.

use super::*;
use serde_json::Value;
use std::time::Duration;

fn purchase() -> Purchase {
    let signed = SignedPayment {
        version: 2,
        payload: Value::Null,
        requirements: Value::Null,
        network: "eip155:84532".to_owned(),
        amount: 50_000,
        payer: "0x1".to_owned(),
        nonce: "0x2".to_owned(),
        valid_before: at(100),
    };
    let id = purchase_id(&"a".repeat(64)).unwrap();
    Purchase::new(id, Offer::Query, "f".to_owned(), "q".to_owned(), Paid::Signed(Box::new(signed)), at(10))
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

fn answered() -> Answered {
    Answered { body: "{}".to_owned(), facts: Value::Null, at: at(20) }
}

const LEASE: Duration = Duration::from_secs(30);

#[test]
fn one_invocation_makes_the_answer_and_another_follows_it_when_it_dies() {
    let mut purchase = purchase();
    assert_eq!(purchase.claim("one", at(10), LEASE), Claimed::Granted);
    assert_eq!(purchase.claim("two", at(39), LEASE), Claimed::Busy);
    assert_eq!(purchase.claim("two", at(40), LEASE), Claimed::Granted);
    assert_eq!(purchase.answer("one", answered(), at(41)), Err(Refused));
    assert_eq!(purchase.give_up("one"), Err(Refused));
    assert_eq!(purchase.answer("two", answered(), at(41)), Ok(()));
    assert_eq!(purchase.claim("three", at(99), LEASE), Claimed::Ended);
}

#[test]
fn what_is_settled_is_never_lapsed_and_money_without_an_answer_is_owed() {
    let mut paid = purchase();
    paid.claim("one", at(10), LEASE);
    paid.answer("one", answered(), at(20)).unwrap();
    assert_eq!(paid.next(), Some((List::Machines, at(80))));
    assert_eq!(paid.settled("0xt", false, at(21)), Ok(false));
    assert_eq!((paid.lapse(at(200)), paid.settled("0xu", true, at(22))), (Err(Refused), Err(Refused)));
    assert_eq!(paid.next(), Some((List::Machines, at(141))));
    assert_eq!(paid.doubt(at(3620)), Ok(false));
    assert_eq!(paid.doubt(at(3621)), Ok(true));
    assert_eq!(paid.next(), Some((List::Humans, at(21))));
    let mut by_hand = paid.clone();
    by_hand.resolve().unwrap();
    assert_eq!((by_hand.next(), by_hand.resolve()), (None, Err(Refused)));
    paid.confirm("0xt").unwrap();
    assert_eq!(paid.next(), None);

    let mut unanswered = purchase();
    assert_eq!(unanswered.next(), Some((List::Machines, at(160))));
    unanswered.lapse(at(160)).unwrap();
    assert_eq!(unanswered.next(), None);
    assert_eq!(unanswered.settled("0xt", true, at(161)), Ok(true));
    assert_eq!(unanswered.next(), Some((List::Humans, at(161))));
    unanswered.resolve().unwrap();
    assert_eq!((unanswered.next(), unanswered.resolve()), (None, Err(Refused)));
}

#[test]
fn a_purchase_is_named_by_a_digest() {
    for digest in ["", "a", &"A".repeat(64), &"g".repeat(64), &"a".repeat(65)] {
        assert_eq!(purchase_id(digest), Err(InvalidPurchase));
    }
    let id = purchase_id(&"0".repeat(64)).unwrap();
    assert!(!id.looks_issued(), "it opens no page");
}

#[test]
fn a_signature_is_not_shown() {
    assert!(!format!("{:?}", purchase()).contains("payload"));
}

/// Otherwise the payer would be asked for a second payment while the first may be made.
#[test]
fn a_refusal_after_an_unknown_outcome_is_no_refusal() {
    let problem = |is_refusal| Problem { why: "why".to_owned(), is_refusal };
    let refused = |purchase: &Purchase| {
        let Stage::Settling { problem, .. } = purchase.stage() else { panic!("{:?}", purchase.stage()) };
        problem.as_ref().is_some_and(|problem| problem.is_refusal)
    };
    let settling = || {
        let mut purchase = purchase();
        purchase.claim("one", at(10), LEASE);
        purchase.answer("one", answered(), at(20)).unwrap();
        purchase
    };
    let mut clear = settling();
    for _ in 0..3 {
        clear.not_settled(problem(true)).unwrap();
        assert!(refused(&clear), "refused each time");
        clear.settle_again(at(30)).unwrap();
    }
    let mut lost = settling();
    lost.not_settled(problem(false)).unwrap();
    lost.settle_again(at(30)).unwrap();
    lost.not_settled(problem(true)).unwrap();
    assert!(!refused(&lost), "the first attempt may have settled it");
    let mut crashed = settling();
    crashed.settle_again(at(30)).unwrap();
    crashed.not_settled(problem(true)).unwrap();
    assert!(!refused(&crashed), "nobody knows what came of the first attempt");
    let mut crashed_later = settling();
    crashed_later.not_settled(problem(true)).unwrap();
    crashed_later.settle_again(at(30)).unwrap();
    crashed_later.settle_again(at(40)).unwrap();
    crashed_later.not_settled(problem(true)).unwrap();
    assert!(!refused(&crashed_later), "nobody knows what came of the second attempt");
    crashed_later.not_settled(problem(true)).unwrap();
    assert!(refused(&crashed_later), "the second attempt was only slow, and was refused too");
}

/// A row of an earlier version has no count of refusals. Its next refusal is taken for an unknown outcome.
#[test]
fn a_settlement_that_an_earlier_version_stored_is_read() {
    let mut settling = purchase();
    settling.claim("one", at(10), LEASE);
    settling.answer("one", answered(), at(20)).unwrap();
    settling.not_settled(Problem { why: "why".to_owned(), is_refusal: true }).unwrap();
    let mut stored = serde_json::to_value(&settling).unwrap();
    stored["stage"].as_object_mut().unwrap().remove("refused");
    let mut read: Purchase = serde_json::from_value(stored).unwrap();
    read.settle_again(at(30)).unwrap();
    read.not_settled(Problem { why: "why".to_owned(), is_refusal: true }).unwrap();
    let Stage::Settling { attempts: 2, problem: Some(problem), .. } = read.stage() else { panic!("{read:?}") };
    assert!(!problem.is_refusal);
}

#[test]
fn a_purchase_shows_what_it_is_for_and_what_it_reached() {
    let mut paid = purchase();
    assert!(paid.is_for("f") && !paid.is_for("g"));
    assert_eq!((paid.query_hash(), paid.stream()), ("q", paid.id().as_str().to_owned()));
    assert!(paid.signed().is_some_and(|signed| signed.nonce == "0x2"));
    assert_eq!((paid.transaction(), paid.answered()), (None, None));
    paid.claim("one", at(10), LEASE);
    paid.answer("one", answered(), at(20)).unwrap();
    assert_eq!((paid.transaction(), paid.answered()), (None, Some(&answered())));
    paid.settled("0xt", true, at(21)).unwrap();
    assert_eq!((paid.transaction(), paid.answered()), (Some("0xt"), Some(&answered())));
    assert_eq!(format!("{:?}", answered()), "Answered(2 bytes)");
    assert_eq!([List::Machines, List::Humans].map(List::as_str), ["TOLL", "TOLL_HUMAN"]);
}

#[test]
fn repeated_requests_are_recorded_up_to_their_limit() {
    let mut paid = purchase();
    for count in 1..=MOST_RECORDED {
        assert!(paid.repeat(), "{count}");
    }
    assert!(!paid.repeat());
}

#[test]
fn records_are_appended_to_the_purchase_s_own_trail() {
    let mut paid = purchase();
    let entry = crate::sale::AuditEntry { key: "k".to_owned(), line: "{}".to_owned(), measurements: Vec::new() };
    let head = crate::sale::AuditHead { opened: "2026-01-01".to_owned(), count: 1, hash: "h".to_owned() };
    paid.trail_mut().append(entry.clone(), head.clone());
    assert_eq!((paid.trail().outbox(), paid.trail().head()), (&[entry][..], Some(&head)));
}
