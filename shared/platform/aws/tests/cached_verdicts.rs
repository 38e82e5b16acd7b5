//! Cached verdicts in the table: how they are read with their sale, saved, counted, listed and removed.

#![allow(clippy::unwrap_used)]

mod server;
#[allow(dead_code, reason = "shared with the tests of stores and alerts")]
mod support;

use domain::{
    CachedVerdict, Sale, Timestamp,
    cache_entries::{CacheDelta, ListedEntry, Removal},
    ports::{CacheEntries, CacheEntry, SaleStore, SaveError},
};
use serde_json::{Value, json};
use server::{Reply, Server};
use support::{CRITICAL, OPS, assert_alert, down, nothing, published, session, table};

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
    let sale = serde_json::to_value(Sale::ordered(session(), Timestamp::from_millis(1))).unwrap();
    let verdict = json!({ "verdict": "GREEN", "summary": "Yes." });
    let verdict = json!({ "tier": "quick", "query": "q", "verdict": verdict, "cached_at": "t" });
    let read = |verdict: Value| (200, json!({ "Responses": [{ "Item": item("SALE", &sale) }, verdict] }).to_string());
    let met = cancelled(r#"{"Code":"None"},{"Code":"TransactionConflict"}"#);
    let found = read(json!({ "Item": item("VERDICT", &verdict) }));
    let cases = [
        (vec![found.clone()], true),
        // The transaction is still writing: the read is repeated, without an alert.
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
async fn cached(replies: impl IntoIterator<Item = Reply>) -> (Result<u64, SaveError>, Vec<Value>) {
    let server = Server::start(replies).await;
    let (sales, _alerts) = table(&server.url);
    let mut sale = Sale::ordered(session(), Timestamp::from_millis(1));
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
        assert!(matches!(saved, Err(SaveError::Conflict)) && seen.len() == 1, "{saved:?}");
    }
}

/// A refund may be saved at the moment at which a transaction saves the same sale with its verdict.
#[tokio::test]
async fn a_sale_that_a_transaction_is_writing_is_saved_after_it_and_tells_nobody() {
    let met = "{\"__type\":\"com.amazonaws.dynamodb.v20120810#TransactionConflictException\"}";
    let server = Server::start([(400, met.to_owned()), nothing()]).await;
    let (sales, _alerts) = table(&server.url);
    let sale = Sale::ordered(session(), Timestamp::from_millis(1));
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
