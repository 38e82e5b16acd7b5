//! The mailbox against a server over a real connection: the requests, and the handling of the replies.

#![allow(clippy::unwrap_used)]

mod support;

use domain::{
    ports::{MailError, Mailbox},
    sale::Draft,
};
use graph::{Client, Config, ConfigError, Grant};
use std::sync::Arc;
use support::{TOKEN, build, config, draft, mail, parts, refresh_grant};
use test_server::{Reply, Server, json, json_with};

const CREATED: &str = r#"{"id":"AAMk1","internetMessageId":"<1@x>","isDraft":true}"#;

/// A server that sends a token first, then this reply.
async fn after_token(reply: Reply) -> (Server, Client) {
    let server = Server::start([json(200, TOKEN), reply]).await;
    let client = parts(&server.url).client;
    (server, client)
}

/// The client's result for this reply in each of its operations, in the order of the port.
async fn outcomes(reply: impl Fn() -> Reply) -> [Result<String, MailError>; 5] {
    let show = |_| "done".to_owned();
    let (_server, client) = after_token(reply()).await;
    let created = client.create_draft(&mail()).await.map(|draft| draft.id);
    let (_server, client) = after_token(reply()).await;
    let sent = client.send_draft(&draft()).await.map(show);
    let (_server, client) = after_token(reply()).await;
    let exists = client.draft_exists(&draft()).await.map(|yes| yes.to_string());
    let (_server, client) = after_token(reply()).await;
    let found = client.was_sent(&draft()).await.map(|yes| yes.to_string());
    let (_server, client) = after_token(reply()).await;
    let discarded = client.discard_draft(&draft()).await.map(show);
    [created, sent, exists, found, discarded]
}

/// The outcomes as words, without sources.
async fn words(reply: impl Fn() -> Reply) -> [String; 5] {
    outcomes(reply).await.map(|outcome| match outcome {
        Ok(word) => word,
        Err(MailError::OutcomeUnknown(_)) => "unknown".to_owned(),
        Err(error) => format!("{error:?}"),
    })
}

#[tokio::test]
async fn every_operation_is_sent_as_graph_reads_it() {
    let list = r#"{"value":[{"internetMessageId":"<o'1@x>"}]}"#;
    let server = Server::start([
        json(200, TOKEN),
        json(201, CREATED),
        json(202, ""),
        json(200, r#"{"id":"AAMk1","isDraft":true}"#),
        json(200, list),
        json(204, ""),
    ])
    .await;
    let client = parts(&server.url).client;
    let created = client.create_draft(&mail()).await.unwrap();
    assert_eq!(created, Draft { id: "AAMk1".into(), internet_message_id: "<1@x>".into() });
    client.send_draft(&draft()).await.unwrap();
    assert!(client.draft_exists(&draft()).await.unwrap());
    assert!(client.was_sent(&draft()).await.unwrap());
    client.discard_draft(&draft()).await.unwrap();

    let seen = server.seen();
    let lines: Vec<_> = seen.iter().map(|request| request.line.as_str()).collect();
    let mailbox = "/graph/v1.0/users/oracle%4042sisters.ai";
    let filter = "$filter=internetMessageId%20eq%20%27%3Co%27%271%40x%3E%27&$select=internetMessageId&$top=1";
    assert_eq!(
        lines,
        [
            "POST /login/tenant-1/oauth2/v2.0/token HTTP/1.1".to_owned(),
            format!("POST {mailbox}/messages HTTP/1.1"),
            format!("POST {mailbox}/messages/AAMk%2F1%2B2%3D/send HTTP/1.1"),
            format!("GET {mailbox}/messages/AAMk%2F1%2B2%3D?$select=id,isDraft HTTP/1.1"),
            format!("GET {mailbox}/mailFolders/sentitems/messages?{filter} HTTP/1.1"),
            format!("DELETE {mailbox}/messages/AAMk%2F1%2B2%3D HTTP/1.1"),
        ]
    );
    for request in &seen[1..] {
        assert_eq!(request.header("authorization"), Some("Bearer access-1"));
        assert_eq!(request.header("prefer"), None, "ids of the ordinary kind");
        assert_eq!(request.header("bcc"), None);
    }
    assert_eq!(seen[1].header("content-type"), Some("application/json"));
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(seen[1].text()).unwrap(),
        serde_json::json!({
            "subject": "Your 42 Sisters AI Verdict",
            "body": {"contentType": "Text", "content": mail().body},
            "toRecipients": [{"emailAddress": {"address": "someone@example.com"}}],
            "internetMessageHeaders": [{"name": "x-oracle-session", "value": "cs_test_1"}],
            "singleValueExtendedProperties": [{
                "id": "String {7d2c5b0e-3f64-4a51-9c0d-42a5c1e7b042} Name x-oracle-session", "value": "cs_test_1",
            }],
        })
    );
    assert_eq!((seen[2].header("content-length"), seen[2].text()), (Some("0"), ""));
}

#[tokio::test]
async fn refusals_are_mapped_for_every_operation() {
    let plain = |status: u16| move || json(status, r#"{"error":{"code":"ErrorX","message":"someone@example.com"}}"#);
    assert_eq!(words(plain(400)).await, ["Rejected"; 5]);
    assert_eq!(words(plain(403)).await, ["Forbidden(403)"; 5]);
    let missing = || json(404, r#"{"error":{"code":"ErrorItemNotFound","message":"someone@example.com"}}"#);
    assert_eq!(words(missing).await, ["Unavailable(404)", "NoSuchDraft", "false", "Unavailable(404)", "done"]);
    // The mailbox is missing, and not the draft.
    assert_eq!(words(plain(404)).await, ["Unavailable(404)"; 5]);
    assert_eq!(words(plain(429)).await, ["Throttled { status: 429, wait: 60s }"; 5]);
    for status in [302, 500, 502, 503, 504] {
        let mut expected = [(); 5].map(|()| format!("Unavailable({status})"));
        if [500, 502, 504].contains(&status) {
            // The service may send the mail after such an answer.
            expected[1] = "unknown".to_owned();
            let [_, sent, ..] = outcomes(plain(status)).await;
            assert_eq!(sent.unwrap_err().code(), status.to_string());
        }
        assert_eq!(words(plain(status)).await, expected);
    }
    assert_eq!(words(|| json_with(429, "Retry-After: 7\r\n", "{}")).await, ["Throttled { status: 429, wait: 60s }"; 5]);
    assert_eq!(
        words(|| json_with(429, "Retry-After: 90\r\n", "{}")).await,
        ["Throttled { status: 429, wait: 90s }"; 5]
    );
    assert_eq!(words(|| json_with(503, "Retry-After: 7\r\n", "{}")).await, ["Throttled { status: 503, wait: 7s }"; 5]);
}

#[tokio::test]
async fn a_lost_reply_leaves_open_what_happened_only_where_something_could() {
    let expected = ["unknown", "unknown", "Unavailable(0)", "Unavailable(0)", "Unavailable(0)"];
    assert_eq!(words(|| Reply::HangUp).await, expected);
    assert_eq!(words(|| Reply::Bytes("nonsense\r\n\r\n".into())).await, expected);
}

#[tokio::test]
async fn a_reply_that_breaks_off_is_judged_by_what_was_needed_of_it() {
    let cut = || Reply::Bytes("HTTP/1.1 202 Accepted\r\nContent-Length: 99\r\n\r\n{\"id\":".into());
    assert_eq!(words(cut).await, ["unknown", "done", "Unavailable(0)", "Unavailable(0)", "done"]);
    assert_eq!(words(|| json(200, "{}")).await, ["unknown", "done", "Unavailable(200)", "Unavailable(200)", "done"]);
    let error = || Reply::Bytes("HTTP/1.1 403 Forbidden\r\nContent-Length: 99\r\n\r\n{".into());
    assert_eq!(words(error).await, ["Forbidden(403)"; 5]);
}

#[tokio::test]
async fn a_hanging_call_is_given_up_after_ten_seconds() {
    for expected in ["unknown", "Unavailable(0)"] {
        let (server, client) = after_token(Reply::Hang).await;
        let before = tokio::time::Instant::now();
        let outcome = if expected == "unknown" {
            client.send_draft(&draft()).await
        } else {
            client.discard_draft(&draft()).await
        };
        match outcome.unwrap_err() {
            MailError::OutcomeUnknown(source) => {
                assert_eq!((expected, source.to_string().as_str()), ("unknown", "no answer in time"));
            }
            other => assert_eq!(format!("{other:?}"), expected),
        }
        // Virtual seconds: only the time-out can have let them pass.
        assert!((10..60).contains(&before.elapsed().as_secs()));
        assert_eq!(server.seen().len(), 2);
        tokio::time::resume();
    }
}

#[tokio::test]
async fn a_mailbox_nobody_listens_at_did_nothing() {
    let login = Server::start([json(200, TOKEN)]).await;
    let stored = Arc::default();
    let config = Config { graph_url: test_server::nobody().await, ..config(&login.url, refresh_grant(&stored, None)) };
    let client = build(config).1.unwrap();
    assert!(matches!(client.send_draft(&draft()).await, Err(MailError::Unavailable(0))));
}

#[tokio::test]
async fn errors_quote_neither_address_nor_id() {
    for error in outcomes(|| Reply::HangUp).await.into_iter().filter_map(Result::err) {
        let mut text = format!("{error} {error:?}");
        let mut source = std::error::Error::source(&error);
        while let Some(error) = source {
            text.push_str(&error.to_string());
            source = error.source();
        }
        assert!(!text.contains('@') && !text.contains("%40") && !text.contains("AAMk"), "{text}");
    }
}

#[tokio::test]
async fn ids_that_are_steps_of_a_path_reach_nobody() {
    let server = Server::start([]).await;
    let client = parts(&server.url).client;
    for id in ["", ".", ".."] {
        let draft = Draft { id: id.into(), ..draft() };
        assert!(matches!(client.send_draft(&draft).await, Err(MailError::NoSuchDraft)));
        assert!(!client.draft_exists(&draft).await.unwrap());
        client.discard_draft(&draft).await.unwrap();
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_mail_that_is_not_listed_was_not_sent() {
    for list in [r#"{"value":[]}"#, r#"{"value":[{"internetMessageId":"<2@x>"}]}"#] {
        let (_server, client) = after_token(json(200, list)).await;
        assert!(!client.was_sent(&draft()).await.unwrap());
    }
    let (_server, client) = after_token(json(200, r#"{"id":"A","isDraft":false}"#)).await;
    assert!(!client.draft_exists(&draft()).await.unwrap());
}

#[test]
fn a_bad_configuration_is_named() {
    let stored = Arc::default();
    let good = || config("https://x.example", refresh_grant(&stored, None));
    let error = |config: Config| build(config).1.map(drop).unwrap_err();
    assert!(build(good()).1.is_ok());
    for url in ["", "x", "ftp://x", "https://x/?a"] {
        assert!(matches!(error(Config { graph_url: url.into(), ..good() }), ConfigError::GraphUrl));
        assert!(matches!(error(Config { login_url: url.into(), ..good() }), ConfigError::LoginUrl));
    }
    for tenant in ["", "..", "a/b", "a?b", "a b"] {
        assert!(matches!(error(Config { tenant: tenant.into(), ..good() }), ConfigError::Tenant));
    }
    assert!(matches!(error(Config { client_id: String::new(), ..good() }), ConfigError::ClientId));
    let grant = Grant::ClientCredentials { client_secret: domain::Secret::new("") };
    assert!(matches!(error(Config { grant, ..good() }), ConfigError::Grant));
}
