//! The ports through which decisions reach the outside world. Adapters are in `aws`, `stripe`, `gemini`, `graph`; the
//! testkit has adapters that fail, duplicate and crash on purpose.

mod bridges;
mod cache_entries;
mod chat;
mod deployments;
mod erasure;
mod log;
mod mail;
mod memory;
mod messages;
mod model;
mod payments;
mod sales;
mod store;
mod streams;
mod subscriptions;
mod toll;
mod unknown_ids;

pub use bridges::Bridges;
pub use cache_entries::CacheEntries;
pub use chat::{ChatAccounts, ReplyBeginnings, SignIns};
pub use deployments::Deployments;
pub use erasure::{SaleData, SaleMails, StoredMails};
pub use log::{
    AuditLog, AuditObjects, AuditRecords, DigestSigner, DigestStore, ListedObject, LogNotice, LogNotices, Published,
    Quarantine,
};
pub use mail::{Inbox, MailError, Mailbox, OutgoingMail, Relay, RelayDrafts, UnclearStatus};
pub use memory::{MemoryAppend, MemoryLogs, MemoryRecord, Seal, SubjectKey, SubjectKeys};
pub use messages::{
    AlertSummaries, Alerts, Broadcast, MAX_QUEUE_DELAY, Meter, Queue, QueueError, UnreadableMessages, Visibility,
};
pub use model::{Listener, Model, ModelError, ModelReply, Prompt};
pub use payments::{
    CompletedSessions, CreatedCheckoutSession, Ledger, MadeRefund, NewCheckoutSession, NewRefund, PaymentError,
    PaymentRefunds, PaymentReports, Payments, ReportsSince, UnknownRefund,
};
pub use sales::{
    AllSales, Breakers, CacheEntry, DeadLetters, Listed, Notes, OpenSales, SaleStore, SalesPage, Submissions,
    VerdictArchive,
};
pub use store::Store;
pub use streams::{AllStreams, StoredStream, StreamsPage};
pub use subscriptions::{
    BillingReports, ChatAccess, NewSubscription, Subscribers, SubscriptionLedger, SubscriptionPages,
};
pub use toll::{Corpora, Facilitator, FacilitatorError, Node, PaymentUse, Purchases, Transfer};
pub use unknown_ids::UnknownIdCounter;

use crate::{Secret, Timestamp};
use async_trait::async_trait;
use std::time::Duration;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// Draws random numbers.
pub trait Randomness: Send + Sync {
    /// A number from 0.0 up to, not including, 1.0.
    fn fraction(&self) -> f64;
    /// 128 random bits as 32 hexadecimal digits.
    fn token(&self) -> String;
    /// 256 random bits as 64 hexadecimal digits, suitable as a secret; `None` without a source of such bits.
    fn secret(&self) -> Option<Secret> {
        None
    }
}

/// Waits.
#[async_trait]
pub trait Pause: Send + Sync {
    /// Returns after `duration`.
    async fn pause(&self, duration: Duration);
}

/// A call to a storage service failed; it may have had its effect.
#[derive(Debug, thiserror::Error)]
#[error("{operation} failed")]
pub struct StorageError {
    /// The operation.
    pub operation: &'static str,
    /// The cause, for operators.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// Why a conditional write did not happen.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// Another process saved in between: load again and decide again.
    #[error("the record was changed in between")]
    Conflict,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// A loaded record, with the version to present when saving it. `0` means that it does not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versioned<T> {
    /// The record.
    pub value: T,
    /// Its version.
    pub version: u64,
}

/// A secret document, fetched at its first use and kept for the life of the process. A secret that only we check is
/// read again after ten minutes, because no service refuses the old value.
#[async_trait]
pub trait SecretSource: Send + Sync {
    /// The document: JSON whose fields its reader knows.
    async fn document(&self) -> Result<Secret, StorageError>;
}

/// A secret document that may be replaced while the process runs: a rotated key works without a restart (Gemini
/// Timeout, failure mode 6).
#[async_trait]
pub trait RenewableSecret: SecretSource {
    /// Called when the service refused the secret in `refused`, or a field of it is missing: returns the current
    /// document if it is another one, and `None` otherwise. It is read at most once a minute, so that senders of wrong
    /// signatures cannot cause a read each time. A document that is never replaced has no other.
    ///
    /// # Errors
    /// [`StorageError`] when it could not be read.
    async fn renewed(&self, _refused: &Secret) -> Result<Option<Secret>, StorageError> {
        Ok(None)
    }
}
