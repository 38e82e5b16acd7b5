//! Digests of the log: documents that name every object that came into it, each chained to the one before and signed
//! with a key that only the digest function may use.
//!
//! The chains of the log show what was done to one stream as long as the table can be believed. A digest does not ask
//! the table: to change, remove or forge an object of the log, one would have to sign every later digest anew.

use audit::digest::sha256;
use domain::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The function that makes digests: the name of its note, which holds the head, and of its stream.
pub const FUNCTION: &str = "audit-digest";

/// Version of the documents' format.
const VERSION: u8 = 1;

/// How signatures are made: ECDSA on P-256 over SHA-256, in DER.
const ALGORITHM: &str = "ECDSA_SHA_256";

/// One object of the log as it was found when it was digested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its key.
    pub key: String,
    /// SHA-256 of its bytes, the line break included, in hexadecimal; nothing where the log's bucket announced the
    /// object and it was gone before it could be read, or announced a second version over it: no bytes are vouched for.
    pub sha256: Option<String>,
    /// Its length in bytes.
    pub size: u64,
}

impl Entry {
    /// The entry of an object with these bytes, or of one that is gone.
    #[must_use]
    pub fn of(key: &str, bytes: Option<&[u8]>) -> Self {
        Self { key: key.to_owned(), sha256: bytes.map(sha256), size: bytes.map_or(0, |bytes| bytes.len() as u64) }
    }
}

/// A digest, unsigned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    v: u8,
    /// Its number, from 1.
    pub sequence: u64,
    /// When it was made, ISO 8601 UTC.
    pub made_at: String,
    /// The bucket it speaks of.
    pub log: String,
    /// SHA-256 of the document before it, in hexadecimal; of nothing for the first.
    pub previous: String,
    /// What came into the log since, in the order of the keys; no key comes twice.
    pub entries: Vec<Entry>,
}

/// The last digest: what is kept away from the log and from the digests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Its number.
    pub sequence: u64,
    /// SHA-256 of its document.
    pub hash: String,
    /// Its signature, in base64.
    pub signature: String,
    /// When it was made.
    pub made_at: String,
}

/// What the digest function remembers, as far as others need it.
#[derive(Deserialize)]
struct NoteOfFunction {
    memory: MemoryOfFunction,
}

#[derive(Deserialize)]
struct MemoryOfFunction {
    head: Option<Head>,
}

impl Head {
    /// Reads the last digest from the digest function's note.
    ///
    /// # Errors
    /// [`InvalidDigest::Malformed`].
    pub fn of_note(document: &str) -> Result<Option<Self>, InvalidDigest> {
        Ok(serde_json::from_str::<NoteOfFunction>(document)?.memory.head)
    }
}

/// A signature as it lies beside its document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    v: u8,
    /// The document's number.
    pub sequence: u64,
    /// SHA-256 of the document: what was signed.
    pub document: String,
    /// The key, as the key service names it.
    pub key: String,
    /// `ECDSA_SHA_256`.
    pub algorithm: String,
    /// The signature, in base64.
    pub signature: String,
}

/// A malformed document or signature.
#[derive(Debug, thiserror::Error)]
pub enum InvalidDigest {
    /// Not the JSON it must be.
    #[error("not a digest's JSON")]
    Malformed(#[from] serde_json::Error),
    /// Another format.
    #[error("version {0} of the format is not known")]
    Version(u8),
}

impl Document {
    /// The digest that follows `head` (none: the first one).
    #[must_use]
    pub fn following(head: Option<&Head>, log: &str, now: Timestamp, entries: Vec<Entry>) -> Self {
        let entries: BTreeMap<String, Entry> = entries.into_iter().map(|entry| (entry.key.clone(), entry)).collect();
        Self {
            v: VERSION,
            sequence: next(head),
            made_at: now.to_iso(),
            log: log.to_owned(),
            previous: previous(head),
            entries: entries.into_values().collect(),
        }
    }

    /// Its bytes: what is stored, hashed and signed.
    #[must_use]
    pub fn bytes(&self) -> String {
        // Strings and numbers always serialise.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads one.
    ///
    /// # Errors
    /// [`InvalidDigest`].
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidDigest> {
        let document: Self = serde_json::from_slice(bytes)?;
        if document.v == VERSION { Ok(document) } else { Err(InvalidDigest::Version(document.v)) }
    }

    /// Whether it follows `head` in this log: the signer must know.
    #[must_use]
    pub fn follows(&self, head: Option<&Head>, log: &str) -> bool {
        self.sequence == next(head) && self.previous == previous(head) && self.log == log
    }

    /// The keys it names.
    #[must_use]
    pub fn keys(&self) -> BTreeSet<&str> {
        self.entries.iter().map(|entry| entry.key.as_str()).collect()
    }
}

impl Signature {
    /// The signature of the document with this hash.
    #[must_use]
    pub fn of(sequence: u64, document: &str, key: &str, signature: &str) -> Self {
        Self {
            v: VERSION,
            sequence,
            document: document.to_owned(),
            key: key.to_owned(),
            algorithm: ALGORITHM.to_owned(),
            signature: signature.to_owned(),
        }
    }

    /// As it is stored.
    #[must_use]
    pub fn bytes(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads one.
    ///
    /// # Errors
    /// [`InvalidDigest`].
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidDigest> {
        let signature: Self = serde_json::from_slice(bytes)?;
        if signature.v == VERSION { Ok(signature) } else { Err(InvalidDigest::Version(signature.v)) }
    }
}

/// The number of the digest after this one.
#[must_use]
pub fn next(head: Option<&Head>) -> u64 {
    head.map_or(0, |head| head.sequence) + 1
}

fn previous(head: Option<&Head>) -> String {
    head.map_or_else(|| sha256(b""), |head| head.hash.clone())
}

/// The key of a document. Its number alone, no day: two writers of one number must collide.
#[must_use]
pub fn document_key(sequence: u64) -> String {
    format!("digests/{sequence:010}.json")
}

/// The key of a document's signature.
#[must_use]
pub fn signature_key(sequence: u64) -> String {
    format!("signatures/{sequence:010}.json")
}

/// The number in a document's key.
#[must_use]
pub fn sequence_of(key: &str) -> Option<u64> {
    let sequence = key.strip_prefix("digests/")?.strip_suffix(".json")?.parse().ok()?;
    (document_key(sequence) == key).then_some(sequence)
}
