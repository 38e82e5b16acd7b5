//! The cache as a whole, in a [`World`].

use crate::world::World;
use async_trait::async_trait;
use domain::{
    SessionId,
    cache_entries::{CORRECTION_KNOWN_FOR, CacheDelta, CacheTotals, ListedEntry, ListedPage, Removal},
    ports::{CacheEntries, StorageError},
};
use std::collections::BTreeMap;

#[async_trait]
impl CacheEntries for World {
    async fn totals(&self) -> Result<CacheTotals, StorageError> {
        self.stored("cache.totals", |state| state.cache_totals).await
    }

    /// As in the real store, a full page may be followed by an empty one.
    async fn listed(&self, after: &str, most: u32) -> Result<ListedPage, StorageError> {
        self.stored("cache.listed", |state| {
            let later = |entry: &ListedEntry| entry.place().as_str() > after;
            let rows: Vec<_> = state.listed_entries().into_iter().filter(later).take(most as usize).collect();
            let next = (rows.len() == most as usize).then(|| rows.last().map(ListedEntry::place)).flatten();
            let is_ours = |entry: &ListedEntry| !state.strange_rows.contains(&entry.session);
            ListedPage { entries: rows.into_iter().filter(is_ours).collect(), next }
        })
        .await
    }

    async fn newest(&self) -> Result<Option<ListedEntry>, StorageError> {
        self.stored("cache.newest", |state| state.listed_entries().pop()).await
    }

    async fn documents(&self, sessions: &[SessionId]) -> Result<BTreeMap<SessionId, String>, StorageError> {
        self.stored("cache.documents", |state| {
            let document = |session: &SessionId| {
                let verdict = state.cache.get(session)?;
                let corrupt = state.corrupt_cache || state.corrupt_entries.contains(session);
                let document = if corrupt { "not JSON".to_owned() } else { serde_json::to_string(verdict).ok()? };
                Some((session.clone(), document))
            };
            sessions.iter().filter_map(document).collect()
        })
        .await
    }

    async fn remove(&self, session: &SessionId) -> Result<bool, StorageError> {
        self.stored("cache.remove", |state| state.uncache(session)).await
    }

    async fn remove_listed(&self, entry: &ListedEntry) -> Result<Removal, StorageError> {
        self.stored("cache.remove_listed", |state| match state.cache_index.get(&entry.session) {
            Some(found) if *found != (entry.stored_at, entry.bytes) => Removal::Renewed,
            _ => {
                state.uncache(&entry.session);
                Removal::Gone
            }
        })
        .await
    }

    async fn correct(&self, delta: CacheDelta, token: &str) -> Result<(), StorageError> {
        self.stored("cache.correct", |state| {
            let known_since = state.now - i64::try_from(CORRECTION_KNOWN_FOR.as_millis()).unwrap_or(i64::MAX);
            if state.corrections.get(token).is_none_or(|made_at| *made_at < known_since) {
                state.corrections.insert(token.to_owned(), state.now);
                state.cache_totals = state.cache_totals.moved(delta);
            }
        })
        .await
    }
}
