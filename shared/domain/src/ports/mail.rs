//! The mailbox.

use crate::{
    EmailAddress, SessionId,
    inbox::{Acknowledgement, Arrivals, Correspondence, Incoming, Order, ReceivedAt},
    mail::{Draft, Failure},
    ports::{SaveError, StorageError, Versioned},
    relay::{RelayDraft, RelayDraftId},
};
use async_trait::async_trait;
use std::time::Duration;

/// A finished mail.
#[derive(Clone, Debug)]
pub struct OutgoingMail {
    /// The recipient.
    pub to: EmailAddress,
    /// The subject.
    pub subject: String,
    /// The body, plain text.
    pub body: String,
    /// The sale, which the mailbox stores with the mail so that a reply can be linked to it.
    pub session_id: SessionId,
}

/// Why a call to the mailbox failed.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// 400: the mail itself is refused; retrying is useless.
    #[error("the mail was refused (400)")]
    Rejected,
    /// The login service refused the refresh token or the client: a human must consent again, or renew the client's
    /// secret (Email Retry, FM-03).
    #[error("GRAPH_REFRESH_TOKEN revoked or refused (401), or the application's client secret has expired")]
    ConsentRefused,
    /// 403: a permission is missing or was withdrawn.
    #[error("the mailbox refused access ({0})")]
    Forbidden(u16),
    /// 429, or 503 with a time: wait at least this long.
    #[error("the mailbox is throttled")]
    Throttled {
        /// The status.
        status: u16,
        /// The time.
        wait: Duration,
    },
    /// 401 after a refresh, 404 of the mailbox itself, 5xx: nothing was sent.
    #[error("the mailbox answered {0}")]
    Unavailable(u16),
    /// The connection broke, the reply was lost, or it does not say what was done (500, 502 or 504 to sending): the call
    /// may have had its effect.
    #[error("the outcome is unknown")]
    OutcomeUnknown(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// 404: the draft does not exist (any more).
    #[error("there is no such draft")]
    NoSuchDraft,
}

/// The status of a reply that does not say what was done, as the source of [`MailError::OutcomeUnknown`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the mailbox answered {0}")]
pub struct UnclearStatus(pub u16);

impl From<&MailError> for Failure {
    fn from(error: &MailError) -> Self {
        Self {
            code: error.code(),
            detail: error.to_string(),
            retriable: error.is_retriable(),
            asked: match error {
                MailError::Throttled { wait, .. } => Some(*wait),
                _ => None,
            },
            may_have_gone: false,
            needs_consent: matches!(error, MailError::ConsentRefused),
        }
    }
}

impl MailError {
    /// Whether a later attempt may succeed (Email Retry, INV-05).
    #[must_use]
    pub const fn is_retriable(&self) -> bool {
        match self {
            Self::Throttled { .. } | Self::Unavailable(_) | Self::OutcomeUnknown(_) => true,
            Self::Rejected | Self::ConsentRefused | Self::Forbidden(_) | Self::NoSuchDraft => false,
        }
    }

    /// The code in Email Retry's records: the status, or -1 if the connection broke.
    #[must_use]
    pub fn code(&self) -> String {
        match self {
            Self::Rejected => "400".to_owned(),
            Self::ConsentRefused => "401".to_owned(),
            Self::NoSuchDraft => "404".to_owned(),
            Self::Unavailable(0) => "-1".to_owned(),
            Self::OutcomeUnknown(source) => match source.downcast_ref::<UnclearStatus>() {
                Some(UnclearStatus(status)) => status.to_string(),
                None => "-1".to_owned(),
            },
            Self::Forbidden(status) | Self::Unavailable(status) | Self::Throttled { status, .. } => status.to_string(),
        }
    }
}

/// The mailbox. A sent draft exists only until the mailbox has moved it, and cannot be sent again after that.
#[async_trait]
pub trait Mailbox: Send + Sync {
    /// Creates a draft.
    async fn create_draft(&self, mail: &OutgoingMail) -> Result<Draft, MailError>;
    /// Sends a draft.
    async fn send_draft(&self, draft: &Draft) -> Result<(), MailError>;
    /// Whether the draft is still a draft.
    async fn draft_exists(&self, draft: &Draft) -> Result<bool, MailError>;
    /// Whether the sent-items folder contains the draft's message.
    async fn was_sent(&self, draft: &Draft) -> Result<bool, MailError>;
    /// Removes a draft that will not be sent.
    async fn discard_draft(&self, draft: &Draft) -> Result<(), MailError>;
    /// Whether it can be asked whether it answers, without a mail ([`crate::sending::answers`]). It has no default, which a
    /// wrapper could forget to replace by the answer of the mailbox in it.
    fn can_be_probed(&self) -> bool;
}

/// A service that sends mails and keeps none. It has no idempotency key: a mail that is handed over twice is sent twice.
#[async_trait]
pub trait Relay: Send + Sync {
    /// Hands a mail over; returns the service's id of it.
    async fn send(&self, mail: &OutgoingMail) -> Result<String, MailError>;
}

/// The drafts of mails that a [`Relay`] sends, and the sales of the mails that it has sent.
#[async_trait]
pub trait RelayDrafts: Send + Sync {
    /// The draft; `None` if it does not exist (any more).
    async fn draft(&self, id: &RelayDraftId) -> Result<Option<Versioned<RelayDraft>>, StorageError>;
    /// Saves the draft if its stored version is still `expected` (0: it does not exist); returns the new version. A
    /// repetition of a write whose reply was lost is no conflict.
    async fn save(&self, id: &RelayDraftId, draft: &RelayDraft, expected: u64) -> Result<u64, SaveError>;
    /// Removes the draft. One that does not exist is no error.
    async fn discard(&self, id: &RelayDraftId) -> Result<(), StorageError>;
    /// Records the sale of a mail that was sent.
    async fn link(&self, message: &str, session: &SessionId) -> Result<(), StorageError>;
    /// The sale of a mail that was sent; `None` if the mail is unknown.
    async fn linked(&self, message: &str) -> Result<Option<SessionId>, StorageError>;
}

/// The mailbox's inbox, which this port only reads: no message is marked as read, moved or removed (Inbox Watch,
/// invariant 8). Erasures remove messages through another port.
#[async_trait]
pub trait Inbox: Send + Sync {
    /// The messages that were received at `since` or later, whether they were read or not, at most `most`.
    async fn arrived(&self, since: &ReceivedAt, order: Order, most: usize) -> Result<Arrivals, MailError>;
    /// A message without its body; `None` if it does not exist (any more).
    async fn message(&self, id: &str) -> Result<Option<Incoming>, MailError>;
    /// The new text of a message, without quotations; `None` if it does not exist (any more).
    async fn new_text(&self, id: &str) -> Result<Option<String>, MailError>;
    /// A message with its text, for an operator.
    async fn correspondence(&self, id: &str) -> Result<Option<Correspondence>, MailError>;
    /// The sale whose mail this message replies to: the last mail that was sent in its conversation, or the mail that
    /// it names as replied to.
    async fn sale_of(&self, message: &Incoming) -> Result<Option<SessionId>, MailError>;
    /// Creates the draft of an acknowledgement, which is sent like any other draft.
    async fn create_acknowledgement(&self, mail: &Acknowledgement) -> Result<Draft, MailError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Email Retry, INV-05.
    #[test]
    fn each_failure_has_its_code_and_says_whether_a_later_attempt_may_succeed() {
        let wait = Duration::from_secs(30);
        for (error, code, is_retriable) in [
            (MailError::Rejected, "400", false),
            (MailError::ConsentRefused, "401", false),
            (MailError::Forbidden(403), "403", false),
            (MailError::NoSuchDraft, "404", false),
            (MailError::Throttled { status: 429, wait }, "429", true),
            (MailError::Throttled { status: 503, wait }, "503", true),
            (MailError::Unavailable(503), "503", true),
            (MailError::Unavailable(0), "-1", true),
            (MailError::OutcomeUnknown("reset".into()), "-1", true),
            (MailError::OutcomeUnknown(Box::new(UnclearStatus(504))), "504", true),
        ] {
            let failure = Failure::from(&error);
            assert_eq!((failure.code.as_str(), failure.retriable), (code, is_retriable), "{error}");
            assert_eq!(failure.asked, matches!(error, MailError::Throttled { .. }).then_some(wait), "{error}");
            assert_eq!((failure.detail, failure.may_have_gone), (error.to_string(), false));
            assert_eq!(failure.needs_consent, matches!(error, MailError::ConsentRefused), "{error}");
        }
    }
}
