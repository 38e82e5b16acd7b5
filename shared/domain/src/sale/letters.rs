//! A mail's states: claimed, drafted, sent, retried, dead letter. Each transition is that of one letter.

use super::{Claim, Event, Fulfilment, Refused, Sale};
use crate::{
    Timestamp,
    mail::{Draft, Failure, Letter, Mail, MailSchedule, Next, Progress},
    money::Money,
};
use std::time::Duration;

/// What the log may know of a mail that was rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// SHA-256 of the mail: every attempt must produce the same bytes (Email Retry, VER-07).
    pub body_hash: String,
    /// Keyed hash of the address it goes to.
    pub email_tag: String,
}

impl Sale {
    /// One of the mails.
    #[must_use]
    pub const fn letter(&self, letter: Letter) -> &Mail {
        match letter {
            Letter::Verdict => &self.mail,
            Letter::SilentDrop => &self.notice,
            Letter::Divergence => &self.divergence,
            Letter::Refund => &self.refund_letter,
        }
    }

    pub(super) const fn letter_mut(&mut self, letter: Letter) -> &mut Mail {
        match letter {
            Letter::Verdict => &mut self.mail,
            Letter::SilentDrop => &mut self.notice,
            Letter::Divergence => &mut self.divergence,
            Letter::Refund => &mut self.refund_letter,
        }
    }

    /// Takes the right to deliver a mail until `now + lease`. What earlier attempts left is kept. Nothing is sent
    /// to a customer whose money went back but the letter that says so, and a letter whose verdict does not stand waits.
    pub fn claim_mail(&mut self, letter: Letter, owner: &str, now: Timestamp, lease: Duration) -> Claim {
        if !self.may_write(letter) {
            return Claim::Done;
        }
        if !self.may_send(letter) {
            return Claim::Unready;
        }
        let mail = self.letter_mut(letter);
        let progress = match mail {
            Mail::NotOrdered | Mail::Ordered => Progress::default(),
            Mail::Sending { lease_until, .. } if *lease_until > now => return Claim::Busy(*lease_until),
            Mail::Retrying { due, .. } if *due > now => return Claim::NotYet(*due),
            Mail::Sending { progress, .. } | Mail::Retrying { progress, .. } => progress.clone(),
            Mail::Sent { .. } | Mail::NoAddress | Mail::Held | Mail::Dead { .. } | Mail::Unknown { .. } => {
                return Claim::Done;
            }
        };
        *mail = Mail::Sending { owner: owner.to_owned(), lease_until: now.plus(lease), progress };
        Claim::Granted
    }

    /// What the attempts so far have left, if `by` has the right to deliver.
    #[must_use]
    pub fn delivering(&self, letter: Letter, by: &str) -> Option<&Progress> {
        match self.letter(letter) {
            Mail::Sending { owner, progress, .. } if owner == by => Some(progress),
            _ => None,
        }
    }

    pub(super) fn require_delivery(
        &mut self,
        letter: Letter,
        by: &str,
        to: &'static str,
    ) -> Result<&mut Progress, Refused> {
        let refused = self.refuse_mail(letter, to);
        match self.letter_mut(letter) {
            Mail::Sending { owner, progress, .. } if owner == by => Ok(progress),
            _ => Err(refused),
        }
    }

    /// Whether the money is where the letter says: here, or back with the customer.
    const fn may_write(&self, letter: Letter) -> bool {
        match letter {
            Letter::Refund => matches!(self.money, Money::Refunded { .. }) && !self.is_erased(),
            Letter::Verdict | Letter::SilentDrop | Letter::Divergence => self.is_money_kept(),
        }
    }

    /// Whether a letter may go out at this moment: the money is where it says, and the verdict (or the lack of a
    /// question) that it is about stands.
    #[must_use]
    pub const fn may_send(&self, letter: Letter) -> bool {
        let stands = match letter {
            Letter::Verdict | Letter::Divergence => matches!(self.fulfilment, Fulfilment::Ready { .. }),
            Letter::SilentDrop => matches!(self.fulfilment, Fulfilment::Unusable { .. }),
            Letter::Refund => true,
        };
        stands && self.may_write(letter)
    }

    /// Ends the current attempt at once, so that the next delivery of the message need not wait for the lease.
    ///
    /// # Errors
    /// [`Refused`] when the claim was lost.
    pub fn release_mail(&mut self, letter: Letter, by: &str, now: Timestamp) -> Result<Event, Refused> {
        self.require_delivery(letter, by, "released")?;
        if let Mail::Sending { lease_until, .. } = self.letter_mut(letter) {
            *lease_until = now;
        }
        Ok(Event::MailClaimReleased(letter))
    }

    /// Records a draft: only a recorded draft is ever sent.
    ///
    /// # Errors
    /// [`Refused`] when the claim was lost, another draft is recorded, or the letter may not go out any more.
    pub fn mail_drafted(
        &mut self,
        letter: Letter,
        by: &str,
        draft: &Draft,
        rendered: &Rendered,
    ) -> Result<Event, Refused> {
        let may_send = self.may_send(letter);
        let refused = Refused { from: "drafted already, or not to be sent any more", to: "drafted" };
        let progress = self.require_delivery(letter, by, "drafted")?;
        if progress.draft.is_some() || !may_send {
            return Err(refused);
        }
        progress.draft = Some(draft.clone());
        progress.body_hash = Some(rendered.body_hash.clone());
        self.email_tag = Some(rendered.email_tag.clone());
        Ok(Event::MailDrafted(letter))
    }

    /// Ends a delivery: the mailbox accepted the mail.
    ///
    /// # Errors
    /// [`Refused`] when the claim was lost.
    pub fn mail_sent(&mut self, letter: Letter, by: &str, now: Timestamp) -> Result<Event, Refused> {
        let progress = self.require_delivery(letter, by, "sent")?.clone();
        *self.letter_mut(letter) = Mail::Sent { at: now };
        self.chased = 0;
        let is_first = letter == Letter::Verdict && !self.sent_again;
        let waited_ms = is_first.then(|| now.millis_since(self.waiting_since));
        Ok(Event::MailSent { letter, progress, waited_ms })
    }

    /// Ends a delivery that has no address (Email Retry, FM-06).
    ///
    /// # Errors
    /// [`Refused`] when the claim was lost.
    pub fn mail_no_address(&mut self, letter: Letter, by: &str) -> Result<Event, Refused> {
        let progress = self.require_delivery(letter, by, "without an address")?.clone();
        *self.letter_mut(letter) = Mail::NoAddress;
        self.chased = 0;
        Ok(Event::MailNoAddress { letter, progress })
    }

    /// Counts a failed attempt and decides what follows (Email Retry, INV-02, INV-05, INV-08). `rendered` is what the
    /// attempt rendered, if it came that far.
    ///
    /// # Errors
    /// [`Refused`] when the claim was lost.
    pub fn mail_failed(
        &mut self,
        letter: Letter,
        by: &str,
        failure: &Failure,
        rendered: Option<&Rendered>,
        schedule: &MailSchedule,
        now: Timestamp,
    ) -> Result<Event, Refused> {
        let progress = self.require_delivery(letter, by, "retrying")?;
        progress.failures.push(failure.code.clone());
        if let Some(rendered) = rendered {
            progress.body_hash = Some(rendered.body_hash.clone());
        }
        let progress = progress.clone();
        if let Some(rendered) = rendered {
            self.email_tag = Some(rendered.email_tag.clone());
        }
        let next = schedule.next(failure, progress.failures.len(), now);
        let kept = || progress.clone();
        match &next {
            Next::AtOnce => {}
            Next::At(due) => *self.letter_mut(letter) = Mail::Retrying { due: *due, progress: kept() },
            Next::Dead => *self.letter_mut(letter) = Mail::Dead { at: now, progress: kept() },
            Next::Unknown => *self.letter_mut(letter) = Mail::Unknown { at: now },
        }
        Ok(Event::MailFailed { letter, progress, next, detail: failure.detail.clone() })
    }
}
