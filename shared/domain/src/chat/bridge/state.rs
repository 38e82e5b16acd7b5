//! The states of a Bridge, the events of its steps, and the reasons for refusals.

use crate::{CallerIdentity, Operator, chat::ExchangeId};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The longest time for which access can be granted at once.
pub const LONGEST_GRANT: Duration = Duration::from_secs(366 * 24 * 3600);

crate::enum_with_words! {
    /// The state of a Bridge.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum BridgeState {
        /// The agreement is not accepted.
        Offered = "offered",
        /// It is accepted, and an operator has to decide.
        Accepted = "accepted",
        /// Messages can be posted.
        Granted = "granted",
        /// The time of the grant is over.
        Expired = "expired",
        /// An operator ended or declined the access.
        Revoked = "revoked",
    }
    /// The state's name in the API, in records and in errors.
    pub const fn as_str;
    /// Every state.
    pub const ALL;
}

impl std::fmt::Display for BridgeState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The reason why a step is refused. A refused step changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BridgeRefused {
    /// The state does not allow the transition.
    #[error("the Bridge is {from} and cannot become {to}")]
    Transition {
        /// The state before.
        from: BridgeState,
        /// The requested state.
        to: BridgeState,
    },
    /// Messages need a grant.
    #[error("the Bridge is {0}; messages need it to be granted")]
    Closed(BridgeState),
    /// The expiry is not in the future, or too far away.
    #[error("a grant must expire in the future and within {} days", LONGEST_GRANT.as_secs() / 86_400)]
    Expiry,
    /// The id belongs to another message.
    #[error("the id was used for another message")]
    OtherMessage,
    /// The mails of an erased Bridge are not removed yet.
    #[error("the Bridge is {0}; the mails of the erased one are removed first: repeat the command in some minutes")]
    MailsLeft(BridgeState),
    /// The thread has reached the size that its row can store.
    #[error("the thread is full")]
    Full,
    /// The thread lacks the message that a reply answers.
    #[error("the thread has no such message of the customer")]
    NoSuchMessage,
    /// The thread lacks the message, or the message's mail is at another step.
    #[error("the thread has no such mail to send")]
    NoSuchMail,
}

/// The operator of a step, in its record: the name that they typed, and the AWS identity that their command ran with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SignedBy {
    /// The name.
    pub by: String,
    /// The AWS identity, if AWS was asked and answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<CallerIdentity>,
}

impl SignedBy {
    /// The operator's name and identity.
    #[must_use]
    pub fn of(operator: &Operator) -> Self {
        Self { by: operator.name().to_owned(), identity: operator.identity().cloned() }
    }
}

/// The event of a step, which becomes one audit record. Contains no text and no address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum BridgeEvent {
    /// The subscriber accepted the agreement.
    Accepted {
        /// The version of the text.
        version: u32,
        /// The SHA-256 of the exact text.
        sha256: String,
    },
    /// An operator granted access.
    Granted {
        /// The operator.
        #[serde(flatten)]
        by: SignedBy,
        /// The operator's reason.
        reason: String,
        /// The end of the access, in ISO 8601.
        expires: String,
    },
    /// An operator ended or declined the access.
    Revoked {
        /// The operator.
        #[serde(flatten)]
        by: SignedBy,
        /// The operator's reason.
        reason: String,
    },
    /// The time of the grant is over, and the member is to receive a mail about it.
    Expired,
    /// The mailbox accepted the mail about a change of access.
    LetterMailed {
        /// The change.
        about: &'static str,
    },
    /// The mail about a change of access could not be sent.
    LetterAbandoned {
        /// The change.
        about: &'static str,
    },
    /// The subscriber posted a message.
    MessagePosted {
        /// The message.
        id: ExchangeId,
    },
    /// An operator posted a reply.
    ReplyPosted {
        /// The reply.
        id: ExchangeId,
        /// The operator.
        #[serde(flatten)]
        by: SignedBy,
    },
    /// The mailbox accepted a reply's mail.
    ReplyMailed {
        /// The reply.
        id: ExchangeId,
    },
    /// An operator found out whether a reply's mail was sent.
    MailSettled {
        /// The reply.
        id: ExchangeId,
        /// Whether the member has the mail; otherwise the reply gets a new draft.
        sent: bool,
        /// The operator.
        #[serde(flatten)]
        by: SignedBy,
        /// The operator's reason.
        reason: String,
    },
    /// The thread and the subscriber's name and address were removed.
    Erased,
    /// The mails of the erased thread were removed from the mailbox.
    MailsRemoved,
}
