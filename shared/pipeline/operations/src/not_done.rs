//! Why an operator's decision was not carried out: refusals apart from failures, because the commands end with
//! another exit code for each.

use audit::CommitError;
use domain::ports::{MailError, PaymentError, StorageError};
use std::error::Error;

/// The refusals of one decision, in the words for the operator.
pub trait Refusals: Error + Send + Sync + 'static {}

/// What a decision gives, or why it was not carried out.
pub type Done<T, R> = Result<T, NotDone<R>>;

/// Why a decision was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum NotDone<R: Refusals> {
    /// Refused: the sale's state, a check or the command itself forbids it.
    #[error(transparent)]
    Refused(R),
    /// A store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The sale could not be changed.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// Stripe could not be asked.
    #[error(transparent)]
    Payment(#[from] PaymentError),
    /// The mailbox failed.
    #[error(transparent)]
    Mailbox(#[from] MailError),
    /// A part failed, and nothing is decided.
    #[error(transparent)]
    Undecided(PartFailed),
    /// It is decided, and a part of it is not done.
    #[error(transparent)]
    Unfinished(#[from] PartFailed),
}

impl<R: Refusals> NotDone<R> {
    /// Whether the command was refused, rather than that something failed.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_))
    }
}

impl<R: Refusals> From<R> for NotDone<R> {
    fn from(refused: R) -> Self {
        Self::Refused(refused)
    }
}

/// The failure of a part: what is decided and what is left, in the words for the operator.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct PartFailed {
    what: &'static str,
    source: Box<dyn Error + Send + Sync>,
}

impl PartFailed {
    pub(crate) fn new(what: &'static str, source: impl Error + Send + Sync + 'static) -> Self {
        Self { what, source: Box::new(source) }
    }
}
