//! Runs, with a crash or a failure injected at each of their effects.

mod damage;

use super::*;
use async_trait::async_trait;
use audit::{FunctionJournal, Record, Source, Status, chain};
use audit_verify::signed_digest::Head;
use audit_verify::{
    digests::{DigestChain, DigestReport, Digested},
    signed_digest::{Document, FUNCTION},
};
use domain::{
    ErrorCode, Sale, SessionId, Timestamp,
    ports::{Clock, DigestStore},
    sale::AuditEntry,
};
use testkit::{BOUNDARIES, FAULTS, Fault, Plan, World, run as poll};

const LIMITS: Limits = Limits { entries: 10, documents: 5, bytes: 1_000, rechecked: 100 };

fn ports(world: &World) -> Ports<'_> {
    let journal = FunctionJournal { function: FUNCTION, notes: world, log: world, alerts: world, clock: world };
    Ports { journal, bucket: "log", log: world, notices: world, digests: world, signer: world, meter: world }
}

/// Writes records to the log; the bucket sends its messages about them.
fn publish(world: &World, count: usize) -> Vec<String> {
    let now = world.now();
    let session = format!("cs_test_{}", world.state().log.len());
    let mut sale = Sale::ordered(SessionId::parse(session).unwrap(), now);
    for _ in 0..count {
        chain::append(&mut sale, &Record::pipeline(now, now, Source::Webhook, Status::Ok, None));
    }
    let mut state = world.state();
    let mut keys = Vec::new();
    for AuditEntry { key, line, .. } in sale.outbox() {
        let handle = format!("handle {}", state.log.len());
        state.log.insert(key.clone(), line.clone());
        state.log_notices.insert(handle, message(key));
        keys.push(key.clone());
    }
    keys
}

fn message(key: &str) -> String {
    message_of(key, 200, "1")
}

fn message_of(key: &str, size: u64, version: &str) -> String {
    let object = json!({ "key": key, "size": size, "versionId": version });
    json!({ "Records": [{ "s3": { "bucket": { "name": "log" }, "object": object } }] }).to_string()
}

fn world() -> World {
    World::at(Timestamp::from_millis(1_776_349_384_565)).suppressing(std::time::Duration::from_secs(60))
}

fn ran(world: &World) -> Summary {
    // Messages that an earlier run received and did not delete are visible again by now.
    world.state().hidden_log_notices.clear();
    poll(run(ports(world), LIMITS)).unwrap().unwrap()
}

/// Verifies the digests as an operator does. The test world signs the hash of a document, prefixed with the number of
/// the signing.
fn verified(world: &World) -> (DigestReport, Digested) {
    let is_signed = |document: &[u8], signature: &str| {
        let raw = STANDARD.decode(signature).unwrap_or_default();
        raw.get(1..) == Some(sha256_raw(document).as_slice())
    };
    let document = poll(world_head(world)).unwrap();
    let mut chain = DigestChain::new("log", document, world.now(), &is_signed);
    let state = world.state();
    while let Some(document) = state.digests.get(&document_key(chain.wanted())) {
        let signature = state.digests.get(&signature_key(chain.wanted()));
        if !chain.add(document.as_bytes(), signature.map(String::as_bytes)) {
            break;
        }
    }
    drop(state);
    chain.end(None)
}

async fn world_head(world: &World) -> Option<Head> {
    ports(world).journal.load::<DigestState>().await.unwrap().value.memory.head
}

/// Checks that no record is missing in the digests, that there is no finding, and that no digest number was signed
/// twice with different contents.
fn check(world: &World, keys: &[String], context: &str) {
    world.plan(Plan::none());
    let (report, mut digested) = verified(world);
    assert_eq!(report.findings, [], "{context}");
    let state = world.state();
    let stored: BTreeSet<[u8; 32]> = state
        .digests
        .iter()
        .filter(|(key, _)| key.starts_with("digests/"))
        .map(|(_, text)| sha256_raw(text.as_bytes()))
        .collect();
    assert!(state.signed.iter().all(|hash| stored.contains(hash)), "{context}: something else was signed");
    assert_eq!(state.log_notices.len(), 0, "{context}: messages are left");
    for (_, text) in state.digests.iter().filter(|(key, _)| key.starts_with("digests/")) {
        let document = Document::parse(text.as_bytes()).unwrap();
        let copy = state.digests.get(&copies::copy_key(&document)).cloned().unwrap_or_default();
        let (found, others) = copies::records(&document, copy.as_bytes());
        assert_eq!((found.len(), others), (document.entries.len(), vec![]), "{context}: the copy is not complete");
    }
    for key in keys {
        let stream = audit_verify::stream::stream_of(key);
        let objects: Vec<_> = state
            .log
            .iter()
            .filter(|(other, _)| audit_verify::stream::stream_of(other) == stream)
            .map(|(key, line)| (key.clone(), format!("{line}\n").into_bytes()))
            .collect();
        let streamed = digested.take(stream);
        assert!(streamed.undigested(&objects, |_| true).is_empty() && !objects.is_empty(), "{context}: {key}");
        assert_eq!(streamed.compare(&objects, |_| true), None, "{context}: {key}");
    }
}

#[test]
fn what_is_new_is_digested_once_and_an_empty_hour_too() {
    let world = world();
    let keys = publish(&world, 3);
    assert_eq!(ran(&world), Summary { documents: 1, entries: 3, ..Summary::default() });
    check(&world, &keys[..1], "first");
    assert_eq!(ran(&world), Summary { documents: 1, entries: 0, ..Summary::default() });
    let second = Document::parse(world.state().digests[&document_key(2)].as_bytes()).unwrap();
    assert_eq!((second.sequence, second.entries.len(), second.log.as_str()), (2, 0, "log"));
    let first = world.state().digests[&document_key(1)].clone();
    assert_eq!(second.previous, sha256(first.as_bytes()));
    let named: Vec<_> = Document::parse(first.as_bytes()).unwrap().entries.into_iter().map(|entry| entry.key).collect();
    assert_eq!(named, keys, "in the order of the keys");
}

#[test]
fn more_than_one_digest_holds_goes_into_several() {
    let world = world();
    let keys: Vec<String> = (0..7).flat_map(|_| publish(&world, 5)).collect();
    let summary = ran(&world);
    assert_eq!(summary.entries, 35);
    assert!(summary.documents > 1, "{summary:?}");
    for stream in keys.chunks(5) {
        check(&world, &stream[..1], "several");
    }
}

#[test]
fn what_one_run_does_is_bounded_and_the_next_goes_on() {
    let world = world();
    (0..20).for_each(|_| drop(publish(&world, 5)));
    let first = ran(&world);
    assert_eq!(first.documents, LIMITS.documents as u64);
    let left = world.state().log_notices.len();
    assert_eq!(left as u64, 100 - first.entries);
    while !world.state().log_notices.is_empty() {
        ran(&world);
    }
    assert_eq!(verified(&world).0.entries, 100);
}

/// A run crashes, or one of its effects fails, at every effect and at every pair of effects; further runs follow.
#[test]
fn no_death_loses_a_record_or_signs_twice_differently() {
    let untroubled = world();
    publish(&untroubled, 3);
    ran(&untroubled);
    let effects = untroubled.passed();
    assert!(effects > 8, "{effects}");
    let reached = untroubled.state().boundaries.clone();
    let own = BOUNDARIES.into_iter().filter(|name| name.starts_with("digests.") || name.starts_with("log_notices."));
    let missing: Vec<_> = own.filter(|name| !reached.contains(name)).collect();
    assert_eq!(missing, ["digests.keys"], "only operators list digests");
    for fault in FAULTS {
        for at in 0..effects {
            for second in std::iter::once(None).chain((0..effects).map(Some)) {
                let world = world();
                let broken = |at| {
                    world.plan(Plan::at(at, fault));
                    let _ = poll(run(ports(&world), LIMITS));
                    world.plan(Plan::none());
                };
                let mut keys = publish(&world, 3);
                broken(at);
                keys.extend(publish(&world, 2));
                world.state().hidden_log_notices.clear();
                second.into_iter().for_each(broken);
                ran(&world);
                ran(&world);
                check(&world, &[keys[0].clone(), keys[3].clone()], &format!("{fault:?} at {at}, then at {second:?}"));
            }
        }
    }
}

/// Another run stores its digest first, in the place of this run's digest.
struct Quicker<'w> {
    world: &'w World,
    theirs: String,
}

#[async_trait]
impl DigestStore for Quicker<'_> {
    async fn keep(&self, key: &str, document: &str) -> Result<Vec<u8>, StorageError> {
        if key == document_key(1) {
            DigestStore::keep(self.world, key, &self.theirs).await?;
        }
        DigestStore::keep(self.world, key, document).await
    }
    async fn find(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        DigestStore::find(self.world, key).await
    }
    async fn keys(&self, prefix: &str, after: &str) -> Result<Vec<String>, StorageError> {
        DigestStore::keys(self.world, prefix, after).await
    }
}

#[test]
fn two_runs_at_once_forget_nothing_that_only_one_of_them_has_seen() {
    let world = world();
    let (theirs, ours) = (publish(&world, 1), publish(&world, 1));
    let bytes = format!("{}\n", world.state().log[&theirs[0]]).into_bytes();
    let document = Document::following(None, "log", world.now(), vec![Entry::of(&theirs[0], Some(&bytes))]);
    let quicker = Quicker { world: &world, theirs: document.bytes() };
    let summary = poll(run(Ports { digests: &quicker, ..ports(&world) }, LIMITS)).unwrap().unwrap();
    assert!(summary.overtaken);
    assert_eq!(world.state().log_notices.len(), 1, "only what is in the digest is forgotten");
    ran(&world);
    check(&world, &[theirs[0].clone(), ours[0].clone()], "overtaken");
}

#[test]
fn a_store_that_hands_out_nothing_ends_the_run() {
    let world = world();
    (0..UNREADABLE).for_each(|_| drop(publish(&world, 2)));
    world.plan(Plan::none().whenever("log.object", Fault::Fail));
    let limits = Limits { entries: 100, ..LIMITS };
    assert_eq!(poll(run(ports(&world), limits)).unwrap().map_err(|error| error.code()), Err(ErrorCode::Storage));
    assert!(world.state().digests.is_empty());
}

#[test]
fn the_head_is_announced_once_a_day() {
    let world = world();
    let announced = |world: &World| {
        let state = world.state();
        state.alerts.iter().filter(|alert| alert.line.contains("head of the log's digests")).count()
    };
    ran(&world);
    ran(&world);
    assert_eq!(announced(&world), 1);
    world.advance(std::time::Duration::from_secs(24 * 3600));
    ran(&world);
    assert_eq!(announced(&world), 2);
    let head = poll(world_head(&world)).unwrap().unwrap();
    let last = world.state().alerts.last().unwrap().line.clone();
    assert!(last.ends_with(&format!("3:{}", head.hash)), "{last}");
}

#[test]
fn unreadable_messages_are_distinguished_from_test_messages() {
    let world = world();
    world.state().log_notices.insert("test".into(), r#"{"Service":"Amazon S3","Event":"s3:TestEvent"}"#.into());
    world.state().log_notices.insert("odd".into(), "hello".into());
    assert_eq!(ran(&world).unreadable, 1);
    assert_eq!(world.state().log_notices.keys().collect::<Vec<_>>(), ["odd"]);
}

#[test]
fn what_is_written_stays_byte_for_byte() {
    let world = world();
    let keys = publish(&world, 3);
    ran(&world);
    publish(&world, 1);
    world.state().log.remove(&keys[1]);
    world.plan(Plan::at(7, Fault::CrashAfter));
    world.state().hidden_log_notices.clear();
    assert!(poll(run(ports(&world), LIMITS)).is_none());
    world.plan(Plan::none());
    ran(&world);
    testkit::golden::check(concat!(env!("CARGO_MANIFEST_DIR"), "/golden/runs.txt"), &world.written());
}
