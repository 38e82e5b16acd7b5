//! The messages of a Bridge. Texts are sealed by the caller; sealing the same text under the same id gives the same
//! bytes, so that a repeated message is recognised.

use super::{Bridge, BridgeEvent, BridgeRefused, BridgeState, SignedBy};
use crate::{Timestamp, chat::ExchangeId, mail::Draft, operator::Operator};
use serde::{Deserialize, Serialize};

/// The most bytes of a thread to which a customer posts, each message counted with [`OVERHEAD`]: a row of the table holds
/// 400 KB.
const MOST_BYTES: usize = 280_000;

/// Additional bytes for operators only, so that they can still answer a full thread.
const FOR_OPERATORS: usize = 40_000;

/// The bytes of a message beside its sealed text: id, author, time, mail, and how far its operator had read. A
/// customer's message has about 100, and 160 more if it came by mail; an operator's with a recorded draft about 400.
const OVERHEAD: usize = 400;

/// The author of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Author {
    /// The subscriber.
    Customer,
    /// An operator, by name. Customers do not see the name.
    Operator(String),
}

/// The step that the mail of a reply has reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MailStep {
    /// There is no draft yet.
    Waiting,
    /// Only this draft is to be sent.
    Drafted(Draft),
    /// The mailbox accepted it.
    Sent,
}

impl MailStep {
    /// Records the mail's draft, unless another one is recorded.
    pub(super) fn record(&mut self, draft: &Draft) -> Result<(), BridgeRefused> {
        match self {
            Self::Waiting => *self = Self::Drafted(draft.clone()),
            Self::Drafted(recorded) if recorded == draft => {}
            Self::Drafted(_) | Self::Sent => return Err(BridgeRefused::NoSuchMail),
        }
        Ok(())
    }
}

/// One message of the thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Post {
    id: ExchangeId,
    author: Author,
    at: Timestamp,
    sealed: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mail: Option<MailStep>,
    /// For an operator's: how many messages of the thread its operator had read. `None` for a customer's, and for an
    /// operator's that an earlier version stored: its operator counts as having read everything before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read: Option<usize>,
}

impl Post {
    /// The id that its author gave it.
    #[must_use]
    pub const fn id(&self) -> &ExchangeId {
        &self.id
    }

    /// Its author.
    #[must_use]
    pub const fn author(&self) -> &Author {
        &self.author
    }

    /// When it was posted.
    #[must_use]
    pub const fn at(&self) -> Timestamp {
        self.at
    }

    /// Its sealed text.
    #[must_use]
    pub fn sealed(&self) -> &str {
        &self.sealed
    }

    /// The step of its mail; `None` for a customer's message.
    #[must_use]
    pub const fn mail(&self) -> Option<&MailStep> {
        self.mail.as_ref()
    }

    /// Whether it is a reply whose mail still has to be sent.
    #[must_use]
    pub fn is_unsent(&self) -> bool {
        self.mail.as_ref().is_some_and(|step| *step != MailStep::Sent)
    }
}

impl Bridge {
    /// A message of the thread.
    #[must_use]
    pub fn message(&self, id: &ExchangeId) -> Option<&Post> {
        self.thread.iter().find(|post| post.id == *id)
    }

    /// The id of the customer's last message.
    #[must_use]
    pub fn last_question(&self) -> Option<&ExchangeId> {
        self.thread.iter().rev().find(|post| post.author == Author::Customer).map(Post::id)
    }

    /// The customer's messages without a reply, oldest first: those that no operator who replied had read.
    pub fn unanswered(&self) -> impl Iterator<Item = &Post> {
        let replies = self.thread.iter().enumerate().filter(|(_, post)| matches!(post.author, Author::Operator(_)));
        let read = replies.map(|(index, post)| post.read.unwrap_or(index)).max().unwrap_or(0);
        self.thread.iter().skip(read).filter(|post| post.author == Author::Customer)
    }

    /// Posts a customer's message. Posting the same message again changes nothing and returns `None`.
    ///
    /// # Errors
    /// [`BridgeRefused::Closed`] unless access is granted; [`BridgeRefused::OtherMessage`], [`BridgeRefused::Full`].
    pub fn post(
        &mut self,
        id: &ExchangeId,
        sealed: &str,
        now: Timestamp,
    ) -> Result<Option<BridgeEvent>, BridgeRefused> {
        if !self.is_granted(now) {
            return Err(BridgeRefused::Closed(self.state(now)));
        }
        let (author, sealed) = (Author::Customer, sealed.to_owned());
        let added = self.add(Post { id: id.clone(), author, at: now, sealed, mail: None, read: None })?;
        Ok(added.then(|| BridgeEvent::MessagePosted { id: id.clone() }))
    }

    /// Posts an operator's reply, whose mail is sent afterwards. `answers` is the customer's last message that the
    /// operator has read, if there is one: later messages wait for a reply of their own. After the expiry it must be a
    /// message that waits. Posting the same reply again changes nothing and returns `None`.
    ///
    /// # Errors
    /// As for [`Self::post`], and [`BridgeRefused::NoSuchMessage`].
    pub fn reply(
        &mut self,
        id: &ExchangeId,
        operator: &Operator,
        answers: Option<&ExchangeId>,
        sealed: &str,
        now: Timestamp,
    ) -> Result<Option<BridgeEvent>, BridgeRefused> {
        if !self.can_reply(id, answers, now) {
            return Err(BridgeRefused::Closed(self.state(now)));
        }
        let by = SignedBy::of(operator);
        let (author, sealed) = (Author::Operator(by.by.clone()), sealed.to_owned());
        let read = answers.map_or(Ok(0), |message| self.read_up_to(message))?;
        let (mail, read) = (Some(MailStep::Waiting), Some(read));
        let added = self.add(Post { id: id.clone(), author, at: now, sealed, mail, read })?;
        Ok(added.then(|| BridgeEvent::ReplyPosted { id: id.clone(), by }))
    }

    /// Whether a reply can be posted. One that is posted already can be repeated.
    fn can_reply(&self, id: &ExchangeId, answers: Option<&ExchangeId>, now: Timestamp) -> bool {
        let waits = |message: &ExchangeId| self.unanswered().any(|post| post.id == *message);
        match self.state(now) {
            BridgeState::Granted => true,
            BridgeState::Expired => self.message(id).is_some() || answers.is_some_and(waits),
            BridgeState::Offered | BridgeState::Accepted | BridgeState::Revoked => false,
        }
    }

    /// The number of messages in the thread up to and including this one of the customer.
    fn read_up_to(&self, message: &ExchangeId) -> Result<usize, BridgeRefused> {
        let is_it = |post: &Post| post.id == *message && post.author == Author::Customer;
        self.thread.iter().position(is_it).map(|index| index + 1).ok_or(BridgeRefused::NoSuchMessage)
    }

    fn add(&mut self, post: Post) -> Result<bool, BridgeRefused> {
        if let Some(known) = self.message(&post.id) {
            let is_same = known.sealed == post.sealed && known.mail.is_none() == post.mail.is_none();
            return if is_same { Ok(false) } else { Err(BridgeRefused::OtherMessage) };
        }
        let used: usize = self.thread.iter().map(|post| OVERHEAD + post.sealed.len()).sum();
        let most = if post.mail.is_none() { MOST_BYTES } else { MOST_BYTES + FOR_OPERATORS };
        if used + OVERHEAD + post.sealed.len() > most {
            return Err(BridgeRefused::Full);
        }
        self.thread.push(post);
        Ok(true)
    }

    /// Records the draft of a reply's mail: only this draft is sent. Recording the same draft again changes nothing:
    /// the reply to the first write was lost, and another process has saved since.
    ///
    /// # Errors
    /// [`BridgeRefused::Closed`] unless replies can be mailed ([`Self::can_mail`]); [`BridgeRefused::NoSuchMail`] when
    /// another draft is recorded.
    pub fn record_draft(&mut self, id: &ExchangeId, draft: &Draft, now: Timestamp) -> Result<(), BridgeRefused> {
        if !self.can_mail(now) {
            return Err(BridgeRefused::Closed(self.state(now)));
        }
        self.mail_of(id)?.record(draft)
    }

    /// Records that the mailbox accepted a reply's mail. Returns `None` if that is already recorded.
    ///
    /// # Errors
    /// [`BridgeRefused::NoSuchMail`] when the reply has no draft.
    pub fn record_mailed(&mut self, id: &ExchangeId) -> Result<Option<BridgeEvent>, BridgeRefused> {
        let step = self.mail_of(id)?;
        match step {
            MailStep::Sent => Ok(None),
            MailStep::Waiting => Err(BridgeRefused::NoSuchMail),
            MailStep::Drafted(_) => {
                *step = MailStep::Sent;
                Ok(Some(BridgeEvent::ReplyMailed { id: id.clone() }))
            }
        }
    }

    /// Records what an operator has found out about a reply's mail of unknown state: the member has it, or it was not
    /// sent. In the second case the reply gets a new draft. Recording the same again changes nothing and returns
    /// `None`.
    ///
    /// # Errors
    /// [`BridgeRefused::NoSuchMail`] when there is no such reply, or when a mail that is recorded as sent was not sent.
    pub fn settle_mail(
        &mut self,
        id: &ExchangeId,
        operator: &Operator,
        reason: &str,
        is_sent: bool,
    ) -> Result<Option<BridgeEvent>, BridgeRefused> {
        let step = self.mail_of(id)?;
        let settled = if is_sent { MailStep::Sent } else { MailStep::Waiting };
        if *step == settled {
            return Ok(None);
        }
        if *step == MailStep::Sent {
            return Err(BridgeRefused::NoSuchMail);
        }
        *step = settled;
        let (by, reason) = (SignedBy::of(operator), reason.to_owned());
        Ok(Some(BridgeEvent::MailSettled { id: id.clone(), sent: is_sent, by, reason }))
    }

    fn mail_of(&mut self, id: &ExchangeId) -> Result<&mut MailStep, BridgeRefused> {
        let found = self.thread.iter_mut().find(|post| post.id == *id);
        found.and_then(|post| post.mail.as_mut()).ok_or(BridgeRefused::NoSuchMail)
    }
}
