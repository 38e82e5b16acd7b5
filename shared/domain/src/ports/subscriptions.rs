//! Subscribers of the chat, and what they may do.

use super::{SaveError, StorageError, Versioned};
use crate::{
    Timestamp,
    chat::{Access, Subscriber, SubscriberId},
};
use async_trait::async_trait;

/// What somebody may do in the chat.
#[async_trait]
pub trait ChatAccess: Send + Sync {
    /// What they may do now. Somebody of whom nothing is known has [`Access::default`].
    async fn access(&self, subscriber: &SubscriberId, now: Timestamp) -> Result<Access, StorageError>;
}

/// Subscribers by their ids.
#[async_trait]
pub trait Subscribers: Send + Sync {
    /// The subscriber, if anything is known of them.
    async fn load(&self, id: &SubscriberId) -> Result<Option<Versioned<Subscriber>>, StorageError>;
    /// Saves it if its version is still `expected` (0: if there is none). Returns the new version.
    async fn save(&self, subscriber: &Subscriber, expected: u64) -> Result<u64, SaveError>;
    /// Those whose access ends after `from`, the soonest first; a thousand at most.
    async fn ending_after(&self, from: Timestamp) -> Result<Vec<SubscriberId>, StorageError>;
}
