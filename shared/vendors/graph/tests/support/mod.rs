//! A client under test, with a clock that tests set, a store that remembers, a mail and a draft.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use async_trait::async_trait;
use domain::{
    EmailAddress, Secret, SessionId, Timestamp,
    ports::{Clock, OutgoingMail},
    sale::Draft,
};
use graph::{Client, Config, Grant, RefreshTokenStore};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicI64, Ordering},
};

/// The reply of the login service to every request.
pub const TOKEN: &str = r#"{"access_token":"access-1","expires_in":3600}"#;

#[derive(Default)]
pub struct SetClock(AtomicI64);

impl SetClock {
    pub fn set(&self, seconds: i64) {
        self.0.store(seconds, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_seconds(self.0.load(Ordering::SeqCst))
    }
}

#[derive(Default)]
pub struct Stored(pub Mutex<Vec<String>>);

#[async_trait]
impl RefreshTokenStore for Stored {
    async fn rotated(&self, new: Secret) {
        self.0.lock().unwrap().push(new.expose().to_owned());
    }
}

pub struct Parts {
    pub clock: Arc<SetClock>,
    pub stored: Arc<Stored>,
    pub client: Client,
}

pub fn refresh_grant(stored: &Arc<Stored>, client_secret: Option<&str>) -> Grant {
    let store: Arc<dyn RefreshTokenStore> = Arc::<Stored>::clone(stored);
    Grant::RefreshToken {
        refresh_token: Secret::new("refresh-0"),
        client_secret: client_secret.map(Secret::new),
        store,
    }
}

pub fn config(url: &str, grant: Grant) -> Config {
    Config {
        graph_url: format!("{url}/graph/"),
        login_url: format!("{url}/login"),
        tenant: "tenant-1".into(),
        client_id: "client-1".into(),
        grant,
        sender: EmailAddress::parse("oracle@42sisters.ai").unwrap(),
        timeout: graph::client::DEFAULT_TIMEOUT,
    }
}

pub fn build(config: Config) -> (Arc<SetClock>, Result<Client, graph::ConfigError>) {
    let clock = Arc::<SetClock>::default();
    let port: Arc<dyn Clock> = Arc::<SetClock>::clone(&clock);
    (clock, Client::new(config, reqwest::Client::builder().no_proxy(), port))
}

pub fn parts(url: &str) -> Parts {
    let stored = Arc::<Stored>::default();
    let (clock, client) = build(config(url, refresh_grant(&stored, None)));
    Parts { clock, stored, client: client.unwrap() }
}

pub fn mail() -> OutgoingMail {
    OutgoingMail {
        to: EmailAddress::parse("someone@example.com").unwrap(),
        subject: "Your 42 Sisters AI Verdict".into(),
        body: "GREEN \u{2014} go.\r\n\r\nBcc: x@example.com".into(),
        session_id: SessionId::parse("cs_test_1").unwrap(),
    }
}

pub fn draft() -> Draft {
    Draft { id: "AAMk/1+2=".into(), internet_message_id: "<o'1@x>".into() }
}
