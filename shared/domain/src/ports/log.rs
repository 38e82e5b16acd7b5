//! The append-only audit log, its digests, and the payloads that the content filter held.

use super::StorageError;
use crate::{SessionId, Timestamp, sale::AuditEntry};
use async_trait::async_trait;
use std::collections::BTreeMap;

/// What became of an audit record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// It is in the log.
    Written,
    /// The same record was there already.
    AlreadyThere,
    /// Another record has its place: the stream forked.
    Forked,
}

/// The append-only log.
#[async_trait]
pub trait AuditLog: Send + Sync {
    /// Writes a record that must not exist yet.
    async fn publish(&self, entry: &AuditEntry) -> Result<Published, StorageError>;
}

/// The append-only log, read by operators.
#[async_trait]
pub trait AuditRecords: Send + Sync {
    /// The lines whose keys begin so, in the order of their keys.
    async fn lines(&self, prefix: &str) -> Result<Vec<String>, StorageError>;
}

/// An object as its bucket lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// Its key.
    pub key: String,
    /// When it was written, as the bucket says.
    pub written_at: Timestamp,
}

/// The append-only log as it lies there, for its verification.
#[async_trait]
pub trait AuditObjects: Send + Sync {
    /// One page of the objects whose keys begin so and come after `after`, in order; nothing when there are no more.
    async fn keys(&self, prefix: &str, after: &str) -> Result<Vec<ListedObject>, StorageError>;
    /// All objects whose keys begin so, in order.
    async fn listed(&self, prefix: &str) -> Result<Vec<ListedObject>, StorageError> {
        let mut listed: Vec<ListedObject> = Vec::new();
        loop {
            let page = self.keys(prefix, listed.last().map_or("", |object| object.key.as_str())).await?;
            if page.is_empty() {
                return Ok(listed);
            }
            listed.extend(page);
        }
    }
    /// The bytes of an object, if it is there.
    async fn object(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError>;
    /// The bytes with which the objects whose keys begin so were first written, of those that were written over since.
    /// None where that cannot be known: a copy of the log has no versions.
    async fn originals(&self, _prefix: &str) -> Result<BTreeMap<String, Vec<u8>>, StorageError> {
        Ok(BTreeMap::new())
    }
    /// Several objects by key, in their order. One that is gone since it was listed is left out.
    async fn objects(&self, keys: Vec<String>) -> Result<Vec<(String, Vec<u8>)>, StorageError> {
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            if let Some(bytes) = self.object(&key).await? {
                found.push((key, bytes));
            }
        }
        Ok(found)
    }
}

/// One message of the log's bucket about objects that came into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogNotice {
    /// What the queue wants to see when the message is removed.
    pub handle: String,
    /// What the bucket says.
    pub body: String,
}

/// Messages of the log's bucket about objects that came into it: at least once, late, in any order.
#[async_trait]
pub trait LogNotices: Send + Sync {
    /// Some of the messages that wait, which are then hidden for a while; nothing when none does.
    async fn receive(&self) -> Result<Vec<LogNotice>, StorageError>;
    /// Removes a message whose work is done.
    async fn remove(&self, handle: &str) -> Result<(), StorageError>;
}

/// Digests of the log and their signatures, in a store of their own: nothing there is ever replaced.
#[async_trait]
pub trait DigestStore: Send + Sync {
    /// Stores a document unless its key is taken. Answers what is there then: this one, or the one that was first.
    async fn keep(&self, key: &str, document: &str) -> Result<Vec<u8>, StorageError>;
    /// A stored document.
    async fn find(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError>;
    /// One page of the keys that begin so and come after `after`, in order; nothing when there are no more.
    async fn keys(&self, prefix: &str, after: &str) -> Result<Vec<String>, StorageError>;
}

/// Signs digests with a key that never leaves the key service.
#[async_trait]
pub trait DigestSigner: Send + Sync {
    /// The key, as the key service names it.
    fn key(&self) -> &str;
    /// The signature (ECDSA on P-256, DER) of a document with this SHA-256.
    async fn sign(&self, sha256: &[u8; 32]) -> Result<Vec<u8>, StorageError>;
}

/// Raw payloads that the content filter held: erasable, for few eyes.
#[async_trait]
pub trait Quarantine: Send + Sync {
    /// Keeps a held payload, one object per hold.
    async fn hold(&self, session: &SessionId, held_at: Timestamp, payload: &str) -> Result<(), StorageError>;
    /// The held payloads of a sale, oldest first.
    async fn held(&self, session: &SessionId) -> Result<Vec<String>, StorageError>;
}
