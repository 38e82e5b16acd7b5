//! The ports of a run.

use async_trait::async_trait;
use domain::{
    SessionId,
    ports::{AuditObjects, CacheEntries, Clock, Mailbox, Pause, PaymentError, Randomness, SaleStore, SecretSource},
};
use serde_json::Value;
use stripe::Created;

/// A reply of the site.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reply {
    /// The status.
    pub(crate) status: u16,
    /// The body; null if it is not JSON.
    pub(crate) body: Value,
}

/// There was no reply.
#[derive(Clone, Debug, thiserror::Error)]
#[error("not reachable: {0}")]
pub(crate) struct Unreachable(pub(crate) String);

/// The public site.
#[async_trait]
pub(crate) trait Site: Send + Sync {
    /// GET /health.
    async fn health(&self) -> Result<Reply, Unreachable>;
    /// POST /api/webhook with this `Stripe-Signature`.
    async fn webhook(&self, body: &str, signature: &str) -> Result<Reply, Unreachable>;
    /// GET /api/verdict.
    async fn verdict(&self, session: &SessionId) -> Result<Reply, Unreachable>;
}

/// Creates sessions in Stripe's test mode.
#[async_trait]
pub(crate) trait TestCheckout: Send + Sync {
    /// Creates the smoke test's session.
    async fn create(&self, idempotency_key: &str) -> Result<Created, PaymentError>;
}

/// The network, up to a TCP connection.
#[async_trait]
pub(crate) trait Network: Send + Sync {
    /// Connects to the host and port of an address, and closes the connection.
    async fn connect(&self, url: &str) -> Result<(), Unreachable>;
}

/// The ports that a run uses.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) smoke_secret: &'a dyn SecretSource,
    pub(crate) gemini_secret: &'a dyn SecretSource,
    pub(crate) network: &'a dyn Network,
    pub(crate) site: &'a dyn Site,
    pub(crate) mailbox: &'a dyn Mailbox,
    pub(crate) checkout: &'a dyn TestCheckout,
    pub(crate) store: &'a dyn SaleStore,
    pub(crate) entries: &'a dyn CacheEntries,
    pub(crate) log: &'a dyn AuditObjects,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) pause: &'a dyn Pause,
    pub(crate) randomness: &'a dyn Randomness,
}

/// The settings of a run.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Addresses that must accept a TCP connection: the site's and the mailbox's.
    pub(crate) addresses: Vec<String>,
    /// Sessions of earlier runs whose cache entries have to be removed.
    pub(crate) leftovers: Vec<SessionId>,
}
