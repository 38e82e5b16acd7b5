//! The note of the reminder of purchases in USDC.

use async_trait::async_trait;
use domain::ports::{Notes, SaveError, StorageError, Versioned};

/// No note: these worlds have no purchases, so the deadlines function sends no reminder of one. As for the lists that are
/// empty here, reading it takes no time and has no faults.
pub(crate) struct NoReminder;

#[async_trait]
impl Notes for NoReminder {
    async fn load(&self, _name: &str) -> Result<Versioned<Option<String>>, StorageError> {
        Ok(Versioned { value: None, version: 0 })
    }

    async fn save(&self, _name: &str, _document: &str, _expected: u64) -> Result<u64, SaveError> {
        Err(SaveError::Conflict)
    }
}
