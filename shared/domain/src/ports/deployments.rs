//! The deployment service.

use super::StorageError;
use crate::deployment::{Answer, Execution};
use async_trait::async_trait;

/// The deployment service.
#[async_trait]
pub trait Deployments: Send + Sync {
    /// Answers a hook's execution.
    async fn answer(&self, execution: &Execution, answer: Answer) -> Result<(), StorageError>;
}
