//! The errors of a run.

use audit::CommitError;
use domain::{
    StepError,
    ports::{MailError, StorageError},
};
use runtime::Interrupted;
use std::time::Duration;

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WatchError {
    /// Another run has taken over.
    #[error("another run has taken over")]
    Overtaken,
    /// The state or a sale could not be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The state or a sale could not be saved.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// A follow-up could not be ordered.
    #[error(transparent)]
    Followup(#[from] followup::NotOrdered),
    /// A message could not be posted on a Bridge.
    #[error(transparent)]
    Bridge(#[from] StepError),
    /// A call to the mailbox failed.
    #[error(transparent)]
    Mailbox(#[from] MailError),
    /// A message took too long, or made the function panic.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl WatchError {
    /// How long the mailbox asked us to wait.
    pub(crate) const fn wait(&self) -> Option<Duration> {
        match self {
            Self::Mailbox(MailError::Throttled { wait, .. }) => Some(*wait),
            _ => None,
        }
    }
}
