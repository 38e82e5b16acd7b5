//! The audit log: its records, its chain, and what no store may contain (Audit Trail).

use crate::world::{CANARY, MAIL_DOMAIN, Sale, World, by_link, email, question};
use audit::hash::{query_hash, sha256, verdict_hash};
use aws_sdk_s3::types::ObjectLockMode;
use domain::{Query, Verdict};
use serde_json::{Value, json};

/// Audit Trail, required fields.
const FIELDS: [&str; 10] = [
    "timestamp",
    "session_id",
    "tier",
    "query_hash",
    "verdict_hash",
    "email",
    "latency_ms",
    "status",
    "source",
    "error_detail",
];
const STATUSES: [&str; 6] = ["OK", "ERROR", "CACHED", "REGENERATED", "EMAIL_SENT", "EMAIL_FAILED"];
const SOURCES: [&str; 4] = ["webhook", "result_page", "cache_hit", "email_service"];

/// The records that the spec describes; the others are about crosschecks and content filter runs.
fn of_the_pipeline(records: &[Value]) -> Vec<&Value> {
    records.iter().filter(|record| record["event"] == "pipeline").collect()
}

fn is_time(text: &Value) -> bool {
    let Some(text) = text.as_str() else { return false };
    let form = text.bytes().map(|byte| if byte.is_ascii_digit() { '0' } else { char::from(byte) }).collect::<String>();
    form == "0000-00-00T00:00:00.000Z"
}

#[tokio::test]
async fn a_sale_leaves_the_records_of_the_spec() {
    let world = World::beside_others().await;
    for tier in ["quick", "full", "strategy"] {
        let sale = world.buy(tier).await;
        let page = world.delivered(&sale).await;
        let records = world.records(&sale.session).await;
        let verdict: Verdict = serde_json::from_value(page["verdict"].clone()).expect("a verdict");
        let question = Query::parse(sale.question.as_str()).expect("a question");
        for record in of_the_pipeline(&records) {
            for field in FIELDS {
                assert!(record.get(field).is_some(), "{field} is missing: {record}");
            }
            assert!(is_time(&record["timestamp"]), "{record}");
            assert_eq!((&record["session_id"], &record["tier"]), (&json!(sale.session), &json!(tier)));
            assert_eq!(record["query_hash"], query_hash(&question));
            assert_eq!(record["verdict_hash"], verdict_hash(&verdict));
            assert!(STATUSES.iter().any(|status| record["status"] == **status), "{record}");
            assert!(SOURCES.iter().any(|source| record["source"] == **source), "{record}");
            assert_eq!(record["error_detail"].is_null(), record["status"] == "OK", "{record}");
            assert!(record["latency_ms"].as_u64().is_some_and(|latency| latency < 60_000), "{record}");
            let email = record["email"].as_str().expect("a hash");
            assert!(email.starts_with("hmac-sha256:v1:") && email.len() == 47, "{email}");
            assert!(!email.contains(&sha256(sale.email.as_bytes())[..16]), "a bare hash is soon guessed");
        }
        let one = |source, status| (source, status);
        for (source, status) in [one("webhook", "OK"), one("email_service", "EMAIL_SENT"), one("cache_hit", "CACHED")] {
            assert_eq!(world.count(&sale.session, source, status).await, 1, "{source} {status}");
        }
        assert!(records.iter().any(|record| record["event"] == "tmm_crosscheck" && record["approved"] == true));
        for gate in [1, 2] {
            let run = records.iter().find(|record| record["event"] == "content_filter" && record["gate"] == gate);
            assert_eq!(run.expect("a run of the filter")["outcome"], "PASS");
        }
    }
}

/// Audit Trail, invariant 2: every paid session leaves a record, even one that cannot be processed.
#[tokio::test]
async fn a_paid_session_that_is_unusable_is_on_record_too() {
    let world = World::beside_others().await;
    let (Sale { session, .. }, mut object) = by_link("quick");
    object["metadata"]["tier"] = json!("premium");
    world.stack.plant(&object).await;
    world.tell("checkout.session.completed", &object).await;
    assert_eq!(world.answered(&session).await.status, 500);
    let recorded = tests::poll(std::time::Duration::from_secs(5), async || {
        let records = world.records(&session).await;
        records.into_iter().find(|record| record["source"] == "webhook")
    })
    .await;
    let record = recorded.expect("no record of a paid event");
    assert_eq!(record["status"], "ERROR");
    assert!(record["error_detail"].is_string(), "{record}");
    // The function asks its customer for the question; the next test must not find that mail under way.
    tests::eventually("the mail's record", std::time::Duration::from_secs(60), async || {
        (world.count(&session, "email_service", "EMAIL_SENT").await == 1).then_some(())
    })
    .await;
}

/// Each view of the page is an event of its own.
#[tokio::test]
async fn every_retrieval_is_recorded() {
    let world = World::beside_others().await;
    let sale = world.bought("quick").await;
    for _ in 0..3 {
        assert_eq!(world.verdict(&sale.session).await.status, 200);
    }
    assert_eq!(world.count(&sale.session, "cache_hit", "CACHED").await, 4);
    assert_chain(&world, &sale).await;
}

/// An address has the same tag in all sales, so that a dispute can be looked up with the key.
#[tokio::test]
async fn an_address_has_one_tag() {
    let world = World::beside_others().await;
    let mut tags = Vec::new();
    let first = email();
    for address in [first.clone(), first.to_uppercase(), email()] {
        let sale = Sale { email: address, ..world.open("quick", question()).await };
        world.pay(&sale, 1).await;
        world.delivered(&sale).await;
        tags.push(world.records(&sale.session).await[0]["email"].clone());
    }
    assert!(tags[0] == tags[1] && tags[0] != tags[2], "{tags:?}");
}

/// Each line contains the SHA-256 of the previous line without its line break; the first contains that of no bytes.
async fn assert_chain(world: &World, sale: &Sale) {
    let keys = world.record_keys(&sale.session).await;
    let mut previous = sha256(b"");
    for (number, key) in (1..).zip(&keys) {
        let text = world.aws.text("AuditBucket", key).await;
        let line = text.strip_suffix('\n').expect("a line break ends the line");
        assert!(!line.contains('\n'), "one object is one line: {line}");
        let record: Value = serde_json::from_str(line).expect("a line of JSON");
        assert_eq!((&record["seq"], &record["prev"]), (&json!(number), &json!(previous)), "{key}");
        let date = record["timestamp"].as_str().expect("a time").get(..10).expect("a date");
        let (opened, rest) = key.split_once('/').expect("a date and the rest");
        assert!(opened <= date && opened.len() == 10 && opened.starts_with("20"), "{key}");
        assert_eq!(rest, format!("session/{}/{number:06}.json", sale.session));
        previous = sha256(line.as_bytes());
    }
    let head = world.aws.document(&sale.session, "SALE").await.expect("a sale")["audit"].clone();
    assert_eq!((&head["count"], &head["hash"]), (&json!(keys.len()), &json!(previous)), "the chain has lost its end");
}

#[tokio::test]
async fn the_records_of_a_session_are_a_hash_chain() {
    let world = World::beside_others().await;
    let sale = world.bought("full").await;
    assert_chain(&world, &sale).await;
}

/// With many writers at once the chain neither forks nor loses a record.
#[tokio::test]
async fn writers_at_once_make_one_chain() {
    let world = World::alone().await;
    let sale = world.bought("quick").await;
    let readers: Vec<_> = (0..10)
        .map(|_| {
            let url = format!("{}/api/verdict?session_id={}", world.stack.site, sale.session);
            tokio::spawn(async move { reqwest::get(url).await.expect("a reply").status().as_u16() })
        })
        .collect();
    for reader in readers {
        assert_eq!(reader.await.expect("a reader"), 200);
    }
    assert_eq!(world.count(&sale.session, "cache_hit", "CACHED").await, 11);
    assert_chain(&world, &sale).await;
}

/// Every record exists once and is locked, its bytes cannot be deleted, and a second writer of the same key is refused.
/// (The bucket's policy forbids unconditional overwrites and delete markers: tests/template/integrity.rs. The emulator
/// applies no policy to the account's own keys, and cannot see whether a write is conditional.)
#[tokio::test]
async fn records_are_locked_and_there_once() {
    let world = World::beside_others().await;
    let sale = world.bought("quick").await;
    let (s3, bucket) = (&world.aws.s3, world.aws.output("AuditBucket"));
    let locked = s3.get_object_lock_configuration().bucket(bucket).send().await.expect("an object lock");
    let rule = locked.object_lock_configuration.and_then(|lock| lock.rule).and_then(|rule| rule.default_retention);
    assert!(rule.is_some_and(|retention| retention.days.is_some_and(|days| days >= 1)));
    for key in world.aws.keys("AuditBucket", &sale.session).await {
        let head = s3.head_object().bucket(bucket).key(&key).send().await.expect("a record");
        assert_eq!(head.object_lock_mode, Some(ObjectLockMode::Governance), "{key}");
        assert!(head.object_lock_retain_until_date > head.last_modified, "{key}");
        let version = head.version_id.expect("a version");
        let versions = s3.list_object_versions().bucket(bucket).prefix(&key).send().await.expect("versions");
        assert_eq!((versions.versions().len(), versions.delete_markers().len()), (1, 0), "{key}");
        let deleted = s3.delete_object().bucket(bucket).key(&key).version_id(version).send().await;
        assert!(deleted.is_err(), "{key} could be deleted");
        let over = s3.put_object().bucket(bucket).key(&key).if_none_match("*").body(Vec::new().into()).send().await;
        assert!(over.is_err(), "a second writer of {key} was not refused");
    }
}

/// The functions' own logs contain neither the question nor the address, and only the beginning of the session id,
/// because the whole id gives access to the verdict.
#[tokio::test]
async fn the_functions_logs_hold_nothing_of_the_customer() {
    let world = World::beside_others().await;
    let sale = world.bought("full").await;
    let file = world.stack.directory.join("logs/ministack.log");
    let text = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let text = String::from_utf8_lossy(&text);
    // The functions' lines are JSON; the other lines are the emulator's own.
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('{')).collect();
    assert!(lines.iter().any(|line| line.contains(&sale.session[..12])), "the functions log nothing");
    for line in lines {
        for forbidden in [CANARY, MAIL_DOMAIN, sale.mark(), &sale.session] {
            assert!(!line.contains(forbidden), "a log holds {forbidden:?}: {line}");
        }
    }
}

/// The log contains no address and no question; the table contains no address; queues contain only session ids. The
/// test searches everything that all tests have left behind.
#[tokio::test]
async fn no_store_holds_what_it_must_not() {
    let world = World::beside_others().await;
    let sale = world.bought("full").await;
    let keys = world.aws.keys("AuditBucket", "").await;
    assert!(keys.iter().any(|key| key.contains(&sale.session)));
    for key in &keys {
        let line = world.aws.text("AuditBucket", key).await;
        for forbidden in ["@", "%40", CANARY, sale.mark()] {
            assert!(!line.contains(forbidden), "{key} holds {forbidden:?}: {line}");
        }
    }
    let items = world.aws.table().await;
    assert!(items.iter().any(|item| item.contains(&sale.session)));
    for item in items {
        for forbidden in [MAIL_DOMAIN, "@example.com"] {
            assert!(!item.contains(forbidden), "the table holds an address: {item}");
        }
    }
    for queue in ["OrdersDeadLettersUrl", "EmailDeadLettersUrl", "NoticesDeadLettersUrl", "NoticesQueueUrl"] {
        for body in world.aws.peek(queue).await {
            for forbidden in ["@", CANARY] {
                assert!(!body.contains(forbidden), "{queue} holds {forbidden:?}: {body}");
            }
        }
    }
}
