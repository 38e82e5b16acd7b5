//! Every kind of damage to the digests and to the log.
//! The file has more than 300 lines because each kind of damage has a test of its own on the same chain.

use crate::{
    digests::{DigestChain, Digested},
    signed_digest::{Document, Entry, Head, Signature, document_key},
    stream::{Damage, Finding, Object, worst},
};
use audit::hash::sha256;
use domain::Timestamp;

const NOW: i64 = 1_776_349_384_565;
const HOUR: i64 = 3_600_000;

fn at(hours: i64) -> Timestamp {
    Timestamp::from_millis(NOW - hours * HOUR)
}

/// The test's signature, which any holder of the secret can make.
fn sign(document: &str, secret: &str) -> String {
    sha256(format!("{secret}{document}").as_bytes())
}

fn is_signed_by_us(document: &[u8], signature: &str) -> bool {
    sign(std::str::from_utf8(document).unwrap_or_default(), "ours") == signature
}

type Stored = (String, Option<String>);

/// The log, its digests (one object each, an hour apart, the last one made now), and the head.
struct Kept {
    log: Vec<Object>,
    digests: Vec<Stored>,
    head: Option<Head>,
}

fn key(number: usize) -> String {
    format!("2026-04-16/session/cs_test_1/{number:06}.json")
}

fn append(kept: &mut Kept, entries: Vec<Entry>, made_at: Timestamp, secret: &str) {
    let document = Document::following(kept.head.as_ref(), "log", made_at, entries).bytes();
    let (hash, signature) = (sha256(document.as_bytes()), sign(&document, secret));
    let sequence = kept.digests.len() as u64 + 1;
    kept.digests.push((document, Some(Signature::of(sequence, &hash, "key", &signature).bytes())));
    kept.head = Some(Head { sequence, hash, signature, made_at: made_at.to_iso() });
}

fn kept(count: usize) -> Kept {
    let mut kept = Kept { log: Vec::new(), digests: Vec::new(), head: None };
    for number in 1..=count {
        let object = (key(number), format!("line {number}\n").into_bytes());
        let entry = Entry::of(&object.0, Some(&object.1));
        kept.log.push(object);
        append(&mut kept, vec![entry], at((count - number) as i64), "ours");
    }
    kept
}

fn chain(kept: &Kept, later: Option<u64>) -> (Vec<Finding>, Digested) {
    let mut chain = DigestChain::new("log", kept.head.clone(), at(0), &is_signed_by_us);
    for (document, signature) in &kept.digests {
        chain.add(document.as_bytes(), signature.as_ref().map(String::as_bytes));
    }
    let (report, digested) = chain.end(later);
    (report.findings, digested)
}

/// The first finding in the digests, and in the log.
type Both = (Option<(String, Damage)>, Option<(String, Damage)>);

/// The first finding in the digests, and the first in the log.
fn found(kept: &Kept) -> Both {
    let (findings, mut digested) = chain(kept, None);
    let stream = digested.take("2026-04-16/session/cs_test_1");
    let damage = |finding: &Finding| (finding.key.clone(), finding.damage);
    (findings.first().map(damage), stream.compare(&kept.log, |_| true).as_ref().map(damage))
}

fn damaged(damage: impl Fn(&mut Kept)) -> Both {
    let mut kept = kept(5);
    damage(&mut kept);
    found(&kept)
}

#[test]
fn what_nobody_touched_is_sound() {
    for count in 0..4 {
        assert_eq!(found(&kept(count)), (None, None), "{count}");
    }
}

#[test]
fn the_log_is_what_was_digested() {
    let only = |damage, number| (None, Some((key(number), damage)));
    assert_eq!(damaged(|kept| kept.log[1].1[0] ^= 1), only(Damage::Edited, 2));
    assert_eq!(damaged(|kept| kept.log[4].1.push(b' ')), only(Damage::Edited, 5));
    assert_eq!(damaged(|kept| drop(kept.log.remove(2))), only(Damage::Deleted, 3));
    assert_eq!(damaged(|kept| drop(kept.log.pop())), only(Damage::Truncated, 5));
    assert_eq!(damaged(|kept| kept.log.clear()), only(Damage::Truncated, 1));
    assert_eq!(damaged(|kept| kept.log.push((key(6), b"forged\n".to_vec()))), only(Damage::Undigested, 6));
    let swapped = damaged(|kept| {
        let bytes = std::mem::take(&mut kept.log[1].1);
        kept.log[1].1 = std::mem::replace(&mut kept.log[2].1, bytes);
    });
    assert_eq!(swapped, only(Damage::Edited, 2));
    // An object that was announced and deleted before it was read; and a second object under the same key.
    let gone = damaged(|kept| append(kept, vec![Entry::of(&key(6), None)], at(0), "ours"));
    assert_eq!(gone, only(Damage::Truncated, 6));
    let twice = damaged(|kept| append(kept, vec![Entry::of(&key(4), Some(b"other"))], at(0), "ours"));
    assert_eq!(twice, only(Damage::Forked, 4));
}

/// Notifications come late and more than once.
#[test]
fn an_object_that_is_digested_twice_is_no_damage() {
    let again = damaged(|kept| {
        let entries = kept.log.iter().map(|(key, bytes)| Entry::of(key, Some(bytes))).collect();
        append(kept, entries, at(0), "ours");
    });
    assert_eq!(again, (None, None));
}

#[test]
fn what_is_new_need_not_be_digested_yet() {
    let mut kept = kept(2);
    kept.log.push((key(3), b"new\n".to_vec()));
    let stream = chain(&kept, None).1.take("2026-04-16/session/cs_test_1");
    assert_eq!(stream.compare(&kept.log, |_| false), None);
}

#[test]
fn the_digests_are_what_was_signed() {
    let first = |damage: &dyn Fn(&mut Kept)| damaged(|kept| damage(kept)).0;
    let finding = |number, damage| Some((document_key(number), damage));
    let edit = |kept: &mut Kept| kept.digests[1].0 = kept.digests[1].0.replace("000002.json", "000009.json");
    assert_eq!(first(&edit), finding(2, Damage::Edited));
    assert_eq!(first(&|kept| kept.digests[2].0 = "{}".into()), finding(3, Damage::Unreadable));
    assert_eq!(first(&|kept| kept.digests[2].1 = None), finding(3, Damage::Unsigned));
    assert_eq!(first(&|kept| kept.digests[2].1 = Some("{}".into())), finding(3, Damage::Unreadable));
    assert_eq!(first(&|kept| kept.digests.swap(1, 2)), finding(2, Damage::Reordered));
    // The signature of another document, stored under this one's name.
    let moved = |kept: &mut Kept| kept.digests[3].1 = kept.digests[4].1.clone();
    assert_eq!(first(&moved), finding(4, Damage::Edited));
    // The last ones are deleted, with and without the objects that they name: the head, stored elsewhere, has their
    // number.
    assert_eq!(first(&|kept| drop(kept.digests.pop())), finding(5, Damage::Truncated));
    let both = |kept: &mut Kept| {
        kept.digests.truncate(3);
        kept.log.truncate(3);
    };
    assert_eq!(first(&both), finding(4, Damage::Truncated));
    assert_eq!(first(&|kept| kept.digests.clear()), finding(1, Damage::Truncated));
    // A later digest reveals a gap.
    let mut gap = kept(5);
    gap.digests.truncate(2);
    assert_eq!(chain(&gap, Some(4)).0[0].key, document_key(3));
    assert_eq!(chain(&gap, Some(4)).0[0].damage, Damage::Deleted);
}

#[test]
fn a_second_history_is_seen_even_where_it_is_signed() {
    // A holder of the key rewrites the last two and the head: the others do not match.
    let forked = damaged(|kept| {
        let (before, _) = (kept.digests[1].0.clone(), kept.digests.truncate(3));
        kept.head = Some(Head {
            sequence: 3,
            hash: sha256(before.as_bytes()),
            signature: String::new(),
            made_at: at(1).to_iso(),
        });
        append(kept, Vec::new(), at(0), "ours");
    });
    assert_eq!(forked.0, Some((document_key(4), Damage::Forked)));
    // The same without the head.
    let unknown = damaged(|kept| {
        let head = kept.head.clone();
        kept.digests.truncate(4);
        kept.head = Some(Head {
            sequence: 4,
            hash: sha256(kept.digests[3].0.as_bytes()),
            signature: String::new(),
            made_at: at(1).to_iso(),
        });
        append(kept, Vec::new(), at(0), "ours");
        kept.head = head;
    });
    assert_eq!(unknown.0, Some((document_key(5), Damage::Forked)));
    // A signature by another key is invalid.
    let stranger = damaged(|kept| append(kept, Vec::new(), at(0), "theirs"));
    assert_eq!(stranger.0, Some((document_key(6), Damage::Edited)));
    // Digests of another log.
    let elsewhere = damaged(|kept| {
        let document = Document::following(kept.head.as_ref(), "other", at(0), Vec::new()).bytes();
        let signature = Signature::of(6, &sha256(document.as_bytes()), "key", &sign(&document, "ours")).bytes();
        kept.digests.push((document, Some(signature)));
    });
    assert_eq!(elsewhere.0, Some((document_key(6), Damage::Moved)));
}

#[test]
fn a_head_that_was_set_back_is_seen_and_one_at_work_is_not() {
    let set_back = |to: usize| damaged(move |all| all.head = kept(5).head.filter(|_| to == 0)).0;
    assert_eq!(set_back(1), Some((document_key(1), Damage::Unnoted)));
    let older = damaged(|all| {
        let hash = sha256(all.digests[2].0.as_bytes());
        all.head = Some(Head { sequence: 3, hash, signature: String::new(), made_at: at(2).to_iso() });
    });
    assert_eq!(older.0, Some((document_key(4), Damage::Unnoted)));
    let at_work = damaged(|all| {
        let hash = sha256(all.digests[3].0.as_bytes());
        all.head = Some(Head { sequence: 4, hash, signature: String::new(), made_at: at(1).to_iso() });
    });
    assert_eq!(at_work.0, None);
    let unsigned = damaged(|all| {
        let before = all.head.clone();
        append(all, vec![Entry::of(&key(6), Some(b"x"))], at(0), "ours");
        all.digests[5].1 = None;
        all.head = before;
    });
    assert_eq!(unsigned, (None, None), "what is not signed yet says nothing of the log");
}

/// The run after a crash comes an hour later: until then nothing is reported, afterwards it is.
#[test]
fn what_a_dead_run_left_is_at_work_until_the_next_one_is_overdue() {
    let found = |minutes: i64, is_signed: bool| {
        let mut all = kept(5);
        let hash = sha256(all.digests[3].0.as_bytes());
        all.head = Some(Head { sequence: 4, hash, signature: String::new(), made_at: at(1).to_iso() });
        if !is_signed {
            all.digests[4].1 = None;
        }
        let now = Timestamp::from_millis(NOW + minutes * 60_000);
        let mut chain = DigestChain::new("log", all.head.clone(), now, &is_signed_by_us);
        for (document, signature) in &all.digests {
            chain.add(document.as_bytes(), signature.as_ref().map(String::as_bytes));
        }
        chain.end(None).0.findings.first().map(|finding| finding.damage)
    };
    assert_eq!((found(70, true), found(70, false)), (None, None));
    assert_eq!((found(121, true), found(121, false)), (Some(Damage::Unnoted), Some(Damage::Unsigned)));
}

#[test]
fn what_is_not_digested_yet_and_what_nobody_owns_hide_no_damage() {
    let finding = |number, damage| Some(Finding { key: key(number), damage });
    let edited = |number| finding(number, Damage::Edited);
    let first_of = |one, other| worst([one, other].into_iter().flatten());
    assert_eq!(first_of(edited(3), finding(1, Damage::Undigested)), edited(3));
    assert_eq!(first_of(finding(1, Damage::Undigested), edited(3)), edited(3));
    assert_eq!(first_of(finding(1, Damage::Orphaned), edited(3)), edited(3));
    assert_eq!(first_of(finding(1, Damage::Undigested), finding(1, Damage::Orphaned)), finding(1, Damage::Orphaned));
    assert_eq!(first_of(finding(3, Damage::Unlinked), edited(2)), edited(2));
    assert_eq!(first_of(finding(2, Damage::Unlinked), edited(2)), finding(2, Damage::Unlinked));
    assert_eq!(first_of(None, edited(2)), edited(2));
    assert_eq!((first_of(edited(2), None), first_of(None, None)), (edited(2), None));
}

/// An earlier record that is in no digest does not hide the damage.
#[test]
fn damage_behind_what_is_in_no_digest_is_named() {
    let both = damaged(|kept| {
        kept.log.insert(0, ("2026-04-16/session/cs_test_1/000000.json".to_owned(), b"forged\n".to_vec()));
        kept.log[4].1[0] ^= 1;
    });
    assert_eq!(both, (None, Some((key(4), Damage::Edited))));
    let mut kept = kept(2);
    kept.log.extend([(key(3), b"3\n".to_vec()), (key(4), b"4\n".to_vec())]);
    let stream = chain(&kept, None).1.take("2026-04-16/session/cs_test_1");
    assert_eq!(stream.undigested(&kept.log, |late| late != key(4)), [key(3)]);
}

#[test]
fn silence_is_seen() {
    let late = Timestamp::from_millis(NOW + 2 * HOUR + 1);
    let kept = kept(2);
    let mut chain = DigestChain::new("log", kept.head.clone(), late, &is_signed_by_us);
    for (document, signature) in &kept.digests {
        assert!(chain.add(document.as_bytes(), signature.as_ref().map(String::as_bytes)));
    }
    assert_eq!(chain.wanted(), 3);
    let (report, _) = chain.end(None);
    assert_eq!(report.findings, [Finding { key: document_key(3), damage: Damage::Overdue }]);
    assert_eq!((report.documents, report.entries, report.last), (2, 2, Some(2)));
}

#[test]
fn a_reading_may_begin_later() {
    let kept = kept(5);
    let mut chain = DigestChain::new("log", kept.head.clone(), at(0), &is_signed_by_us).since(4, "2026-04-16");
    for (document, signature) in &kept.digests[3..] {
        assert!(chain.add(document.as_bytes(), signature.as_ref().map(String::as_bytes)));
    }
    let (report, mut digested) = chain.end(None);
    assert_eq!((report.findings.len(), report.documents), (0, 2));
    assert_eq!(digested.streams().len(), 1);
    let stream = digested.take("2026-04-16/session/cs_test_1");
    assert_eq!(stream.compare(&kept.log[3..], |_| true), None);
    let mut chain = DigestChain::new("log", kept.head.clone(), at(0), &is_signed_by_us).since(4, "2026-04-17");
    for (document, signature) in &kept.digests[3..] {
        chain.add(document.as_bytes(), signature.as_ref().map(String::as_bytes));
    }
    assert!(chain.end(None).1.streams().is_empty(), "keys of days before are not asked for");
}
