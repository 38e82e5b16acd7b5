//! The stores against a server that fails as a real service does: the retries, and the alerts that follow.
//! The file has more than 300 lines because each call of a store has a short test of its own with the replies that the
//! server sends.

#![allow(clippy::unwrap_used)]

mod server;
#[allow(dead_code, reason = "shared with the tests of alerts")]
mod support;

use aws::{S3Archive, S3AuditLog, S3Digests, S3Quarantine, SnsAlerts, StoredSaleData};
use domain::{
    CachedVerdict, Metric, Timestamp,
    breaker::Breaker,
    deployment::{Answer, Execution},
    erasure::Store,
    ports::{
        AuditLog, AuditObjects, Breakers, Bridges, Deployments, Published, Purchases, Quarantine, RelayDrafts,
        SaleData, SaleStore, SaveError, Subscribers, UnknownIdCounter, VerdictArchive,
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
