//! Reads digests from a world that are signed with a real key.

use super::*;
use crate::audit::public_key::KeyPair;
use async_trait::async_trait;
use audit::hash::sha256;
use audit_verify::signed_digest::{Entry, Signature};
use std::{collections::BTreeMap, sync::Mutex};
use testkit::{Fault, Plan, World};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// A world with `count` digests, one per hour, the last one now. Each names one record of its own day.
fn kept(count: u64, pair: &KeyPair) -> Arc<World> {
    let world = World::at(NOW);
    let mut head: Option<Head> = None;
    for sequence in 1..=count {
        let ago = i64::try_from(count - sequence).unwrap() * 3600;
        let made_at = Timestamp::from_seconds(NOW.as_seconds() - ago);
        let key = format!("{}/session/cs_test_{sequence}/000001.json", made_at.to_date());
        let document = Document::following(head.as_ref(), "log", made_at, vec![Entry::of(&key, Some(b"line\n"))]);
        let (bytes, hash) = (document.bytes(), sha256(document.bytes().as_bytes()));
        let signature = pair.sign(bytes.as_bytes());
        let beside = Signature::of(sequence, &hash, "key", &signature).bytes();
        let mut state = world.state();
        state.digests.insert(document_key(sequence), bytes);
        state.digests.insert(signature_key(sequence), beside);
        head = Some(Head { sequence, hash, signature, made_at: made_at.to_iso() });
    }
    let note = serde_json::json!({ "memory": { "head": head } }).to_string();
    world.state().notes.insert(FUNCTION.to_owned(), (note, 1));
    Arc::new(world)
}

fn digests(world: &Arc<World>, keys: Vec<PublicKey>, announced: &[&str]) -> Digests {
    let announced = announced.iter().map(|text| text.parse().unwrap()).collect();
    Digests { store: world.clone(), notes: world.clone(), bucket: "log".to_owned(), keys, announced }
}

fn verified(digests: &Digests, since: &str) -> (DigestReport, Digested) {
    crate::command::wait(read(digests, since, NOW)).unwrap()
}

#[test]
fn digests_of_a_trusted_key_are_sound_and_of_another_are_not() {
    let pair = KeyPair::new();
    let world = kept(40, &pair);
    let (report, digested) = verified(&digests(&world, vec![pair.public()], &[]), "");
    assert_eq!((report.findings.len(), report.documents, report.last), (0, 40, Some(40)));
    assert_eq!(digested.streams().len(), 40);
    let strangers = vec![KeyPair::new().public()];
    let (report, digested) = verified(&digests(&world, strangers, &[]), "");
    assert_eq!((report.findings[0].damage, digested.streams().len()), (Damage::Edited, 0));
    let both = vec![KeyPair::new().public(), pair.public()];
    assert!(verified(&digests(&world, both, &[]), "").0.findings.is_empty());
}

#[test]
fn a_later_day_costs_only_its_own_digests() {
    let pair = KeyPair::new();
    let world = kept(100, &pair);
    let yesterday = Timestamp::from_seconds(NOW.as_seconds() - 86_400).to_date();
    let (report, digested) = verified(&digests(&world, vec![pair.public()], &[]), &yesterday);
    assert_eq!((report.findings.len(), report.last), (0, Some(100)));
    assert!((25..50).contains(&report.documents), "{}", report.documents);
    assert_eq!(digested.streams().len() as u64 + 1, report.documents, "and the one before");
    let reads = world.state().boundaries.iter().filter(|name| **name == "digests.find").count();
    assert!(reads < 2 * 50 + 40, "{reads}");
}

/// The reading begins with a verified digest, even if others were tampered with.
#[test]
fn a_later_day_is_not_found_by_what_nobody_signed() {
    let pair = KeyPair::new();
    let today = NOW.to_date();
    let first_of_today = |world: &World| {
        let state = world.state();
        let is_of_today =
            |sequence: &u64| state.digests[&document_key(*sequence)].contains(&format!("made_at\":\"{today}"));
        (1..=100).find(is_of_today).unwrap()
    };
    // All digests of the day except the last are changed to an earlier day, so that their entries would be skipped.
    let world = kept(100, &pair);
    let first = first_of_today(&world);
    for sequence in first..100 {
        let mut state = world.state();
        let document = state.digests.get_mut(&document_key(sequence)).unwrap();
        *document = document.replacen(&format!("made_at\":\"{today}"), "made_at\":\"2027-01-01", 1);
    }
    let (report, _) = verified(&digests(&world, vec![pair.public()], &[]), &today);
    assert_eq!(report.findings[0].damage, Damage::Edited);
    // With unchanged digests, the reading begins with the digest before the first of the day.
    let world = kept(100, &pair);
    let (report, digested) = verified(&digests(&world, vec![pair.public()], &[]), &today);
    assert_eq!((report.findings.len(), report.documents), (0, 100 - first + 2));
    assert_eq!(digested.streams().len() as u64, 100 - first + 1, "only what is of the day");
    // The digest before the first of the day is not the one that the first names.
    world.state().digests.insert(document_key(first - 1), "{}".to_owned());
    let (report, _) = verified(&digests(&world, vec![pair.public()], &[]), &today);
    assert_eq!(report.findings[0].key, document_key(first - 1));
}

/// A head that an alert has named is compared at any age.
#[test]
fn a_reading_from_a_later_day_begins_with_the_announced_heads() {
    let pair = KeyPair::new();
    let world = kept(100, &pair);
    let announced = format!("7:{}", "0".repeat(64));
    let (report, _) = verified(&digests(&world, vec![pair.public()], &[&announced]), &NOW.to_date());
    assert_eq!((report.findings[0].key.clone(), report.findings[0].damage), (document_key(7), Damage::Forked));
}

#[test]
fn damage_is_found_among_many() {
    let pair = KeyPair::new();
    let found = |plant: &dyn Fn(&World)| {
        let world = kept(40, &pair);
        plant(&world);
        let (report, _) = verified(&digests(&world, vec![pair.public()], &[]), "");
        report.findings.first().map(|finding| (finding.key.clone(), finding.damage))
    };
    let remove = |world: &World, sequence| drop(world.state().digests.remove(&document_key(sequence)));
    assert_eq!(found(&|world| remove(world, 20)), Some((document_key(20), Damage::Deleted)));
    assert_eq!(found(&|world| remove(world, 40)), Some((document_key(40), Damage::Truncated)));
    assert_eq!(found(&|world| remove(world, 1)), Some((document_key(1), Damage::Deleted)));
    let edit = |world: &World| {
        let mut state = world.state();
        let document = state.digests.get_mut(&document_key(33)).unwrap();
        *document = document.replace("cs_test_33", "cs_test_99");
    };
    assert_eq!(found(&edit), Some((document_key(33), Damage::Edited)));
}

/// If table, log and digests are reset together to an earlier state, only the head from an alert shows it.
#[test]
fn an_announced_head_reveals_a_rollback() {
    let pair = KeyPair::new();
    let world = kept(40, &pair);
    let head = crate::command::wait(digests(&world, Vec::new(), &[]).head()).unwrap().unwrap();
    let shorter = kept(39, &pair);
    let announced = format!("40:{}", head.hash);
    let check = |world, announced: &str| verified(&digests(world, vec![pair.public()], &[announced]), "").0.findings;
    assert_eq!(check(&world, &announced), []);
    assert_eq!(check(&shorter, &announced)[0].damage, Damage::Truncated);
    let other = format!("39:{}", head.hash);
    assert_eq!(check(&shorter, &other)[0].damage, Damage::Forked);
    for broken in ["", "40", "0:00", "x:00", "40:zz", &announced[..60]] {
        assert!(broken.parse::<Announced>().is_err(), "{broken}");
    }
}

/// A store in which digests appear just before they are listed.
struct Growing {
    world: Arc<World>,
    coming: Mutex<BTreeMap<String, String>>,
}

#[async_trait]
impl DigestStore for Growing {
    async fn keep(&self, key: &str, document: &str) -> Result<Vec<u8>, StorageError> {
        DigestStore::keep(self.world.as_ref(), key, document).await
    }

    async fn find(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        DigestStore::find(self.world.as_ref(), key).await
    }

    async fn keys(&self, prefix: &str, after: &str) -> Result<Vec<String>, StorageError> {
        let coming = std::mem::take(&mut *self.coming.lock().unwrap());
        self.world.state().digests.extend(coming);
        DigestStore::keys(self.world.as_ref(), prefix, after).await
    }
}

#[test]
fn a_digest_that_is_stored_during_the_reading_leaves_no_gap() {
    let pair = KeyPair::new();
    let world = kept(3, &pair);
    let take = |key: String| {
        let text = world.state().digests.remove(&key).unwrap();
        (key, text)
    };
    let coming = [document_key(3), signature_key(3)].map(take).into();
    let store = Arc::new(Growing { world: world.clone(), coming: Mutex::new(coming) });
    let (report, _) = verified(&Digests { store, ..digests(&world, vec![pair.public()], &[]) }, "");
    assert_eq!((report.findings, report.last), (Vec::new(), Some(3)));
}

#[test]
fn what_cannot_be_read_is_not_called_sound() {
    for name in ["digests.find", "digests.keys", "notes.load"] {
        let pair = KeyPair::new();
        let world = kept(2, &pair);
        world.plan(Plan::none().whenever(name, Fault::Fail));
        assert!(crate::command::wait(read(&digests(&world, vec![pair.public()], &[]), "", NOW)).is_err(), "{name}");
    }
}
