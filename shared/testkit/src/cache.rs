//! The cache as a whole, in a [`World`].

use crate::{ports::storage, world::World};
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
        self.boundary("cache.totals", |state| state.cache_totals).await.map_err(|_| storage("cache.totals"))
    }

    /// As in the real store, a full page may be followed by an empty one.
    async fn listed(&self, after: &str, most: u32) -> Result<ListedPage, StorageError> {
        let read = self.boundary("cache.listed", |state| {
            let later = |entry: &ListedEntry| entry.place().as_str() > after;
            let rows: Vec<_> = state.listed_entries().into_iter().filter(later).take(most as usize).collect();
            let next = (rows.len() == most as usize).then(|| rows.last().map(ListedEntry::place)).flatten();
            let is_ours = |entry: &ListedEntry| !state.strange_rows.contains(&entry.session);
            ListedPage { entries: rows.into_iter().filter(is_ours).collect(), next }
        });
        read.await.map_err(|_| storage("cache.listed"))
    }

    async fn newest(&self) -> Result<Option<ListedEntry>, StorageError> {
        let read = self.boundary("cache.newest", |state| state.listed_entries().pop());
        read.await.map_err(|_| storage("cache.newest"))
    }

    async fn documents(&self, sessions: &[SessionId]) -> Result<BTreeMap<SessionId, String>, StorageError> {
        let read = self.boundary("cache.documents", |state| {
            let document = |session: &SessionId| {
                let verdict = state.cache.get(session)?;
                let corrupt = state.corrupt_cache || state.corrupt_entries.contains(session);
                let document = if corrupt { "not JSON".to_owned() } else { serde_json::to_string(verdict).ok()? };
                Some((session.clone(), document))
            };
            sessions.iter().filter_map(document).collect()
        });
        read.await.map_err(|_| storage("cache.documents"))
    }

    async fn remove(&self, session: &SessionId) -> Result<bool, StorageError> {
        let write = self.boundary("cache.remove", |state| state.uncache(session));
        write.await.map_err(|_| storage("cache.remove"))
    }

    async fn remove_listed(&self, entry: &ListedEntry) -> Result<Removal, StorageError> {
        let write = self.boundary("cache.remove_listed", |state| match state.cache_index.get(&entry.session) {
            Some(found) if *found != (entry.stored_at, entry.bytes) => Removal::Renewed,
            _ => {
                state.uncache(&entry.session);
                Removal::Gone
            }
        });
        write.await.map_err(|_| storage("cache.remove_listed"))
    }

    async fn correct(&self, delta: CacheDelta, token: &str) -> Result<(), StorageError> {
        let write = self.boundary("cache.correct", |state| {
            let known_since = state.now - i64::try_from(CORRECTION_KNOWN_FOR.as_millis()).unwrap_or(i64::MAX);
            if state.corrections.get(token).is_none_or(|made_at| *made_at < known_since) {
                state.corrections.insert(token.to_owned(), state.now);
                state.cache_totals = state.cache_totals.moved(delta);
            }
        });
        write.await.map_err(|_| storage("cache.correct"))
    }
}
