//! The stores against a server that fails as a real service does: the retries, and the alerts that follow.

#![allow(clippy::unwrap_used)]

mod server;
#[allow(dead_code, reason = "shared with the tests of alerts")]
mod support;

use aws::{S3Archive, S3AuditLog, S3Digests, S3Quarantine, SnsAlerts, StoredSaleData};
use domain::{
    CachedVerdict, Metric, Timestamp,
    breaker::Breaker,
    cache_entries::{CacheDelta, ListedEntry, Removal},
    deployment::{Answer, Execution},
    erasure::Store,
    ports::{
        AuditLog, AuditObjects, Breakers, Bridges, CacheEntries, CacheEntry, Deployments, Published, Purchases,
        Quarantine, RelayDrafts, SaleData, SaleStore, SaveError, Subscribers, UnknownIdCounter, VerdictArchive,
    },
    relay::{RelayDraft, RelayDraftId},
    sale::AuditEntry,
    toll::{CorpusVersion, List},
    unknown_ids::{CountedQuestion, Limits},
};
use serde_json::{Value, json};
use server::{Reply, Server};
use std::time::SystemTime;
use support::{CRITICAL, OPS, assert_alert, connection, down, nothing, published, session, table};

#[tokio::test]
async fn a_call_that_succeeds_tells_nobody() {
    let server = Server::start([nothing()]).await;
    let (sales, _alerts) = table(&server.url);
    assert_eq!(SaleStore::load(&sales, &session()).await.unwrap(), None);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_call_that_recovers_is_a_warning() {
    let server = Server::start([down(), down(), nothing(), published()]).await;
    let (sales, _alerts) = table(&server.url);
    assert_eq!(SaleStore::load(&sales, &session()).await.unwrap(), None);
    let seen = server.seen();
    assert_eq!(seen.len(), 4);
    assert_alert(
        &seen[3],
        OPS,
        &["[ORACLE-CACHE-ALERT] WARN | ", " | CACHE_READ | efghijkl | sale read: attempt 3 succeeded"],
    );
}

/// A service may close an idle connection while a request is on its way.
#[tokio::test]
async fn a_stale_connection_is_replaced_and_tells_nobody() {
    let server = Server::start_closing_idle(nothing(), [nothing()]).await;
    let (sales, _alerts) = table(&server.url);
    for _ in 0..2 {
        assert_eq!(SaleStore::load(&sales, &session()).await.unwrap(), None);
    }
    let seen = server.seen();
    assert_eq!(seen.len(), 3, "one request was repeated, and no alert followed: {seen:?}");
    assert_eq!(seen[1], seen[2]);
}

#[tokio::test]
async fn a_call_that_fails_four_times_alerts_once_a_minute() {
    let server = Server::start([down(), down(), down(), down(), published(), down(), down(), down(), down()]).await;
    let (sales, _alerts) = table(&server.url);
    for _ in 0..2 {
        assert_eq!(SaleStore::load(&sales, &session()).await.unwrap_err().operation, "sale read");
    }
    let seen = server.seen();
    assert_eq!(seen.len(), 9, "the second failure was within the window of the first");
    assert_alert(&seen[4], OPS, &["[ORACLE-CACHE-ALERT] ERROR | ", " | sale read: answered 500, 4 attempts"]);
}

#[tokio::test]
async fn what_the_service_refuses_for_a_reason_is_no_failure() {
    let exists = "{\"__type\":\"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException\"}";
    let server = Server::start([(400, exists.to_owned())]).await;
    let (sales, _alerts) = table(&server.url);
    let sale = domain::Sale::ordered(session(), Timestamp::from_millis(1));
    let saved = SaleStore::save(&sales, &sale, 0, None).await;
    assert!(matches!(saved, Err(domain::ports::SaveError::Conflict)), "{saved:?}");
    assert_eq!(server.seen().len(), 1, "a conflict is an answer: it is neither repeated nor an alert");
}

#[tokio::test]
async fn a_question_is_counted_in_total_and_for_its_group_until_either_limit() {
    let full = "{\"__type\":\"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException\"}";
    let server = Server::start([nothing(), (400, full.to_owned()), nothing(), nothing()]).await;
    let (sales, _alerts) = table(&server.url);
    let until = Timestamp::from_seconds(540);
    let question =
        CountedQuestion { window: "session/7".to_owned(), group: 9, until, limits: Limits::of_unknown_ids(3) };
    assert!(sales.take(&question).await.unwrap());
    assert!(!sales.take(&question).await.unwrap());
    sales.settle(&question, 0).await.unwrap();
    sales.settle(&question, CountedQuestion::UNKNOWN).await.unwrap();
    let seen: Vec<Value> = server.seen().iter().map(|body| serde_json::from_str(body).unwrap()).collect();
    assert_eq!(seen.len(), 4, "a limit is an answer: it is neither repeated nor an alert");
    assert_eq!(seen[0]["Key"]["pk"]["S"], "GUESS#session/7");
    assert_eq!(
        seen[0]["ExpressionAttributeNames"],
        json!({ "#total": "total", "#group": "group_9", "#expires": "expires_at" })
    );
    let values = &seen[0]["ExpressionAttributeValues"];
    assert_eq!((&values[":most"]["N"], &values[":few"]["N"]), (&json!("900"), &json!("90")));
    assert_eq!(seen[2]["ExpressionAttributeValues"], json!({ ":add": { "N": "-10" }, ":until": { "N": "540" } }));
    assert_eq!(seen[3]["ExpressionAttributeValues"], json!({ ":add": { "N": "20" }, ":until": { "N": "540" } }));
}

/// S3 copies a delete marker to another region, but not the removal of a version.
#[tokio::test]
async fn an_archived_verdict_gets_a_delete_marker_before_its_version_is_removed() {
    let version = |id: &str| {
        let key = format!("verdicts/{}.json", session().as_str());
        let version = format!("<Version><Key>{key}</Key>{id}</Version>");
        (200, format!("<ListVersionsResult><IsTruncated>false</IsTruncated>{version}</ListVersionsResult>"))
    };
    let id = "<VersionId>v1</VersionId>";
    let server = Server::start([version(id), (204, String::new()), (204, String::new()), version("")]).await;
    let (sales, _alerts) = table(&server.url);
    let data = StoredSaleData::new(sales, "archive".to_owned(), "quarantine".to_owned());
    assert_eq!(data.remove(Store::Archive, &session()).await.unwrap(), 1);
    let seen = server.seen();
    assert!(seen[1].starts_with("DELETE ") && !seen[1].contains("versionId"), "{}", seen[1]);
    assert!(seen[2].starts_with("DELETE ") && seen[2].contains("versionId=v1"), "{}", seen[2]);
    // A bucket without versions has no use for a marker: a deletion there removes the object.
    drop(data.remove(Store::Quarantine, &session()).await);
    assert!(server.seen()[4].contains("versionId=null"), "{:?}", server.seen());
}

/// Strangers can make a stream long: lists skip what is between the objects, and no page is asked for after the last one.
#[tokio::test]
async fn originals_cost_as_much_as_the_objects_and_not_as_their_stream() {
    let key = |number: u32| format!("2026-04-16/function/checkout-1/{number:06}.json");
    let version =
        |number: u32, id: &str| format!("<Version><Key>{}</Key><VersionId>{id}</VersionId></Version>", key(number));
    let cut = |number: u32, id: &str| {
        let markers =
            format!("<NextKeyMarker>{}</NextKeyMarker><NextVersionIdMarker>{id}</NextVersionIdMarker>", key(number));
        format!("<IsTruncated>true</IsTruncated>{markers}")
    };
    let page = |parts: &[String]| (200, format!("<ListVersionsResult>{}</ListVersionsResult>", parts.concat()));
    let server = Server::start([
        // This page ends between the versions of an object.
        page(&[version(2, "second"), cut(2, "second")]),
        page(&[version(2, "first"), version(3, "edited"), version(3, "other"), cut(900, "other")]),
        page(&[version(500_000, "only"), version(500_001, "edited"), version(500_001, "other"), cut(500_900, "other")]),
        (200, "original".to_owned()),
    ])
    .await;
    let log = S3AuditLog::new(connection(&server.url), "audit".to_owned());
    let originals = log.originals(&[key(2), key(500_000)]).await.unwrap();
    assert_eq!(originals, std::collections::BTreeMap::from([(key(2), b"original".to_vec())]));
    let seen = server.seen();
    assert_eq!(seen.len(), 4, "{seen:?}");
    let begins_at =
        |request: &str, key: &str| request.contains(&format!("{key}.jso")) && !request.contains(&format!("{key}.json"));
    assert!(begins_at(&seen[0], "000002"), "{}", seen[0]);
    assert!(seen[1].contains("000002.json") && seen[1].contains("version-id-marker=second"), "{}", seen[1]);
    assert!(begins_at(&seen[2], "500000") && !seen[2].contains("version-id-marker"), "{}", seen[2]);
    assert!(seen[3].contains("000002.json") && seen[3].contains("versionId=first"), "{}", seen[3]);
}

fn entry() -> AuditEntry {
    let key = "2026/09/11/sale/cs_live_abcdefghijkl/1.json".to_owned();
    AuditEntry { key, line: "{}".to_owned(), measurements: Vec::new() }
}

fn conflict() -> Reply {
    (409, "<Error><Code>ConditionalRequestConflict</Code></Error>".to_owned())
}

fn exists() -> Reply {
    (412, "<Error><Code>PreconditionFailed</Code></Error>".to_owned())
}

/// 409 says that another write of the key is in progress, not that the object exists.
#[tokio::test]
async fn an_object_whose_key_is_being_written_is_written_or_compared_by_the_next_attempt() {
    let expected = [
        (vec![conflict(), nothing()], Published::Written),
        (vec![conflict(), exists(), (200, "{}\n".to_owned())], Published::AlreadyThere),
        (vec![conflict(), exists(), (200, "other".to_owned())], Published::Forked),
    ];
    for (replies, published) in expected {
        let requests = replies.len();
        let server = Server::start(replies).await;
        let log = S3AuditLog::new(connection(&server.url), "audit".to_owned());
        assert_eq!(log.publish(&entry()).await.unwrap(), published);
        assert_eq!(server.seen().len(), requests);
    }
}

/// An operator's process has no output that becomes metrics, and so no alarm.
#[tokio::test]
async fn a_record_that_operators_must_see_at_once_is_an_alert_where_it_cannot_be_an_alarm() {
    let is_there = || [exists(), (200, "{}\n".to_owned())];
    for (metric, alerts) in [(Metric::AuthorityEscalated, 2), (Metric::MailSent, 0)] {
        let server = Server::start(is_there().into_iter().chain([published(), published()])).await;
        let connection = connection(&server.url);
        let _alerts = SnsAlerts::new(connection.clone(), OPS.to_owned(), CRITICAL.to_owned());
        let log = S3AuditLog::new(connection, "audit".to_owned());
        let key = "2026-09-11/session/cs_live_abcdefghijkl/000001.json".to_owned();
        let entry = AuditEntry { key, measurements: vec![metric.once()], ..entry() };
        assert_eq!(log.publish(&entry).await.unwrap(), Published::AlreadyThere);
        let seen = server.seen();
        assert_eq!(seen.len(), 2 + alerts, "{seen:?}");
        for (request, topic) in seen.iter().skip(2).zip([CRITICAL, OPS]) {
            let parts = ["[ORACLE-STORE] CRITICAL | ", " | AUTHORITY | efghijkl | the authority gate blocked a text"];
            assert_alert(request, topic, &parts);
        }
    }
}

#[tokio::test]
async fn an_object_whose_key_stays_in_conflict_is_not_stored() {
    let server = Server::start(std::iter::repeat_with(conflict).take(20)).await;
    let connection = connection(&server.url);
    let log = S3AuditLog::new(connection.clone(), "audit".to_owned());
    assert!(log.publish(&entry()).await.is_err());
    let verdict = json!({ "tier": "quick", "query": "q", "verdict": { "verdict": "GREEN", "summary": "Yes." }, "cached_at": "t" });
    let verdict: CachedVerdict = serde_json::from_value(verdict).unwrap();
    let archive = S3Archive::new(connection.clone(), "archive".to_owned());
    assert!(archive.keep(&session(), &verdict).await.is_err());
    let version = CorpusVersion::parse("c".repeat(64)).unwrap();
    assert!(domain::ports::Corpora::keep(&archive, &version, b"{}").await.is_err());
    let quarantine = S3Quarantine::new(connection.clone(), "quarantine".to_owned());
    assert!(quarantine.hold(&session(), Timestamp::from_millis(1), "{}").await.is_err());
    let digests = S3Digests::new(connection, "digests".to_owned());
    assert!(domain::ports::DigestStore::keep(&digests, "digest.json", "{}").await.is_err());
    assert_eq!(server.seen().len(), 20, "each was tried four times");
    // A bucket's policy denies a write without this condition, or another write would replace the object.
    let conditions = server.headers("if-none-match");
    assert!(conditions.iter().all(|condition| condition.as_deref() == Some("*")), "{conditions:?}");
}

#[tokio::test]
async fn a_corrupt_entry_is_set_aside_and_critical() {
    let item = r#"{"pk":{"S":"SESSION#cs_live_abcdefghijkl"},"sk":{"S":"VERDICT"},"document":{"S":"{}"}}"#;
    let items = format!(r#"{{"Responses":[{{}},{{"Item":{item}}}]}}"#);
    let server = Server::start([(200, items), nothing(), published(), published()]).await;
    let (sales, _alerts) = table(&server.url);
    assert_eq!(sales.load_with_verdict(&session()).await.unwrap().1, CacheEntry::Corrupt);
    let seen = server.seen();
    let moved = ["CORRUPT#VERDICT#", "set_aside_at", "document = :found", "0123456789abcdef"];
    assert!(moved.iter().all(|part| seen[1].contains(part)), "{}", seen[1]);
    assert_eq!(seen.len(), 4, "{seen:?}");
    for (request, topic) in [(&seen[2], CRITICAL), (&seen[3], OPS)] {
        let parts = ["[ORACLE-CACHE-ALERT] CRITICAL | ", " | CACHE_READ | efghijkl | corrupt entry"];
        assert_alert(request, topic, &parts);
    }
}

/// A query may return the sale of a transaction and not yet its verdict, or the one that it replaces.
#[tokio::test]
async fn a_sale_and_its_verdict_are_read_at_one_moment() {
    let item = |sort: &str, document: &Value| {
        let (pk, document) = (json!({ "S": "SESSION#cs_live_abcdefghijkl" }), document.to_string());
        json!({ "pk": pk, "sk": { "S": sort }, "version": { "N": "3" }, "document": { "S": document } })
    };
    let sale = serde_json::to_value(domain::Sale::ordered(session(), Timestamp::from_millis(1))).unwrap();
    let verdict = json!({ "verdict": "GREEN", "summary": "Yes." });
    let verdict = json!({ "tier": "quick", "query": "q", "verdict": verdict, "cached_at": "t" });
    let read = |verdict: Value| (200, json!({ "Responses": [{ "Item": item("SALE", &sale) }, verdict] }).to_string());
    let met = cancelled(r#"{"Code":"None"},{"Code":"TransactionConflict"}"#);
    let found = read(json!({ "Item": item("VERDICT", &verdict) }));
    let cases = [
        (vec![found.clone()], true),
        // The transaction is still writing: it is waited for, and nobody is alerted.
        (vec![met, found], true),
        (vec![read(json!({}))], false),
    ];
    for (replies, has_verdict) in cases {
        let requests = replies.len();
        let server = Server::start(replies).await;
        let (sales, _alerts) = table(&server.url);
        let (sale, entry) = sales.load_with_verdict(&session()).await.unwrap();
        assert_eq!((sale.unwrap().version, matches!(entry, CacheEntry::Hit(_))), (3, has_verdict), "{entry:?}");
        assert!(has_verdict || entry == CacheEntry::Miss, "{entry:?}");
        let seen = server.seen();
        assert_eq!(seen.len(), requests, "{seen:?}");
        for request in &seen {
            let request: Value = serde_json::from_str(request).unwrap();
            let sort = |index: usize| request["TransactItems"][index]["Get"]["Key"]["sk"]["S"].clone();
            assert_eq!((sort(0), sort(1)), (json!("SALE"), json!("VERDICT")));
        }
    }
}

fn cancelled(reasons: &str) -> Reply {
    let kind = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException";
    (400, format!("{{\"__type\":\"{kind}\",\"CancellationReasons\":[{reasons}]}}"))
}

/// Saves a sale with its verdict with a server that sends these replies; returns the result, and the requests.
async fn cached(replies: impl IntoIterator<Item = Reply>) -> (Result<u64, domain::ports::SaveError>, Vec<Value>) {
    let server = Server::start(replies).await;
    let (sales, _alerts) = table(&server.url);
    let mut sale = domain::Sale::ordered(session(), Timestamp::from_millis(1));
    sale.saved(Timestamp::from_millis(7));
    let verdict = json!({ "verdict": "GREEN", "summary": "Yes." });
    let verdict = json!({ "tier": "quick", "query": "q", "verdict": verdict, "cached_at": "t" });
    let verdict: CachedVerdict = serde_json::from_value(verdict).unwrap();
    let saved = SaleStore::save(&sales, &sale, 0, Some(&verdict)).await;
    (saved, server.seen().iter().map(|body| serde_json::from_str(body).unwrap_or_default()).collect())
}

/// The change of entries and bytes in a transaction.
fn moves(transaction: &Value) -> (String, i64) {
    let values = &transaction["TransactItems"][2]["Update"]["ExpressionAttributeValues"];
    let bytes = values[":bytes"]["N"].as_str().unwrap().parse().unwrap();
    (values[":entries"]["N"].as_str().unwrap().to_owned(), bytes)
}

#[tokio::test]
async fn a_new_verdict_is_one_request_that_lists_and_counts_it() {
    let (saved, seen) = cached([nothing()]).await;
    assert_eq!((saved.unwrap(), seen.len()), (1, 1));
    let item = &seen[0]["TransactItems"][1]["Put"]["Item"];
    let length = item["document"]["S"].as_str().unwrap().len();
    assert_eq!(moves(&seen[0]), ("1".to_owned(), i64::try_from(length).unwrap()));
    assert_eq!(item["place"]["S"], "0000000000000007#cs_live_abcdefghijkl", "as old as the change of its sale");
    assert_eq!(item["bytes"]["N"], length.to_string());
    let sale = &seen[0]["TransactItems"][0]["Put"];
    assert_eq!(sale["ReturnValuesOnConditionCheckFailure"], "ALL_OLD", "the reply shows who wrote the item");
}

#[tokio::test]
async fn a_verdict_over_another_moves_the_counters_by_the_difference() {
    let there = r#"{"Code":"None"},{"Code":"ConditionalCheckFailed","Item":{"bytes":{"N":"10"}}},{"Code":"None"}"#;
    let (saved, seen) = cached([cancelled(there), nothing()]).await;
    assert_eq!((saved.unwrap(), seen.len()), (1, 2));
    assert_eq!(moves(&seen[1]), ("0".to_owned(), moves(&seen[0]).1 - 10));
    assert_eq!(seen[1]["TransactItems"][1]["Put"]["ExpressionAttributeValues"][":bytes"]["N"], "10");
}

#[tokio::test]
async fn sales_that_meet_at_a_counter_try_again_and_a_changed_sale_is_a_conflict() {
    let met = r#"{"Code":"None"},{"Code":"None"},{"Code":"TransactionConflict"}"#;
    let (saved, seen) = cached([cancelled(met), nothing()]).await;
    assert_eq!((saved.unwrap(), seen.len()), (1, 2));
    assert_eq!(moves(&seen[0]), moves(&seen[1]));
    for code in ["ConditionalCheckFailed", "TransactionConflict"] {
        let changed = format!(r#"{{"Code":"{code}"}},{{"Code":"None"}},{{"Code":"None"}}"#);
        let (saved, seen) = cached([cancelled(&changed)]).await;
        assert!(matches!(saved, Err(domain::ports::SaveError::Conflict)) && seen.len() == 1, "{saved:?}");
    }
}

/// A refund may be saved at the moment at which a transaction saves the same sale with its verdict.
#[tokio::test]
async fn a_sale_that_a_transaction_is_writing_is_saved_after_it_and_tells_nobody() {
    let met = "{\"__type\":\"com.amazonaws.dynamodb.v20120810#TransactionConflictException\"}";
    let server = Server::start([(400, met.to_owned()), nothing()]).await;
    let (sales, _alerts) = table(&server.url);
    let sale = domain::Sale::ordered(session(), Timestamp::from_millis(1));
    assert_eq!(SaleStore::save(&sales, &sale, 0, None).await.unwrap(), 1);
    let seen = server.seen();
    assert_eq!(seen.len(), 2, "the repetition is no retry after a failure: {seen:?}");
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn a_reply_that_got_lost_is_asked_for_with_the_same_token() {
    let (saved, seen) = cached([down(), nothing(), published()]).await;
    assert_eq!(saved.unwrap(), 1);
    assert_eq!(seen[0], seen[1], "the very same transaction, which the service makes once");
    assert!(seen[0]["ClientRequestToken"].is_string());
}

#[tokio::test]
async fn an_entry_that_is_taken_out_is_taken_off_the_counters_and_one_that_is_not_there_is_not() {
    let item =
        r#"{"Item":{"document":{"S":"{}"},"bytes":{"N":"2"},"place":{"S":"0000000000000007#cs_live_abcdefghijkl"}}}"#;
    let server = Server::start([(200, item.to_owned()), nothing()]).await;
    let (sales, _alerts) = table(&server.url);
    assert!(sales.remove(&session()).await.unwrap());
    let seen: Value = serde_json::from_str(&server.seen()[1]).unwrap();
    let put = &seen["TransactItems"][0]["Put"];
    assert!(put["Item"]["removed_at"].is_object() && put["Item"]["document"].is_null(), "{put}");
    assert_eq!(put["ConditionExpression"], "#bytes = :bytes AND #place = :place");
    let values = &seen["TransactItems"][1]["Update"]["ExpressionAttributeValues"];
    assert_eq!((&values[":entries"]["N"], &values[":bytes"]["N"]), (&json!("-1"), &json!("-2")));
    for nothing_there in ["{}", r#"{"Item":{"removed_at":{"S":"t"}}}"#, r#"{"Item":{"set_aside_at":{"S":"t"}}}"#] {
        let server = Server::start([(200, nothing_there.to_owned())]).await;
        let (sales, _alerts) = table(&server.url);
        assert!(!sales.remove(&session()).await.unwrap(), "{nothing_there}");
        assert_eq!(server.seen().len(), 1);
    }
}

/// Cache Health, invariant 4: an entry is removed only if it is still the one that was listed.
#[tokio::test]
async fn an_entry_that_was_listed_is_taken_out_if_it_is_still_the_same() {
    let refused = r#"{"Code":"ConditionalCheckFailed"},{"Code":"None"}"#;
    let met = r#"{"Code":"TransactionConflict"},{"Code":"None"}"#;
    let restored = r#"{"Item":{"document":{"S":"{}"},"bytes":{"N":"2"}}}"#;
    let removed = r#"{"Item":{"removed_at":{"S":"t"}}}"#;
    let cases: [(&[Reply], Removal); 5] = [
        (&[nothing()], Removal::Gone),
        (&[cancelled(refused), (200, restored.to_owned())], Removal::Renewed),
        (&[cancelled(refused), (200, removed.to_owned())], Removal::Gone),
        (&[cancelled(refused), nothing()], Removal::Gone),
        // A concurrent write at that moment does not make it another entry.
        (&[cancelled(met), nothing()], Removal::Gone),
    ];
    for (replies, expected) in cases {
        let server = Server::start(replies.to_vec()).await;
        let (sales, _alerts) = table(&server.url);
        let listed = ListedEntry { stored_at: Timestamp::from_millis(7), session: session(), bytes: 2 };
        assert_eq!(sales.remove_listed(&listed).await.unwrap(), expected, "{replies:?}");
        let seen = server.seen();
        assert_eq!(seen.len(), replies.len(), "{seen:?}");
        let first: Value = serde_json::from_str(&seen[0]).unwrap();
        let put = &first["TransactItems"][0]["Put"];
        assert_eq!(put["ConditionExpression"], "#bytes = :bytes AND #place = :place");
        let values = &put["ExpressionAttributeValues"];
        assert_eq!((&values[":bytes"]["N"], &values[":place"]["S"]), (&json!("2"), &json!(listed.place())));
    }
}

/// The last row of a page may be one that we cannot parse: the next page begins after it all the same.
#[tokio::test]
async fn a_page_of_the_index_goes_on_where_the_table_stopped() {
    let ours = r#"{"place":{"S":"0000000000000007#cs_live_abcdefghijkl"},"bytes":{"N":"2"}}"#;
    let strange = r#"{"place":{"S":"0000000000000008#strange row"},"bytes":{"N":"2"}}"#;
    let last = r#"{"place":{"S":"0000000000000008#strange row"}}"#;
    let page = format!(r#"{{"Items":[{ours},{strange}],"LastEvaluatedKey":{last}}}"#);
    let server = Server::start([(200, page), (200, r#"{"Items":[]}"#.to_owned())]).await;
    let (sales, _alerts) = table(&server.url);
    let page = CacheEntries::listed(&sales, "", 2).await.unwrap();
    assert_eq!((page.entries.len(), page.next.as_deref()), (1, Some("0000000000000008#strange row")));
    assert_eq!(CacheEntries::listed(&sales, "0000000000000008#strange row", 2).await.unwrap().next, None);
    assert!(server.seen()[1].contains("0000000000000008#strange row"));
}

/// Operators find a Bridge, a subscriber and a purchase that waits for them however many there are. The service returns a
/// list in pages.
#[tokio::test]
async fn bridges_subscribers_and_purchases_are_listed_page_by_page() {
    let row = |partition: &str, n: usize| format!(r#"{{"pk":{{"S":"{partition}{n:064x}"}}}}"#);
    let rows =
        |partition: &str, of: std::ops::Range<usize>| of.map(|n| row(partition, n)).collect::<Vec<_>>().join(",");
    let pages = |partition: &str| {
        let first = format!(r#"{{"Items":[{}],"LastEvaluatedKey":{}}}"#, rows(partition, 0..1000), row(partition, 999));
        [(200, first), (200, format!(r#"{{"Items":[{}]}}"#, rows(partition, 1000..1002)))]
    };
    let server = Server::start(pages("CHATBRIDGE#")).await;
    let (sales, _alerts) = table(&server.url);
    let bridges = Bridges::listed(&sales).await.unwrap();
    assert_eq!((bridges.len(), bridges[1001].as_str()), (1002, format!("{:064x}", 1001).as_str()));
    assert!(server.seen()[1].contains(&row("CHATBRIDGE#", 999)), "{}", server.seen()[1]);
    let server = Server::start(pages("SUBSCRIBER#")).await;
    let (sales, _alerts) = table(&server.url);
    assert_eq!(sales.ending_after(Timestamp::from_millis(0)).await.unwrap().len(), 1002);
    let server = Server::start(pages("CHATBRIDGE#")).await;
    let (sales, _alerts) = table(&server.url);
    assert_eq!(sales.letters_due(Timestamp::from_millis(0)).await.unwrap().len(), 1000, "of one run");
    for (list, most) in [(List::Humans, 1002), (List::Machines, 100)] {
        let server = Server::start(pages("TOLL#cs_x402_")).await;
        let (sales, _alerts) = table(&server.url);
        assert_eq!(Purchases::listed(&sales, list, Timestamp::from_millis(0)).await.unwrap().len(), most, "{list:?}");
    }
}

/// After a crash following a correction, the next run requests the same one, which the service carries out once.
#[tokio::test]
async fn a_correction_is_asked_for_with_its_own_token() {
    let met = r#"{"Code":"TransactionConflict"}"#;
    let server = Server::start([cancelled(met), nothing(), nothing()]).await;
    let (sales, _alerts) = table(&server.url);
    let drift = CacheDelta { entries: -5, bytes: 77 };
    for _ in 0..2 {
        sales.correct(drift, "c0ffee").await.unwrap();
    }
    let seen: Vec<Value> = server.seen().iter().map(|body| serde_json::from_str(body).unwrap()).collect();
    assert!(seen.len() == 3 && seen[0] == seen[1] && seen[1] == seen[2], "{seen:?}");
    let counter = &seen[0]["TransactItems"][0]["Update"]["Key"]["sk"]["S"];
    assert_eq!((&seen[0]["ClientRequestToken"], counter), (&json!("c0ffee"), &json!("TOTALS#c")));
}

#[tokio::test]
async fn a_corrupt_sale_is_critical_and_stays() {
    let item = r#"{"Item":{"document":{"S":"{"},"version":{"N":"3"}}}"#;
    let server = Server::start([(200, item.to_owned()), published()]).await;
    let (sales, _alerts) = table(&server.url);
    assert!(SaleStore::load(&sales, &session()).await.is_err());
    assert_alert(&server.seen()[1], CRITICAL, &[" CRITICAL | ", "corrupt sale record"]);
}

#[tokio::test]
async fn a_corrupt_archived_verdict_is_critical_and_counts_as_none() {
    let server = Server::start([(200, "not JSON".to_owned()), published()]).await;
    let connection = connection(&server.url);
    let _alerts = SnsAlerts::new(connection.clone(), OPS.to_owned(), CRITICAL.to_owned());
    let archive = S3Archive::new(connection, "archive".to_owned());
    assert_eq!(archive.find(&session()).await.unwrap(), None);
    assert_alert(&server.seen()[1], CRITICAL, &[" CRITICAL | ", " | ARCHIVE_READ | ", "corrupt archived verdict"]);
}

/// Smoke Test, invariant 8: a deployment is answered, even if the first attempts are lost.
#[tokio::test]
async fn a_deployment_hears_how_its_hook_has_ended() {
    let execution = Execution { deployment: "d-1".to_owned(), hook: "e-1".to_owned() };
    for (answer, status) in [(Answer::Succeeded, "Succeeded"), (Answer::Failed, "Failed")] {
        let reply = (200, r#"{"lifecycleEventHookExecutionId":"e-1"}"#.to_owned());
        let server = Server::start([down(), reply]).await;
        let deployments = aws::CodeDeploy::new(connection(&server.url));
        deployments.answer(&execution, answer).await.unwrap();
        let seen = server.seen();
        assert_eq!(seen.len(), 2, "{seen:?}");
        let asked: serde_json::Value = serde_json::from_str(&seen[1]).unwrap();
        let expected = serde_json::json!({
            "deploymentId": "d-1", "lifecycleEventHookExecutionId": "e-1", "status": status,
        });
        assert_eq!(asked, expected);
    }
    let server = Server::start([]).await;
    let deployments = aws::CodeDeploy::new(connection(&server.url));
    assert!(deployments.answer(&execution, Answer::Succeeded).await.is_err(), "nobody took the answer");
}

#[tokio::test]
async fn a_draft_is_written_on_its_version_and_expires_and_a_repeated_claim_is_no_conflict() {
    let id = RelayDraftId { session: session(), token: "t".to_owned() };
    let own = r#"{"written_by":{"S":"0123456789abcdef0123456789abcdef"}}"#;
    let other = r#"{"written_by":{"S":"other"}}"#;
    let taken = |item: &str| -> Reply {
        let kind = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException";
        (400, format!("{{\"__type\":\"{kind}\",\"Item\":{item}}}"))
    };
    let link = r#"{"Item":{"session":{"S":"cs_live_abcdefghijkl"}}}"#.to_owned();
    let server = Server::start([taken(own), taken(other), nothing(), (200, link)]).await;
    let (sales, _alerts) = table(&server.url);
    let drafts: &dyn RelayDrafts = &sales;
    assert_eq!(drafts.save(&id, &RelayDraft::Claimed, 1).await.unwrap(), 2, "the reply to this write was lost");
    assert!(matches!(drafts.save(&id, &RelayDraft::Claimed, 1).await, Err(SaveError::Conflict)));
    drafts.link("0100-abc", &session()).await.unwrap();
    assert_eq!(drafts.linked("0100-abc").await.unwrap(), Some(session()));
    let seen: Vec<Value> = server.seen().iter().map(|body| serde_json::from_str(body).unwrap()).collect();
    assert_eq!(seen[0]["Item"]["pk"]["S"], "MAIL#cs_live_abcdefghijkl");
    assert_eq!(seen[0]["Item"]["sk"]["S"], "DRAFT#t");
    assert_eq!(seen[0]["ConditionExpression"], "version = :expected");
    assert_eq!(seen[2]["Item"]["pk"]["S"], "MAIL#0100-abc");
    assert_eq!(seen[0]["ReturnValuesOnConditionCheckFailure"], "ALL_OLD", "the reply shows who wrote the item");
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    for (request, days) in [(&seen[0], 30), (&seen[2], 400)] {
        let expires: u64 = request["Item"]["expires_at"]["N"].as_str().unwrap().parse().unwrap();
        assert!((now + days * 86_400).abs_diff(expires) < 60, "{days} days from {now}: {expires}");
    }
}

#[tokio::test]
async fn an_erasure_of_the_table_removes_the_drafts_of_mails() {
    let found = |pk: &str, sk: &str| -> Reply {
        (200, json!({ "Items": [{ "pk": { "S": pk }, "sk": { "S": sk } }] }).to_string())
    };
    let sale = found("SESSION#cs_live_abcdefghijkl", "SALE");
    let server = Server::start([sale, found("MAIL#cs_live_abcdefghijkl", "DRAFT#t"), nothing()]).await;
    let (sales, _alerts) = table(&server.url);
    let data = StoredSaleData::new(sales, "archive".to_owned(), "quarantine".to_owned());
    assert_eq!(data.remove(Store::Table, &session()).await.unwrap(), 1);
    let removal: Value = serde_json::from_str(&server.seen()[2]).unwrap();
    assert_eq!(removal["Key"], json!({ "pk": { "S": "MAIL#cs_live_abcdefghijkl" }, "sk": { "S": "DRAFT#t" } }));
}

/// Everything goes, also what only a second page lists.
#[tokio::test]
async fn an_erasure_of_the_table_removes_the_items_of_every_page() {
    let item = |pk: &str, sk: &str| json!({ "pk": { "S": pk }, "sk": { "S": sk } });
    let listed = [
        item("SESSION#cs_live_abcdefghijkl", "QUESTION"),
        item("SESSION#cs_live_abcdefghijkl", "SUBMISSION"),
        item("MAIL#cs_live_abcdefghijkl", "DRAFT#t"),
        item("MAIL#cs_live_abcdefghijkl", "DRAFT#u"),
    ];
    let more = |item: &Value| -> Reply { (200, json!({ "Items": [item], "LastEvaluatedKey": item }).to_string()) };
    let end = |item: &Value| -> Reply { (200, json!({ "Items": [item] }).to_string()) };
    let pages = [more(&listed[0]), end(&listed[1]), more(&listed[2]), end(&listed[3])];
    let server = Server::start(pages.into_iter().chain((0..4).map(|_| nothing()))).await;
    let (sales, _alerts) = table(&server.url);
    let data = StoredSaleData::new(sales, "archive".to_owned(), "quarantine".to_owned());
    assert_eq!(data.remove(Store::Table, &session()).await.unwrap(), 4);
    let seen: Vec<Value> = server.seen().iter().map(|body| serde_json::from_str(body).unwrap()).collect();
    assert_eq!((&seen[1]["ExclusiveStartKey"], &seen[3]["ExclusiveStartKey"]), (&listed[0], &listed[2]));
    let removed: Vec<&Value> = seen[4..].iter().map(|request| &request["Key"]).collect();
    assert_eq!(removed, listed.iter().collect::<Vec<_>>());
}

#[tokio::test]
async fn a_corrupt_breaker_counts_as_closed_and_is_an_error() {
    let corrupt = json!({ "Item": { "document": { "S": "{" }, "version": { "N": "3" } } });
    let server = Server::start([(200, corrupt.to_string()), published()]).await;
    let (sales, _alerts) = table(&server.url);
    let loaded = Breakers::load(&sales, "model-a").await.unwrap();
    assert_eq!((loaded.value, loaded.version), (Breaker::default(), 3));
    let alert = ["[ORACLE-STORE] ERROR | ", " | BREAKER_READ | - | corrupt breaker: it counts as closed"];
    assert_alert(&server.seen()[1], OPS, &alert);
}
