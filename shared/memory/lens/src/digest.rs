//! Hashes of canonical bytes, written as `sha256:` and 64 hexadecimal digits. Each type has its own domain prefix, so
//! that the bytes of one type never have the hash of another.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::{cmp::Ordering, fmt};

/// The type of the hashed bytes. Its name is part of the hash input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// A link of an event log.
    Link,
    /// A fact's content.
    Fact,
    /// A compaction's inputs and policy.
    Compaction,
    /// A compaction's output.
    CompactionOutput,
    /// The state after all events of a log.
    State,
    /// The content of a working set, without its id.
    WorkingSetId,
    /// The bytes of a working set.
    WorkingSet,
    /// The receipts of a truncation.
    Receipts,
    /// A player-visible image brief.
    Pvib,
    /// A request for a picture.
    RequestSpec,
    /// A picture's bytes.
    AssetBytes,
    /// A picture's metadata.
    Asset,
    /// A draw among weighted pictures.
    Draw,
    /// An exported log.
    Export,
}

impl Domain {
    /// All types.
    pub const ALL: [Self; 14] = [
        Self::Link,
        Self::Fact,
        Self::Compaction,
        Self::CompactionOutput,
        Self::State,
        Self::WorkingSetId,
        Self::WorkingSet,
        Self::Receipts,
        Self::Pvib,
        Self::RequestSpec,
        Self::AssetBytes,
        Self::Asset,
        Self::Draw,
        Self::Export,
    ];

    /// The prefix of the hash input: this text and one zero byte come before the bytes.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Domain::Link => "oracle.memory.link.v1",
            Domain::Fact => "oracle.memory.fact.v1",
            Domain::Compaction => "oracle.memory.compaction.v1",
            Domain::CompactionOutput => "oracle.memory.compaction-output.v1",
            Domain::State => "oracle.memory.state.v1",
            Domain::WorkingSetId => "oracle.memory.working-set-id.v1",
            Domain::WorkingSet => "oracle.memory.working-set.v1",
            Domain::Receipts => "oracle.memory.receipts.v1",
            Domain::Pvib => "oracle.memory.pvib.v1",
            Domain::RequestSpec => "oracle.memory.request-spec.v1",
            Domain::AssetBytes => "oracle.memory.asset-bytes.v1",
            Domain::Asset => "oracle.memory.asset.v1",
            Domain::Draw => "oracle.memory.draw.v1",
            Domain::Export => "oracle.memory.export.v1",
        }
    }
}

/// A SHA-256 hash over a domain prefix and bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

/// The order of the bytes. A fold compares many hashes, because ledgers are ordered by hash. Nearly all differ in the
/// first 8 bytes, and comparing those as numbers saves a call of memcmp.
impl Ord for Digest {
    fn cmp(&self, other: &Self) -> Ordering {
        let first = |digest: &Self| digest.0.first_chunk().map_or(0, |first| u64::from_be_bytes(*first));
        first(self).cmp(&first(other)).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for Digest {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Digest {
    /// Hashes bytes under a domain.
    #[must_use]
    pub fn of(domain: Domain, bytes: &[u8]) -> Self {
        Self::of_parts(domain, &[bytes])
    }

    /// Hashes the concatenation of the parts under a domain.
    #[must_use]
    pub fn of_parts(domain: Domain, parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        hash.update(domain.prefix().as_bytes());
        hash.update([0]);
        for part in parts {
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// Parses `sha256:` and 64 lower-case hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("sha256:").filter(|digits| digits.len() == 64)?.as_bytes();
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(bytes))
    }

    /// The hash with these bytes, as read from a store.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The hash's bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut text = String::with_capacity(71);
        text.push_str("sha256:");
        for byte in self.0 {
            text.push(char::from(HEX[usize::from(byte >> 4)]));
            text.push(char::from(HEX[usize::from(byte & 15)]));
        }
        f.write_str(&text)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DigestVisitor;
        impl serde::de::Visitor<'_> for DigestVisitor {
            type Value = Digest;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("sha256: and 64 small hexadecimal digits")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Digest, E> {
                Digest::parse(text).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(DigestVisitor)
    }
}
