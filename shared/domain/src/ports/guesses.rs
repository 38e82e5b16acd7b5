//! The counter of questions to a vendor about ids that strangers can make up.

use super::StorageError;
use crate::guesses::Guess;
use async_trait::async_trait;

/// Counts these questions over all processes.
#[async_trait]
pub trait Guesses: Send + Sync {
    /// Counts a question that is about to be asked, unless the group or all groups together have reached their limit.
    async fn take(&self, guess: &Guess) -> Result<bool, StorageError>;
    /// Corrects the count after the vendor's answer: the question counts this many, and no longer [`Guess::OPEN`].
    async fn settle(&self, guess: &Guess, count: u32) -> Result<(), StorageError>;
}
