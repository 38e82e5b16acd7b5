//! The errors of commands.

use std::{error::Error, fmt::Display, io};

use backend::BackendError;
use domain::ports::StorageError;
use operations::{InvalidWords, NotDone, Refusals};

use crate::stack::error::StackError;

/// The reason why a command failed: exit code 2, except for a refusal.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error("refused: {0}")]
    Refused(String),
    #[error("the operator's name is refused (--by, or USER): {0}")]
    Name(InvalidWords),
    #[error("the reason is refused (--reason): {0}")]
    Reason(InvalidWords),
    #[error("{0}")]
    Usage(String),
    #[error("name yourself with --by")]
    NoName,
    #[error("this command needs a confirmation: answer on a terminal, or pass --yes")]
    Unconfirmed,
    #[error(transparent)]
    Stack(#[from] StackError),
    #[error("standard input or output failed")]
    Terminal(#[from] io::Error),
    #[error("the answer cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    #[error("{what}")]
    Failed { what: String, source: Box<dyn Error + Send + Sync> },
}

impl From<BackendError> for CommandError {
    fn from(error: BackendError) -> Self {
        Self::Stack(error.into())
    }
}

impl CommandError {
    pub(crate) fn failed(what: &str, source: impl Error + Send + Sync + 'static) -> Self {
        Self::Failed { what: what.to_owned(), source: Box::new(source) }
    }

    pub(crate) fn refused(why: impl Display) -> Self {
        Self::Refused(why.to_string())
    }

    pub(crate) fn unreadable_log(error: StorageError) -> Self {
        Self::failed("the audit log, its digests or the table cannot be read", error)
    }
}

/// Makes a failure of the command out of any error.
pub(crate) trait OrFailed<T> {
    /// The value, or a failure that says `what` went wrong.
    fn or_failed(self, what: &str) -> Result<T, CommandError>;
}

impl<T, E: Error + Send + Sync + 'static> OrFailed<T> for Result<T, E> {
    fn or_failed(self, what: &str) -> Result<T, CommandError> {
        self.map_err(|error| CommandError::failed(what, error))
    }
}

/// Makes an error of the command out of what an operator's decision ended with.
pub(crate) trait OrRefused<T> {
    /// The value, the refusal, or a failure that says `what` went wrong.
    fn or_refused(self, what: &str) -> Result<T, CommandError>;
}

impl<T, R: Refusals> OrRefused<T> for Result<T, NotDone<R>> {
    fn or_refused(self, what: &str) -> Result<T, CommandError> {
        self.map_err(|error| match error {
            NotDone::Refused(refused) => CommandError::refused(refused),
            error => CommandError::failed(what, error),
        })
    }
}
