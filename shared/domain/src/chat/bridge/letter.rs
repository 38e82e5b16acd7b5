//! The mail that reports the last change of access to the member. A grant, a revocation and an expiry each store a letter
//! in the same write, and the schedule sends it. A later change replaces a letter that is not sent yet.

use super::{Bridge, BridgeEvent, BridgeRefused, BridgeStage, MailStep};
use crate::{Timestamp, mail::Draft};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The change that a letter reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "lowercase")]
pub enum AccessChange {
    /// Access is granted.
    Granted {
        /// The end of the access.
        expires: Timestamp,
    },
    /// The time of the grant is over.
    Expired,
    /// An operator ended the access.
    Revoked,
    /// An operator declined the access before it was granted.
    Declined,
}

impl AccessChange {
    /// The change's name in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Granted { .. } => "granted",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
            Self::Declined => "declined",
        }
    }
}

/// A letter about a change of access, and the step that its mail has reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessLetter {
    #[serde(flatten)]
    kind: AccessChange,
    since: Timestamp,
    mail: MailStep,
    /// When a run first tried to send it; `None` before that, and in rows of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tried_at: Option<Timestamp>,
    /// When a run last began to send its recorded draft; `None` before that, and in rows of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sending_at: Option<Timestamp>,
}

impl AccessLetter {
    pub(super) const fn new(kind: AccessChange, since: Timestamp) -> Self {
        Self { kind, since, mail: MailStep::Waiting, tried_at: None, sending_at: None }
    }

    /// The change that it reports.
    #[must_use]
    pub const fn kind(&self) -> AccessChange {
        self.kind
    }

    /// When the change happened.
    #[must_use]
    pub const fn since(&self) -> Timestamp {
        self.since
    }

    /// The step of its mail.
    #[must_use]
    pub const fn mail(&self) -> &MailStep {
        &self.mail
    }

    /// When a run first tried to send it; `None` if none is recorded.
    #[must_use]
    pub const fn tried_at(&self) -> Option<Timestamp> {
        self.tried_at
    }

    fn is(&self, other: &Self) -> bool {
        (self.kind, self.since) == (other.kind, other.since)
    }
}

impl Bridge {
    /// The letter about the last change of access.
    #[must_use]
    pub const fn letter(&self) -> Option<&AccessLetter> {
        self.letter.as_ref()
    }

    /// The letter whose mail is neither sent nor abandoned.
    #[must_use]
    pub fn unsent_letter(&self) -> Option<&AccessLetter> {
        self.letter.as_ref().filter(|letter| letter.mail != MailStep::Sent)
    }

    /// When the schedule has to handle the Bridge: at once for records and alerts that are not published, for the mails of an
    /// erased one, now for an unsent letter, at the expiry of a grant, or never. A letter waits until the mails of an erased
    /// Bridge are removed.
    #[must_use]
    pub fn due(&self) -> Option<Timestamp> {
        let unpublished = (!self.trail.is_published()).then(|| Timestamp::from_millis(0));
        unpublished.or_else(|| self.mails_due()).or_else(|| self.letter_due())
    }

    fn letter_due(&self) -> Option<Timestamp> {
        match (&self.stage, &self.letter) {
            (_, Some(AccessLetter { since, mail: MailStep::Waiting | MailStep::Drafted(_), .. })) => Some(*since),
            (BridgeStage::Granted { .. }, Some(AccessLetter { kind: AccessChange::Expired, .. })) => None,
            (BridgeStage::Granted { grant, .. }, _) => Some(grant.expires),
            (BridgeStage::Offered | BridgeStage::Accepted { .. } | BridgeStage::Revoked { .. }, _) => None,
        }
    }

    /// Stores the letter about an expiry. Returns `None` if the grant still lasts or its letter exists.
    pub fn expire(&mut self, now: Timestamp) -> Option<BridgeEvent> {
        let BridgeStage::Granted { grant, .. } = &self.stage else { return None };
        let has_letter = self.letter.as_ref().is_some_and(|letter| letter.kind == AccessChange::Expired);
        if now < grant.expires || has_letter {
            return None;
        }
        self.letter = Some(AccessLetter::new(AccessChange::Expired, grant.expires));
        Some(BridgeEvent::Expired)
    }

    /// Records the draft of a letter's mail, which the caller sends now: only this draft is sent. Recording the same draft
    /// again is no error, as for [`Bridge::record_draft`].
    ///
    /// # Errors
    /// [`BridgeRefused::NoSuchMail`] when another draft is recorded or a later change has replaced the letter.
    pub fn record_letter_draft(
        &mut self,
        of: &AccessLetter,
        draft: &Draft,
        now: Timestamp,
    ) -> Result<(), BridgeRefused> {
        let letter = self.letter.as_mut().filter(|letter| letter.is(of)).ok_or(BridgeRefused::NoSuchMail)?;
        letter.mail.record(draft)?;
        letter.tried_at.get_or_insert(now);
        letter.sending_at = Some(now);
        Ok(())
    }

    /// Claims the recorded draft of a letter, to look for it and to send it. Returns `false` if a run began to send it
    /// within this time: the mailbox may be sending it.
    pub fn claim_letter(&mut self, of: &AccessLetter, within: Duration, now: Timestamp) -> bool {
        let letter = self.letter.as_mut().filter(|letter| letter.is(of));
        let Some(letter) = letter.filter(|letter| matches!(letter.mail, MailStep::Drafted(_))) else { return false };
        let is_free = letter.sending_at.is_none_or(|at| now >= at.plus(within));
        if is_free {
            letter.sending_at = Some(now);
        }
        is_free
    }

    /// Records that a run has tried to send a letter and could not. Returns whether it is the first one.
    pub fn record_letter_try(&mut self, of: &AccessLetter, now: Timestamp) -> bool {
        let Some(letter) = self.letter.as_mut().filter(|letter| letter.is(of)) else { return false };
        let is_first = letter.tried_at.is_none();
        letter.tried_at.get_or_insert(now);
        is_first
    }

    /// Records that the mailbox accepted a letter's mail, or that the mail is abandoned. Returns `None` if its end is
    /// already recorded or a later change has replaced the letter.
    pub fn end_letter(&mut self, of: &AccessLetter, is_sent: bool) -> Option<BridgeEvent> {
        let letter = self.letter.as_mut().filter(|letter| letter.is(of) && letter.mail != MailStep::Sent)?;
        letter.mail = MailStep::Sent;
        let about = letter.kind.as_str();
        Some(if is_sent { BridgeEvent::LetterMailed { about } } else { BridgeEvent::LetterAbandoned { about } })
    }
}
