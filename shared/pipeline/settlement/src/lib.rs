//! Settles purchases in USDC: at once when the answer is ready, and later by the schedule if the outcome was unclear.

mod look;
mod settle;

pub use look::run;
pub use settle::settle;

use audit::{CommitError, TollJournal};
use domain::ports::{Facilitator, Node, StorageError};

/// The ports that a settlement uses.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: TollJournal<'a>,
    pub facilitator: &'a dyn Facilitator,
    pub node: &'a dyn Node,
}

/// Why a step failed; it is tried again.
#[derive(Debug, thiserror::Error)]
pub enum SettlementError {
    /// The purchase could not be saved.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The purchase could not be read, or the node could not be asked.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
