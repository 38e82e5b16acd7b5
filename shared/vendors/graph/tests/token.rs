//! Access tokens against a server over a real connection: when one is fetched, cached, refused and replaced.

#![allow(clippy::unwrap_used)]

mod support;

use domain::{
    Secret,
    ports::{MailError, Mailbox},
};
use graph::Grant;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};
use support::{Stored, TOKEN, build, config, draft, parts, refresh_grant};
use test_server::{Reply, Request, Server, json, json_with};

const EXISTS: &str = r#"{"isDraft":true}"#;

fn token(access: &str, refresh: &str) -> Reply {
    json(200, format!(r#"{{"access_token":"{access}","expires_in":3600,"refresh_token":"{refresh}"}}"#))
}

fn form(request: &Request) -> BTreeMap<String, String> {
    assert_eq!(request.header("content-type"), Some("application/x-www-form-urlencoded"));
    let url = reqwest::Url::parse(&format!("http://x/?{}", request.text())).unwrap();
    url.query_pairs().into_owned().collect()
}

fn pairs(expected: &[(&str, &str)]) -> BTreeMap<String, String> {
    expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test]
async fn both_grants_are_sent_as_the_login_service_reads_them() {
    let delegated = "offline_access https://graph.microsoft.com/Mail.ReadWrite https://graph.microsoft.com/Mail.Send";
    let refresh = [
        ("client_id", "client-1"),
        ("grant_type", "refresh_token"),
        ("refresh_token", "refresh-0"),
        ("scope", delegated),
    ];
    let stored = Arc::<Stored>::default();
    let app_only = Grant::ClientCredentials { client_secret: Secret::new("s&cret=1") };
    for (grant, expected) in [
        (refresh_grant(&stored, None), pairs(&refresh)),
        (refresh_grant(&stored, Some("s&cret=1")), pairs(&[&refresh[..], &[("client_secret", "s&cret=1")]].concat())),
        (
            app_only,
            pairs(&[
                ("client_id", "client-1"),
                ("grant_type", "client_credentials"),
                ("client_secret", "s&cret=1"),
                ("scope", "https://graph.microsoft.com/.default"),
            ]),
        ),
    ] {
        let server = Server::start([json(200, TOKEN), json(200, EXISTS)]).await;
        assert!(build(config(&server.url, grant)).1.unwrap().draft_exists(&draft()).await.unwrap());
        assert_eq!(form(&server.seen()[0]), expected);
    }
}

#[tokio::test]
async fn a_token_is_kept_until_five_minutes_before_its_end() {
    let replies = [json(200, TOKEN), json(200, EXISTS), json(200, EXISTS), json(200, TOKEN), json(200, EXISTS)];
    let server = Server::start(replies).await;
    let parts = parts(&server.url);
    for (at, requests) in [(0, 2), (3299, 3), (3300, 5)] {
        parts.clock.set(at);
        parts.client.draft_exists(&draft()).await.unwrap();
        assert_eq!(server.seen().len(), requests, "at {at} s");
    }
}

#[tokio::test]
async fn a_new_refresh_token_is_stored_before_the_access_token_is_used_and_used_from_then_on() {
    /// A store that records how many requests the server had received at each write.
    struct Watching(Mutex<Vec<(String, usize)>>, Arc<Server>);
    #[async_trait::async_trait]
    impl graph::RefreshTokenStore for Watching {
        async fn rotated(&self, new: Secret) {
            self.0.lock().unwrap().push((new.expose().to_owned(), self.1.seen().len()));
        }
    }
    let replies = [
        token("a1", "refresh-1"),
        json(200, EXISTS),
        token("a2", "refresh-1"),
        json(200, EXISTS),
        token("a3", "refresh-2"),
        json(200, EXISTS),
    ];
    let server = Arc::new(Server::start(replies).await);
    let store = Arc::new(Watching(Mutex::default(), Arc::clone(&server)));
    let port: Arc<dyn graph::RefreshTokenStore> = Arc::<Watching>::clone(&store);
    let grant = Grant::RefreshToken { refresh_token: Secret::new("refresh-0"), client_secret: None, store: port };
    let (clock, client) = build(config(&server.url, grant));
    let client = client.unwrap();
    for at in [0, 10_000, 20_000] {
        clock.set(at);
        client.draft_exists(&draft()).await.unwrap();
    }
    let seen = server.seen();
    let used: Vec<_> = [0, 2, 4].map(|index| form(&seen[index])["refresh_token"].clone()).into();
    assert_eq!(used, ["refresh-0", "refresh-1", "refresh-1"]);
    assert_eq!(*store.0.lock().unwrap(), [("refresh-1".to_owned(), 1), ("refresh-2".to_owned(), 5)]);
}

#[tokio::test]
async fn a_refused_token_is_replaced_once() {
    let replies = [token("a1", "r"), json(401, "{}"), token("a2", "r"), json(202, "")];
    let server = Server::start(replies).await;
    parts(&server.url).client.send_draft(&draft()).await.unwrap();
    let seen = server.seen();
    assert_eq!(seen[1].header("authorization"), Some("Bearer a1"));
    assert_eq!(seen[3].header("authorization"), Some("Bearer a2"));
    assert_eq!(seen[1].line, seen[3].line);

    let replies = [token("a1", "r"), json(401, "{}"), token("a2", "r"), json(401, "{}")];
    let server = Server::start(replies).await;
    let error = parts(&server.url).client.send_draft(&draft()).await.unwrap_err();
    assert!(matches!(error, MailError::Unavailable(401)), "{error:?}");
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn without_a_token_nothing_happens_to_the_mail() {
    for (reply, expected) in [
        (json(400, r#"{"error":"invalid_grant","error_description":"someone@example.com"}"#), "ConsentRefused"),
        (json(401, r#"{"error":"invalid_client"}"#), "ConsentRefused"),
        (json(500, "{}"), "Unavailable(500)"),
        (json_with(503, "Retry-After: 9\r\n", "{}"), "Throttled { status: 503, wait: 9s }"),
        (json(429, "{}"), "Throttled { status: 429, wait: 60s }"),
        (json(200, "{}"), "Unavailable(200)"),
        (Reply::HangUp, "Unavailable(0)"),
        (Reply::Hang, "Unavailable(0)"),
    ] {
        let hangs = matches!(reply, Reply::Hang);
        let server = Server::start([reply]).await;
        let parts = parts(&server.url);
        let error = parts.client.send_draft(&draft()).await.unwrap_err();
        assert_eq!(format!("{error:?}"), expected);
        assert_eq!(server.seen().len(), 1);
        assert!(parts.stored.0.lock().unwrap().is_empty());
        if hangs {
            tokio::time::resume();
        }
    }
}
