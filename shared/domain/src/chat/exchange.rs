//! One exchange: a message and its reply, exactly one for each id that the client chooses.

use crate::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest message, in characters.
pub const LONGEST_MESSAGE: usize = 4_000;

/// The id of an exchange, made by the client: a UUID, kept in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ExchangeId(String);

crate::text_newtype::text_newtype!(ExchangeId, InvalidExchangeId);

/// The text is not a UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("id must be a UUID")]
pub struct InvalidExchangeId;

impl ExchangeId {
    /// Reads an id.
    ///
    /// # Errors
    /// [`InvalidExchangeId`]
    pub fn parse(text: impl AsRef<str>) -> Result<Self, InvalidExchangeId> {
        let text = text.as_ref();
        let lengths = text.split('-').map(str::len);
        let is_uuid = lengths.eq([8, 4, 4, 4, 12]) && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
        if is_uuid { Ok(Self(text.to_ascii_lowercase())) } else { Err(InvalidExchangeId) }
    }
}

/// A customer's message.
#[derive(Clone, PartialEq, Eq)]
pub struct Message(String);

/// The reason why a text is not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMessage {
    /// Nothing but white space.
    #[error("text is empty")]
    Empty,
    /// More than [`LONGEST_MESSAGE`] characters.
    #[error("text has more than {LONGEST_MESSAGE} characters")]
    TooLong,
    /// A control character that no keyboard types.
    #[error("text has a control character")]
    Control,
}

impl Message {
    /// Parses a message. Removes white space around it.
    ///
    /// # Errors
    /// [`InvalidMessage`]
    pub fn parse(text: &str) -> Result<Self, InvalidMessage> {
        let text = text.trim();
        if text.is_empty() {
            return Err(InvalidMessage::Empty);
        }
        if text.chars().count() > LONGEST_MESSAGE {
            return Err(InvalidMessage::TooLong);
        }
        if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
            return Err(InvalidMessage::Control);
        }
        Ok(Self(text.to_owned()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Message({} bytes)", self.0.len())
    }
}

crate::enum_with_words! {
    /// The voice of a reply. Most plans have one external voice; a plan with two views shows them side by side.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Voice {
        /// The voice of every plan with one reply.
        #[serde(rename = "AETHER")]
        Aether = "AETHER",
        /// The first of two.
        #[serde(rename = "first view")]
        FirstView = "first view",
        /// The second of two.
        #[serde(rename = "second view")]
        SecondView = "second view",
    }
    /// The name that customers read.
    pub const fn name;
}

/// The reply of one voice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoiceReply {
    /// The voice.
    pub voice: Voice,
    /// The text that customers read.
    pub text: String,
}

/// The stage of an exchange.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum ExchangeStage {
    /// One invocation makes the reply until its lease ends. `evaluation` is the authority gate's, until a record has it.
    Claimed {
        owner: String,
        until: Timestamp,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evaluation: Option<Value>,
    },
    /// The reply is stored, encrypted under the subscriber's key. `logged`: the memory holds it too.
    Answered { sealed: String, at: Timestamp, logged: bool },
    /// No reply was accepted, and the customer got the apology. Nothing was counted.
    Apologised,
    /// It was erased with the subscriber's memory.
    Erased,
}

/// One exchange of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// The client's id.
    pub id: ExchangeId,
    /// Keyed digest of the message.
    pub fingerprint: String,
    /// Whether it is one of the free ones.
    pub is_free: bool,
    /// Its stage.
    pub stage: ExchangeStage,
}

impl Exchange {
    /// Whether an invocation holds its claim now.
    #[must_use]
    pub fn is_open(&self, now: Timestamp) -> bool {
        matches!(&self.stage, ExchangeStage::Claimed { until, .. } if *until > now)
    }

    /// Whether this invocation holds its claim.
    #[must_use]
    pub fn is_held_by(&self, holder: &str) -> bool {
        matches!(&self.stage, ExchangeStage::Claimed { owner, .. } if owner == holder)
    }

    /// Whether it may be removed from the list when newer ones need its place. A reply that the memory lacks may not, nor
    /// an evaluation that no record has.
    pub(super) fn may_go(&self, now: Timestamp) -> bool {
        match &self.stage {
            ExchangeStage::Claimed { until, evaluation, .. } => *until <= now && evaluation.is_none(),
            ExchangeStage::Answered { logged, .. } => *logged,
            ExchangeStage::Apologised | ExchangeStage::Erased => true,
        }
    }
}
