//! Settling purchases in USDC: at once when the answer is there, and by the schedule where that had no clear end.

mod look;
mod settle;

pub use look::{Report, run};
pub use settle::settle;

use audit::{CommitError, TollJournal};
use domain::ports::{Facilitator, Node, StorageError};

/// What a settlement needs from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: TollJournal<'a>,
    pub facilitator: &'a dyn Facilitator,
    pub node: &'a dyn Node,
}

/// Why a step was not made; it is made again.
#[derive(Debug, thiserror::Error)]
pub enum SettlementError {
    /// The purchase could not be saved.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The purchase could not be read, or the node could not be asked.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
