//! The log's signed digests, verified with the command line: every change of the log or of the digests is found.
//!
//! The tests do damage with the account's own keys, in spite of the Object Lock if necessary, and undo it afterwards:
//! all tests share the log.

use crate::{
    operators::oracle,
    world::{Sale, World},
};
use audit_verify::signed_digest::{Document, document_key};
use serde_json::{Value, json};

/// The result of `oracle audit verify`: its exit code, and the keys with their damage.
fn verified(world: &World) -> (Option<i32>, Vec<(String, String)>) {
    let output = oracle(world, &["audit", "verify", "--json"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{output:?}"));
    let word = |finding: &Value, name: &str| finding[name].as_str().expect("a word").to_owned();
    let findings = report["findings"].as_array().expect("findings").iter();
    (output.status.code(), findings.map(|finding| (word(finding, "key"), word(finding, "damage"))).collect())
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
    let sale = world.buy("quick").await;
    world.delivered(&sale).await;
    world.drained().await;
    let keys = world.aws.keys("AuditBucket", &sale.session).await;
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
    let report = |options: &[&str]| -> Value {
        let output = oracle(&world, &[&["audit", "report", "--json"], options].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    };
    assert_eq!(report(&["--copies"]), report(&[]), "the hourly copies hold all records");
    // An hour without sales has a digest too, and the function's own records are in the next one.
    digest(&world).await;
    let (next, document) = last(&world).await;
    assert_eq!(next, sequence + 1);
    assert!(document.entries.iter().all(|entry| !keys.contains(&entry.key)), "nothing is digested again");
    assert!(document.entries.iter().any(|entry| entry.key.contains("/function/audit-digest/")), "{document:?}");
    assert_eq!(verified(&world), (Some(0), Vec::new()));
    let output = oracle(&world, &["audit", "digests", "list", "--json"]);
    let lines: Value = serde_json::from_slice(&output.stdout).expect("a list");
    let lines = lines.as_array().expect("a list");
    assert_eq!(lines.len() as u64, next);
    assert!(lines.iter().all(|line| line["signature_ok"] == true), "{lines:?}");
    let others = oracle(&world, &["audit", "verify", "--head", &format!("{next}:{}", "0".repeat(64)), "--json"]);
    assert_eq!(others.status.code(), Some(1), "a head that operators were told of and that is another now");
}

/// A stream whose sale is not in the table is a finding, reported with all its records; a known one is reported
/// separately.
#[tokio::test]
async fn a_sale_that_is_gone_from_the_table_is_found_and_what_is_known_is_told_apart() {
    let world = World::alone().await;
    let (sale, keys) = bought(&world).await;
    digest(&world).await;
    let item = world.aws.item(&sale.session, "SALE").await.expect("a sale");
    world.aws.remove_item(&sale.session, "SALE").await;
    let output = oracle(&world, &["audit", "verify", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let findings = report["findings"].as_array().expect("findings");
    assert_eq!((findings.len(), &findings[0]["key"], &findings[0]["damage"]), (1, &json!(keys[0]), &json!("orphaned")));
    let file = world.stack.directory.join("known.jsonl");
    std::fs::write(&file, format!("{}\n", findings[0])).expect("a file of known findings");
    let known = ["audit", "verify", "--json", "--known", file.to_str().expect("a path")];
    let output = oracle(&world, &known);
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!((output.status.code(), &report["findings"], &report["known"][0]), (Some(0), &json!([]), &findings[0]));
    // `oracle show` still shows the sale, from the log alone, and with the finding.
    let shown = oracle(&world, &["show", &sale.session, "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).expect("a sale's story");
    assert_eq!((&shown["sale"], &shown["finding"]["damage"]), (&Value::Null, &json!("orphaned")));
    world.aws.put_back(item).await;
    assert_eq!(verified(&world), (Some(0), Vec::new()));
    let shown = oracle(&world, &["show", &sale.session, "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).expect("a sale's story");
    assert_eq!((&shown["finding"], shown["timeline"].as_array().map(Vec::len)), (&Value::Null, Some(keys.len())));
}

/// Every hour has its digest here, so catch-up announces nothing; its announcements have their own tests.
#[tokio::test]
async fn there_is_nothing_to_catch_up_with_where_every_hour_is_digested() {
    let world = World::alone().await;
    bought(&world).await;
    digest(&world).await;
    let output = oracle(&world, &["audit", "digests", "catch-up", "--json"]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!((output.status.code(), answer), (Some(0), json!({ "announced": 0, "left_out": [] })));
}

/// Every damage to the log is reported, and the digests find it even if the table was changed to match.
#[tokio::test]
async fn damage_to_the_log_is_named() {
    let world = World::alone().await;
    let (sale, keys) = bought(&world).await;
    digest(&world).await;
    assert_eq!(verified(&world), (Some(0), Vec::new()));
    let named = |key: &str, damage: &str| (Some(1), vec![(key.to_owned(), damage.to_owned())]);
    // A second version over a record; the lock preserves the first one.
    let edited = world.aws.text("AuditBucket", &keys[1]).await.replace("cs_test", "cs_tset");
    let version = world.aws.put_over("AuditBucket", &keys[1], &edited).await;
    assert_eq!(verified(&world).0, Some(1));
    assert_eq!(verified(&world).1[0].0, keys[1]);
    world.aws.remove_version("AuditBucket", &keys[1], &version).await;
    // First one record in the middle, then the last ones, hidden behind delete markers.
    let marker = world.aws.hide("AuditBucket", &keys[0]).await;
    assert_eq!(verified(&world), named(&keys[0], "deleted"));
    world.aws.remove_version("AuditBucket", &keys[0], &marker).await;
    let tail = keys.last().expect("a record");
    let marker = world.aws.hide("AuditBucket", tail).await;
    assert_eq!(verified(&world), named(tail, "truncated"));
    // The same, but the table was changed as if the records had never existed: only the digests prove that they did.
    let text = world.aws.text("AuditBucket", &keys[keys.len() - 2]).await;
    let mut whole = Value::Null;
    let shorten = |_: &mut _, sale: &mut Value| {
        whole = sale["audit"].clone();
        sale["audit"]["count"] = json!(keys.len() - 1);
        sale["audit"]["hash"] = json!(audit::digest::sha256(text.trim_end().as_bytes()));
    };
    world.aws.change_sale(&sale.session, shorten).await;
    assert_eq!(verified(&world), named(tail, "truncated"));
    world.aws.change_sale(&sale.session, |_, sale| sale["audit"] = whole.clone()).await;
    world.aws.remove_version("AuditBucket", tail, &marker).await;
    assert_eq!(verified(&world), (Some(0), Vec::new()));
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
    let marker = world.aws.hide("DigestsBucket", &document_key(sequence)).await;
    let (code, findings) = verified(&world);
    assert_eq!((code, findings.contains(&named(sequence, "truncated"))), (Some(1), true), "{findings:?}");
    // Log and digests are truncated together: the head in the table matches neither.
    let also = world.aws.hide("DigestsBucket", &document_key(sequence - 1)).await;
    let tail = keys.last().expect("a record");
    let record = world.aws.hide("AuditBucket", tail).await;
    let (code, findings) = verified(&world);
    assert_eq!((code, findings.contains(&named(sequence - 1, "truncated"))), (Some(1), true), "{findings:?}");
    world.aws.remove_version("AuditBucket", tail, &record).await;
    world.aws.remove_version("DigestsBucket", &document_key(sequence), &marker).await;
    // A gap.
    let (code, findings) = verified(&world);
    assert_eq!((code, findings.contains(&named(sequence - 1, "deleted"))), (Some(1), true), "{findings:?}");
    world.aws.remove_version("DigestsBucket", &document_key(sequence - 1), &also).await;
    assert_eq!(verified(&world), (Some(0), Vec::new()));
    // A digest cannot be removed. (The template's tests check that only the function may write there: the emulator
    // applies no bucket policy to the account's own keys.)
    let head = world.aws.s3.head_object().bucket(world.aws.output("DigestsBucket")).key(document_key(sequence));
    let version = head.send().await.expect("a digest").version_id.expect("a version");
    let delete = world.aws.s3.delete_object().bucket(world.aws.output("DigestsBucket")).key(document_key(sequence));
    assert!(delete.version_id(version).send().await.is_err(), "a digest could be deleted");
}
