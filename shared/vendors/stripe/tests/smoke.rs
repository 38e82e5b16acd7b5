//! Stripe's test mode with the smoke test's key, over a real connection: which keys are used.

#![allow(clippy::unwrap_used)]

use async_trait::async_trait;
use domain::{
    RenewableSecret, Secret, SessionId,
    ports::{Pause, PaymentError, Randomness, SecretSource, StorageError},
    smoke::SmokeSessions,
};
use std::{sync::Arc, time::Duration};
use stripe::SmokeClient;
use test_server::{Server, json};

const CREATED: &str = r#"{"id":"cs_test_1","url":"https://checkout.stripe.com/c/pay/cs_test_1","status":"open"}"#;
const FACTS: &str = r#"{"id":"cs_test_1","payment_status":"unpaid","status":"open","livemode":false}"#;
const REFUSED: &str = r#"{"error":{"type":"invalid_request_error","message":"Invalid API Key provided"}}"#;

/// Waits for nothing, and draws fixed numbers.
struct Certain;

#[async_trait]
impl Pause for Certain {
    async fn pause(&self, _duration: Duration) {}
}

impl Randomness for Certain {
    fn fraction(&self) -> f64 {
        1.0
    }
    fn token(&self) -> String {
        "0".repeat(32)
    }
}

/// The stored document, and the document that a second read returns.
struct Stored(String, Option<String>);

fn document(key: &str) -> String {
    serde_json::json!({ "secret_key": key, "signing_secret": "whsec_smoke" }).to_string()
}

#[async_trait]
impl SecretSource for Stored {
    async fn document(&self) -> Result<Secret, StorageError> {
        Ok(Secret::new(self.0.clone()))
    }
}

#[async_trait]
impl RenewableSecret for Stored {
    async fn renewed(&self, _refused: &Secret) -> Result<Option<Secret>, StorageError> {
        Ok(self.1.clone().map(Secret::new))
    }
}

fn client(url: &str, key: &str, renewed: Option<&str>) -> SmokeClient {
    let secret = Stored(document(key), renewed.map(document));
    let site = "https://oracle.example".to_owned();
    SmokeClient::new(url.to_owned(), site, Arc::new(secret), Arc::new(Certain), Arc::new(Certain))
}

fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

fn keys(server: &Server) -> Vec<String> {
    server.seen().iter().map(|request| request.header("authorization").unwrap_or_default().to_owned()).collect()
}

/// The third condition of accepting a smoke test, on both sides: with a key of another mode nothing is called, even if
/// a second read returns another such key.
#[tokio::test]
async fn no_other_key_than_one_of_the_test_mode_is_ever_used() {
    let server = Server::start([]).await;
    for key in ["sk_live_1", "rk_live_1", "rk_test_1", "sk_test_", "", "pk_test_1", "sk_live_sk_test_1"] {
        for renewed in [None, Some(key)] {
            let client = client(&server.url, key, renewed);
            assert!(matches!(client.create("k").await, Err(PaymentError::Unavailable(_))), "{key}");
            assert!(matches!(client.facts(&id("cs_test_1")).await, Err(PaymentError::Unavailable(_))), "{key}");
        }
    }
    assert!(server.seen().is_empty());
}

/// A customer's session is never retrieved with this key.
#[tokio::test]
async fn only_sessions_of_the_test_mode_are_asked_about() {
    let server = Server::start([json(200, FACTS)]).await;
    let client = client(&server.url, "sk_test_1", None);
    assert!(matches!(client.facts(&id("cs_live_1")).await, Err(PaymentError::NotFound)));
    assert!(server.seen().is_empty());
    let facts = client.facts(&id("cs_test_1")).await.unwrap();
    assert_eq!((facts.session.id, facts.livemode), (id("cs_test_1"), Some(false)));
}

#[tokio::test]
async fn a_rotated_key_works_without_a_restart() {
    let server = Server::start([json(401, REFUSED), json(200, CREATED), json(401, REFUSED), json(200, FACTS)]).await;
    let created = client(&server.url, "sk_test_old", Some("sk_test_new")).create("k").await.unwrap();
    assert_eq!(created.id, id("cs_test_1"));
    client(&server.url, "sk_test_old", Some("sk_test_new")).facts(&created.id).await.unwrap();
    let used = ["Bearer sk_test_old", "Bearer sk_test_new"].repeat(2);
    assert_eq!(keys(&server), used);
}

/// A refused key was replaced by a key of the live mode: that one is not used.
#[tokio::test]
async fn a_refused_key_is_not_replaced_by_a_live_one() {
    let server = Server::start([json(401, REFUSED), json(401, REFUSED)]).await;
    let client = client(&server.url, "sk_test_old", Some("sk_live_new"));
    assert!(client.create("k").await.is_err());
    assert!(client.facts(&id("cs_test_1")).await.is_err());
    assert_eq!(keys(&server), ["Bearer sk_test_old"; 2]);
}
