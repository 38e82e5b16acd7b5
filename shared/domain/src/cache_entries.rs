//! The cache as a whole: its size, its ages, and removals. [`crate::ports::SaleStore`] reads and writes the content of
//! single entries.

use crate::{SessionId, Timestamp};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The size of the cache, by counters that every change of an entry updates in its own transaction. The values are as
/// stored: a drifted counter may be too small, so the numbers are signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheTotals {
    /// Cached verdicts.
    pub entries: i64,
    /// The size of their documents, in bytes.
    pub bytes: i64,
    /// The number of changes: if two reads return the same number, nothing has changed between them.
    pub changes: u64,
}

/// The effect of one change on the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheDelta {
    /// The change of the number of entries.
    pub entries: i64,
    /// The change of the number of bytes.
    pub bytes: i64,
}

impl CacheDelta {
    /// The change from one state of an entry to another: its size in bytes, or `None` if it does not exist.
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

/// An entry in the index of ages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ListedEntry {
    /// When it was put into the cache; for a restored entry, when it was restored.
    pub stored_at: Timestamp,
    /// The sale's session.
    pub session: SessionId,
    /// The size of its document, in bytes.
    pub bytes: u64,
}

impl ListedEntry {
    /// Its key in the index, which is ordered by age: the time in milliseconds with sixteen digits, then the session.
    #[must_use]
    pub fn place(&self) -> String {
        place(self.stored_at, &self.session)
    }
}

/// A page of the index of ages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedPage {
    /// The entries, the oldest first. Foreign keys of the index are left out, so a short page need not be the last.
    pub entries: Vec<ListedEntry>,
    /// The key after which the next page begins; `None` at the end of the index.
    pub next: Option<String>,
}

/// The index key of an entry that was stored at this moment.
#[must_use]
pub fn place(stored_at: Timestamp, session: &SessionId) -> String {
    format!("{}#{}", place_at(stored_at), session.as_str())
}

/// The index key before every entry that was stored at this moment or later.
#[must_use]
pub fn place_at(moment: Timestamp) -> String {
    format!("{:016}", moment.as_millis().max(0))
}

/// Parses an index key.
#[must_use]
pub fn parse_place(text: &str) -> Option<(Timestamp, SessionId)> {
    let (millis, session) = text.split_once('#')?;
    Some((Timestamp::from_millis(millis.parse().ok()?), SessionId::parse(session).ok()?))
}

/// How long the store recognises a correction that it has already applied (ten minutes in DynamoDB, minus one for
/// clocks that differ).
pub const CORRECTION_KNOWN_FOR: Duration = Duration::from_secs(9 * 60);

/// The result of removing an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It was removed, by this call or an earlier one.
    Gone,
    /// It was stored again since it was listed, so it stays.
    Renewed,
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
