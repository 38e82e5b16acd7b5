//! The messages in the oracle's own mailbox, including customers' replies.

use crate::{EmailAddress, SessionId, Timestamp};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The time when the mailbox received a message, in the mailbox's form: `2026-04-16T10:00:00Z`. Such texts sort in the
/// order of time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ReceivedAt(String);

crate::text_newtype::text_newtype!(ReceivedAt, InvalidReceivedAt);

/// The text does not have the form of the mailbox's times.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a time such as 2026-04-16T10:00:00Z")]
pub struct InvalidReceivedAt;

impl ReceivedAt {
    /// Accepts a time in UTC with whole seconds.
    ///
    /// # Errors
    /// [`InvalidReceivedAt`] for any other form: texts of different forms would not sort in the order of time.
    pub fn parse(text: impl Into<String>) -> Result<Self, InvalidReceivedAt> {
        const FORM: &[u8] = b"dddd-dd-ddTdd:dd:ddZ";
        let text = text.into();
        let fits = |(byte, form): (u8, &u8)| if *form == b'd' { byte.is_ascii_digit() } else { byte == *form };
        let formed = text.len() == FORM.len() && text.bytes().zip(FORM).all(fits);
        let valid = formed && Timestamp::parse(&text).is_some();
        if valid { Ok(Self(text)) } else { Err(InvalidReceivedAt) }
    }

    /// A time before every message.
    #[must_use]
    pub fn earliest() -> Self {
        Self("1900-01-01T00:00:00Z".to_owned())
    }
}

/// A message in a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    /// When the mailbox received it; `None` if the mailbox does not say so in its usual form (Inbox Watch, FM-5).
    pub received_at: Option<ReceivedAt>,
    /// The mailbox's id of the message; it stays the same when the message is moved.
    pub id: String,
}

/// The listed messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// The messages in the requested order.
    pub messages: Vec<Arrival>,
    /// Whether there are more messages than requested.
    pub more: bool,
}

/// The order in which messages are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The one received first comes first.
    OldestFirst,
    /// The one received last comes first.
    NewestFirst,
}

/// Whether the mailbox confirms a message's sender: the domain of its address says so (DMARC).
///
/// The mailbox writes its result above all headers that came with the message, so only the first Authentication-Results
/// header counts; a sender can add others below it. The sender can influence the comments in it.
#[must_use]
pub fn is_authenticated(message: &Incoming) -> bool {
    let mut headers = message.headers.iter();
    let Some((_, results)) = headers.find(|(name, _)| name.eq_ignore_ascii_case("authentication-results")) else {
        return false;
    };
    let Some((_, domain)) = message.sender.rsplit_once('@') else { return false };
    let results = without_comments(results).to_lowercase();
    let mut judged = results.split(';').map(str::trim).filter(|result| result.starts_with("dmarc="));
    let Some(result) = judged.next() else { return false };
    let mut words = result.split_whitespace();
    let passed = words.next() == Some("dmarc=pass");
    let from = words.find_map(|word| word.strip_prefix("header.from="));
    passed && judged.next().is_none() && from == Some(domain.to_lowercase().as_str())
}

/// The text without parentheses and their content, which may be nested.
fn without_comments(text: &str) -> String {
    let mut depth = 0_usize;
    let outside = text.chars().filter(|c| {
        match c {
            '(' => depth += 1,
            ')' => {
                depth = depth.saturating_sub(1);
                return false;
            }
            _ => {}
        }
        depth == 0
    });
    outside.collect()
}

/// A person's message that does not reply to a mail of ours, or whose sale could not be determined: a person reads and
/// answers it within the time that its acknowledgement promises. No text and no address is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inquiry {
    /// The mailbox's id of the message, by which its text is fetched for reading.
    pub message: String,
    /// When it was found.
    pub at: Timestamp,
    /// The keyed hash of the sender's address, which equals that of sales with the same address.
    pub sender: String,
    /// Its hashes under the other stored keys, one of which sales from before the current key have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_tags: Vec<String>,
}

/// The name of the notebook and of the stream of inquiries.
pub const INQUIRIES: &str = "inquiries";

/// The acknowledgement promises an answer within this time (Inbox Watch, autoresponse body).
pub const ANSWERED_WITHIN: Duration = Duration::from_secs(24 * 3600);

/// The most inquiries that wait at once; the inbox has the others.
pub const MAX_INQUIRIES: usize = 300;

/// The inquiries that wait, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inquiries {
    /// The unanswered inquiries.
    pub open: Vec<Inquiry>,
}

impl Inquiries {
    /// Adds an inquiry, once; `false` if it is in the list already, or the list is full.
    pub fn add(&mut self, inquiry: Inquiry) -> bool {
        let is_new = self.open.iter().all(|known| known.message != inquiry.message) && self.open.len() < MAX_INQUIRIES;
        if is_new {
            self.open.push(inquiry);
        }
        is_new
    }

    /// Removes an inquiry by its message; `false` if it is not in the list.
    pub fn settle(&mut self, message: &str) -> bool {
        let before = self.open.len();
        self.open.retain(|inquiry| inquiry.message != message);
        self.open.len() < before
    }
}

/// A message without its body. It contains an address and a person's words, so it cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Incoming {
    /// The sender, as the mailbox writes it; it need not be an address.
    pub sender: String,
    /// Its subject.
    pub subject: String,
    /// The id of its conversation: the same for a mail and the replies to it.
    pub conversation: Option<String>,
    /// Its headers, as name and value, in their order.
    pub headers: Vec<(String, String)>,
}

impl Incoming {
    /// The first id in the In-Reply-To header, with its brackets.
    #[must_use]
    pub fn in_reply_to(&self) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("in-reply-to"))?;
        let from = &value[value.find('<')?..];
        Some(&from[..=from.find('>')?])
    }
}

/// An acknowledgement of a message.
#[derive(Clone)]
pub struct Acknowledgement {
    /// The recipient.
    pub to: EmailAddress,
    /// The subject.
    pub subject: String,
    /// The body, plain text.
    pub body: String,
    /// The sale or the Bridge whose mail the message answers, if it is known: its erasure removes the acknowledgement
    /// too.
    pub session: Option<SessionId>,
}

/// A message with its text, for an operator: fetched on demand, not stored, and not printable by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Correspondence {
    /// The sender.
    pub sender: String,
    /// Its subject.
    pub subject: String,
    /// Its body as plain text.
    pub text: String,
}

/// A customer's reply to one of a sale's mails, or a report that one of them came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The mailbox's id of the message, by which its text is fetched for reading.
    pub message: String,
    /// When it was found.
    pub at: Timestamp,
    /// Whether it came from the address that the sale's mails went to; `None` if there was no such address.
    pub from_buyer: Option<bool>,
    /// When an operator settled it.
    #[serde(default)]
    pub settled_at: Option<Timestamp>,
    /// Its result as a follow-up; `None` when it was not one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followup: Option<FollowupReply>,
    /// Whether it is a mail system's report about a mail that came back; reports stored before this field lack it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_report: bool,
}

/// The result of a customer's follow-up by mail. It decides which mail answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FollowupReply {
    /// It is ordered.
    Ordered,
    /// The follow-up was used before.
    Used,
    /// The authority gate declined it; the follow-up is not used up.
    Refused,
}

/// The most replies that are stored with a sale.
pub const MAX_REPLIES: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn authenticated(sender: &str, headers: &[(&str, &str)]) -> bool {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        is_authenticated(&Incoming { sender: sender.into(), subject: String::new(), conversation: None, headers })
    }

    #[test]
    fn a_time_of_arrival_is_its_own_text() {
        assert_eq!(ReceivedAt::parse("2026-04-16T10:00:00Z").unwrap().as_str(), "2026-04-16T10:00:00Z");
    }

    #[test]
    fn only_the_mailboxs_own_judgement_vouches_for_a_sender() {
        const PASS: &str = "spf=pass (sender IP is 192.0.2.1) smtp.mailfrom=example.com; dkim=pass (signature was \
             verified) header.d=example.com;dmarc=pass action=none header.from=example.com;compauth=pass reason=100";
        let name = "Authentication-Results";
        assert!(authenticated("buyer@Example.com", &[("Received", "x"), (name, PASS)]));
        assert!(authenticated("buyer@example.com", &[("authentication-results", PASS), (name, "dmarc=fail")]));
        for (sender, value) in [
            ("buyer@other.example", PASS),
            ("buyer@example.com", "spf=pass; dmarc=none action=none header.from=example.com"),
            ("buyer@example.com", "dmarc=bestguesspass action=none header.from=example.com"),
            ("buyer@example.com", "dmarc=pass action=none"),
            ("buyer@example.com", "spf=fail smtp.mailfrom=x (; dmarc=pass header.from=example.com)"),
            ("buyer@example.com", "dmarc=fail header.from=example.com; dmarc=pass header.from=example.com"),
            ("nobody", PASS),
        ] {
            assert!(!authenticated(sender, &[(name, value)]), "{sender} {value}");
        }
        assert!(!authenticated("buyer@example.com", &[(name, "dmarc=fail"), (name, PASS)]), "a sender's own, below");
        assert!(!authenticated("buyer@example.com", &[("Authentication-Results-Original", PASS)]));
        assert!(!authenticated("buyer@example.com", &[]));
    }

    #[test]
    fn an_inquiry_is_noted_and_settled_once() {
        let at = Timestamp::from_seconds(0);
        let inquiry =
            |id: usize| Inquiry { message: format!("m{id}"), at, sender: "tag".into(), other_tags: Vec::new() };
        let mut inquiries = Inquiries::default();
        assert!(inquiries.add(inquiry(1)) && !inquiries.add(inquiry(1)));
        assert!(inquiries.settle("m1") && !inquiries.settle("m1"));
        assert_eq!((0..999).filter(|id| inquiries.add(inquiry(*id))).count(), MAX_INQUIRIES);
    }

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
