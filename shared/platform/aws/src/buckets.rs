//! The buckets of the audit log, of the archive of first verdicts and of the quarantine.

mod archive;
mod audit_log;
mod bucket;
mod quarantine;

pub use archive::S3Archive;
pub use audit_log::S3AuditLog;
pub(crate) use bucket::{Bucket, Put};
pub use quarantine::S3Quarantine;

#[cfg(test)]
mod tests;
