//! The cache as a whole.

use super::StorageError;
use crate::{
    SessionId,
    cache_entries::{CacheDelta, CacheTotals, ListedEntry, ListedPage, Removal},
};
use async_trait::async_trait;
use std::collections::BTreeMap;

/// All cached verdicts. The cost of each call does not depend on their number.
#[async_trait]
pub trait CacheEntries: Send + Sync {
    /// The counters.
    async fn totals(&self) -> Result<CacheTotals, StorageError>;
    /// Up to `most` entries from the index of ages, the oldest first, after this key (`""`: from the oldest). The index
    /// may lag behind by a moment.
    async fn listed(&self, after: &str, most: u32) -> Result<ListedPage, StorageError>;
    /// The youngest entry.
    async fn newest(&self) -> Result<Option<ListedEntry>, StorageError>;
    /// The stored documents of up to 100 sessions; sessions without an entry are left out. Read-only.
    async fn documents(&self, sessions: &[SessionId]) -> Result<BTreeMap<SessionId, String>, StorageError>;
    /// Removes a session's entry, whatever its content, and updates the counters; `false` if there was none.
    async fn remove(&self, session: &SessionId) -> Result<bool, StorageError>;
    /// Removes an entry if it is still the one that was listed.
    async fn remove_listed(&self, entry: &ListedEntry) -> Result<Removal, StorageError>;
    /// Corrects the counters by the result of a recount, without changing an entry. A repeated token (up to 36
    /// characters) within [`crate::cache_entries::CORRECTION_KNOWN_FOR`] is the same correction, which is applied once.
    async fn correct(&self, delta: CacheDelta, token: &str) -> Result<(), StorageError>;
}
