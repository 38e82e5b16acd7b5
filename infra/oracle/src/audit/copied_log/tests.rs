//! Reads a world's log from copies and directly.

use super::*;
use crate::{audit::log_reader, command::wait};
use audit::{Record as AuditRecord, Source, Status, chain};
use audit_verify::{
    Period,
    signed_digest::{Entry, Head},
};
use domain::{Sale, SessionId};
use std::collections::BTreeMap;
use testkit::World;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// A world with three sales, whose records came in one after the other and are in two digests with copies.
fn world() -> Arc<World> {
    let world = World::at(NOW);
    let mut objects: Vec<(String, Vec<u8>)> = Vec::new();
    for number in 0..3 {
        let session = SessionId::parse(format!("cs_test_{number}")).unwrap();
        let mut sale = Sale::ordered(session, NOW);
        for status in [Status::Ok, Status::EmailSent] {
            let source = if status == Status::Ok { Source::Webhook } else { Source::EmailService };
            chain::append(&mut sale, &AuditRecord::pipeline(NOW, NOW, source, status, None));
        }
        for entry in sale.outbox() {
            world.state().log.insert(entry.key.clone(), entry.line.clone());
            objects.push((entry.key.clone(), format!("{}\n", entry.line).into_bytes()));
        }
    }
    // The first digest has the first record of each sale, so that every stream is spread over both.
    let (first, second): (Vec<_>, Vec<_>) = objects.into_iter().partition(|(key, _)| key.ends_with("000001.json"));
    let mut head = None;
    for part in [first, second] {
        let entries = part.iter().map(|(key, bytes)| Entry::of(key, Some(bytes))).collect();
        let document = Document::following(head.as_ref(), "log", NOW, entries);
        let lines: BTreeMap<String, Vec<u8>> = part.into_iter().collect();
        let mut state = world.state();
        state.digests.insert(document_key(document.sequence), document.bytes());
        state.digests.insert(copies::copy_key(&document), copies::copy(&document, &lines));
        let (sequence, hash) = (document.sequence, audit::hash::sha256(document.bytes().as_bytes()));
        head = Some(Head { sequence, hash, signature: String::new(), made_at: NOW.to_iso() });
    }
    Arc::new(world)
}

fn report(objects: Arc<dyn AuditObjects>) -> serde_json::Value {
    let report = wait(log_reader::report(&objects, &Period::default(), |_, _| ())).unwrap();
    serde_json::to_value(report).unwrap()
}

fn fetched(world: &Arc<World>) -> CopiedLog {
    let digests: Arc<dyn DigestStore> = world.clone();
    wait(CopiedLog::fetch(&digests, world.clone(), |_, _| ())).unwrap()
}

#[test]
fn the_report_from_copies_is_the_one_from_the_log_and_reads_no_record() {
    let world = world();
    let directly = report(world.clone());
    assert_eq!(directly["records"], 6);
    let copied = fetched(&world);
    assert_eq!(copied.until(), Some(NOW.to_iso().as_str()));
    world.state().log.clear();
    assert_eq!(report(Arc::new(copied)), directly);
}

#[test]
fn a_record_without_a_copy_is_read_from_the_log() {
    let world = world();
    let directly = report(world.clone());
    // A digest from before copies were made, and a copy with a line that was changed.
    let copies: Vec<String> = world.state().digests.keys().filter(|key| key.starts_with("records/")).cloned().collect();
    world.state().digests.remove(&copies[0]);
    let changed = world.state().digests[&copies[1]].replacen("EMAIL_SENT", "EMAIL_FAILED", 1);
    world.state().digests.insert(copies[1].clone(), changed);
    assert_eq!(report(Arc::new(fetched(&world))), directly);
}

#[test]
fn without_a_digest_there_is_no_record() {
    let world = Arc::new(World::at(NOW));
    let copied = fetched(&world);
    assert_eq!(copied.until(), None);
    assert_eq!(report(Arc::new(copied))["records"], 0);
}
