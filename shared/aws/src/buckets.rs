//! The audit log, the archive of first verdicts and the quarantine, each in a bucket of its own.

use crate::{Connection, storage};
use async_trait::async_trait;
use aws_sdk_s3::{Client, error::SdkError, operation::put_object::PutObjectError, primitives::ByteStream};
use domain::{
    CachedVerdict, SessionId, Timestamp,
    ports::{AuditLog, AuditRecords, Published, Quarantine, StorageError, VerdictArchive},
    sale::AuditEntry,
};
use std::sync::OnceLock;

#[derive(Debug)]
pub(crate) struct Bucket {
    connection: Connection,
    name: String,
    client: OnceLock<Client>,
}

/// What came of writing an object that must not exist.
pub(crate) enum Put {
    Written,
    Exists,
}

impl Bucket {
    pub(crate) const fn new(connection: Connection, name: String) -> Self {
        Self { connection, name, client: OnceLock::new() }
    }

    fn client(&self) -> &Client {
        self.client.get_or_init(|| self.connection.s3())
    }

    /// Writes an object on condition that its key is free. 412 says that it is not, 409 that somebody is writing
    /// it at this moment; the client's own retry after a lost reply meets its own 412 too, so `Exists` says
    /// nothing about who wrote it: the caller compares.
    pub(crate) async fn put_new(&self, operation: &'static str, key: &str, body: String) -> Result<Put, StorageError> {
        let put = self
            .client()
            .put_object()
            .bucket(&self.name)
            .key(key)
            .if_none_match("*")
            .content_type("application/json")
            .body(ByteStream::from(body.into_bytes()))
            .send()
            .await;
        match put {
            Ok(_) => Ok(Put::Written),
            Err(error) if matches!(status(&error), Some(412 | 409)) => Ok(Put::Exists),
            Err(error) => Err(storage(operation, error)),
        }
    }

    /// The keys that begin so, in order.
    async fn keys(&self, operation: &'static str, prefix: &str) -> Result<Vec<String>, StorageError> {
        let mut keys = Vec::new();
        let mut from = None;
        loop {
            let list = self.client().list_objects_v2().bucket(&self.name).prefix(prefix).set_continuation_token(from);
            let page = list.send().await.map_err(|error| storage(operation, error))?;
            keys.extend(page.contents.unwrap_or_default().into_iter().filter_map(|object| object.key));
            from = page.next_continuation_token;
            if from.is_none() {
                return Ok(keys);
            }
        }
    }

    /// The texts of the objects whose keys begin so, in the order of their keys.
    async fn texts(&self, operation: &'static str, prefix: &str) -> Result<Vec<String>, StorageError> {
        let mut texts = Vec::new();
        for key in self.keys(operation, prefix).await? {
            let Some(body) = self.get(operation, &key).await? else { continue };
            texts.push(String::from_utf8(body).map_err(|error| storage(operation, error))?);
        }
        Ok(texts)
    }

    async fn get(&self, operation: &'static str, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        match self.client().get_object().bucket(&self.name).key(key).send().await {
            Ok(object) => {
                let body = object.body.collect().await.map_err(|error| storage(operation, error))?;
                Ok(Some(body.to_vec()))
            }
            Err(error) if error.as_service_error().is_some_and(|e| e.is_no_such_key()) => Ok(None),
            Err(error) => Err(storage(operation, error)),
        }
    }
}

fn status(error: &SdkError<PutObjectError>) -> Option<u16> {
    error.raw_response().map(|response| response.status().as_u16())
}

/// The append-only log: one immutable object a record.
#[derive(Debug)]
pub struct S3AuditLog(Bucket);

impl S3AuditLog {
    /// The log in this bucket.
    #[must_use]
    pub const fn new(connection: Connection, bucket: String) -> Self {
        Self(Bucket::new(connection, bucket))
    }
}

#[async_trait]
impl AuditLog for S3AuditLog {
    async fn publish(&self, entry: &AuditEntry) -> Result<Published, StorageError> {
        let line = format!("{}\n", entry.line);
        match self.0.put_new("audit write", &entry.key, line.clone()).await? {
            Put::Written => Ok(Published::Written),
            Put::Exists => match self.0.get("audit read", &entry.key).await? {
                Some(found) if found == line.as_bytes() => Ok(Published::AlreadyThere),
                Some(_) => Ok(Published::Forked),
                None => Err(storage("audit write", std::io::Error::other("the key is being written by another"))),
            },
        }
    }
}

#[async_trait]
impl AuditRecords for S3AuditLog {
    async fn lines(&self, prefix: &str) -> Result<Vec<String>, StorageError> {
        self.0.texts("audit read", prefix).await
    }
}

/// First verdicts.
#[derive(Debug)]
pub struct S3Archive(Bucket);

impl S3Archive {
    /// The archive in this bucket.
    #[must_use]
    pub const fn new(connection: Connection, bucket: String) -> Self {
        Self(Bucket::new(connection, bucket))
    }

    fn key(session: &SessionId) -> String {
        format!("verdicts/{}.json", session.as_str())
    }
}

#[async_trait]
impl VerdictArchive for S3Archive {
    async fn keep(&self, session: &SessionId, verdict: &CachedVerdict) -> Result<(), StorageError> {
        let body = serde_json::to_string(verdict).map_err(|error| storage("archive write", error))?;
        self.0.put_new("archive write", &Self::key(session), body).await.map(drop)
    }

    async fn find(&self, session: &SessionId) -> Result<Option<CachedVerdict>, StorageError> {
        let Some(body) = self.0.get("archive read", &Self::key(session)).await? else { return Ok(None) };
        serde_json::from_slice(&body).map(Some).map_err(|error| storage("archive read", error))
    }
}

/// Held payloads.
#[derive(Debug)]
pub struct S3Quarantine(Bucket);

impl S3Quarantine {
    /// The quarantine in this bucket.
    #[must_use]
    pub const fn new(connection: Connection, bucket: String) -> Self {
        Self(Bucket::new(connection, bucket))
    }
}

#[async_trait]
impl Quarantine for S3Quarantine {
    async fn hold(&self, session: &SessionId, held_at: Timestamp, payload: &str) -> Result<(), StorageError> {
        // A second hold of one sale at the same millisecond can only be the same hold again.
        let key = format!("held/{}/{}.json", session.as_str(), held_at.as_millis());
        self.0.put_new("quarantine write", &key, payload.to_owned()).await.map(drop)
    }

    async fn held(&self, session: &SessionId) -> Result<Vec<String>, StorageError> {
        self.0.texts("quarantine read", &format!("held/{}/", session.as_str())).await
    }
}
