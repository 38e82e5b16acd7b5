//! The Bridges of subscribers, in a [`World`].

use crate::world::World;
use async_trait::async_trait;
use domain::{
    Timestamp,
    chat::{Bridge, SubscriberId},
    ports::{Bridges, StorageError},
};

#[async_trait]
impl Bridges for World {
    async fn letters_due(&self, until: Timestamp) -> Result<Vec<SubscriberId>, StorageError> {
        self.stored("bridges.letters_due", |state| {
            let is_due = |bridge: &Bridge| bridge.due().is_some_and(|due| due <= until);
            state.bridges.values().filter(|(it, _)| is_due(it)).map(|(it, _)| it.id().clone()).collect()
        })
        .await
    }

    async fn listed(&self) -> Result<Vec<SubscriberId>, StorageError> {
        self.stored("bridges.listed", |state| {
            let is_listed = |bridge: &Bridge| bridge.acceptance().is_some() || bridge.due().is_some();
            let listed = state.bridges.values().filter(|(bridge, _)| is_listed(bridge));
            listed.map(|(bridge, _)| bridge.id().clone()).collect()
        })
        .await
    }
}
