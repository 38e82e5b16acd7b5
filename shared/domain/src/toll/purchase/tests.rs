//! The table of stages, step by step.
//! The file has more than 300 lines because every stage and each way of paying has a short test of its own.

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

fn transferred() -> Purchase {
    let paid = Paid::Transferred { transaction: "0xt".to_owned(), payer: "0x0".to_owned(), network: "n".to_owned() };
    Purchase { paid, ..purchase() }
}

fn part(payer: u32, amount: u64) -> PaidBy {
    PaidBy { payer: format!("0x{payer}"), amount }
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
    assert_eq!(purchase.claim("one", at(10), LEASE, Value::Null), Claimed::Granted);
    assert_eq!(purchase.claim("two", at(39), LEASE, Value::Null), Claimed::Busy);
    assert_eq!(purchase.claim("two", at(40), LEASE, Value::Null), Claimed::Granted);
    assert_eq!(purchase.answer("one", answered(), at(41)), Err(Refused));
    assert_eq!(purchase.give_up("one", true), Err(Refused));
    assert_eq!(purchase.answer("two", answered(), at(41)), Ok(()));
    assert_eq!(purchase.claim("three", at(99), LEASE, Value::Null), Claimed::Ended);
}

#[test]
fn what_is_settled_is_never_lapsed_and_money_without_an_answer_is_owed() {
    let mut paid = purchase();
    paid.claim("one", at(10), LEASE, Value::Null);
    paid.answer("one", answered(), at(20)).unwrap();
    assert_eq!(paid.next(), Some((List::Machines, at(80))));
    assert_eq!(paid.settled("0xt", false, at(21)), Ok(false));
    assert_eq!((paid.lapse(at(200), false), paid.settled("0xu", true, at(22))), (Err(Refused), Err(Refused)));
    assert_eq!(paid.next(), Some((List::Machines, at(141))));
    assert_eq!(paid.doubt(at(3620)), Ok(false));
    assert_eq!(paid.doubt(at(3621)), Ok(true));
    assert_eq!(paid.next(), Some((List::Humans, at(21))));
    let mut by_hand = paid.clone();
    by_hand.resolve().unwrap();
    assert_eq!((by_hand.next(), by_hand.resolve()), (None, Err(Refused)));
    let Stage::Settled { confirmed: false, resolved: true, .. } = by_hand.stage() else { panic!("{by_hand:?}") };
    assert_eq!(paid.clone().confirm("0xu"), Ok(Some("0xt".to_owned())), "another transaction took its place");
    assert_eq!(paid.confirm("0xt"), Ok(None));
    assert_eq!(paid.next(), None);

    let mut unanswered = purchase();
    assert_eq!(unanswered.next(), Some((List::Machines, at(160))));
    unanswered.lapse(at(160), false).unwrap();
    assert_eq!(unanswered.next(), None);
    assert_eq!(unanswered.settled("0xt", true, at(161)), Ok(true));
    assert_eq!(unanswered.next(), Some((List::Humans, at(161))));
    unanswered.resolve().unwrap();
    assert_eq!((unanswered.next(), unanswered.resolve()), (None, Err(Refused)));

    let mut untraced = purchase();
    untraced.lapse(at(160), true).unwrap();
    assert_eq!(untraced.next(), Some((List::Humans, at(160))), "the money may be here");
    untraced.resolve().unwrap();
    assert_eq!((untraced.next(), untraced.resolve()), (None, Err(Refused)));
}

#[test]
fn a_purchase_is_named_by_a_digest() {
    for digest in ["", "a", &"A".repeat(64), &"g".repeat(64), &"a".repeat(65)] {
        assert_eq!(purchase_id(digest), Err(InvalidPurchase));
    }
    let id = purchase_id(&"0".repeat(64)).unwrap();
    assert!(!id.looks_issued(), "it opens no page");
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
        purchase.claim("one", at(10), LEASE, Value::Null);
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

/// A sale with a doubt that a human has dealt with, and a lapsed purchase, as an earlier version stored them.
#[test]
fn the_stages_of_an_earlier_version_are_read() {
    let answer = serde_json::to_value(answered()).unwrap();
    for stage in [
        serde_json::json!({
            "is": "settled", "answer": answer, "transaction": "0xt", "at": 21, "confirmed": true, "doubtful": false,
        }),
        serde_json::json!({ "is": "lapsed", "at": 21 }),
    ] {
        let mut stored = serde_json::to_value(purchase()).unwrap();
        stored["stage"] = stage;
        let read: Purchase = serde_json::from_value(stored).unwrap();
        assert_eq!(read.next(), None);
    }
}

/// A row is limited, and the sum shows that more is owed than is named.
#[test]
fn the_payers_of_a_transaction_are_kept_with_their_sum() {
    let one = transferred().of_payers(&[part(0, 75_000)]);
    assert!(one.payers().is_empty() && (one.dollars() - 0.075).abs() < f64::EPSILON);
    assert!(matches!(one.paid(), Paid::Transferred { payer, .. } if payer == "0x0"));
    let parts: Vec<_> = (0..101).map(|payer| part(payer, 50_000)).collect();
    let many = transferred().of_payers(&parts);
    assert_eq!(many.payers(), parts[..100]);
    assert!((many.dollars() - 5.05).abs() < 1e-9);
    let stored = serde_json::to_value(&many).unwrap();
    assert_eq!(serde_json::from_value::<Purchase>(stored).unwrap(), many);
    assert!(purchase().of_payers(&parts).payers().is_empty(), "a signed payment has one payer");
}

/// It saves only the fields that it knows. Without its payers, the row would say to give the whole sum back to one.
#[test]
fn an_earlier_version_keeps_the_payers_of_a_transaction() {
    let known = "id offer fingerprint query_hash paid transferred received_at stage looked_at reminded_at repeated \
                 unanswered audit outbox alerts";
    let known: Vec<_> = known.split(' ').collect();
    let parts = [part(1, 60_000), part(2, 1_000_000)];
    let mut owed = transferred().of_payers(&parts);
    owed.settled("0xt", true, at(21)).unwrap();
    let mut stored = serde_json::to_value(&owed).unwrap();
    stored.as_object_mut().unwrap().retain(|name, _| known.contains(&name.as_str()));
    let paid = stored["paid"]["transferred"].as_object_mut().unwrap();
    paid.retain(|name, _| ["transaction", "payer", "network"].contains(&name.as_str()));
    assert_eq!(paid["payer"], "0x1 0.060000, 0x2 1.000000", "what the earlier version shows");
    let read: Purchase = serde_json::from_value(stored).unwrap();
    assert_eq!((read.payers(), &read), (parts.to_vec(), &owed));
}

/// Otherwise the evaluation of a question whose process died would leave no record.
#[test]
fn a_claim_has_its_evaluation() {
    let mut claimed = purchase();
    claimed.claim("one", at(10), LEASE, "e".into());
    let mut stored = serde_json::to_value(&claimed).unwrap();
    assert_eq!(stored["stage"]["evaluation"], "e");
    assert_eq!(serde_json::from_value::<Purchase>(stored.clone()).unwrap(), claimed);
    stored["stage"].as_object_mut().unwrap().remove("evaluation").unwrap();
    let earlier: Purchase = serde_json::from_value(stored).unwrap();
    assert!(
        matches!(earlier.stage(), Stage::Working { evaluation: None, .. }),
        "a claim of an earlier version has none"
    );
}

/// The schedule looks at nothing that an invocation still works on, even if the payment has expired meanwhile.
#[test]
fn a_claim_is_left_alone_until_its_lease_ends() {
    let mut claimed = purchase();
    claimed.claim("one", at(150), LEASE, Value::Null);
    assert_eq!(claimed.lapses_at(), at(160));
    assert_eq!(claimed.next(), Some((List::Machines, at(180))));
    assert!(claimed.is_held(at(179)) && !claimed.is_held(at(180)));
}

/// Otherwise the ones at the head of a list would keep the schedule from all others.
#[test]
fn a_purchase_that_was_looked_at_in_vain_is_due_a_minute_later() {
    let mut looked = purchase();
    looked.looked(at(130));
    assert_eq!(looked.next(), Some((List::Machines, at(190))));
    looked.looked(at(50));
    assert_eq!(looked.next(), Some((List::Machines, at(160))), "not before its time");
}

#[test]
fn it_waits_for_a_human_until_somebody_decides() {
    let mut owed = purchase();
    owed.settled("0xt", true, at(21)).unwrap();
    assert_eq!(owed.next(), Some((List::Humans, at(21))));
    // An earlier version stored the time of its last reminder.
    let mut row = serde_json::to_value(&owed).unwrap();
    row["reminded_at"] = 99_000.into();
    assert_eq!(serde_json::from_value::<Purchase>(row).unwrap(), owed);
    owed.resolve().unwrap();
    assert_eq!(owed.next(), None);
}

#[test]
fn a_purchase_with_waiting_records_is_on_the_schedules_list() {
    let mut owed = purchase();
    owed.settled("0xt", true, at(21)).unwrap();
    let alert = crate::Alert::about("ORACLE-TOLL", crate::alert::Severity::Critical, at(21), "SETTLEMENT", "-", "-");
    owed.trail_mut().keep_alerts([alert]);
    assert_eq!((owed.next(), owed.due()), (Some((List::Machines, at(70))), Some((List::Humans, at(21)))));
    owed.looked(at(80));
    assert_eq!(owed.next(), Some((List::Machines, at(140))));
    owed.trail_mut().outbox_mut().1.clear();
    assert_eq!(owed.next(), Some((List::Humans, at(21))));
}

/// A row of an earlier version has no count of refusals. Its next refusal is taken for an unknown outcome.
#[test]
fn a_settlement_that_an_earlier_version_stored_is_read() {
    let mut settling = purchase();
    settling.claim("one", at(10), LEASE, Value::Null);
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
    paid.claim("one", at(10), LEASE, Value::Null);
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

/// Attempts without a model's reply are not counted. The schedule still asks the chain whether the payment reached us.
#[test]
fn a_purchase_gets_a_few_attempts_at_its_answer() {
    let mut unpaid = purchase();
    for count in 0..MOST_UNANSWERED {
        for is_counted in [false, true] {
            assert_eq!(unpaid.claim("one", at(10), LEASE, Value::Null), Claimed::Granted, "{count}");
            unpaid.give_up("one", is_counted).unwrap();
        }
    }
    assert!(unpaid.is_exhausted());
    assert_eq!(unpaid.claim("one", at(10), LEASE, Value::Null), Claimed::Ended);
    assert_eq!(unpaid.next(), Some((List::Machines, at(160))));
    let stored = serde_json::to_value(&unpaid).unwrap();
    assert!(serde_json::from_value::<Purchase>(stored).unwrap().is_exhausted());
    assert_eq!(unpaid.settled("0xt", true, at(161)), Ok(true), "it is owed");
}

#[test]
fn records_are_appended_to_the_purchase_s_own_trail() {
    let mut paid = purchase();
    let entry = crate::sale::AuditEntry { key: "k".to_owned(), line: "{}".to_owned(), measurements: Vec::new() };
    let head = crate::sale::AuditHead { opened: "2026-01-01".to_owned(), count: 1, hash: "h".to_owned() };
    paid.trail_mut().append(entry.clone(), head.clone());
    assert_eq!((paid.trail().outbox(), paid.trail().head()), (&[entry][..], Some(&head)));
}
