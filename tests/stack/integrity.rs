//! The log's signed digests, verified with the command line: every change of the log or of the digests is found.
//!
//! The tests do damage with the account's own keys, in spite of the Object Lock if necessary. All tests share the log, so
//! each damage is undone before anything is asserted about it: a test that fails leaves no damage to others.

use crate::{
    operators::{asked, oracle},
    world::{Sale, World},
};
use audit_verify::signed_digest::{Document, document_key};
use serde_json::{Value, json};

/// The result of `oracle audit verify`: its exit code, and the keys with their damage. If there is no report, what the
/// command wrote instead.
fn verified(world: &World) -> (Option<i32>, Vec<(String, String)>) {
    let output = oracle(world, &["audit", "verify", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let Some(findings) = report["findings"].as_array() else {
        return (output.status.code(), vec![("no report".to_owned(), format!("{output:?}"))]);
    };
    let word = |finding: &Value, name: &str| finding[name].as_str().unwrap_or_default().to_owned();
    (output.status.code(), findings.iter().map(|finding| (word(finding, "key"), word(finding, "damage"))).collect())
}

/// The result where the log is sound.
fn sound() -> (Option<i32>, Vec<(String, String)>) {
    (Some(0), Vec::new())
}

async fn digest(world: &World) {
    world.aws.invoke("AuditDigestFunctionName", &json!({})).await;
}

/// The last digest.
async fn last(world: &World) -> (u64, Document) {
    let keys = world.aws.keys("DigestsBucket", "digests/").await;
    let key = keys.last().expect("a digest");
    let document = Document::parse(world.aws.text("DigestsBucket", key).await.as_bytes()).expect("a digest");
    (document.sequence, document)
}

async fn bought(world: &World) -> (Sale, Vec<String>) {
    let sale = world.bought("quick").await;
    world.drained().await;
    let keys = world.record_keys(&sale.session).await;
    (sale, keys)
}

#[tokio::test]
async fn what_is_new_is_digested_signed_and_verified() {
    let world = World::alone().await;
    let (_, keys) = bought(&world).await;
    digest(&world).await;
    let (sequence, document) = last(&world).await;
    for key in &keys {
        assert!(document.keys().contains(key.as_str()), "{key} is in no digest");
    }
    let report = asked(&world, &["audit", "report"]);
    let (code, mut copied) = asked(&world, &["audit", "report", "--copies"]);
    let missing = copied.as_object_mut().and_then(|copied| copied.remove("missing")).unwrap_or_default();
    assert!(missing.as_str().is_some_and(|missing| missing.contains("as of the digest of")), "{missing}");
    assert_eq!((code, copied), report, "the hourly copies hold all records");
    // An hour without sales has a digest too, and the function's own records are in the next one.
    digest(&world).await;
    let (next, document) = last(&world).await;
    assert_eq!(next, sequence + 1);
    assert!(document.entries.iter().all(|entry| !keys.contains(&entry.key)), "nothing is digested again");
    assert!(document.entries.iter().any(|entry| entry.key.contains("/function/audit-digest/")), "{document:?}");
    assert_eq!(verified(&world), sound());
    let (_, lines) = asked(&world, &["audit", "digests", "list"]);
    let lines = lines.as_array().expect("a list");
    assert_eq!(lines.len() as u64, next);
    assert!(lines.iter().all(|line| line["signature_ok"] == true), "{lines:?}");
    let others = oracle(&world, &["audit", "verify", "--head", &format!("{next}:{}", "0".repeat(64)), "--json"]);
    assert_eq!(others.status.code(), Some(1), "the head differs from the one that operators were alerted to");
}

/// A stream whose sale is not in the table is a finding, reported with all its records; a known one is reported
/// separately.
#[tokio::test]
async fn a_sale_that_is_gone_from_the_table_is_found_and_known_findings_are_separate() {
    let world = World::alone().await;
    let (sale, keys) = bought(&world).await;
    digest(&world).await;
    assert_eq!(verified(&world), sound(), "before the test");
    let item = world.aws.item(&sale.session, "SALE").await.expect("a sale");
    world.aws.remove_item(&sale.session, "SALE").await;
    let file = world.stack.directory.join("known.jsonl");
    let first = oracle(&world, &["audit", "verify", "--json"]);
    let report: Value = serde_json::from_slice(&first.stdout).unwrap_or_default();
    let finding = report["findings"][0].clone();
    let written = std::fs::write(&file, format!("{finding}\n"));
    let known = oracle(&world, &["audit", "verify", "--json", "--known", file.to_str().unwrap_or_default()]);
    let orphaned = oracle(&world, &["show", &sale.session, "--json"]);
    world.aws.put_back(item).await;
    written.expect("a file of known findings");
    let findings = report["findings"].as_array().map_or(0, Vec::len);
    assert_eq!((first.status.code(), findings), (Some(1), 1), "{first:?}");
    assert_eq!((&finding["key"], &finding["damage"]), (&json!(keys[0]), &json!("orphaned")));
    let report: Value = serde_json::from_slice(&known.stdout).unwrap_or_default();
    let separated = (known.status.code(), &report["findings"], &report["known"][0]);
    assert_eq!(separated, (Some(0), &json!([]), &finding), "{known:?}");
    // `oracle show` still shows the sale, from the log alone, and with the finding.
    let shown: Value = serde_json::from_slice(&orphaned.stdout).expect("a sale's story");
    assert_eq!((&shown["sale"], &shown["finding"]["damage"]), (&Value::Null, &json!("orphaned")));
    assert_eq!(verified(&world), sound());
    let (_, shown) = asked(&world, &["show", &sale.session]);
    assert_eq!((&shown["finding"], shown["timeline"].as_array().map(Vec::len)), (&Value::Null, Some(keys.len())));
}

/// Every hour has its digest here, so catch-up announces nothing; its announcements have their own tests.
#[tokio::test]
async fn there_is_nothing_to_catch_up_with_where_every_hour_is_digested() {
    let world = World::alone().await;
    bought(&world).await;
    digest(&world).await;
    let nothing = json!({ "announced": 0, "left_out": [] });
    assert_eq!(asked(&world, &["audit", "digests", "catch-up"]), (Some(0), nothing));
}

/// Every damage to the log is reported, and the digests find it even if the table was changed to match.
#[tokio::test]
async fn damage_to_the_log_is_named() {
    let world = World::alone().await;
    let (sale, keys) = bought(&world).await;
    digest(&world).await;
    assert_eq!(verified(&world), sound(), "before the test");
    let named = |key: &str, damage: &str| (Some(1), vec![(key.to_owned(), damage.to_owned())]);
    // A second version over a record; the lock preserves the first one.
    let edited = world.aws.text("AuditBucket", &keys[1]).await.replace("cs_test", "cs_tset");
    let undamaged = world.aws.put_over("AuditBucket", &keys[1], &edited).await;
    let found = verified(&world);
    world.aws.undo(undamaged).await;
    assert_eq!((found.0, &found.1[0].0), (Some(1), &keys[1]), "{found:?}");
    // The first record hidden behind a delete marker.
    let undamaged = world.aws.hide("AuditBucket", &keys[0]).await;
    let found = verified(&world);
    world.aws.undo(undamaged).await;
    assert_eq!(found, named(&keys[0], "deleted"));
    // The last one, before and after the table was changed as if the record had never existed: then only the digests
    // prove that it did.
    let tail = keys.last().expect("a record");
    let text = world.aws.text("AuditBucket", &keys[keys.len() - 2]).await;
    let mut whole = Value::Null;
    let undamaged = world.aws.hide("AuditBucket", tail).await;
    let truncated = verified(&world);
    let shorten = |_: &mut _, sale: &mut Value| {
        whole = sale.clone();
        sale["audit"]["count"] = json!(keys.len() - 1);
        sale["audit"]["hash"] = json!(audit::hash::sha256(text.trim_end().as_bytes()));
        sale["outbox"] = json!([]);
    };
    world.aws.change_sale(&sale.session, shorten).await;
    let shortened = verified(&world);
    world.aws.change_sale(&sale.session, |_, sale| *sale = whole.clone()).await;
    world.aws.undo(undamaged).await;
    assert_eq!(truncated, named(tail, "truncated"));
    assert_eq!(shortened, named(tail, "truncated"));
    assert_eq!(verified(&world), sound());
}

/// Damage to the digests is found too, and damage to both at once.
#[tokio::test]
async fn damage_to_the_digests_is_named() {
    let world = World::alone().await;
    let (_, keys) = bought(&world).await;
    digest(&world).await;
    digest(&world).await;
    let (sequence, _) = last(&world).await;
    let named = |sequence: u64, damage: &str| (document_key(sequence), damage.to_owned());
    let last_digest = world.aws.hide("DigestsBucket", &document_key(sequence)).await;
    let last_is_gone = verified(&world);
    // Log and digests are truncated together: the head in the table matches neither.
    let digest_before = world.aws.hide("DigestsBucket", &document_key(sequence - 1)).await;
    let record = world.aws.hide("AuditBucket", keys.last().expect("a record")).await;
    let both_are_truncated = verified(&world);
    world.aws.undo(record).await;
    world.aws.undo(last_digest).await;
    let gap = verified(&world);
    world.aws.undo(digest_before).await;
    for ((code, findings), expected) in [
        (last_is_gone, named(sequence, "truncated")),
        (both_are_truncated, named(sequence - 1, "truncated")),
        (gap, named(sequence - 1, "deleted")),
    ] {
        assert_eq!((code, findings.contains(&expected)), (Some(1), true), "{findings:?}");
    }
    assert_eq!(verified(&world), sound());
    // A digest cannot be removed. (The template's tests check that only the function may write there: the emulator
    // applies no bucket policy to the account's own keys.)
    let head = world.aws.s3.head_object().bucket(world.aws.output("DigestsBucket")).key(document_key(sequence));
    let version = head.send().await.expect("a digest").version_id.expect("a version");
    let delete = world.aws.s3.delete_object().bucket(world.aws.output("DigestsBucket")).key(document_key(sequence));
    assert!(delete.version_id(version).send().await.is_err(), "a digest could be deleted");
}
