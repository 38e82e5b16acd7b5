//! Records that were written over, are gone or cannot be read: what the digest says of them, and the comparison that finds
//! them.

use super::*;
use domain::ports::{AuditObjects, ListedObject};
use std::sync::Mutex;

/// The function does not sign a stored digest that follows another head, is about another log, or has other records.
#[test]
fn what_somebody_else_put_in_its_place_is_not_signed() {
    let head = Head { sequence: 0, hash: sha256(b"x"), signature: String::new(), made_at: String::new() };
    let epoch = Timestamp::from_millis(0);
    let forged = |keys: &[String]| vec![Entry::of(&keys[0], Some(b"forged"))];
    type Plant<'a> = &'a dyn Fn(&[String]) -> String;
    let plants: [Plant<'_>; 4] = [
        &|_| "{}".to_owned(),
        &|_| Document::following(Some(&head), "log", epoch, Vec::new()).bytes(),
        &|_| Document::following(None, "other", epoch, Vec::new()).bytes(),
        &|keys| Document::following(None, "log", epoch, forged(keys)).bytes(),
    ];
    for plant in plants {
        let world = world();
        let keys = publish(&world, 1);
        world.state().digests.insert(document_key(1), plant(&keys));
        let ended = poll(run(ports(&world), LIMITS)).unwrap();
        assert_eq!(ended.map_err(|error| error.to_string()), Err(foreign(1).to_string()));
        assert!(world.state().signed.is_empty());
        assert_eq!(world.state().log_notices.len(), 1);
    }
}

#[test]
fn a_missing_record_alerts_and_stays_in_the_digest() {
    let world = world();
    let keys = publish(&world, 2);
    world.state().log.remove(&keys[1]);
    ran(&world);
    let document = Document::parse(world.state().digests[&document_key(1)].as_bytes()).unwrap();
    assert_eq!(document.entries[1], Entry { key: keys[1].clone(), sha256: None, size: 0 });
    let alerts = world.state().alerts.clone();
    assert!(alerts.iter().any(|alert| alert.line.contains("CRITICAL") && alert.line.contains("1 record(s) were gone")));
    assert!(alerts.iter().any(|alert| alert.line.contains("head of the log's digests")), "it holds nothing back");
}

/// The result of comparing the log with the digests for one record's stream.
fn compared(world: &World, key: &str) -> Option<audit_verify::stream::Damage> {
    let (report, mut digested) = verified(world);
    assert_eq!(report.findings, []);
    let log = world.state().log.clone();
    let stream = audit_verify::stream::stream_of(key);
    let objects = log.into_iter().filter(|(key, _)| audit_verify::stream::stream_of(key) == stream);
    let objects: Vec<_> = objects.map(|(key, line)| (key, format!("{line}\n").into_bytes())).collect();
    digested.take(stream).compare(&objects, |_| true).map(|finding| finding.damage)
}

fn critical(world: &World, part: &str) -> usize {
    let state = world.state();
    state.alerts.iter().filter(|alert| alert.line.contains("CRITICAL") && alert.line.contains(part)).count()
}

/// A record is overwritten, and the sale's head adapted to it, before the digest: the newest bytes are never signed.
#[test]
fn a_record_that_was_overwritten_before_its_digest_alerts_and_is_never_sound() {
    for late in [false, true] {
        let world = world();
        let keys = publish(&world, 2);
        if late {
            // The message about the second version comes with a later batch of the same run.
            (0..3).for_each(|_| drop(publish(&world, 4)));
        }
        world.state().log.insert(keys[0].clone(), "forged".to_owned());
        world.state().log_notices.insert("handle 99".to_owned(), message_of(&keys[0], 7, "2"));
        ran(&world);
        assert!(compared(&world, &keys[0]).is_some(), "late: {late}");
        assert_eq!(critical(&world, "1 record(s) were gone from the log or written over"), 1);
        assert!(world.state().log_notices.is_empty());
    }
    // A version that is reported twice counts once.
    let world = world();
    let keys = publish(&world, 1);
    world.state().log_notices.insert("again".to_owned(), message(&keys[0]));
    ran(&world);
    assert_eq!((compared(&world, &keys[0]), critical(&world, "written over")), (None, 0));
}

/// A record is overwritten after its digest. An alert names it, with or without the bucket's message, and no later
/// digest signs the changed bytes. The restored original is recognised.
#[test]
fn a_record_that_is_written_over_after_its_digest_is_named_and_never_signed() {
    for is_announced in [false, true] {
        let world = world();
        let keys = publish(&world, 2);
        ran(&world);
        let original = world.state().log.insert(keys[0].clone(), "forged".to_owned()).unwrap();
        if is_announced {
            world.state().log_originals.insert(keys[0].clone(), original.clone());
            world.state().log_notices.insert("second".to_owned(), message_of(&keys[0], 7, "2"));
        }
        ran(&world);
        assert_eq!(critical(&world, "record 1"), 1, "announced: {is_announced}");
        assert_eq!(compared(&world, &keys[0]), Some(audit_verify::finding::Damage::Edited));
        ran(&world);
        assert_eq!(critical(&world, "record 1"), 1, "operators know");
        assert!(rechecked(&world).is_bad);
        world.state().log.insert(keys[0].clone(), original);
        ran(&world);
        ran(&world);
        assert_eq!(compared(&world, &keys[0]), None, "announced: {is_announced}");
        let state = world.state();
        assert_eq!(state.alerts.iter().filter(|alert| alert.line.contains("as its digest says again")).count(), 1);
        drop(state);
        assert!(!rechecked(&world).is_bad && rechecked(&world).known.is_empty());
    }
}

/// The function's state is one item of the table, which has no room for the keys of all of them.
#[test]
fn thousands_of_overwritten_records_are_announced_like_a_few() {
    let world = world();
    let mut records = Vec::new();
    for number in 0..4_500 {
        let key = format!("2026-04-16/session/cs_live_{number:058}/000001.json");
        let object = json!({ "key": key, "size": 7, "versionId": "2" });
        records.push(json!({ "s3": { "bucket": { "name": "log" }, "object": object } }));
        world.state().log.insert(key.clone(), "forged".to_owned());
        world.state().log_originals.insert(key, "original".to_owned());
    }
    world.state().log_notices.insert("second".to_owned(), json!({ "Records": records }).to_string());
    let limits = Limits { entries: 5_000, ..LIMITS };
    let summary = poll(run(ports(&world), limits)).unwrap().unwrap();
    assert_eq!((summary.documents, summary.entries), (1, 4_500));
    assert_eq!((critical(&world, "written over: "), critical(&world, " and 4495 more (digest 1)")), (1, 1));
    assert_eq!(rechecked(&world).known.len(), 100);
    ran(&world);
    assert_eq!(poll(world_head(&world)).unwrap().map(|head| head.sequence), Some(2), "the digests go on");
}

/// A long log is compared in parts, and counts as sound only once every part was compared.
#[test]
fn the_comparison_goes_on_where_the_last_run_ended() {
    let world = world();
    let limits = Limits { entries: 2, documents: 9, rechecked: 3, ..LIMITS };
    (0..4).for_each(|_| drop(publish(&world, 2)));
    let go = || {
        world.state().hidden_log_notices.clear();
        poll(run(ports(&world), limits)).unwrap().unwrap();
    };
    go();
    assert_eq!(rechecked(&world).sound_at, None);
    let next = rechecked(&world).next;
    for _ in 0..9 {
        go();
    }
    assert!(next > 1 && rechecked(&world).sound_at.is_some(), "{next}");
}

/// More is added in an hour than a run's objects: the round ends all the same.
#[test]
fn a_round_of_the_comparison_ends_within_six_hundred_runs() {
    let world = world();
    let limits = Limits { rechecked: 0, ..LIMITS };
    let go = || {
        poll(run(ports(&world), limits)).unwrap().unwrap();
        rechecked(&world).next
    };
    for _ in 0..1_300 {
        go();
    }
    assert!((0..600).any(|_| go() == 0), "a round ends");
}

/// An object that cannot be read stops neither the metric nor the comparison of all others.
#[test]
fn an_object_that_cannot_be_read_is_counted_and_the_comparison_goes_on() {
    let world = world();
    let keys = publish(&world, 3);
    ran(&world);
    let sound = rechecked(&world).sound_at;
    assert!(sound.is_some());
    world.state().log_unreadable.insert(keys[0].clone());
    world.state().log.insert(keys[2].clone(), "forged".to_owned());
    world.state().measurements.clear();
    world.advance(std::time::Duration::from_secs(3_600));
    ran(&world);
    assert!(world.state().measurements.contains(&domain::Metric::Digested.once()));
    assert_eq!((rechecked(&world).next, rechecked(&world).sound_at), (0, sound));
    assert_eq!(critical(&world, "record 3"), 1, "what can be read is compared");
    let state = world.state();
    assert!(state.alerts.iter().any(|alert| alert.line.contains("cannot be read to compare them")));
    assert!(state.log.values().any(|line| line.contains(r#""unread":1"#)));
}

fn rechecked(world: &World) -> audit_verify::recheck::Recheck {
    poll(async { ports(world).journal.load::<DigestState>().await.unwrap().value.memory.recheck }).unwrap()
}

/// A run crashes after it stored such a digest; the next run completes it.
#[test]
fn a_digest_that_vouches_for_no_bytes_is_ended_by_the_next_run() {
    let world = world();
    let keys = publish(&world, 1);
    world.state().log_notices.insert("second".to_owned(), message_of(&keys[0], 7, "2"));
    world.plan(Plan::none().whenever("digests.sign", Fault::Fail));
    assert!(poll(run(ports(&world), LIMITS)).unwrap().is_err());
    assert!(world.state().digests.contains_key(&document_key(1)), "stored, not signed");
    world.plan(Plan::none());
    ran(&world);
    assert_eq!(compared(&world, &keys[0]), Some(audit_verify::stream::Damage::Edited));
    assert!(critical(&world, "written over") > 0);
}

/// A log in which one object may be unreadable, and that notes the objects whose versions are looked for.
struct Watched<'w> {
    world: &'w World,
    unreadable: &'w str,
    looked: Mutex<Vec<String>>,
}

#[async_trait]
impl AuditObjects for Watched<'_> {
    async fn keys(&self, prefix: &str, after: &str) -> Result<Vec<ListedObject>, StorageError> {
        AuditObjects::keys(self.world, prefix, after).await
    }
    async fn object(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        if key == self.unreadable {
            return Err(StorageError { operation: "log.object", source: "not handed out".into() });
        }
        self.world.object(key).await
    }
    async fn originals(&self, keys: &[String]) -> Result<BTreeMap<String, Vec<u8>>, StorageError> {
        self.looked.lock().unwrap().extend_from_slice(keys);
        self.world.originals(keys).await
    }
}

/// Strangers can make a stream of a day grow without end. A run works for its batch, not for the stream.
#[test]
fn only_what_is_new_in_a_long_stream_is_looked_at() {
    let world = world();
    let keys = publish(&world, 9);
    world.state().log_notices.retain(|_, body| *body == message(&keys[4]) || *body == message(&keys[6]));
    let watched = Watched { world: &world, unreadable: "", looked: Mutex::default() };
    let summary = poll(run(Ports { log: &watched, ..ports(&world) }, LIMITS)).unwrap().unwrap();
    assert_eq!(summary.entries, 2);
    assert_eq!(watched.looked.into_inner().unwrap(), [keys[4].clone(), keys[6].clone()]);
}

#[test]
fn one_object_that_cannot_be_digested_stops_no_other() {
    // An object that is too long to be a record is never read.
    let world = world();
    let keys = publish(&world, 2);
    let long = "2026-04-16/session/cs_test_long/000001.json";
    world.state().log.insert(long.to_owned(), "long".to_owned());
    world.state().log_notices.insert("long".to_owned(), message_of(long, LIMITS.bytes + 1, "1"));
    let summary = ran(&world);
    assert_eq!((summary.left, summary.entries), (1, 2));
    assert_eq!(world.state().log_notices.keys().collect::<Vec<_>>(), ["long"], "left to the dead letters");
    assert_eq!((compared(&world, &keys[0]), critical(&world, "1 object(s) of the log are too long")), (None, 1));
    // One object cannot be read.
    let world = self::world();
    let keys = publish(&world, 3);
    let watched = Watched { world: &world, unreadable: &keys[1], looked: Mutex::default() };
    let summary = poll(run(Ports { log: &watched, ..ports(&world) }, LIMITS)).unwrap().unwrap();
    assert_eq!((summary.left, summary.entries, world.state().log_notices.len()), (1, 2, 1));
    assert_eq!(compared(&world, &keys[0]), Some(audit_verify::stream::Damage::Undigested));
    // The object can be read again.
    ran(&world);
    assert_eq!(compared(&world, &keys[0]), None);
}
