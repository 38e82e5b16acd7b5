//! The ports on AWS: sales in DynamoDB, messages in SQS, the log, the archive and the quarantine in S3, alerts on
//! SNS, secrets in Secrets Manager.
//!
//! Clients are made at their first use: a function that only sends a message loads nothing else.

mod alerts;
mod buckets;
mod connection;
mod dead_letters;
mod open_sales;
mod queue;
mod sales;
mod secrets;
mod submissions;

pub use alerts::SnsAlerts;
pub use buckets::{S3Archive, S3AuditLog, S3Quarantine};
pub use connection::{Connection, MissingSetting};
pub use dead_letters::S3DeadLetters;
pub use queue::SqsQueue;
pub use sales::DynamoSales;
pub use secrets::SecretDocument;
pub use submissions::DynamoSubmissions;

use domain::ports::StorageError;

/// A storage error for operators: the service's own words stay in the chain of causes.
fn storage<E>(operation: &'static str, error: E) -> StorageError
where
    E: std::error::Error + Send + Sync + 'static,
{
    StorageError { operation, source: Box::new(error) }
}
