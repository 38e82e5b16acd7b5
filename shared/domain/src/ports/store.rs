//! The store of states with an audit trail.

use super::{SaveError, StorageError, Versioned};
use crate::audit_trail::Audited;
use async_trait::async_trait;

/// States of one kind by their ids.
#[async_trait]
pub trait Store<S: Audited>: Send + Sync {
    /// The state, if one is stored.
    async fn load(&self, id: &S::Id) -> Result<Option<Versioned<S>>, StorageError>;
    /// Saves it if the stored version is `expected`; 0 means that nothing is stored yet. Returns the new version.
    async fn save(&self, state: &S, expected: u64) -> Result<u64, SaveError>;
}
