//! The transitions of a mail: claimed, drafted, sent, retried, dead letter. Each transition concerns one letter.

use super::{Claim, Event, Fulfilment, Part, Refused, Sale};
use crate::{
    Timestamp,
    mail::{Draft, Failure, Letter, Mail, MailSchedule, Next, Progress},
    money::Money,
};
use std::time::Duration;

/// The facts about a rendered mail that may be logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// SHA-256 of the mail: every attempt must produce the same bytes (Email Retry, VER-07).
    pub body_hash: String,
    /// The keyed hash of the recipient's address.
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

    /// Claims a mail until `now + lease`, and keeps the progress of earlier attempts. A customer whose money went back
    /// gets only the refund letter; a letter that the sale does not need is never claimed, and a letter waits while the
    /// verdict that it is about is not ready.
    pub fn claim_mail(&mut self, letter: Letter, owner: &str, now: Timestamp, lease: Duration) -> Claim {
        self.claim_letter(letter, owner, now, lease, false)
    }

    /// The same, before the scheduled time, because the mailbox answers again. The schedule stays: if this attempt fails,
    /// it counts for nothing, and the mail waits for its scheduled time.
    pub fn claim_mail_early(&mut self, letter: Letter, owner: &str, now: Timestamp, lease: Duration) -> Claim {
        self.claim_letter(letter, owner, now, lease, true)
    }

    fn claim_letter(&mut self, letter: Letter, owner: &str, now: Timestamp, lease: Duration, early: bool) -> Claim {
        if !self.wants(letter) || !self.may_write(letter) {
            return Claim::Done;
        }
        if !self.may_send(letter) {
            return Claim::Unready;
        }
        let mail = self.letter_mut(letter);
        let resumed =
            |progress: &Progress| Progress { early: progress.early.filter(|due| *due > now), ..progress.clone() };
        let progress = match mail {
            Mail::NotOrdered | Mail::Ordered => Progress::default(),
            Mail::Sending { lease_until, .. } if *lease_until > now => return Claim::Busy(*lease_until),
            Mail::Retrying { due, progress } if *due > now => {
                if !early || !progress.may_go_early(now) {
                    return Claim::NotYet(*due);
                }
                Progress { early: Some(*due), ..progress.clone() }
            }
            // Its worker may have died after the mailbox accepted the draft.
            Mail::Sending { progress, .. } => {
                Progress { may_have_gone: progress.may_have_gone || progress.draft.is_some(), ..resumed(progress) }
            }
            Mail::Retrying { progress, .. } => resumed(progress),
            Mail::Sent { .. } | Mail::NoAddress | Mail::Held | Mail::Dead { .. } | Mail::Unknown { .. } => {
                return Claim::Done;
            }
        };
        *mail = Mail::Sending { owner: owner.to_owned(), lease_until: now.plus(lease), progress };
        Claim::Granted
    }

    /// The progress of the attempts so far, if `by` holds the claim.
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

    /// Whether the money is in the state that the letter requires: kept, or refunded. The mail after a possible
    /// disclosure of self-harm may be written in every state of the money.
    pub(super) const fn may_write(&self, letter: Letter) -> bool {
        match letter {
            Letter::Refund => (matches!(self.money, Money::Refunded { .. }) || self.is_crisis()) && !self.is_erased(),
            Letter::Verdict | Letter::SilentDrop | Letter::Divergence => self.is_money_kept(),
        }
    }

    /// Whether a letter may be sent now: the money is in the required state, and so is the verdict (or the missing
    /// question) that it is about.
    #[must_use]
    pub const fn may_send(&self, letter: Letter) -> bool {
        let is_ready = match letter {
            Letter::Verdict | Letter::Divergence => matches!(self.fulfilment, Fulfilment::Ready { .. }),
            Letter::SilentDrop => matches!(self.fulfilment, Fulfilment::Unusable { .. }),
            Letter::Refund => true,
        };
        is_ready && self.may_write(letter)
    }

    /// Releases the claim at once, so that the next delivery of the message need not wait for the lease to expire.
    ///
    /// # Errors
    /// [`Refused`] when the claim was lost.
    pub fn release_mail(&mut self, letter: Letter, by: &str, now: Timestamp) -> Result<(), Refused> {
        self.require_delivery(letter, by, "released")?;
        if let Mail::Sending { lease_until, .. } = self.letter_mut(letter) {
            *lease_until = now;
        }
        Ok(())
    }

    /// Records a draft: only a recorded draft is ever sent.
    ///
    /// # Errors
    /// [`Refused`] when the claim was lost, another draft is recorded, or the letter must no longer be sent.
    pub fn mail_drafted(
        &mut self,
        letter: Letter,
        by: &str,
        draft: &Draft,
        rendered: &Rendered,
    ) -> Result<Event, Refused> {
        let not_to_send = (!self.may_send(letter)).then(|| self.refuse_sending(letter, "drafted"));
        let progress = self.require_delivery(letter, by, "drafted")?;
        if progress.draft.is_some() {
            return Err(Refused { part: Part::Mail(letter), from: "drafted", to: "drafted" });
        }
        if let Some(refused) = not_to_send {
            return Err(refused);
        }
        progress.draft = Some(draft.clone());
        progress.body_hash = Some(rendered.body_hash.clone());
        self.email_tag = Some(rendered.email_tag.clone());
        if letter == Letter::Verdict && !self.sent_again {
            // The first mail shows what the page shows.
            self.colour = self.page_colour.take().or(self.colour);
        }
        Ok(Event::MailDrafted(letter))
    }

    /// Ends a delivery: the mailbox accepted the mail.
    ///
    /// # Errors
    /// [`Refused`] when the claim was lost.
    pub fn mail_sent(&mut self, letter: Letter, by: &str, now: Timestamp) -> Result<Event, Refused> {
        let progress = self.require_delivery(letter, by, "sent")?.clone();
        *self.letter_mut(letter) = Mail::Sent { at: now };
        self.delivery_ended();
        // A verdict that was regenerated before this mail left is compared with it now.
        self.order_divergence();
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
        self.delivery_ended();
        Ok(Event::MailNoAddress { letter, progress })
    }

    /// A finished mail is progress, so the count of restarts begins anew. While a declined sale waits for its refund, the
    /// mail with sources of help must not reset it: that would postpone the refund.
    fn delivery_ended(&mut self) {
        if !self.is_declined_and_kept() {
            self.chased = 0;
        }
    }

    /// Counts a failed attempt and decides what follows (Email Retry, INV-02, INV-05, INV-08). An early attempt that may
    /// be repeated is not counted. `rendered` is the rendered mail, if the attempt came that far.
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
        let resumes = now.plus(failure.asked.unwrap_or_default());
        progress.failed_at = Some(resumes);
        progress.may_have_gone = failure.may_have_gone;
        let early = progress.early.filter(|_| failure.retriable);
        if early.is_none() {
            progress.failures.push(failure.code.clone());
        }
        if let Some(rendered) = rendered {
            progress.body_hash = Some(rendered.body_hash.clone());
        }
        let progress = progress.clone();
        if let Some(rendered) = rendered {
            self.email_tag = Some(rendered.email_tag.clone());
        }
        let next = match early {
            Some(scheduled) => Next::At(scheduled.max(resumes)),
            None => schedule.next(failure, progress.failures.len(), now),
        };
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
