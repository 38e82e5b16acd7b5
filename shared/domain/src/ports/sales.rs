//! The stores of sales: sales, their indexes, cached and archived verdicts, breakers and notes.

use super::{SaveError, StorageError, Store, Versioned};
use crate::{CachedVerdict, Sale, SessionId, Submission, Timestamp, breaker::Breaker, mail::Letter, open_work::Work};
use async_trait::async_trait;

/// A cache entry as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheEntry {
    /// A verdict.
    Hit(Box<CachedVerdict>),
    /// No entry.
    Miss,
    /// Removed for its age or by an operator, or corrupt and set aside with an alert: its absence is no further fault.
    Removed,
    /// An entry that is not a verdict (Cache Alert, invariant 7).
    Corrupt,
}

/// Sales and cached verdicts.
#[async_trait]
pub trait SaleStore: Send + Sync {
    /// The sale, if it exists.
    async fn load(&self, session: &SessionId) -> Result<Option<Versioned<Sale>>, StorageError>;
    /// The sale and its cached verdict as they are at one moment, also while both are being saved.
    async fn load_with_verdict(
        &self,
        session: &SessionId,
    ) -> Result<(Option<Versioned<Sale>>, CacheEntry), StorageError>;
    /// Saves the sale if its version is still `expected` (0: if it does not exist). Returns the new version. With
    /// `verdict`, either both are written or neither.
    async fn save(&self, sale: &Sale, expected: u64, verdict: Option<&CachedVerdict>) -> Result<u64, SaveError>;
    /// Creates the sale of a follow-up together with its text, if that sale does not exist and the sale that includes
    /// it still has this version: of several concurrent calls, one succeeds. Everything is written or nothing.
    ///
    /// # Errors
    /// [`SaveError::Conflict`] when one of these conditions does not hold.
    async fn open_followup(&self, sale: &Sale, text: &Submission, first_version: u64) -> Result<(), SaveError>;
}

/// Saves a sale without a verdict.
#[async_trait]
impl Store<Sale> for dyn SaleStore + '_ {
    async fn load(&self, session: &SessionId) -> Result<Option<Versioned<Sale>>, StorageError> {
        SaleStore::load(self, session).await
    }

    async fn save(&self, sale: &Sale, expected: u64) -> Result<u64, SaveError> {
        SaleStore::save(self, sale, expected, None).await
    }
}

/// A page of an index of sales.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Sales, the most urgent first. The index lags behind: load a sale and check it again before acting on it.
    pub sessions: Vec<SessionId>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// Sales with open work, by its kind and due time (see [`crate::open_work`]).
#[async_trait]
pub trait OpenSales: Send + Sync {
    /// One page of the sales with this work whose due time is not after `until`; all of them without it.
    async fn open(&self, work: Work, until: Option<Timestamp>, from: Option<&str>) -> Result<Listed, StorageError>;
}

/// A page of all sales.
#[derive(Clone, Debug, Default)]
pub struct SalesPage {
    /// Sales, in no order.
    pub sales: Vec<Sale>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// All sales. Reading them scans the whole table: for operators only, never for a request or a schedule.
#[async_trait]
pub trait AllSales: Send + Sync {
    /// One page.
    async fn all(&self, from: Option<&str>) -> Result<SalesPage, StorageError>;
}

/// Submissions that operators enter for a customer (Silent Drop, re-attempt).
#[async_trait]
pub trait Submissions: Send + Sync {
    /// Stores the tier and the question of a sale, replacing earlier ones.
    async fn keep(&self, session: &SessionId, submission: &Submission) -> Result<(), StorageError>;
    /// The stored submission.
    async fn find(&self, session: &SessionId) -> Result<Option<Submission>, StorageError>;
}

/// Dead-lettered mails, one object each.
#[async_trait]
pub trait DeadLetters: Send + Sync {
    /// Stores the document of a dead letter: JSON without an address, a question or a verdict.
    async fn keep(
        &self,
        session: &SessionId,
        letter: Letter,
        died_at: Timestamp,
        document: &str,
    ) -> Result<(), StorageError>;
}

/// The models' circuit breakers.
#[async_trait]
pub trait Breakers: Send + Sync {
    /// A model's breaker; a closed one without history if there is no row.
    async fn load(&self, model: &str) -> Result<Versioned<Breaker>, StorageError>;
    /// Saves it if its version is still `expected`.
    async fn save(&self, model: &str, breaker: &Breaker, expected: u64) -> Result<(), SaveError>;
}

/// The saved state of scheduled functions: one document per name.
#[async_trait]
pub trait Notes: Send + Sync {
    /// The document, and the version to present when saving it; version 0 and `None` if there is no row.
    async fn load(&self, name: &str) -> Result<Versioned<Option<String>>, StorageError>;
    /// Saves it if its version is still `expected`. Returns the new version.
    async fn save(&self, name: &str, document: &str, expected: u64) -> Result<u64, SaveError>;
}

/// The archive of first verdicts, without expiry.
#[async_trait]
pub trait VerdictArchive: Send + Sync {
    /// Stores a verdict unless one is stored already; a stored one is never replaced.
    async fn keep(&self, session: &SessionId, verdict: &CachedVerdict) -> Result<(), StorageError>;
    /// The archived verdict.
    async fn find(&self, session: &SessionId) -> Result<Option<CachedVerdict>, StorageError>;
    /// Up to `most` sales with an archived verdict that come after this one, in order; empty when there are no more.
    async fn listed(&self, after: Option<&SessionId>, most: usize) -> Result<Vec<SessionId>, StorageError>;
}
