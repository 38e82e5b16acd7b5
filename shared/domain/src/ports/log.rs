//! The append-only audit log, its digests, and the payloads that the content filter holds.

use super::StorageError;
use crate::{SessionId, Timestamp, sale::AuditEntry};
use async_trait::async_trait;
use std::collections::BTreeMap;

/// The result of publishing an audit record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// It is in the log.
    Written,
    /// The log had the same record already.
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
    /// The lines whose keys have this prefix, ordered by key.
    async fn lines(&self, prefix: &str) -> Result<Vec<String>, StorageError>;
}

/// An object in a bucket's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// Its key.
    pub key: String,
    /// When it was written, by the bucket's clock.
    pub written_at: Timestamp,
}

/// The objects of the append-only log, for its verification.
#[async_trait]
pub trait AuditObjects: Send + Sync {
    /// One page of the objects whose keys have this prefix and come after `after`, in order; empty when there are no
    /// more.
    async fn keys(&self, prefix: &str, after: &str) -> Result<Vec<ListedObject>, StorageError>;
    /// All objects whose keys have this prefix, in order.
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
    /// The bytes of an object, if it exists.
    async fn object(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError>;
    /// The original bytes of those of these objects, given in the order of their keys, that were overwritten since. Empty
    /// if they cannot be known: a copy of the log has no versions.
    async fn originals(&self, _keys: &[String]) -> Result<BTreeMap<String, Vec<u8>>, StorageError> {
        Ok(BTreeMap::new())
    }
    /// Several objects by key, in their order. An object that was deleted since it was listed is left out.
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

/// One message of the log's bucket about new objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogNotice {
    /// The receipt handle with which the queue deletes the message.
    pub handle: String,
    /// The body.
    pub body: String,
}

/// Messages of the log's bucket about new objects; they come at least once, late, and in any order.
#[async_trait]
pub trait LogNotices: Send + Sync {
    /// Some of the waiting messages, which are then hidden for a while; empty when none waits.
    async fn receive(&self) -> Result<Vec<LogNotice>, StorageError>;
    /// Deletes a message whose work is done.
    async fn remove(&self, handle: &str) -> Result<(), StorageError>;
}

/// Digests of the log and their signatures, in a separate store in which nothing is ever replaced.
#[async_trait]
pub trait DigestStore: Send + Sync {
    /// Stores a document unless its key is taken. Returns the stored document: this one, or the first one.
    async fn keep(&self, key: &str, document: &str) -> Result<Vec<u8>, StorageError>;
    /// A stored document.
    async fn find(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError>;
    /// One page of the keys with this prefix after `after`, in order; empty when there are no more.
    async fn keys(&self, prefix: &str, after: &str) -> Result<Vec<String>, StorageError>;
}

/// Signs digests with a key that never leaves the key service.
#[async_trait]
pub trait DigestSigner: Send + Sync {
    /// The key, by its name in the key service.
    fn key(&self) -> &str;
    /// The signature (ECDSA on P-256, DER) of a document with this SHA-256.
    async fn sign(&self, sha256: &[u8; 32]) -> Result<Vec<u8>, StorageError>;
}

/// Raw payloads that the content filter holds: they can be erased, and few people have access.
#[async_trait]
pub trait Quarantine: Send + Sync {
    /// Stores a held payload, one object per hold.
    async fn hold(&self, session: &SessionId, held_at: Timestamp, payload: &str) -> Result<(), StorageError>;
    /// The held payloads of a sale, oldest first.
    async fn held(&self, session: &SessionId) -> Result<Vec<String>, StorageError>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poll_once::poll_once;

    /// A log of these keys that lists two at a time.
    struct Log(&'static [&'static str]);

    #[async_trait]
    impl AuditObjects for Log {
        async fn keys(&self, prefix: &str, after: &str) -> Result<Vec<ListedObject>, StorageError> {
            let wanted = self.0.iter().filter(|key| key.starts_with(prefix) && **key > after);
            let listed = |key: &&str| ListedObject { key: (*key).to_owned(), written_at: Timestamp::from_seconds(0) };
            Ok(wanted.take(2).map(listed).collect())
        }

        async fn object(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
            Ok(self.0.contains(&key).then(|| key.as_bytes().to_vec()))
        }
    }

    #[test]
    fn all_pages_are_listed_and_objects_that_are_gone_are_left_out() {
        let log = Log(&["a/1", "a/2", "a/3", "a/4", "a/5", "b/1"]);
        let listed = poll_once(log.listed("a/")).unwrap();
        assert_eq!(listed.iter().map(|it| it.key.as_str()).collect::<Vec<_>>(), ["a/1", "a/2", "a/3", "a/4", "a/5"]);
        let found = poll_once(log.objects(vec!["a/2".to_owned(), "a/9".to_owned(), "b/1".to_owned()])).unwrap();
        assert_eq!(found, [("a/2".to_owned(), b"a/2".to_vec()), ("b/1".to_owned(), b"b/1".to_vec())]);
        assert!(poll_once(log.originals(&["a/1".to_owned()])).unwrap().is_empty());
    }
}
