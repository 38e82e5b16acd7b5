//! Shared by the tests of several stores: a connection to the test's server, and the replies of services.

use crate::server::Reply;
use aws::{Connection, DynamoSales, SnsAlerts};
use domain::{SessionId, ports::Randomness};
use std::sync::Arc;

pub(crate) const OPS: &str = "arn:aws:sns:us-east-1:1:ops";
pub(crate) const CRITICAL: &str = "arn:aws:sns:us-east-1:1:critical";

pub(crate) struct Tokens;

impl Randomness for Tokens {
    fn fraction(&self) -> f64 {
        0.5
    }
    fn token(&self) -> String {
        "0123456789abcdef0123456789abcdef".to_owned()
    }
}

pub(crate) fn connection(url: &str) -> Connection {
    Connection::from_environment(|name| match name {
        "AWS_ENDPOINT_URL" => Some(url.to_owned()),
        "AWS_REGION" => Some("us-east-1".to_owned()),
        "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => Some("test".to_owned()),
        "CACHE_RETRY_DELAY_MS" => Some("0".to_owned()),
        // Tests count the requests, and a slow machine must not repeat one.
        "CACHE_CONNECT_TIMEOUT_MS" => Some("10000".to_owned()),
        "ALERT_TOPIC_TIMEOUT_MS" => Some("30000".to_owned()),
        _ => None,
    })
    .unwrap()
}

/// A table and the topics for its failures.
pub(crate) fn table(url: &str) -> (DynamoSales, SnsAlerts) {
    let connection = connection(url);
    let alerts = SnsAlerts::new(connection.clone(), OPS.to_owned(), CRITICAL.to_owned());
    (DynamoSales::new(connection, "sales".to_owned(), Arc::new(Tokens)), alerts)
}

pub(crate) fn session() -> SessionId {
    SessionId::parse("cs_live_abcdefghijkl").unwrap()
}

pub(crate) fn down() -> Reply {
    (500, "{}".to_owned())
}

pub(crate) fn nothing() -> Reply {
    (200, "{}".to_owned())
}

pub(crate) fn published() -> Reply {
    let result = "<PublishResult><MessageId>1</MessageId></PublishResult>";
    (200, format!("<PublishResponse xmlns=\"http://sns.amazonaws.com/doc/2010-03-31/\">{result}</PublishResponse>"))
}

pub(crate) fn assert_alert(body: &str, topic: &str, parts: &[&str]) {
    assert!(body.contains(&format!("TopicArn={topic}&")), "{body}");
    for part in parts {
        assert!(body.contains(part), "no {part:?} in {body}");
    }
    assert!(!body.contains("cs_live_"), "more than the reference: {body}");
}
