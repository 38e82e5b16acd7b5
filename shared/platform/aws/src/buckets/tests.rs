//! The counts of records, and the archive's list, with a server that loses replies.

#[path = "../../tests/server/mod.rs"]
mod server;

use super::{S3Archive, S3AuditLog};
use crate::Connection;
use domain::{
    Metric, SessionId,
    ports::{AuditLog, Published, VerdictArchive},
    sale::AuditEntry,
};
use server::{LOST, Server};
use std::cell::RefCell;

thread_local! {
    static COUNTED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn keep(line: &str) {
    COUNTED.with_borrow_mut(|counted| counted.push(line.to_owned()));
}

/// A function's connection to a server that sends these replies.
async fn connection(replies: Vec<server::Reply>) -> Connection {
    let server = Server::start(replies).await;
    let mut connection = Connection::from_environment(|name| match name {
        "AWS_ENDPOINT_URL" => Some(server.url.clone()),
        "AWS_REGION" => Some("us-east-1".to_owned()),
        "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" | "AWS_LAMBDA_FUNCTION_NAME" => Some("test".to_owned()),
        "CACHE_RETRY_DELAY_MS" => Some("0".to_owned()),
        _ => None,
    })
    .unwrap();
    connection.meter = keep;
    connection
}

/// A function's log with a server that sends these replies.
async fn log(replies: Vec<server::Reply>) -> S3AuditLog {
    S3AuditLog::new(connection(replies).await, "audit".to_owned())
}

/// The reply to the writing of a record may be lost, and so may the process that wrote it.
#[tokio::test]
async fn a_record_that_was_in_the_log_already_is_counted_too() {
    let written = || (200, String::new());
    let exists = || (412, "<Error><Code>PreconditionFailed</Code></Error>".to_owned());
    let found = |line: &str| (200, format!("{line}\n"));
    let key = "2026-09-11/session/cs_live_abcdefghijkl/000001.json".to_owned();
    let entry = AuditEntry { key, line: "{}".to_owned(), measurements: vec![Metric::AuthorityEscalated.once()] };
    for (replies, published) in [
        (vec![written()], Published::Written),
        (vec![LOST, exists(), found("{}")], Published::AlreadyThere),
        (vec![exists(), found("{}")], Published::AlreadyThere),
        (vec![exists(), found("other")], Published::Forked),
    ] {
        COUNTED.take();
        assert_eq!(log(replies).await.publish(&entry).await.unwrap(), published);
        let counted = COUNTED.take();
        let metric = if published == Published::Forked { "AuditWriteFailed" } else { "AuthorityEscalated" };
        assert_eq!(counted.len(), 1, "{published:?}: {counted:?}");
        assert!(counted[0].contains(&format!("\"{metric}\":1")), "{published:?}: {counted:?}");
    }
}

#[tokio::test]
async fn a_page_of_other_objects_does_not_end_the_list_of_the_archive() {
    let page = |keys: &[&str]| {
        let contents: String = keys.iter().map(|key| format!("<Contents><Key>{key}</Key></Contents>")).collect();
        (200, format!("<ListBucketResult>{contents}</ListBucketResult>"))
    };
    let session = SessionId::parse("cs_test_000001").unwrap();
    let archived = format!("verdicts/{}.json", session.as_str());
    let replies = vec![page(&["verdicts/a.txt", "verdicts/b"]), page(&[archived.as_str()]), page(&[])];
    let archive = S3Archive::new(connection(replies).await, "archive".to_owned());
    assert_eq!(archive.listed(None, 20).await.unwrap(), std::slice::from_ref(&session));
    assert!(archive.listed(Some(&session), 20).await.unwrap().is_empty());
}
