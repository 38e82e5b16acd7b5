//! The cache as a whole, in a [`World`].

use crate::{ports::storage, world::World};
use async_trait::async_trait;
use domain::{
    SessionId,
    cache_entries::{CacheDelta, CacheTotals, ListedEntry, Removal},
    ports::{CacheEntries, StorageError},
};
use std::collections::BTreeMap;

#[async_trait]
impl CacheEntries for World {
    async fn totals(&self) -> Result<CacheTotals, StorageError> {
        self.boundary("cache.totals", |state| state.cache_totals).await.map_err(|_| storage("cache.totals"))
    }

    async fn listed(&self, after: &str, most: u32) -> Result<Vec<ListedEntry>, StorageError> {
        let read = self.boundary("cache.listed", |state| {
            let later = |entry: &ListedEntry| entry.place().as_str() > after;
            state.listed_entries().into_iter().filter(later).take(most as usize).collect()
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

    async fn correct(&self, delta: CacheDelta) -> Result<(), StorageError> {
        let write = self.boundary("cache.correct", |state| state.cache_totals = state.cache_totals.moved(delta));
        write.await.map_err(|_| storage("cache.correct"))
    }
}
