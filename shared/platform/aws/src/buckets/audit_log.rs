//! The audit log.

use super::bucket::{Bucket, Put};
use crate::{Connection, attempts::Step, storage};
use async_trait::async_trait;
use domain::{
    Measurement, Metric,
    alert::Severity,
    ports::{AuditLog, AuditObjects, AuditRecords, ListedObject, Published, StorageError},
    sale::AuditEntry,
};
use futures_util::future::try_join_all;
use std::collections::BTreeMap;

/// The alert in place of `AuthorityEscalatedAlarm`.
const ESCALATED: &str =
    "the authority gate blocked a text about harm to a child: oracle authority escalations --since 1d";

const READ: Step<'static> = Step { name: "audit read", operation: "AUDIT_READ", subject: "-" };

/// The append-only log: one immutable object per record.
#[derive(Debug)]
pub struct S3AuditLog(Bucket);

impl S3AuditLog {
    /// The log in this bucket.
    #[must_use]
    pub const fn new(connection: Connection, bucket: String) -> Self {
        Self(Bucket::new(connection, bucket))
    }

    async fn write(&self, step: Step<'_>, key: &str, line: &str) -> Result<Published, StorageError> {
        match self.0.put_new(step, key, line).await? {
            Put::Written => Ok(Published::Written),
            Put::Exists => match self.0.get(Step { name: "audit read", ..step }, key).await? {
                Some(found) if found == line.as_bytes() => Ok(Published::AlreadyThere),
                Some(_) => Ok(Published::Forked),
                None => Err(storage("audit write", std::io::Error::other("the key is taken, but has no object"))),
            },
        }
    }

    /// Counts a record that is in the log. A record that was there already counts too, because the process that wrote it
    /// may have ended before it counted: an alarm must not miss one. Only a function's output becomes metrics;
    /// elsewhere an alert takes the place of the alarm that operators must see at once.
    async fn count(&self, step: Step<'_>, measurements: &[Measurement]) {
        let connection = &self.0.connection;
        connection.measure(measurements);
        if !connection.is_function && measurements.iter().any(|it| it.metric == Metric::AuthorityEscalated) {
            let step = Step { operation: "AUTHORITY", ..step };
            connection.raise_alert(step, Severity::Critical, ESCALATED).await;
        }
    }
}

#[async_trait]
impl AuditLog for S3AuditLog {
    async fn publish(&self, entry: &AuditEntry) -> Result<Published, StorageError> {
        let line = format!("{}\n", entry.line);
        // `{day}/{kind}/{subject}/{number}.json`: for a session, the alert contains its prefix.
        let subject = entry.key.split('/').nth(2).unwrap_or("-");
        let step = Step { name: "audit write", operation: "AUDIT_WRITE", subject };
        let published = self.write(step, &entry.key, &line).await;
        match &published {
            Ok(Published::Written | Published::AlreadyThere) => self.count(step, &entry.measurements).await,
            Ok(Published::Forked) | Err(_) => self.0.connection.measure(&[Metric::AuditWriteFailed.once()]),
        }
        published
    }
}

#[async_trait]
impl AuditRecords for S3AuditLog {
    async fn lines(&self, prefix: &str) -> Result<Vec<String>, StorageError> {
        self.0.texts(READ, prefix).await
    }
}

/// The number of a stream's objects that are read concurrently, because the time is spent waiting; most streams have
/// fewer.
const AT_ONCE: usize = 16;

#[async_trait]
impl AuditObjects for S3AuditLog {
    async fn keys(&self, prefix: &str, after: &str) -> Result<Vec<ListedObject>, StorageError> {
        self.0.page(READ, prefix, after).await
    }

    async fn object(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        self.0.get(READ, key).await
    }

    async fn originals(&self, keys: &[String]) -> Result<BTreeMap<String, Vec<u8>>, StorageError> {
        let mut originals = BTreeMap::new();
        for (key, versions) in self.0.versions_of(READ, keys).await? {
            let [_, .., first] = versions.as_slice() else { continue };
            originals.insert(key.clone(), Bucket::get_version(&self.0, READ, &key, first).await?);
        }
        Ok(originals)
    }

    async fn objects(&self, keys: Vec<String>) -> Result<Vec<(String, Vec<u8>)>, StorageError> {
        let mut found = Vec::with_capacity(keys.len());
        for some in keys.chunks(AT_ONCE) {
            let read = try_join_all(some.iter().map(|key| self.object(key))).await?;
            found.extend(some.iter().cloned().zip(read).filter_map(|(key, bytes)| Some((key, bytes?))));
        }
        Ok(found)
    }
}
