//! The counter of questions to a vendor about ids that strangers can make up.

use super::StorageError;
use crate::unknown_ids::CountedQuestion;
use async_trait::async_trait;

/// Counts these questions over all processes.
#[async_trait]
pub trait UnknownIdCounter: Send + Sync {
    /// Counts a question that is about to be asked, unless the group or all groups together have reached their limit.
    async fn take(&self, question: &CountedQuestion) -> Result<bool, StorageError>;
    /// Corrects the count after the vendor's answer: the question counts this many, and no longer
    /// [`CountedQuestion::OPEN`].
    async fn settle(&self, question: &CountedQuestion, count: u32) -> Result<(), StorageError>;
}
