//! Every kind of damage to a stream is found, with its kind and its place.

use crate::stream::{Damage, Finding, Object, StoredHead, verify_stream};
use audit::{Record, Source, Status, chain};
use domain::{Sale, SessionId, Timestamp, audit_trail::Audited, sale::AuditHead};
use proptest::prelude::*;
use testkit::sale::WithField;

const STREAM: &str = "2026-04-16/session/cs_test_1";

/// A smoke test's sale, which may be missing in the table, with this many records, all in its outbox.
fn sale(id: &str, records: i64) -> Sale {
    sale_of(id, records, true)
}

fn sale_of(id: &str, records: i64, smoke: bool) -> Sale {
    let opened = Timestamp::from_millis(1_776_349_384_565);
    let mut sale = Sale::ordered(SessionId::parse(id).unwrap(), opened).with("smoke", smoke);
    for index in 0..records {
        let now = Timestamp::from_millis(opened.as_millis() + index * 500);
        let detail = format!("detail {index}");
        chain::append(&mut sale, &Record::pipeline(now, opened, Source::Webhook, Status::Error, Some(&detail)));
    }
    sale
}

/// The sale after everything was published, and the log.
fn published(id: &str, records: i64) -> (Sale, Vec<Object>) {
    let mut sale = sale(id, records);
    let log = sale
        .trail_mut()
        .outbox_mut()
        .0
        .drain(..)
        .map(|entry| (entry.key, format!("{}\n", entry.line).into_bytes()))
        .collect();
    (sale, log)
}

fn key(seq: u64) -> String {
    chain::key("2026-04-16", "session/cs_test_1", seq)
}

fn check(sale: &Sale, log: &[Object]) -> Result<(), Finding> {
    verify_stream(STREAM, log, Some(&StoredHead::of(sale)))
}

/// Damages a stream of five records and returns the findings with and without the sale.
fn damaged(damage: impl Fn(&mut Vec<Object>)) -> [Option<(u64, Damage)>; 2] {
    let (sale, mut log) = published("cs_test_1", 5);
    damage(&mut log);
    let damage = |result: Result<(), Finding>| {
        result.err().map(|finding| ((1..9).find(|seq| key(*seq) == finding.key).unwrap_or(0), finding.damage))
    };
    [damage(check(&sale, &log)), damage(verify_stream(STREAM, &log, None))]
}

/// Changes a digit in the record's text.
fn edit(object: &mut Object) {
    let text = String::from_utf8(object.1.clone()).unwrap();
    object.1 = text.replace("detail ", "detail 9").into_bytes();
}

#[test]
fn an_untouched_log_is_sound() {
    for count in 0..6 {
        let (sale, log) = published("cs_test_1", count);
        assert_eq!(verify_stream(STREAM, &log, None), Ok(()), "{count}");
        assert!(check(&sale, &log).is_ok(), "{count}");
    }
}

#[test]
fn an_edited_record_is_named_wherever_it_is() {
    for seq in 1..=5 {
        let [with, without] = damaged(|log| edit(&mut log[seq - 1]));
        assert_eq!(with, Some((seq as u64, Damage::Edited)));
        let alone = match seq {
            5 => None,
            4 => Some((5, Damage::Unlinked)),
            _ => with,
        };
        assert_eq!(without, alone, "{seq}");
    }
}

#[test]
fn a_removed_record_is_named() {
    for seq in 1..=4 {
        assert_eq!(damaged(|log| drop(log.remove(seq - 1))), [Some((seq as u64, Damage::Deleted)); 2]);
    }
    assert_eq!(damaged(|log| drop(log.pop())), [Some((5, Damage::Truncated)), None]);
    assert_eq!(damaged(|log| log.truncate(2)), [Some((3, Damage::Truncated)), None]);
    assert_eq!(damaged(Vec::clear), [Some((1, Damage::Truncated)), None]);
}

#[test]
fn an_edit_before_a_gap_is_named_first() {
    let both = |log: &mut Vec<Object>| {
        edit(&mut log[0]);
        log.remove(3);
    };
    assert_eq!(damaged(both)[0], Some((1, Damage::Edited)));
}

#[test]
fn swapped_lines_are_reordered() {
    let swap = |log: &mut Vec<Object>| {
        let (second, fourth) = (log[1].1.clone(), log[3].1.clone());
        (log[1].1, log[3].1) = (fourth, second);
    };
    assert_eq!(damaged(swap), [Some((2, Damage::Reordered)); 2]);
}

#[test]
fn a_second_record_of_one_number_is_a_fork() {
    let twice = |log: &mut Vec<Object>| {
        let mut second = log[2].clone();
        edit(&mut second);
        log.insert(3, second);
    };
    assert_eq!(damaged(twice), [Some((3, Damage::Forked)); 2]);
}

#[test]
fn a_record_of_another_stream_is_seen() {
    let (_, others) = published("cs_test_2", 5);
    let moved = |log: &mut Vec<Object>| log[2].1.clone_from(&others[2].1);
    assert_eq!(damaged(moved), [Some((3, Damage::Moved)); 2]);
}

#[test]
fn what_is_no_record_is_seen() {
    for bytes in [&b""[..], b"\n", b"{}\n", b"\xff\n", b"no line break"] {
        assert_eq!(damaged(|log| log[1].1 = bytes.to_vec()), [Some((2, Damage::Unreadable)); 2], "{bytes:?}");
    }
    let line_break = |log: &mut Vec<Object>| assert_eq!(log[4].1.pop(), Some(b'\n'));
    assert_eq!(damaged(line_break), [Some((5, Damage::Unreadable)); 2]);
    let unknown = |log: &mut Vec<Object>| log.push((format!("{STREAM}/notes.txt"), b"x".to_vec()));
    assert_eq!(damaged(unknown), [Some((0, Damage::Foreign)); 2]);
    let unpadded = |log: &mut Vec<Object>| log[4].0 = format!("{STREAM}/5.json");
    assert_eq!(damaged(unpadded), [Some((0, Damage::Foreign)); 2]);
}

/// A stream that was rewritten from some record on is a valid chain: only the sale reveals it.
#[test]
fn a_rewritten_stream_does_not_end_where_the_sale_says() {
    let (sale, _) = published("cs_test_1", 5);
    let mut other = self::sale("cs_test_1", 4);
    let now = Timestamp::from_millis(1_776_349_384_565);
    chain::append(&mut other, &Record::pipeline(now, now, Source::Webhook, Status::Ok, None));
    let log: Vec<Object> = other.outbox().iter().map(|e| (e.key.clone(), format!("{}\n", e.line).into())).collect();
    assert_eq!(check(&sale, &log), Err(Finding { key: key(5), damage: Damage::Edited }));
    assert_eq!(verify_stream(STREAM, &log, None), Ok(()));
}

#[test]
fn records_that_wait_in_the_sale_may_or_may_not_be_in_the_log() {
    let full = sale("cs_test_1", 5);
    let log: Vec<Object> = full.outbox().iter().map(|e| (e.key.clone(), format!("{}\n", e.line).into())).collect();
    let mut sale = full;
    sale.trail_mut().outbox_mut().0.drain(..3);
    for count in 3..=5 {
        assert_eq!(check(&sale, &log[..count]), Ok(()), "{count}");
    }
    let truncated = Finding { key: key(3), damage: Damage::Truncated };
    assert_eq!(check(&sale, &log[..2]), Err(truncated));
    let mut edited = log.clone();
    edit(&mut edited[2]);
    assert_eq!(check(&sale, &edited[..3]), Err(Finding { key: key(3), damage: Damage::Edited }));
    let mut forked = log;
    edit(&mut forked[4]);
    assert_eq!(check(&sale, &forked), Err(Finding { key: key(5), damage: Damage::Forked }));
}

#[test]
fn records_that_the_sale_does_not_count_are_a_fork() {
    let (_, log) = published("cs_test_1", 5);
    let (sale, _) = published("cs_test_1", 3);
    assert_eq!(check(&sale, &log), Err(Finding { key: key(4), damage: Damage::Forked }));
    let sale = published("cs_test_1", 5).0;
    let elsewhere = sale.with("audit", AuditHead { opened: "2026-04-17".into(), ..sale.audit().unwrap().clone() });
    assert_eq!(check(&elsewhere, &log), Err(Finding { key: key(1), damage: Damage::Foreign }));
}

/// Customers' sales never expire: a stream without a sale was forged, or its sale was removed.
#[test]
fn a_stream_that_the_table_knows_nothing_of_is_found_unless_it_is_a_smoke_tests() {
    let log_of = |sale: &Sale| -> Vec<Object> {
        sale.outbox().iter().map(|entry| (entry.key.clone(), format!("{}\n", entry.line).into_bytes())).collect()
    };
    let customers = log_of(&sale_of("cs_test_1", 3, false));
    let orphaned = Err(Finding { key: key(1), damage: Damage::Orphaned });
    assert_eq!(verify_stream(STREAM, &customers, None), orphaned);
    assert_eq!(verify_stream(STREAM, &log_of(&sale("cs_test_1", 3)), None), Ok(()));
    assert_eq!(verify_stream(STREAM, &[], None), Ok(()));
    // A stream is not a smoke test's if only one of its records says so.
    let mut both = sale_of("cs_test_1", 2, false);
    both = both.with("smoke", true);
    let now = Timestamp::from_millis(0);
    chain::append(&mut both, &Record::pipeline(now, now, Source::Webhook, Status::Ok, None));
    assert_eq!(verify_stream(STREAM, &log_of(&both), None), orphaned);
    // Other damage is reported first.
    let mut edited = customers;
    edit(&mut edited[1]);
    assert_eq!(verify_stream(STREAM, &edited, None), Err(Finding { key: key(3), damage: Damage::Unlinked }));
}

proptest! {
    /// A change, an insertion or a removal of any single byte is found.
    #[test]
    fn no_single_byte_is_missed(
        count in 1_i64..6,
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        how in 0..3,
    ) {
        let (sale, mut log) = published("cs_test_1", count);
        let total: usize = log.iter().map(|(_, bytes)| bytes.len()).sum();
        let mut offset = at.index(total);
        let record = log.iter().position(|(_, bytes)| {
            let here = offset < bytes.len();
            if !here {
                offset -= bytes.len();
            }
            here
        }).unwrap();
        let bytes = &mut log[record].1;
        match how {
            0 => {
                prop_assume!(bytes[offset] != byte);
                bytes[offset] = byte;
            }
            1 => bytes.insert(offset, byte),
            _ => drop(bytes.remove(offset)),
        }
        let finding = check(&sale, &log).unwrap_err();
        prop_assert_eq!(finding.key, key(record as u64 + 1));
    }
}
