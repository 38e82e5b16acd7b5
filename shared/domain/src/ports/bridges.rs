//! The Bridges of subscribers.

use super::{StorageError, Store};
use crate::{
    Timestamp,
    chat::{Bridge, SubscriberId},
};
use async_trait::async_trait;

/// Bridges by their subscribers.
#[async_trait]
pub trait Bridges: Store<Bridge> {
    /// The subscribers whose Bridges are due at this time, at most 1,000. The list may lag behind the Bridges.
    async fn letters_due(&self, until: Timestamp) -> Result<Vec<SubscriberId>, StorageError>;
    /// All subscribers whose agreement is accepted or whose Bridge is due.
    async fn listed(&self) -> Result<Vec<SubscriberId>, StorageError>;
}
