//! The only truncator (Memory Contract, section 6 and GAP-007): it has a budget and a total order, never cuts inside an
//! item, and writes a receipt for every cut.

use lens::{
    Digest, Domain,
    canonical::{self, CanonicalError},
};
use serde::Serialize;
use std::cmp::Reverse;

/// The greatest size of a working set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    bytes: u64,
}

impl Budget {
    /// A limit in bytes.
    #[must_use]
    pub const fn of_bytes(bytes: u64) -> Self {
        Self { bytes }
    }

    /// Adds a limit in a model's tokens, for a model that makes at most `per_1000_bytes` tokens of 1,000 bytes. Without
    /// a measurement use 1,000: every token has at least one byte.
    #[must_use]
    pub const fn and_tokens(self, tokens: u64, per_1000_bytes: u64) -> Self {
        let rate = if per_1000_bytes == 0 { 1 } else { per_1000_bytes };
        let bytes = tokens.saturating_mul(1000) / rate;
        Self { bytes: if bytes < self.bytes { bytes } else { self.bytes } }
    }

    /// The stricter limit, in bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.bytes
    }
}

/// An item's place in the order. Compared field by field; the id comes last, so that no two ranks are equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// The group: lower groups first.
    pub group: u8,
    /// The number of words shared with the query: more first.
    pub shared: Reverse<u32>,
    /// The event that added the item: newer first.
    pub event: Reverse<u64>,
    /// The slice.
    pub slice: Slice,
    /// The id.
    pub id: String,
}

/// The part of a working set that an item belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Slice {
    /// Facts.
    FactsSlice,
    /// Pointers.
    StateSlice,
    /// Summaries.
    CompactionsSlice,
}

/// An item that may be shown.
#[derive(Clone, Debug)]
pub struct Candidate<T> {
    /// Its place in the order.
    pub rank: Rank,
    /// The bytes that it adds, including separators and handles.
    pub bytes: u64,
    /// The content.
    pub item: T,
}

/// The reason why an item is not in a working set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CutReason {
    /// The item, or one before it, did not fit.
    Budget,
    /// The item contains a locked precision token.
    Precision,
}

/// An item left out, with the reason. For operators only: a receipt may name content that a model must not see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Receipt {
    /// The slice of the item.
    pub slice: Slice,
    /// Its id.
    pub id: String,
    /// The bytes that it would add.
    pub bytes: u64,
    /// The reason.
    pub reason: CutReason,
}

impl<T> Candidate<T> {
    /// The receipt for leaving the item out.
    #[must_use]
    pub fn receipt(&self, reason: CutReason) -> Receipt {
        Receipt { slice: self.rank.slice, id: self.rank.id.clone(), bytes: self.bytes, reason }
    }
}

/// Sorts the candidates and keeps the longest prefix whose bytes are at most `room`.
#[must_use]
pub fn truncate<T>(mut candidates: Vec<Candidate<T>>, room: u64) -> (Vec<Candidate<T>>, Vec<Receipt>) {
    candidates.sort_by(|a, b| a.rank.cmp(&b.rank));
    let mut left = room;
    let fitting = candidates.iter().take_while(|candidate| match left.checked_sub(candidate.bytes) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    });
    let kept = fitting.count();
    let receipts = candidates.drain(kept..).map(|candidate| candidate.receipt(CutReason::Budget)).collect();
    (candidates, receipts)
}

/// The hash of receipts.
///
/// # Errors
/// [`CanonicalError`] when a size is outside the profile's range.
pub fn receipts_hash(receipts: &[Receipt]) -> Result<Digest, CanonicalError> {
    Ok(Digest::of(Domain::Receipts, &canonical::encode(&receipts)?))
}
