use super::*;
use proptest::prelude::*;

const LEASE: Duration = Duration::from_secs(40);

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(1_790_000_000 + seconds)
}

fn account() -> Account {
    Account::new(SubscriberId::parse("a".repeat(64)).unwrap())
}

fn id(n: u64) -> ExchangeId {
    ExchangeId::parse(format!("00000000-0000-4000-8000-{n:012}")).unwrap()
}

fn ask(n: u64, is_free: bool) -> Ask {
    let evaluation = Value::from(format!("evaluation {n}"));
    Ask { id: id(n), fingerprint: format!("text {n}"), owner: format!("owner {n}"), is_free, evaluation }
}

fn answered(account: &mut Account, n: u64, is_free: bool, now: Timestamp) {
    assert_eq!(account.claim(&ask(n, is_free), now, LEASE), Claimed::Granted);
    account.answer(&id(n), &format!("owner {n}"), format!("reply {n}"), now).unwrap();
}

#[test]
fn three_are_free_and_the_fourth_is_offered() {
    let mut account = account();
    for n in 1..=3 {
        assert_eq!(account.free_left(), 4 - n as u32);
        answered(&mut account, n, true, at(n as i64));
    }
    assert_eq!((account.free_left(), account.claim(&ask(4, true), at(5), LEASE)), (0, Claimed::UsedUp));
    assert_eq!(account.claim(&ask(2, true), at(6), LEASE), Claimed::Answered("reply 2".to_owned()));
    answered(&mut account, 5, false, at(7));
}

#[test]
fn a_place_is_reserved_while_a_reply_is_made_and_given_back_without_one() {
    let mut account = account();
    for n in 1..=3 {
        assert_eq!(account.claim(&ask(n, true), at(0), LEASE), Claimed::Granted);
    }
    assert_eq!(account.claim(&ask(4, true), at(0), LEASE), Claimed::UsedUp);
    account.apologise(&id(1), "owner 1").unwrap();
    assert_eq!((account.free_left(), account.claim(&ask(1, true), at(1), LEASE)), (3, Claimed::Apologised));
    assert_eq!(account.claim(&ask(4, true), at(1), LEASE), Claimed::Granted);
    account.release(&id(4), "owner 4").unwrap();
    assert_eq!(account.exchange(&id(4)), None);
}

#[test]
fn who_comes_back_after_its_lease_neither_counts_twice_nor_past_three() {
    let mut account = account();
    assert_eq!(account.claim(&ask(1, true), at(0), LEASE), Claimed::Granted);
    assert_eq!(account.claim(&Ask { owner: "second".to_owned(), ..ask(1, true) }, at(39), LEASE), Claimed::Busy);
    // The process died: its place is free again, and other exchanges take it.
    for n in 2..=4 {
        answered(&mut account, n, true, at(50));
    }
    assert_eq!(account.answer(&id(1), "owner 1", "late".to_owned(), at(51)), Err(Refused), "never a fourth");
    assert_eq!(account.free_left(), 0);
    assert!(account.give_up(&id(1), at(52)) && !account.give_up(&id(1), at(52)));

    let mut account = super::tests::account();
    assert_eq!(account.claim(&ask(1, true), at(0), LEASE), Claimed::Granted);
    let second = Ask { owner: "second".to_owned(), ..ask(1, true) };
    assert_eq!(account.claim(&second, at(41), LEASE), Claimed::Granted);
    assert_eq!(account.answer(&id(1), "owner 1", "late".to_owned(), at(42)), Err(Refused));
    account.answer(&id(1), "second", "reply".to_owned(), at(42)).unwrap();
    assert_eq!(account.free_left(), 2);
}

#[test]
fn an_id_is_for_one_message() {
    let mut account = account();
    answered(&mut account, 1, true, at(0));
    let other = Ask { fingerprint: "another".to_owned(), ..ask(1, true) };
    assert_eq!(account.claim(&other, at(1), LEASE), Claimed::OtherMessage);
}

#[test]
fn a_reply_that_the_memory_lacks_is_kept_and_the_rest_make_room() {
    let mut account = account();
    for n in 1..=11 {
        answered(&mut account, n, false, at(n as i64));
        if n != 3 {
            account.logged(&id(n)).unwrap();
        }
    }
    for n in 12..=40 {
        answered(&mut account, n, false, at(n as i64));
        account.logged(&id(n)).unwrap();
    }
    assert_eq!(account.exchanges.len(), KEPT);
    assert_eq!(account.unlogged().map(|(id, ..)| id.clone()).collect::<Vec<_>>(), [id(3)]);
    assert_eq!(account.logged(&id(40)), Err(Refused));
}

#[test]
fn there_is_an_end_to_what_an_hour_and_a_moment_take() {
    let mut account = account();
    for n in 0..60 {
        answered(&mut account, n, false, at(n as i64));
        account.logged(&id(n)).unwrap();
    }
    let Claimed::TooMany(wait) = account.claim(&ask(60, false), at(100), LEASE) else { panic!("no limit") };
    assert_eq!(wait, Duration::from_secs(3500));
    for n in 61..=64 {
        assert_eq!(account.claim(&ask(n, false), at(3700), LEASE), Claimed::Granted);
    }
    assert!(matches!(account.claim(&ask(65, false), at(3700), LEASE), Claimed::TooMany(_)));
}

#[test]
fn an_erasure_leaves_what_is_counted_and_no_text() {
    let mut account = account();
    answered(&mut account, 1, true, at(0));
    assert_eq!(account.claim(&ask(2, true), at(1), LEASE), Claimed::Granted);
    let memory = account.memory();
    assert!(account.begin_erasure(at(0)) && !account.begin_erasure(at(0)));
    assert_eq!(account.claim(&ask(3, true), at(1), LEASE), Claimed::Erasing);
    assert_eq!((account.attempt_erasure(at(119)), account.attempt_erasure(at(120))), (None, Some(0)));
    assert_eq!(account.answer(&id(2), "owner 2", "late".to_owned(), at(2)), Err(Refused));
    let stored = serde_json::to_string(&account).unwrap();
    assert!(!stored.contains("reply 1") && !stored.contains("text 1"), "{stored}");
    account.erased().unwrap();
    assert_eq!((account.erased(), account.free_left()), (Err(Refused), 2));
    assert_ne!(account.memory(), memory);
    assert_eq!(account.claim(&ask(1, true), at(3), LEASE), Claimed::Erased);
}

proptest! {
    /// Any sequence of steps from any number of tabs gives at most three free replies, and counts each of them.
    #[test]
    fn never_a_fourth(steps in prop::collection::vec((0u64..8, 0u8..5, 0i64..30), 1..80)) {
        let (mut account, mut now, mut replies) = (account(), 0, std::collections::BTreeSet::new());
        for (n, what, passed) in steps {
            now += passed;
            let owner = format!("owner {n}");
            match what {
                0 | 1 => drop(account.claim(&ask(n, true), at(now), LEASE)),
                2 => if account.answer(&id(n), &owner, format!("reply {n}"), at(now)).is_ok() {
                    prop_assert!(replies.insert(n), "one reply for each id");
                },
                3 => drop(account.apologise(&id(n), &owner)),
                _ => drop(account.release(&id(n), &owner)),
            }
            prop_assert!(replies.len() <= 3);
            prop_assert_eq!(account.free_left() as usize, 3 - replies.len());
        }
    }
}

/// A row of the table has at most 400 KB, and a reply in a script of three bytes a letter may have 96 KB.
#[test]
fn the_longest_replies_fit_into_one_row() {
    let mut account = account();
    for n in 1..=40 {
        assert_eq!(account.claim(&ask(n, false), at(n as i64), LEASE), Claimed::Granted);
        account.answer(&id(n), &format!("owner {n}"), "f".repeat(96_300), at(n as i64)).unwrap();
        let row = serde_json::to_string(&account).unwrap().len();
        assert!(row < 300_000, "{row} bytes after {n}");
        account.logged(&id(n)).unwrap();
    }
    assert!(account.exchange(&id(40)).is_some() && account.exchange(&id(39)).is_some(), "the latest are listed");
}

#[test]
fn only_a_free_exchange_that_is_new_and_granted_takes_a_place() {
    let mut account = account();
    assert!(account.would_reserve(&ask(1, true), at(0)));
    assert!(!account.would_reserve(&ask(1, false), at(0)), "it is paid for");
    assert_eq!(account.claim(&ask(1, true), at(0), LEASE), Claimed::Granted);
    assert!(!account.would_reserve(&ask(1, true), at(1)), "it has its place");
    for n in 2..=3 {
        answered(&mut account, n, true, at(1));
    }
    assert!(!account.would_reserve(&ask(4, true), at(2)), "none is left");
}

#[test]
fn another_invocation_may_claim_an_exchange_from_the_end_of_its_lease_on() {
    let mut account = account();
    assert_eq!(account.claim(&ask(1, false), at(0), LEASE), Claimed::Granted);
    let other = Ask { owner: "second".to_owned(), ..ask(1, false) };
    assert_eq!(account.clone().claim(&other, at(39), LEASE), Claimed::Busy);
    assert_eq!(account.claim(&other, at(40), LEASE), Claimed::Granted);
}

#[test]
fn a_full_list_keeps_what_is_running_and_lets_go_of_what_was_abandoned() {
    let mut account = account();
    assert_eq!(account.claim(&ask(1, false), at(0), LEASE), Claimed::Granted);
    for n in 2..=KEPT as u64 {
        assert_eq!(account.claim(&ask(n, false), at(0), LEASE), Claimed::Granted);
        account.apologise(&id(n), &format!("owner {n}")).unwrap();
    }
    assert_eq!(account.claim(&ask(20, false), at(39), LEASE), Claimed::Granted);
    assert!(account.exchange(&id(1)).is_some(), "its invocation may still answer");
    assert_eq!(account.exchange(&id(2)), None);
    assert_eq!(account.claim(&ask(21, false), at(40), LEASE), Claimed::Granted);
    assert!(account.exchange(&id(1)).is_some(), "no record has its evaluation");
    assert_eq!(account.take_evaluations(|exchange| !exchange.is_open(at(40))), [(id(1), Value::from("evaluation 1"))]);
    assert_eq!(account.claim(&ask(22, false), at(40), LEASE), Claimed::Granted);
    assert_eq!(account.exchange(&id(1)), None);
    assert!(account.exchange(&id(20)).is_some() && account.exchange(&id(21)).is_some());
}

/// Otherwise the evaluation of a message whose process died would leave no record.
#[test]
fn an_evaluation_stays_with_its_claim_until_it_is_taken_or_the_exchange_has_ended() {
    let mut account = account();
    for n in 1..=3 {
        assert_eq!(account.claim(&ask(n, false), at(n as i64), LEASE), Claimed::Granted);
    }
    assert_eq!(account.evaluation_due(), Some(at(41)));
    account.apologise(&id(1), "owner 1").unwrap();
    assert_eq!(
        (account.evaluation_due(), account.take_evaluations(|exchange| exchange.id == id(1))),
        (Some(at(42)), vec![])
    );
    let mut stored = serde_json::to_value(&account).unwrap();
    assert_eq!(serde_json::from_value::<Account>(stored.clone()).unwrap(), account);
    stored["exchanges"][1]["stage"].as_object_mut().unwrap().remove("evaluation").unwrap();
    let earlier: Account = serde_json::from_value(stored).unwrap();
    assert_eq!(earlier.evaluation_due(), Some(at(43)), "a claim of an earlier version has none");
    assert_eq!(account.take_evaluations(|_| true).len(), 2);
    assert_eq!((account.evaluation_due(), account.take_evaluations(|_| true).len()), (None, 0));
    account.answer(&id(2), "owner 2", "reply".to_owned(), at(5)).unwrap();
}

#[test]
fn replies_are_kept_up_to_their_limit_of_bytes_and_not_beyond() {
    for (bytes, is_kept) in [(KEPT_BYTES / 2, true), (KEPT_BYTES / 2 + 1, false)] {
        let mut account = account();
        for (n, length) in [(1, KEPT_BYTES / 2), (2, bytes)] {
            assert_eq!(account.claim(&ask(n, false), at(0), LEASE), Claimed::Granted);
            account.answer(&id(n), &format!("owner {n}"), "x".repeat(length), at(0)).unwrap();
            account.logged(&id(n)).unwrap();
        }
        // The limit is checked when a reply is added.
        assert_eq!(account.claim(&ask(3, false), at(1), LEASE), Claimed::Granted);
        account.answer(&id(3), "owner 3", String::new(), at(1)).unwrap();
        assert_eq!(account.exchange(&id(1)).is_some(), is_kept, "{bytes}");
    }
}

#[test]
fn declined_messages_are_recorded_up_to_a_limit_a_day() {
    let mut account = account();
    let day = 24 * 3600;
    for (n, first_escalated) in [(0, false), (day, true)] {
        for is_escalated in [first_escalated, !first_escalated] {
            assert!((0..MOST_DECLINES_A_DAY).all(|_| account.count_declined(is_escalated, at(n))), "{is_escalated}");
            assert!(!account.count_declined(is_escalated, at(n)), "{is_escalated}");
        }
    }
    assert!(account.count_declined(true, at(2 * day)));
    let mut stored = serde_json::to_value(&account).unwrap();
    assert_eq!(stored["declined"], serde_json::json!([at(2 * day).to_date(), [0, 1]]));
    assert_eq!(serde_json::from_value::<Account>(stored.clone()).unwrap(), account);
    stored.as_object_mut().unwrap().remove("declined").unwrap();
    let mut earlier: Account = serde_json::from_value(stored).unwrap();
    assert!(earlier.count_declined(false, at(day)), "a row of an earlier version has none");
}

#[test]
fn an_account_is_its_own_stream_and_names_its_erasure() {
    let mut account = Account::unstored(account().id()).unwrap();
    let stream = format!("cs_chat_{}", "a".repeat(64));
    assert_eq!((account.stream(), account.session().unwrap().as_str()), (stream.clone(), stream.as_str()));
    assert_eq!(account.erasure(), None);
    assert!(account.begin_erasure(at(0)));
    assert!(account.erasure().is_some());
    let entry = crate::sale::AuditEntry { key: "k".to_owned(), line: "l".to_owned(), measurements: Vec::new() };
    let head = crate::sale::AuditHead { opened: "2026-09-21".to_owned(), count: 1, hash: "h".to_owned() };
    account.trail_mut().append(entry.clone(), head.clone());
    assert_eq!((account.trail().outbox(), account.trail().head()), (&[entry][..], Some(&head)));
}
