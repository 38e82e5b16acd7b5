//! The ports on AWS: sales in DynamoDB, messages in SQS, the log, the archive and the quarantine in S3, alerts on SNS,
//! secrets in Secrets Manager.
//!
//! Clients are created at their first use: a function that only sends a message loads nothing else.

mod alert_log;
mod alerts;
mod all_sales;
mod all_streams;
mod announcement;
mod announcements;
mod attempts;
mod attributes;
mod audited;
mod bridges;
mod broadcast;
mod buckets;
mod cache_entries;
mod cache_items;
mod chat;
mod connection;
mod corpora;
mod dead_letters;
mod deployments;
mod digests;
mod items;
mod memory_logs;
mod open_sales;
mod purchases;
mod queue;
mod queue_admin;
mod reach;
mod relay_drafts;
mod rotation;
mod sale_data;
mod sale_items;
mod sales;
mod secrets;
mod ses;
mod snapshot;
mod stack_watch;
mod storm;
mod storms;
mod subject_keys;
mod submissions;
mod subscribers;
mod transactions;
mod unknown_ids;

pub use alerts::SnsAlerts;
pub use broadcast::SnsBroadcast;
pub use buckets::{S3Archive, S3AuditLog, S3Quarantine};
pub use connection::{Connection, InvalidSetting, RetryPolicy, https};
pub use deployments::CodeDeploy;
pub use digests::{KmsKey, S3Digests, SqsLogNotices};
pub use memory_logs::DynamoMemoryLogs;
pub use queue::SqsQueue;
pub use queue_admin::{DeadMessage, Depth, Move, QueueAdmin};
pub use reach::{Reach, Subscriptions};
pub use rotation::Rotation;
pub use sale_data::StoredSaleData;
pub use sales::DynamoSales;
pub use secrets::SecretDocument;
pub use ses::SesRelay;
pub use stack_watch::{FunctionVersion, Raised, StackWatch, Traffic, is_alarm_of};
pub use subject_keys::{KmsSubjectKeys, SubjectSeal};
pub use submissions::DynamoSubmissions;

use domain::{Timestamp, ports::StorageError};
use std::time::SystemTime;

/// A storage error for operators: the service's own text stays in the chain of causes.
fn storage<E>(operation: &'static str, error: E) -> StorageError
where
    E: std::error::Error + Send + Sync + 'static,
{
    StorageError { operation, source: Box::new(error) }
}

/// The time for alerts and for entries that are set aside; it decides nothing that a test would have to control.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
