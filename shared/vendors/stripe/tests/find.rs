//! Searches for purchases against a server over a real connection: the requests, and the handling of the replies.

#![allow(clippy::unwrap_used)]

use async_trait::async_trait;
use domain::{
    EmailAddress, Secret, Timestamp,
    ports::{Pause, Randomness},
};
use std::{sync::Arc, time::Duration};
use stripe::{Client, Config, LastDigits, Wanted};
use test_server::{Server, json};

struct Steady;

#[async_trait]
impl Pause for Steady {
    async fn pause(&self, _: Duration) {}
}

impl Randomness for Steady {
    fn fraction(&self) -> f64 {
        1.0
    }
    fn token(&self) -> String {
        "0".repeat(32)
    }
}

fn client(url: &str) -> Client {
    let config = Config::new(url, Secret::new("sk_test_key"), "https://oracle.example/");
    Client::new(config, reqwest::Client::builder().no_proxy(), Arc::new(Steady), Arc::new(Steady)).unwrap()
}

fn page(email: &str) -> String {
    page_of(&[session("cs_test_1", email)])
}

fn page_of(sessions: &[String]) -> String {
    format!(r#"{{"data":[{}],"has_more":false}}"#, sessions.join(","))
}

fn session(id: &str, email: &str) -> String {
    format!(
        r#"{{"id":"{id}","payment_status":"paid","status":"complete","payment_intent":"pi_1",
            "created":1763596800,"amount_total":500,"customer_details":{{"email":"{email}"}}}}"#
    )
}

fn wanted() -> Wanted {
    Wanted { email: None, last4: None, amount: Some(500), since: Timestamp::from_seconds(1_763_000_000) }
}

#[tokio::test]
async fn an_address_in_another_case_is_found_among_all_that_paid() {
    let server =
        Server::start([json(200, r#"{"data":[],"has_more":false}"#), json(200, page("Buyer@Example.com"))]).await;
    let email = EmailAddress::parse("buyer@example.com").ok();
    let found = client(&server.url).find(&Wanted { email, ..wanted() }).await.unwrap();
    assert_eq!(found.sessions[0].id.as_str(), "cs_test_1");
    let asked: Vec<String> = server.seen().into_iter().map(|request| request.line).collect();
    assert!(asked[0].contains("customer_details%5Bemail%5D=buyer%40example.com"), "{asked:?}");
    assert!(asked.iter().all(|line| line.contains("created%5Bgte%5D=1763000000")), "{asked:?}");
    assert!(!asked[1].contains("email"), "{asked:?}");
}

/// An erasure has to find all of them.
#[tokio::test]
async fn an_address_that_was_entered_in_two_spellings_leads_to_all_its_sessions_once() {
    let (first, second) = (session("cs_test_1", "buyer@example.com"), session("cs_test_2", "Buyer@Example.com"));
    let other = session("cs_test_3", "other@example.com");
    let old = session("cs_test_0", "buyer@example.com");
    let exact = page_of(&[first.clone(), old]);
    let server = Server::start([json(200, exact), json(200, page_of(&[second, first, other]))]).await;
    let email = EmailAddress::parse("buyer@example.com").ok();
    let found = client(&server.url).find(&Wanted { email, ..wanted() }).await.unwrap();
    let ids: Vec<&str> = found.sessions.iter().map(|session| session.id.as_str()).collect();
    assert_eq!(ids, ["cs_test_2", "cs_test_1", "cs_test_0"], "newest first");
}

/// A promotion code made it free, and an operator gave the verdict away.
#[tokio::test]
async fn a_session_with_nothing_to_pay_is_found_by_its_address_and_an_unpaid_one_is_not() {
    let free = |id: &str, status: &str| {
        session(id, "buyer@example.com")
            .replace(r#""payment_status":"paid""#, &format!(r#""payment_status":"{status}""#))
    };
    let sessions = page_of(&[free("cs_test_1", "no_payment_required"), free("cs_test_2", "unpaid")]);
    let server = Server::start([json(200, r#"{"data":[],"has_more":false}"#), json(200, sessions)]).await;
    let email = EmailAddress::parse("buyer@example.com").ok();
    let found = client(&server.url).find(&Wanted { email, amount: None, ..wanted() }).await.unwrap();
    let ids: Vec<&str> = found.sessions.iter().map(|session| session.id.as_str()).collect();
    assert_eq!(ids, ["cs_test_1"]);
}

#[tokio::test]
async fn a_card_leads_to_its_payment_and_that_to_its_session() {
    let charges = r#"{"data":[{"payment_intent":"pi_1"},{"payment_intent":null}],"has_more":false,"next_page":null}"#;
    let server = Server::start([json(200, charges), json(200, page("buyer@example.com"))]).await;
    let last4 = LastDigits::parse("4242");
    let found = client(&server.url).find(&Wanted { last4, ..wanted() }).await.unwrap();
    assert_eq!((found.sessions.len(), found.more), (1, false));
    let asked: Vec<String> = server.seen().into_iter().map(|request| request.line).collect();
    assert!(
        asked[0].starts_with("GET /v1/charges/search?query=payment_method_details.card.last4%3A%274242%27"),
        "{asked:?}"
    );
    assert!(asked[0].contains("amount%3A500") && asked[1].contains("payment_intent=pi_1"), "{asked:?}");
}
