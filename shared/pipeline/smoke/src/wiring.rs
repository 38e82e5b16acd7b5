//! Connects the smoke test to AWS, Stripe's test mode, Graph and the public site.

use crate::{
    ports::{Network, Ports, Reply, Settings, Site, TestCheckout, Unreachable},
    record::Remembered,
    report::{Report, Trigger},
    run,
};
use async_trait::async_trait;
use aws::SecretDocument;
use backend::{Backend, JournalStores, SecretName};
use domain::{
    SessionId,
    ports::{Clock, PaymentError},
    smoke::FUNCTION,
};
use runtime::{Error, System};
use std::time::Duration;
use stripe::{Created, SmokeClient};
use tokio::net::TcpStream;

/// The time limit of a reply of the site; the stages have limits of their own.
const SITE_TIMEOUT: Duration = Duration::from_secs(30);

/// The clients that one process runs smoke tests with.
pub struct Wired {
    smoke_secret: SecretDocument,
    gemini_secret: SecretDocument,
    site: HttpSite,
    mailbox: graph::LazyClient,
    checkout: SmokeClient,
    stores: JournalStores,
    addresses: Vec<String>,
}

#[async_trait]
impl TestCheckout for SmokeClient {
    async fn create(&self, idempotency_key: &str) -> Result<Created, PaymentError> {
        Self::create(self, idempotency_key).await
    }
}

struct Tcp;

#[async_trait]
impl Network for Tcp {
    async fn connect(&self, url: &str) -> Result<(), Unreachable> {
        let address = reqwest::Url::parse(url).ok();
        let address = address.as_ref().and_then(|url| Some((url.host_str()?, url.port_or_known_default()?)));
        let (host, port) = address.ok_or_else(|| Unreachable("no host in the configured address".to_owned()))?;
        let connected = TcpStream::connect((host, port)).await;
        connected.map(drop).map_err(|error| Unreachable(format!("{host}:{port}: {error}")))
    }
}

struct HttpSite {
    http: reqwest::Client,
    base_url: String,
}

impl HttpSite {
    async fn answer(&self, request: reqwest::RequestBuilder) -> Result<Reply, Unreachable> {
        // The error's address is removed, because it contains the session id.
        let unreachable = |error: reqwest::Error| Unreachable(error.without_url().to_string());
        let reply = request.send().await.map_err(unreachable)?;
        let status = reply.status().as_u16();
        let text = reply.text().await.map_err(unreachable)?;
        Ok(Reply { status, body: serde_json::from_str(&text).unwrap_or_default() })
    }
}

#[async_trait]
impl Site for HttpSite {
    async fn health(&self) -> Result<Reply, Unreachable> {
        self.answer(self.http.get(format!("{}/health", self.base_url))).await
    }

    async fn webhook(&self, body: &str, signature: &str) -> Result<Reply, Unreachable> {
        let request = self.http.post(format!("{}/api/webhook", self.base_url)).body(body.to_owned());
        self.answer(request.header("content-type", "application/json").header("stripe-signature", signature)).await
    }

    async fn verdict(&self, session: &SessionId) -> Result<Reply, Unreachable> {
        let url = format!("{}/api/verdict?session_id={}", self.base_url, session.as_str());
        self.answer(self.http.get(url)).await
    }
}

impl Wired {
    /// Builds the clients. Nothing is called yet. The settings contain no customer's address (Smoke Test, invariant 3).
    ///
    /// # Errors
    /// An error that names the missing or malformed variable.
    pub fn new(backend: &Backend) -> Result<Self, Error> {
        let site = backend.site()?;
        let http = reqwest::Client::builder().timeout(SITE_TIMEOUT).redirect(reqwest::redirect::Policy::none());
        let stores = backend.journal()?;
        Ok(Self {
            addresses: vec![site.clone(), backend.graph_url()?],
            smoke_secret: backend.secret(SecretName::StripeSmoke)?,
            gemini_secret: backend.secret(SecretName::Gemini)?,
            site: HttpSite { http: http.build()?, base_url: site },
            mailbox: backend.mailbox_storing_tokens(stores.alerts.clone())?,
            checkout: backend.stripe_test_mode()?,
            stores,
        })
    }

    /// Runs the test once, records the run, and alerts operators. `log` says where to find the report.
    pub async fn run(&self, trigger: Trigger, log: &str) -> Report {
        let journal = self.stores.function_journal(FUNCTION);
        let remembered = Remembered::of(journal, &System).await;
        let settings = Settings { addresses: self.addresses.clone(), leftovers: remembered.leftovers() };
        let ports = Ports {
            smoke_secret: &self.smoke_secret,
            gemini_secret: &self.gemini_secret,
            network: &Tcp,
            site: &self.site,
            mailbox: &self.mailbox,
            checkout: &self.checkout,
            store: &self.stores.sales,
            entries: &self.stores.sales,
            log: &self.stores.log,
            clock: &System,
            pause: &System,
            randomness: &System,
        };
        // Boxed: the nested futures of the clients are too deep for the compiler.
        let report = Box::pin(run::run(ports, &settings)).await;
        remembered.record(journal, &System, &report, trigger, System.now(), log).await;
        report
    }
}
