//! The cache as a whole: how much is in it, how old it is, and what is taken out of it. What is in one entry is
//! [`crate::ports::SaleStore`]'s.

use crate::{SessionId, Timestamp, ports::StorageError};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};

/// How much is in the cache, by counters that every change of an entry moves in its own transaction. They are read as
/// they stand: a drifted counter may be too small, so the numbers are signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheTotals {
    /// Cached verdicts.
    pub entries: i64,
    /// Their documents, in bytes.
    pub bytes: i64,
    /// How often anything was put in or taken out: where two readings have the same number, nothing has changed
    /// between them.
    pub changes: u64,
}

/// How one change of the cache moves the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheDelta {
    /// Entries more (or less).
    pub entries: i64,
    /// Bytes more (or less).
    pub bytes: i64,
}

impl CacheDelta {
    /// From what was there to what is there then: the bytes of an entry, or none where there is no entry.
    #[must_use]
    pub fn between(before: Option<u64>, after: Option<u64>) -> Self {
        let entries = |entry: Option<u64>| i64::from(entry.is_some());
        let bytes = |entry: Option<u64>| i64::try_from(entry.unwrap_or(0)).unwrap_or(i64::MAX);
        Self { entries: entries(after) - entries(before), bytes: bytes(after) - bytes(before) }
    }
}

impl CacheTotals {
    /// The totals after one change.
    #[must_use]
    pub const fn moved(self, delta: CacheDelta) -> Self {
        Self {
            entries: self.entries.saturating_add(delta.entries),
            bytes: self.bytes.saturating_add(delta.bytes),
            changes: self.changes.saturating_add(1),
        }
    }
}

/// An entry as the index of ages lists it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ListedEntry {
    /// When it was put into the cache; an entry that was restored is as young as its restoration.
    pub stored_at: Timestamp,
    /// Whose it is.
    pub session: SessionId,
    /// Its document, in bytes.
    pub bytes: u64,
}

impl ListedEntry {
    /// Its place in the index, which is ordered by age: the time in milliseconds, sixteen digits, then the session.
    #[must_use]
    pub fn place(&self) -> String {
        place(self.stored_at, &self.session)
    }
}

/// A page of the index of ages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedPage {
    /// The entries, the oldest first. What the index holds besides ours is left out, so a short page need not be the
    /// last.
    pub entries: Vec<ListedEntry>,
    /// The place after which the next page goes on; nothing at the end of the index.
    pub next: Option<String>,
}

/// The place of an entry that was stored at this moment.
#[must_use]
pub fn place(stored_at: Timestamp, session: &SessionId) -> String {
    format!("{}#{}", place_at(stored_at), session.as_str())
}

/// The place before every entry that was stored at this moment or later.
#[must_use]
pub fn place_at(moment: Timestamp) -> String {
    format!("{:016}", moment.as_millis().max(0))
}

/// Reads a place.
#[must_use]
pub fn parse_place(text: &str) -> Option<(Timestamp, SessionId)> {
    let (millis, session) = text.split_once('#')?;
    Some((Timestamp::from_millis(millis.parse().ok()?), SessionId::parse(session).ok()?))
}

/// For so long the store recognises a correction that it has made already (ten minutes in DynamoDB, less one for
/// clocks that differ).
pub const CORRECTION_KNOWN_FOR: Duration = Duration::from_secs(9 * 60);

/// What became of an entry that was to be taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It is out, by this call or an earlier one.
    Gone,
    /// It has been stored anew since it was listed, so it stays.
    Renewed,
}

/// The cached verdicts, all together. Nothing here costs more when there are more of them.
#[async_trait]
pub trait CacheEntries: Send + Sync {
    /// The counters.
    async fn totals(&self) -> Result<CacheTotals, StorageError>;
    /// Up to `most` entries from the index of ages, the oldest first, that come after this place (`""`: from the
    /// oldest). The index may lag behind by a moment.
    async fn listed(&self, after: &str, most: u32) -> Result<ListedPage, StorageError>;
    /// The youngest entry.
    async fn newest(&self) -> Result<Option<ListedEntry>, StorageError>;
    /// The documents of up to 100 sessions as they lie there; sessions without an entry are left out. Read-only.
    async fn documents(&self, sessions: &[SessionId]) -> Result<BTreeMap<SessionId, String>, StorageError>;
    /// Takes a session's entry out, whatever is in it, and keeps the counters right; `false` where there was none.
    async fn remove(&self, session: &SessionId) -> Result<bool, StorageError>;
    /// Takes an entry out if it is still the one that was listed.
    async fn remove_listed(&self, entry: &ListedEntry) -> Result<Removal, StorageError>;
    /// Moves the counters without touching an entry: what a recount has found. The same token (up to 36 characters)
    /// within [`CORRECTION_KNOWN_FOR`] is the same correction, which is made once.
    async fn correct(&self, delta: CacheDelta, token: &str) -> Result<(), StorageError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_the_order_of_time_and_can_be_read() {
        let session = |name: &str| SessionId::parse(name).unwrap();
        let entry = |millis, name: &str| ListedEntry {
            stored_at: Timestamp::from_millis(millis),
            session: session(name),
            bytes: 1,
        };
        let entries = [
            entry(0, "cs_b"),
            entry(9, "cs_z"),
            entry(10, "cs_a"),
            entry(10, "cs_b"),
            entry(1_776_349_387_412, "cs_a"),
        ];
        assert!(entries.windows(2).all(|pair| pair[0].place() < pair[1].place() && pair[0] < pair[1]));
        for entry in &entries {
            assert_eq!(parse_place(&entry.place()), Some((entry.stored_at, entry.session.clone())));
            assert!(place_at(entry.stored_at) < entry.place());
        }
        assert!(entries[1].place() < place_at(Timestamp::from_millis(10)));
        for nonsense in ["", "12", "x#cs_a", "12#nobody"] {
            assert_eq!(parse_place(nonsense), None);
        }
    }

    #[test]
    fn whatever_is_put_in_and_taken_out_the_counters_tell_what_is_there() {
        let mut totals = CacheTotals::default();
        let mut entry = None;
        for next in [Some(10), Some(10), Some(3), None, None, Some(0), None] {
            totals = totals.moved(CacheDelta::between(entry, next));
            entry = next;
            let there = (i64::from(entry.is_some()), i64::try_from(entry.unwrap_or(0)).unwrap());
            assert_eq!((totals.entries, totals.bytes), there);
        }
        assert_eq!(totals.changes, 7);
    }
}
