//! What comes into the oracle's own mailbox: messages from anybody, and customers' replies among them.

use crate::{EmailAddress, Timestamp};
use serde::{Deserialize, Serialize};

/// When the mailbox received a message, as it writes it: `2026-04-16T10:00:00Z`. Such texts sort as the moments do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ReceivedAt(String);

/// The text is no time of the mailbox's form.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a time such as 2026-04-16T10:00:00Z")]
pub struct InvalidReceivedAt;

impl ReceivedAt {
    /// Accepts a time in UTC with whole seconds.
    ///
    /// # Errors
    /// [`InvalidReceivedAt`] for every other form: texts of different forms would not sort as their moments do.
    pub fn parse(text: impl Into<String>) -> Result<Self, InvalidReceivedAt> {
        const FORM: &[u8] = b"dddd-dd-ddTdd:dd:ddZ";
        let text = text.into();
        let fits = |(byte, form): (u8, &u8)| if *form == b'd' { byte.is_ascii_digit() } else { byte == *form };
        let formed = text.len() == FORM.len() && text.bytes().zip(FORM).all(fits);
        let valid = formed && Timestamp::parse(&text).is_some();
        if valid { Ok(Self(text)) } else { Err(InvalidReceivedAt) }
    }

    /// Before every message.
    #[must_use]
    pub fn earliest() -> Self {
        Self("1900-01-01T00:00:00Z".to_owned())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ReceivedAt {
    type Error = InvalidReceivedAt;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(text)
    }
}

impl From<ReceivedAt> for String {
    fn from(time: ReceivedAt) -> Self {
        time.0
    }
}

/// An unread message as a list names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    /// When the mailbox received it; nothing where it does not say, or not in its usual form (Inbox Watch, FM-5).
    pub received_at: Option<ReceivedAt>,
    /// The mailbox's id of the message: it stays the same when the message is moved.
    pub id: String,
}

/// Unread messages, as far as they were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// The messages in the order that was asked for.
    pub messages: Vec<Arrival>,
    /// Whether there are more than were asked for.
    pub more: bool,
}

/// In which order unread messages are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The one received first comes first.
    OldestFirst,
    /// The one received last comes first.
    NewestFirst,
}

/// A message without its body. It holds an address and somebody's words, so it cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Incoming {
    /// Who sent it, as the mailbox writes it; it need not be an address.
    pub sender: String,
    /// Its subject.
    pub subject: String,
    /// The conversation it belongs to: the same for a mail and the replies to it.
    pub conversation: Option<String>,
    /// Its headers, as name and value, in their order.
    pub headers: Vec<(String, String)>,
}

/// An acknowledgement of a message.
#[derive(Clone)]
pub struct Acknowledgement {
    /// The recipient.
    pub to: EmailAddress,
    /// The subject.
    pub subject: String,
    /// The body, plain text.
    pub body: &'static str,
}

/// A message as an operator reads it: fetched on demand, kept nowhere, and not to be printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Correspondence {
    /// Who sent it.
    pub sender: String,
    /// Its subject.
    pub subject: String,
    /// Its body as plain text.
    pub text: String,
}

/// A customer's reply to one of a sale's mails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The mailbox's id of the message, by which its text is fetched when somebody reads it.
    pub message: String,
    /// When it was found.
    pub at: Timestamp,
    /// Whether it came from the address that the sale's mails went to; nothing where none went.
    pub from_buyer: Option<bool>,
    /// When an operator was done with it.
    #[serde(default)]
    pub settled_at: Option<Timestamp>,
}

/// So many replies are kept with a sale.
pub const MAX_REPLIES: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_one_form() {
        assert!(ReceivedAt::parse("2026-04-16T10:00:00Z").unwrap() > ReceivedAt::earliest());
        for text in [
            "",
            "2026-04-16T10:00:00.5Z",
            "2026-04-16 10:00:00Z",
            "2026-04-16T10:00:00+",
            "' or 1 eq 1 or '12",
            "9999-99-99T99:99:99Z",
        ] {
            assert_eq!(ReceivedAt::parse(text), Err(InvalidReceivedAt), "{text:?}");
        }
    }
}
