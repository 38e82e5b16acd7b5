//! Digests of the log: documents that name every object that came into the log, each chained to the one before and
//! signed with a key that only the digest function may use.
//!
//! The chains of the log reveal changes to a stream as long as the table is trustworthy. A digest does not depend on
//! the table: to change, remove or forge an object of the log, an attacker would have to sign every later digest again.

use audit::hash::sha256;
use domain::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The function that makes digests; also the name of its note, which holds the head, and of its stream.
pub const FUNCTION: &str = "audit-digest";

/// Version of the documents' format.
const VERSION: u8 = 1;

/// The algorithm of the signatures: ECDSA on P-256 over SHA-256, in DER.
const ALGORITHM: &str = "ECDSA_SHA_256";

/// One object of the log at the time of its digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its key.
    pub key: String,
    /// SHA-256 of its bytes including the line break, in hexadecimal. `None` if the object was deleted before it could
    /// be read, or if a second version was written over it: then the digest confirms no bytes.
    pub sha256: Option<String>,
    /// Its length in bytes.
    pub size: u64,
}

impl Entry {
    /// The entry of an object with these bytes, or of a missing one.
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
    /// The bucket that it is about.
    pub log: String,
    /// SHA-256 of the previous document, in hexadecimal; of no bytes for the first.
    pub previous: String,
    /// The objects that came into the log since then, ordered by key; no key appears twice.
    pub entries: Vec<Entry>,
}

/// The last digest, as saved in the table, apart from the log and the digests.
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

/// The part of the digest function's saved state that other code needs.
#[derive(Deserialize)]
struct DigestNote {
    memory: DigestFunctionState,
}

#[derive(Deserialize)]
struct DigestFunctionState {
    head: Option<Head>,
}

impl Head {
    /// Reads the last digest from the digest function's note.
    ///
    /// # Errors
    /// [`InvalidDigest::Malformed`].
    pub fn of_note(document: &str) -> Result<Option<Self>, InvalidDigest> {
        Ok(serde_json::from_str::<DigestNote>(document)?.memory.head)
    }
}

/// A signature, as stored beside its document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    v: u8,
    /// The document's number.
    pub sequence: u64,
    /// SHA-256 of the signed document.
    pub document: String,
    /// The key, by its name in the key service.
    pub key: String,
    /// `ECDSA_SHA_256`.
    pub algorithm: String,
    /// The signature, in base64.
    pub signature: String,
}

/// A malformed document or signature.
#[derive(Debug, thiserror::Error)]
pub enum InvalidDigest {
    /// It is not the expected JSON.
    #[error("not a digest's JSON")]
    Malformed(#[from] serde_json::Error),
    /// It has another version.
    #[error("version {0} of the format is not known")]
    Version(u8),
}

impl Document {
    /// The digest that follows `head` (`None` for the first one).
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

    /// The bytes that are stored, hashed and signed.
    #[must_use]
    pub fn bytes(&self) -> String {
        // Strings and numbers always serialise.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses a document.
    ///
    /// # Errors
    /// [`InvalidDigest`].
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidDigest> {
        let document: Self = serde_json::from_slice(bytes)?;
        if document.v == VERSION { Ok(document) } else { Err(InvalidDigest::Version(document.v)) }
    }

    /// Whether it follows `head` in this log, which has to be checked before it is signed.
    #[must_use]
    pub fn follows(&self, head: Option<&Head>, log: &str) -> bool {
        self.sequence == next(head) && self.previous == previous(head) && self.log == log
    }

    /// The keys of its entries.
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

    /// The stored bytes.
    #[must_use]
    pub fn bytes(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses a signature.
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

/// The key of a document. It contains only the number and no day, so that two writers of one number collide.
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
