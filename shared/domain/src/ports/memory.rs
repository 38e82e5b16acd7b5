//! Stores of the memory (Memory Contract): logs of sealed records, and the keys that open them.

use super::StorageError;
use async_trait::async_trait;
use std::fmt;

/// One stored record of a log. Its content is sealed under its subject's key.
#[derive(Clone, PartialEq, Eq)]
pub struct MemoryRecord {
    /// Its number in the log, from 1.
    pub seq: u64,
    /// The hash of the record before it.
    pub prev: [u8; 32],
    /// Its own hash.
    pub hash: [u8; 32],
    /// The sealed content.
    pub body: Vec<u8>,
}

/// Shows the number and the size only, because a body may be plain.
impl fmt::Debug for MemoryRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryRecord").field("seq", &self.seq).field("bytes", &self.body.len()).finish_non_exhaustive()
    }
}

/// The result of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryAppend {
    /// They are the log's last records now.
    Written,
    /// The log had the same records already: this is a retry.
    AlreadyThere,
    /// Another record has one of their numbers: read the log again and decide again.
    Taken,
}

/// Logs by their keyed id: the store does not know whose they are.
#[async_trait]
pub trait MemoryLogs: Send + Sync {
    /// Appends consecutive records, all or none, if the first is the next one and follows the log's last.
    async fn append(&self, log: &str, records: &[MemoryRecord]) -> Result<MemoryAppend, StorageError>;
    /// One page of records after a number, in order; empty when there are no more.
    async fn read(&self, log: &str, after: u64) -> Result<Vec<MemoryRecord>, StorageError>;
    /// The number and hash of the last record, stored apart from the records: this reveals a truncated log.
    async fn head(&self, log: &str) -> Result<Option<(u64, [u8; 32])>, StorageError>;
}

/// A subject's key, in the clear only while it is used.
#[derive(Clone, PartialEq, Eq)]
pub struct SubjectKey(pub [u8; 32]);

impl fmt::Debug for SubjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SubjectKey(…)")
    }
}

/// Keys by their subjects' keyed ids. Destroying a key shreds everything that was sealed under it, and is final: the subject
/// never has a key again, also if a creation that began earlier is carried out later.
#[async_trait]
pub trait SubjectKeys: Send + Sync {
    /// The key; `None` if there never was one, or it was destroyed.
    async fn find(&self, subject: &str) -> Result<Option<SubjectKey>, StorageError>;
    /// The key, created now if the subject never had one; an error if it was destroyed.
    async fn find_or_create(&self, subject: &str) -> Result<SubjectKey, StorageError>;
    /// Destroys the key, or prevents its creation if there is none yet. Repeating is safe.
    async fn destroy(&self, subject: &str) -> Result<(), StorageError>;
}

/// Seals records under a subject's key. The same content at the same place gives the same bytes, so that a retry is
/// recognised.
pub trait Seal: Send + Sync {
    /// Seals a record's content.
    fn seal(&self, seq: u64, plain: &[u8]) -> Vec<u8>;
    /// Opens a record; `None` if the key is missing, or the bytes were not sealed at this place.
    fn open(&self, seq: u64, sealed: &[u8]) -> Option<Vec<u8>>;
}
