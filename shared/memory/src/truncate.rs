//! The one truncator (spec 002, section 6 and GAP-007): a budget, a total order, never inside an item, and a receipt
//! for every cut.

use lens::{
    Digest, Domain,
    canonical::{self, CanonicalError},
};
use serde::Serialize;
use std::cmp::Reverse;

/// How large a working set may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    bytes: u64,
}

impl Budget {
    /// At most so many bytes.
    #[must_use]
    pub const fn of_bytes(bytes: u64) -> Self {
        Self { bytes }
    }

    /// Also at most so many of a model's tokens, for a model that makes at most `per_1000_bytes` tokens of 1,000
    /// bytes. Without a measurement that is 1,000: no token is less than a byte.
    #[must_use]
    pub const fn and_tokens(self, tokens: u64, per_1000_bytes: u64) -> Self {
        let rate = if per_1000_bytes == 0 { 1 } else { per_1000_bytes };
        let bytes = tokens.saturating_mul(1000) / rate;
        Self { bytes: if bytes < self.bytes { bytes } else { self.bytes } }
    }

    /// The limit in bytes, whichever of the two is narrower.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.bytes
    }
}

/// Where an item stands in the order. Compared field by field; the last is the id, so that no two are equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// The group: lower ones first.
    pub group: u8,
    /// Words that it shares with the query: more first.
    pub shared: Reverse<u32>,
    /// The event that brought it in: newer first.
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

/// Something that may be shown.
#[derive(Clone, Debug)]
pub struct Candidate<T> {
    /// Where it stands.
    pub rank: Rank,
    /// How many bytes it adds, separators and handles included.
    pub bytes: u64,
    /// What is shown.
    pub item: T,
}

/// Why an item is not in a working set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CutReason {
    /// It did not fit, or something before it did not.
    Budget,
    /// It holds a locked precision token.
    Precision,
}

/// What was left out, and why. For operators: a receipt may name what a model must not know of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Receipt {
    /// The slice it would have been in.
    pub slice: Slice,
    /// Its id.
    pub id: String,
    /// How many bytes it would have added.
    pub bytes: u64,
    /// Why it was left out.
    pub reason: CutReason,
}

impl<T> Candidate<T> {
    /// The receipt for leaving it out.
    #[must_use]
    pub fn receipt(&self, reason: CutReason) -> Receipt {
        Receipt { slice: self.rank.slice, id: self.rank.id.clone(), bytes: self.bytes, reason }
    }
}

/// Sorts the candidates and keeps the longest beginning whose bytes are at most `room`.
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
/// [`CanonicalError`] when a size is beyond the profile.
pub fn receipts_hash(receipts: &[Receipt]) -> Result<Digest, CanonicalError> {
    Ok(Digest::of(Domain::Receipts, &canonical::encode(&receipts)?))
}
