//! Why a call of the chat failed.

use audit::CommitError;
use domain::{StepError, chat::InvalidSubscriberKey, ports::StorageError};

/// The reason why a call failed. It may have had an effect; the client may repeat it safely.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// A store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The account could not be saved.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The memory could not be read or written.
    #[error("the memory could not be used")]
    Memory(#[from] memory::store::StoreError),
    /// The Bridge could not be read or changed.
    #[error(transparent)]
    Bridge(#[from] bridge::BridgeError),
    /// The working set could not be built.
    #[error("no working set could be built")]
    WorkingSet(#[from] memory::working_set::BuildError),
    /// A stored part of the memory does not parse.
    #[error("a stored part of the memory does not parse: {0}")]
    Form(&'static str),
    /// The memory was erased while it was read.
    #[error("the memory was erased meanwhile")]
    Erased,
    /// The payment provider or a store did not answer, and nothing is charged; or an interrupted erasure could not be
    /// finished.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The stored key of subscribers' ids is unusable.
    #[error(transparent)]
    Key(#[from] InvalidSubscriberKey),
    /// The operating system supplied no random bytes.
    #[error("the operating system supplied no random bytes")]
    NoRandomBytes,
}
