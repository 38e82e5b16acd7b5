//! A store that loses the reply to a write, while the member writes.

use super::*;
use async_trait::async_trait;
use domain::{
    chat::{AccessLetter, MailStep, Post},
    ports::{Bridges, SaveError, StorageError, Store},
};
use std::sync::atomic::{AtomicBool, Ordering};

/// The Bridges of a world. The first write that records a draft is saved, and the member posts a message before it is
/// repeated: the repetition fails its condition.
pub(super) struct Overtaken<'w> {
    world: &'w World,
    has_lost: AtomicBool,
}

impl<'w> Overtaken<'w> {
    pub(super) fn new(world: &'w World) -> Self {
        Self { world, has_lost: AtomicBool::new(false) }
    }

    pub(super) fn ports(&self) -> Ports<'_> {
        let world = self.world;
        let journal = BridgeJournal { store: self, log: world, alerts: world, clock: world };
        Ports { journal, accounts: world, keys: world }
    }

    /// Whether the reply to a write was lost.
    pub(super) fn has_lost(&self) -> bool {
        self.has_lost.load(Ordering::Relaxed)
    }
}

fn has_draft(bridge: &Bridge) -> bool {
    let mut steps = bridge.thread().iter().filter_map(Post::mail).chain(bridge.letter().map(AccessLetter::mail));
    steps.any(|step| matches!(step, MailStep::Drafted(_)))
}

#[async_trait]
impl Store<Bridge> for Overtaken<'_> {
    async fn load(&self, id: &SubscriberId) -> Result<Option<Versioned<Bridge>>, StorageError> {
        Store::<Bridge>::load(self.world, id).await
    }

    async fn save(&self, bridge: &Bridge, expected: u64) -> Result<u64, SaveError> {
        let saved = Store::<Bridge>::save(self.world, bridge, expected).await?;
        if !has_draft(bridge) || self.has_lost.swap(true, Ordering::Relaxed) {
            return Ok(saved);
        }
        let mut state = self.world.state();
        let now = Timestamp::from_millis(state.now);
        let (stored, version) = state.bridges.get_mut(bridge.id()).unwrap();
        stored.post(&second(), "sealed", now).unwrap();
        *version += 1;
        Err(SaveError::Conflict)
    }
}

#[async_trait]
impl Bridges for Overtaken<'_> {
    async fn letters_due(&self, until: Timestamp) -> Result<Vec<SubscriberId>, StorageError> {
        self.world.letters_due(until).await
    }

    async fn listed(&self) -> Result<Vec<SubscriberId>, StorageError> {
        self.world.listed().await
    }
}
