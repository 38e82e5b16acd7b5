//! The smoke test of one process on AWS, Stripe's test mode, Graph and the public site.

use crate::{
    ports::{Network, Ports, Reply, Settings, Site, Till, Unreachable},
    record::{FUNCTION, Remembered},
    report::{Report, Trigger},
    run,
};
use async_trait::async_trait;
use audit::FunctionJournal;
use aws::{Connection, DynamoSales, S3AuditLog, SecretDocument, SnsAlerts};
use domain::{
    EmailAddress, SessionId,
    ports::{Clock, PaymentError},
};
use runtime::System;
use std::{error::Error, sync::Arc, time::Duration};
use stripe::{Created, SmokeClient};
use tokio::net::TcpStream;

/// No reply of the site takes longer; the stages have limits of their own.
const SITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Where everything is. There is no customer's address in it (Smoke Test, invariant 3).
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Names {
    /// The public site, without a slash at the end.
    pub site: String,
    pub stripe_base_url: String,
    pub graph_base_url: String,
    pub login_base_url: String,
    /// The mailbox that sends verdicts.
    pub sender: EmailAddress,
    pub smoke_secret: String,
    pub gemini_secret: String,
    pub graph_secret: String,
    pub table: String,
    pub audit_bucket: String,
    pub ops_topic: String,
    pub critical_topic: String,
}

/// What runs smoke tests in one process.
pub struct Wired {
    smoke_secret: SecretDocument,
    gemini_secret: SecretDocument,
    site: HttpSite,
    mailbox: graph::LazyClient,
    till: SmokeClient,
    sales: DynamoSales,
    log: S3AuditLog,
    alerts: SnsAlerts,
    addresses: Vec<String>,
}

#[async_trait]
impl Till for SmokeClient {
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
        // The address holds the session id.
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
    /// Nothing is called yet.
    ///
    /// # Errors
    /// When no HTTP client can be built.
    pub fn new(connection: &Connection, names: Names) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let system = Arc::new(System);
        let secret = |id: &str| SecretDocument::new(connection.clone(), id.to_owned());
        let http = reqwest::Client::builder().timeout(SITE_TIMEOUT).redirect(reqwest::redirect::Policy::none());
        let till = SmokeClient::new(
            names.stripe_base_url,
            names.site.clone(),
            Arc::new(secret(&names.smoke_secret)),
            system.clone(),
            system.clone(),
        );
        Ok(Self {
            addresses: vec![names.site.clone(), names.graph_base_url.clone()],
            smoke_secret: secret(&names.smoke_secret),
            gemini_secret: secret(&names.gemini_secret),
            site: HttpSite { http: http.build()?, base_url: names.site },
            mailbox: graph::LazyClient::new(
                names.graph_base_url,
                names.login_base_url,
                names.sender,
                Arc::new(secret(&names.graph_secret)),
                Arc::new(graph::NotKept),
                system.clone(),
            ),
            till,
            sales: DynamoSales::new(connection.clone(), names.table, system),
            log: S3AuditLog::new(connection.clone(), names.audit_bucket),
            alerts: SnsAlerts::new(connection.clone(), names.ops_topic, names.critical_topic),
        })
    }

    /// Runs the test once, records the run, and tells operators. `log` says where the report can be read.
    pub async fn run(&self, trigger: Trigger, log: &str) -> Report {
        let journal = FunctionJournal {
            function: FUNCTION,
            notes: &self.sales,
            log: &self.log,
            alerts: &self.alerts,
            clock: &System,
        };
        let remembered = Remembered::of(journal, &System).await;
        let settings = Settings { addresses: self.addresses.clone(), leftovers: remembered.leftovers() };
        let ports = Ports {
            smoke_secret: &self.smoke_secret,
            gemini_secret: &self.gemini_secret,
            network: &Tcp,
            site: &self.site,
            mailbox: &self.mailbox,
            till: &self.till,
            store: &self.sales,
            entries: &self.sales,
            clock: &System,
            pause: &System,
            randomness: &System,
        };
        // Behind a pointer: so many of the clients' futures inside one another are too deep for the compiler.
        let report = Box::pin(run::run(ports, &settings)).await;
        remembered.record(journal, &System, &report, trigger, System.now(), log).await;
        report
    }
}
