//! Subscribers of the chat, in a [`World`].

use super::storage;
use crate::world::World;
use async_trait::async_trait;
use domain::{
    Timestamp,
    chat::{Access, Subscriber, SubscriberId},
    ports::{ChatAccess, SaveError, StorageError, Subscribers, Versioned},
};

#[async_trait]
impl ChatAccess for World {
    async fn access(&self, subscriber: &SubscriberId, now: Timestamp) -> Result<Access, StorageError> {
        let read = self.boundary("subscribers.access", |state| {
            state.subscribers.get(subscriber).map_or_else(Access::default, |(known, _)| known.access(now))
        });
        read.await.map_err(|_| storage("subscribers.access"))
    }
}

#[async_trait]
impl Subscribers for World {
    async fn load(&self, id: &SubscriberId) -> Result<Option<Versioned<Subscriber>>, StorageError> {
        let read = self.boundary("subscribers.load", |state| {
            state.subscribers.get(id).map(|(value, version)| Versioned { value: value.clone(), version: *version })
        });
        read.await.map_err(|_| storage("subscribers.load"))
    }

    async fn save(&self, subscriber: &Subscriber, expected: u64) -> Result<u64, SaveError> {
        let write = self.boundary("subscribers.save", |state| {
            if state.subscribers.get(subscriber.id()).map_or(0, |(_, version)| *version) != expected {
                return Err(SaveError::Conflict);
            }
            state.subscribers.insert(subscriber.id().clone(), (subscriber.clone(), expected + 1));
            Ok(expected + 1)
        });
        write.await.unwrap_or_else(|_| Err(storage("subscribers.save").into()))
    }

    async fn ending_after(&self, from: Timestamp) -> Result<Vec<SubscriberId>, StorageError> {
        let read = self.boundary("subscribers.ending_after", |state| {
            let end = |known: &Subscriber| known.billing().access_until().unwrap_or(Timestamp::from_millis(0));
            let subscribers = state.subscribers.values().map(|(known, _)| (end(known), known.id().clone()));
            let mut found: Vec<_> = subscribers.filter(|(end, _)| *end >= from).collect();
            found.sort();
            found.into_iter().map(|(_, id)| id).collect()
        });
        read.await.map_err(|_| storage("subscribers.ending_after"))
    }
}
