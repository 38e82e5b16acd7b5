//! A draft of ours, and its id.

use crate::{SessionId, mail::Draft};
use serde::{Deserialize, Serialize};

/// The id of a draft: the sale that its mail belongs to, and a random token.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RelayDraftId {
    /// The sale.
    pub session: SessionId,
    /// 32 hexadecimal digits.
    pub token: String,
}

/// Begins the id of every draft. A draft of another mailbox, recorded before the vendor was changed, has no such id.
const PREFIX: &str = "relay:";

impl RelayDraftId {
    /// Parses the id of a recorded draft; `None` if it is a draft of another mailbox.
    #[must_use]
    pub fn of(draft: &Draft) -> Option<Self> {
        let (token, session) = draft.id.strip_prefix(PREFIX)?.split_once(':')?;
        Some(Self { session: SessionId::parse(session).ok()?, token: token.to_owned() })
    }

    /// The draft as a sale records it. The service chooses the message id when it sends the mail.
    #[must_use]
    pub fn draft(&self) -> Draft {
        let Self { session, token } = self;
        let id = format!("{PREFIX}{token}:{}", session.as_str());
        Draft { id, internet_message_id: format!("<{token}@relay.invalid>") }
    }
}

/// A draft of a mail. It has the mail's text only until the service accepts the mail or the draft is discarded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RelayDraft {
    /// Its mail can be sent.
    Ready(RelayMail),
    /// Its mail is being handed over, or was when a process died or a reply was lost. It is not handed over again.
    Claimed,
    /// The service accepted its mail.
    Sent,
}

/// The parts of a mail, without its sale.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelayMail {
    pub(super) to: String,
    pub(super) subject: String,
    pub(super) body: String,
}

impl std::fmt::Debug for RelayMail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RelayMail(…)")
    }
}
