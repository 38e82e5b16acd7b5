//! Verifies sound and damaged logs in a world, with and without digests.
//! The file has more than 300 lines because each kind of damage and of late work has a test of its own on the same
//! log.

use super::*;
use crate::audit::public_key::KeyPair;
use async_trait::async_trait;
use audit::{FunctionJournal, Record, Source, Status, Stream, chain, hash::sha256};
use audit_verify::signed_digest::{Document, FUNCTION, Head, Signature, document_key, signature_key};
use domain::{
    Sale, Timestamp,
    ports::{Notes, SaveError},
    sale::AuditEntry,
};
use std::sync::{
    Arc,
    atomic::{AtomicI32, Ordering},
};
use testkit::{Fault, Plan, World, run};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

fn ports(world: &Arc<World>) -> Ports {
    Ports {
        objects: world.clone(),
        store: world.clone(),
        all: world.clone(),
        streams: world.clone(),
        notes: world.clone(),
        purchases: world.clone(),
        accounts: world.clone(),
        subscribers: world.clone(),
        bridges: world.clone(),
    }
}

/// Twenty sales of three records, all published, on two days.
fn world() -> Arc<World> {
    let world = World::default();
    for index in 0..20 {
        let opened = Timestamp::from_seconds(1_800_000_000 + (index / 10) * 86_400);
        let mut sale = Sale::ordered(SessionId::parse(format!("cs_test_{index:02}")).unwrap(), opened);
        for _ in 0..3 {
            let record = Record::pipeline(opened, opened, Source::Webhook, Status::Ok, None);
            chain::append(&mut sale, &record);
        }
        let outbox = std::mem::take(sale.trail_mut().outbox_mut().0);
        let mut state = world.state();
        state.log.extend(outbox.into_iter().map(|AuditEntry { key, line, .. }| (key, line)));
        state.sales.insert(sale.session_id().clone(), (sale, 1));
    }
    Arc::new(world)
}

/// Verifies with digests that have no entries. The last one was made just now.
fn verified_with_digests(world: &Arc<World>) -> Verification {
    let pair = KeyPair::new();
    let document = Document::following(None, "log", NOW, Vec::new()).bytes();
    let (hash, signature) = (sha256(document.as_bytes()), pair.sign(document.as_bytes()));
    let beside = Signature::of(1, &hash, "key", &signature).bytes();
    let head = Head { sequence: 1, hash, signature, made_at: NOW.to_iso() };
    let note = serde_json::json!({ "memory": { "head": head } }).to_string();
    let mut state = world.state();
    state.digests.extend([(document_key(1), document), (signature_key(1), beside)]);
    state.notes.insert(FUNCTION.to_owned(), (note, 1));
    drop(state);
    let (store, notes, keys) = (world.clone(), world.clone(), vec![pair.public()]);
    let digests = Digests { store, notes, bucket: "log".to_owned(), keys, announced: Vec::new() };
    crate::command::wait(verify(&ports(world), Some(&digests), "", NOW, |_| ())).unwrap()
}

/// Digests are made hourly, so objects of the last two hours need not be in one.
#[test]
fn what_is_in_no_digest_is_found_once_it_is_late() {
    let world = world();
    let limit = NOW.as_millis() - 2 * 3_600_000;
    let all: Vec<String> = world.state().log.keys().cloned().collect();
    let written = |at: i64| all.iter().map(|key| (key.clone(), at)).collect::<Vec<_>>();
    world.state().log_written_at.extend(written(limit));
    let found = verified_with_digests(&world);
    assert_eq!((found.findings, found.undigested.len()), (Vec::new(), 0));
    let key = |seq| chain::key("2027-01-15", "session/cs_test_03", seq);
    world.state().log_written_at.extend([(key(2), limit - 1), (key(3), limit - 1)]);
    let found = verified_with_digests(&world);
    assert_eq!(found.findings, [Finding { key: key(2), damage: Damage::Undigested }]);
    assert_eq!(found.undigested, [key(2), key(3)], "all of it is there for the next digest");
    // Damage of the same stream is reported instead.
    *world.state().log.get_mut(&key(3)).unwrap() = "{}".into();
    assert_eq!(verified_with_digests(&world).findings, [Finding { key: key(3), damage: Damage::Unreadable }]);
}

/// A stream without a row in the table is forged, or its sale was removed.
#[test]
fn streams_that_the_table_knows_nothing_of_are_found() {
    let world = world();
    let session = |index: u64| SessionId::parse(format!("cs_test_{index:02}")).unwrap();
    world.state().sales.remove(&session(3));
    let forged = "2027-01-15/function/forged/000001.json".to_owned();
    let line = serde_json::json!({
        "function": "forged", "v": 1, "stream": "function/forged", "seq": 1, "prev": sha256(b""),
    });
    world.state().log.insert(forged.clone(), line.to_string());
    let found = verified(&world, "");
    let orphaned = |key| Finding { key, damage: Damage::Orphaned };
    let lost = chain::key("2027-01-15", "session/cs_test_03", 1);
    assert_eq!((found.findings, found.without_sale), (vec![orphaned(forged), orphaned(lost)], 2));
}

fn verified(world: &Arc<World>, since: &str) -> Verification {
    crate::command::wait(verify(&ports(world), None, since, NOW, |_| ())).unwrap()
}

#[test]
fn a_sound_log_is_sound_and_a_day_is_where_it_begins() {
    let world = world();
    let found = verified(&world, "");
    assert_eq!((found.streams, found.records, found.findings.len()), (20, 60, 0));
    let found = verified(&world, "2027-01-16");
    assert_eq!((found.streams, found.records, found.is_sound()), (10, 30, true));
}

#[test]
fn every_bad_stream_is_named_and_lost_ones_too() {
    let world = world();
    let key = |session: &str, seq| chain::key("2027-01-15", &format!("session/{session}"), seq);
    let mut state = world.state();
    for seq in 1..=3 {
        state.log.remove(&key("cs_test_03", seq));
    }
    state.log.remove(&key("cs_test_05", 3));
    *state.log.get_mut(&key("cs_test_07", 2)).unwrap() = "{}".into();
    state.log.insert("readme.txt".into(), "x".into());
    drop(state);
    let found = verified(&world, "").findings;
    let found: Vec<_> = found.iter().map(|finding| (finding.key.clone(), finding.damage)).collect();
    let expected = [
        (key("cs_test_03", 1), Damage::Truncated),
        (key("cs_test_05", 3), Damage::Truncated),
        (key("cs_test_07", 2), Damage::Unreadable),
        ("readme.txt".to_owned(), Damage::Foreign),
    ];
    assert_eq!(found, expected);
}

/// Saves this state with one record that is published, and returns the record.
fn saved<S: Stream>(store: &(impl Store<S> + ?Sized), mut state: S) -> AuditEntry {
    chain::append(&mut state, &Record::toll(NOW, NOW, audit::TollStatus::RagFail, "why"));
    let entry = state.trail_mut().outbox_mut().0.remove(0);
    let saving = async { store.save(&state, 0).await.or_failed("no world") };
    crate::command::wait(saving).unwrap();
    entry
}

/// A whole stream can be missing of every kind of state, and of a function.
#[test]
fn a_missing_stream_is_found_of_whatever_it_is() {
    let world = world();
    let paid = domain::toll::Paid::Transferred { transaction: "0x1".into(), payer: "0x2".into(), network: "n".into() };
    let id = domain::toll::purchase_id(&"c".repeat(64)).unwrap();
    let purchase =
        domain::toll::Purchase::new(id, domain::toll::Offer::Query, "f".to_owned(), "q".to_owned(), paid, NOW);
    let member = |letter: &str| domain::chat::SubscriberId::parse(letter.repeat(64)).unwrap();
    // Names every port, so that a new kind of state does not compile until it is here. `world` has the sales.
    let Ports { objects: _, store: _, all: _, streams: _, notes: _, purchases, accounts, subscribers, bridges } =
        ports(&world);
    let published = [
        saved(&*purchases, purchase),
        saved(&*accounts, domain::chat::Account::new(member("a"))),
        saved(&*subscribers, domain::chat::Subscriber::new(member("d"))),
        saved(&*bridges, domain::chat::Bridge::new(member("b"))),
    ];
    let head = serde_json::json!({ "opened": "2027-01-15", "count": 2, "hash": "h" });
    for name in ["toll", "toll-declined"] {
        let note = serde_json::json!({ "memory": {}, "head": head }).to_string();
        world.state().notes.insert(name.to_owned(), (note, 1));
    }
    let missing = || {
        let findings = verified(&world, "").findings;
        assert!(findings.iter().all(|finding| finding.damage == Damage::Truncated), "{findings:?}");
        findings.into_iter().map(|finding| finding.key).collect::<Vec<_>>()
    };
    let of_functions = ["toll", "toll-declined"].map(|name| chain::key("2027-01-15", &format!("function/{name}"), 1));
    let of_states = [("cs_x402_", "c"), ("cs_chat_", "a"), ("cs_sub_", "d"), ("cs_bridge_", "b")];
    let of_states =
        of_states.map(|(kind, id)| chain::key("2027-01-15", &format!("session/{kind}{}", id.repeat(64)), 1));
    let mut all = [of_functions.to_vec(), of_states.to_vec()].concat();
    all.sort();
    assert_eq!(missing(), all);
    assert!(verified(&world, "2027-01-16").is_sound(), "all of them were opened before");
    world.state().log.extend(published.into_iter().map(|entry| (entry.key, entry.line)));
    let mut of_functions = of_functions.to_vec();
    of_functions.sort();
    assert_eq!(missing(), of_functions);
}

#[test]
fn a_report_reads_every_record_once() {
    let world = world();
    let whole = crate::command::wait(report(&ports(&world).objects, &Period::default(), |_, _| ())).unwrap();
    assert_eq!((whole.sales, whole.records, whole.latency[0].count), (20, 60, 60));
    let from = |day: &str| Period::new(Timestamp::parse(&format!("{day}T00:00:00Z")), None);
    let all: Vec<String> = world.state().log.keys().cloned().collect();
    let written = all.iter().map(|key| (key.clone(), Timestamp::parse("2027-01-16T09:00:00Z").unwrap().as_millis()));
    world.state().log_written_at.extend(written);
    let second = crate::command::wait(report(&ports(&world).objects, &from("2027-01-16"), |_, _| ())).unwrap();
    assert_eq!((second.sales, second.records), (10, 30));
    world.plan(Plan::none().whenever("log.object", Fault::Fail));
    let none = crate::command::wait(report(&ports(&world).objects, &from("2027-01-17"), |_, _| ())).unwrap();
    assert_eq!(none.sales, 0, "nothing is read that was not written since");
    assert!(crate::command::wait(report(&ports(&world).objects, &Period::default(), |_, _| ())).is_err());
}

/// Adds a record to the stream of a function.
fn look(world: &World) {
    let journal = FunctionJournal { function: "cache-health", notes: world, log: world, alerts: world, clock: world };
    run(journal.record_required("looked", &serde_json::json!({}))).unwrap().unwrap();
}

/// The notes of a world in which a function adds a record before each of the first loads.
struct Busy {
    world: Arc<World>,
    loads: AtomicI32,
}

#[async_trait]
impl Notes for Busy {
    async fn load(&self, name: &str) -> Result<Versioned<Option<String>>, StorageError> {
        if self.loads.fetch_sub(1, Ordering::Relaxed) > 0 {
            look(&self.world);
        }
        Notes::load(self.world.as_ref(), name).await
    }

    async fn save(&self, name: &str, document: &str, expected: u64) -> Result<u64, SaveError> {
        Notes::save(self.world.as_ref(), name, document, expected).await
    }
}

#[test]
fn a_function_may_write_while_its_stream_is_read() {
    let world = Arc::new(World::default());
    let verified = |loads| {
        let notes = Arc::new(Busy { world: world.clone(), loads: AtomicI32::new(loads) });
        let ports = Ports { notes, ..ports(&world) };
        crate::command::wait(verify(&ports, None, "", NOW, |_| ())).unwrap()
    };
    look(&world);
    let found = verified(2);
    assert_eq!((found.findings, found.records), (Vec::new(), 3));
    let first = chain::key("1970-01-01", "function/cache-health", 1);
    world.state().log.remove(&first);
    let deleted = [Finding { key: first, damage: Damage::Deleted }];
    assert_eq!(verified(2).findings, deleted, "but damage stays damage");
    let key = |day: &str, seq| chain::key(day, "function/cache-health", seq);
    world.advance(std::time::Duration::from_secs(86_400));
    look(&world);
    look(&world);
    world.state().log.remove(&key("1970-01-02", 2));
    let truncated = Finding { key: key("1970-01-02", 2), damage: Damage::Truncated };
    assert_eq!(verified(0).findings, [deleted[0].clone(), truncated], "of each day");
}

#[test]
fn damage_does_not_hide_that_a_function_has_no_note() {
    let world = Arc::new(World::default());
    for _ in 0..3 {
        look(&world);
    }
    let key = |seq| chain::key("1970-01-01", "function/cache-health", seq);
    let mut state = world.state();
    state.log.remove(&key(2));
    state.notes.remove("cache-health");
    drop(state);
    let found = verified(&world, "");
    let expected = [(1, Damage::Orphaned), (2, Damage::Deleted)];
    assert_eq!(found.findings, expected.map(|(seq, damage)| Finding { key: key(seq), damage }));
    assert_eq!((found.streams, found.without_sale), (1, 1));
}

/// Each record costs a request, and cache-health alone writes one a minute.
#[test]
fn a_report_reads_no_stream_that_it_does_not_count() {
    let world = world();
    let plant = |stream: &str| {
        let key = chain::key("2027-01-15", stream, 1);
        let mut state = world.state();
        state.log.insert(key.clone(), "{}".to_owned());
        state.log_unreadable.insert(key);
    };
    let sales =
        || crate::command::wait(report(&ports(&world).objects, &Period::default(), |_, _| ())).map(|it| it.sales);
    for stream in ["function/cache-health", "function/toll-declined-2", "session/cs_chat_a", "session/cs_bridge_b"] {
        plant(stream);
    }
    assert_eq!(sales().unwrap(), 20);
    plant("function/toll-2");
    assert!(sales().is_err(), "its payments count");
}

#[test]
fn a_log_that_cannot_be_read_is_not_called_sound() {
    for name in ["log.keys", "log.object", "store.load", "store.all", "store.streams"] {
        let world = world();
        world.plan(Plan::none().whenever(name, Fault::Fail));
        let result = crate::command::wait(verify(&ports(&world), None, "", NOW, |_| ()));
        assert!(matches!(result, Err(CommandError::Failed { .. })), "{name}");
    }
}
