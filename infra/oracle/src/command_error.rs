//! The errors of commands.

use std::{error::Error, fmt::Display, io};

use backend::BackendError;
use domain::ports::StorageError;
use operations::{InvalidWords, NotDone, PartFailed, Refusals};

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
    /// It is decided, and a part of it is not done. The part's words stand alone: a sentence above them would deny the
    /// decision.
    #[error(transparent)]
    Unfinished(PartFailed),
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
    /// The value, the refusal, the decision whose part failed, or a failure that says `what` went wrong. `what` must be
    /// true also if it was decided and the reply was lost.
    fn or_refused(self, what: &str) -> Result<T, CommandError>;
}

impl<T, R: Refusals> OrRefused<T> for Result<T, NotDone<R>> {
    fn or_refused(self, what: &str) -> Result<T, CommandError> {
        self.map_err(|error| match error {
            NotDone::Refused(refused) => CommandError::refused(refused),
            NotDone::Unfinished(part) => CommandError::Unfinished(part),
            error => CommandError::failed(what, error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use audit::Journal;
    use domain::{Sale, SessionId, Timestamp, mail::Mail, sale::Fulfilment};
    use operations::{
        Operator, redrive,
        settle::{self, MailOutcome},
    };
    use testkit::{Fault, Plan, World, run, sale::WithField};

    #[test]
    fn a_decision_whose_message_was_lost_is_not_denied() {
        let (now, session) = (Timestamp::from_seconds(1_800_000_000), SessionId::parse("cs_test_1").unwrap());
        let sale = Sale::ordered(session.clone(), now)
            .with("fulfilment", Fulfilment::Ready { at: now, archived: true })
            .with("mail", Mail::Unknown { at: now });
        let world = World::at(now);
        world.state().sales.insert(session.clone(), (sale, 1));
        let journal = Journal { store: &world, log: &world, alerts: &world, clock: &world };
        let ports = redrive::Ports { journal, retries: &world };
        let operator = Operator::parse("dana", Some("not in the mailbox")).unwrap();
        let failing = |boundary| {
            world.plan(Plan::none().whenever(boundary, Fault::Fail));
            let settled = run(settle::settle(ports, &operator, &session, MailOutcome::NotSent)).unwrap();
            settled.or_refused("the mail may still be on the list").unwrap_err()
        };
        assert_eq!(failing("store.save").to_string(), "the mail may still be on the list");
        let error = failing("queue.send");
        assert!(error.to_string().starts_with("the mail is due again, but its message was not sent"), "{error}");
        let cause = error.source().unwrap().to_string();
        assert!(!cause.contains("the mail is due again"), "said twice: {cause}");
    }
}
