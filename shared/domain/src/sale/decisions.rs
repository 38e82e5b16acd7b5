//! The decisions of operators.

use super::{Decision, Event, Fulfilment, NotPaid, Refused, Sale};
use crate::{
    Colour, Timestamp,
    mail::{CHANGED, Letter, Mail, MailOutcome, Progress},
    operator::Operator,
};

/// A verdict that an operator's decision writes to the cache, in the same write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewVerdict<'a> {
    /// Its colour.
    pub colour: Colour,
    /// Its truncated SHA-256.
    pub verdict_hash: &'a str,
}

impl Sale {
    /// Releases a held sale: unchanged, or with a verdict that replaces the held one. `held` is the state that the
    /// operator has examined.
    ///
    /// # Errors
    /// [`Refused`] when the sale is in another state by now, or the money went back; for a replacement also when it is
    /// not a verdict that is held, or the mailbox may have a draft of the held text.
    pub fn free(
        &mut self,
        decision: Decision,
        held: &Fulfilment,
        verdict: Option<NewVerdict<'_>>,
        operator: &Operator,
        now: Timestamp,
    ) -> Result<Event, Refused> {
        if !self.is_money_kept() {
            return Err(self.refuse_money("ready"));
        }
        if self.fulfilment != *held || !matches!(held, Fulfilment::InReview { .. }) {
            return Err(self.refuse("ready"));
        }
        if decision == Decision::Replace && self.notice == Mail::Held {
            return Err(self.refuse_mail(Letter::SilentDrop, "replaced by a verdict"));
        }
        if decision == Decision::Replace && self.may_have_draft(now) {
            return Err(self.refuse_mail(Letter::Verdict, "replaced"));
        }
        let recorded = verdict.map(|new| (new.colour, self.record_verdict(new.colour, new.verdict_hash, now)));
        self.reopen_held(now);
        if verdict.is_some() && decision == Decision::Replace {
            self.forget_rendering(now);
        }
        let (operator, received_at) = (operator.clone(), self.received_at);
        Ok(Event::Freed { decision, operator, received_at, verdict: recorded })
    }

    /// Whether the mailbox has a draft of the verdict's mail, or a worker may be creating one at this moment.
    #[must_use]
    pub fn may_have_draft(&self, now: Timestamp) -> bool {
        let is_claimed = matches!(self.mail, Mail::Sending { lease_until, .. } if lease_until > now);
        is_claimed || self.mail.progress().is_some_and(|progress| progress.draft.is_some())
    }

    /// Reopens a held sale. The verdict function archives a verdict and orders its mail if that is `NotOrdered`.
    fn reopen_held(&mut self, now: Timestamp) {
        self.chased = 0;
        self.fulfilment = Fulfilment::Ready { at: now, archived: false };
        if self.notice == Mail::Held {
            self.notice = Mail::NotOrdered;
            self.fulfilment = Fulfilment::Unusable { at: now };
        }
        if matches!(self.mail, Mail::Held | Mail::Ordered) {
            self.mail = Mail::NotOrdered;
        }
        if self.divergence == Mail::Held {
            self.divergence = Mail::Ordered;
        }
    }

    /// A new text renders to other bytes. Without a draft, nothing of the old text was ever sent.
    fn forget_rendering(&mut self, now: Timestamp) {
        let anew = |progress: &Progress| Progress { body_hash: None, ..progress.clone() };
        self.mail = match &self.mail {
            Mail::Sending { progress, .. } => Mail::Retrying { due: now, progress: anew(progress) },
            Mail::Retrying { due, progress } => Mail::Retrying { due: *due, progress: anew(progress) },
            Mail::Dead { at, progress } => Mail::Dead { at: *at, progress: anew(progress) },
            other => other.clone(),
        };
    }

    /// Orders the verdict of a failed or unusable sale again. `resubmits` is whether an operator hands in the
    /// customer's reply; without one an unusable sale has no question, and a locked question stays declined.
    ///
    /// # Errors
    /// [`Refused`] when the sale is neither failed nor unusable, has no question that may be answered, or the money went
    /// back.
    pub fn reattempt(&mut self, operator: &Operator, resubmits: bool, now: Timestamp) -> Result<Event, Refused> {
        if !self.is_money_kept() {
            return Err(self.refuse_money("ordered"));
        }
        match &self.fulfilment {
            Fulfilment::Failed { .. } if resubmits || self.declined().is_none_or(|declined| !declined.is_locked()) => {}
            Fulfilment::Unusable { .. } if resubmits || self.resubmitted => {}
            _ => return Err(self.refuse("ordered")),
        }
        self.fulfilment = Fulfilment::Ordered { at: now };
        self.waiting_since = now;
        self.resubmitted = self.resubmitted || resubmits;
        if resubmits {
            // The gate's decision was about the other question.
            self.declined = None;
        }
        self.given = self.given || self.not_paid == Some(NotPaid::Free);
        self.not_paid = None;
        self.stop_waiting();
        self.chased = 0;
        // The new attempt uses the customer's replies.
        self.mark_replies_settled(now);
        Ok(Event::Reattempted(operator.clone()))
    }

    /// Moves the dead letters that the sale still has to send back to their first attempt.
    ///
    /// # Errors
    /// [`Refused`] without one, or when the money went back.
    pub fn redrive(&mut self, operator: &Operator, now: Timestamp) -> Result<Event, Refused> {
        let mut letters = Vec::new();
        for letter in Letter::ALL.into_iter().filter(|letter| self.is_to_send(*letter)).collect::<Vec<_>>() {
            if let Mail::Dead { progress, .. } = self.letter(letter) {
                let progress = from_the_start(progress);
                *self.letter_mut(letter) = Mail::Retrying { due: now, progress };
                letters.push(letter);
            }
        }
        if letters.is_empty() {
            let dead = Letter::ALL.into_iter().find(|letter| matches!(self.letter(*letter), Mail::Dead { .. }));
            return Err(match dead {
                Some(letter) => self.refuse_sending(letter, "retrying"),
                None => self.refuse_mail(Letter::Verdict, "retrying"),
            });
        }
        self.chased = 0;
        Ok(Event::Redriven(operator.clone(), letters))
    }

    /// Whether the delivered mail was sent once more.
    #[must_use]
    pub const fn is_sent_again(&self) -> bool {
        self.sent_again
    }

    /// Sends the delivered verdict mail once more at the customer's request, as a new draft with the same text.
    ///
    /// # Errors
    /// [`Refused`] unless it was delivered, was not sent again before, and the money is here.
    pub fn send_again(&mut self, operator: &Operator, now: Timestamp) -> Result<Event, Refused> {
        if !self.is_money_kept() {
            return Err(self.refuse_money("sent again"));
        }
        let is_delivered = matches!(self.mail, Mail::Sent { .. }) && self.is_to_send(Letter::Verdict);
        if !is_delivered || self.sent_again {
            return Err(self.refuse_mail(Letter::Verdict, "sent again"));
        }
        self.sent_again = true;
        self.mail = Mail::Retrying { due: now, progress: Progress::default() };
        self.chased = 0;
        Ok(Event::SentAgain(operator.clone()))
    }

    /// The mails whose outcome is unknown.
    #[must_use]
    pub fn unknown_mails(&self) -> Vec<Letter> {
        Letter::ALL.into_iter().filter(|letter| matches!(self.letter(*letter), Mail::Unknown { .. })).collect()
    }

    /// Records an operator's finding about mails of unknown outcome. A mail that was not sent is sent again with a new
    /// draft, because the old one may no longer exist.
    ///
    /// # Errors
    /// [`Refused`] when there is no such mail, or when it was not sent and the state of the money allows no such mail.
    pub fn settle_mails(&mut self, operator: &Operator, found: MailOutcome, now: Timestamp) -> Result<Event, Refused> {
        let letters = self.unknown_mails();
        if letters.is_empty() {
            return Err(self.refuse_mail(Letter::Verdict, "settled"));
        }
        if found == MailOutcome::NotSent && !letters.iter().any(|letter| self.may_write(*letter)) {
            return Err(self.refuse_money("sent again"));
        }
        for letter in &letters {
            *self.letter_mut(*letter) = match found {
                MailOutcome::Sent => Mail::Sent { at: now },
                MailOutcome::NotSent => Mail::Retrying { due: now, progress: Progress::default() },
            };
        }
        self.order_divergence();
        Ok(Event::MailsSettled(operator.clone(), letters, found))
    }

    /// Records that an operator removes the cached verdict: the page restores it from the archive.
    ///
    /// # Errors
    /// [`Refused`] when the archive does not have it: the customer would get another verdict (Regen Consistency,
    /// invariant 4).
    pub fn remove_from_cache(&self, operator: &Operator) -> Result<Event, Refused> {
        match self.fulfilment {
            Fulfilment::Ready { archived: true, .. } => Ok(Event::CacheRemoved(operator.clone())),
            _ => Err(self.refuse("removed from the cache")),
        }
    }
}

/// The part of the progress that a redrive keeps. A mail that no longer rendered to the bytes of its first attempt may
/// render again, if there is no draft of those bytes: without a recorded draft nothing was ever sent.
fn from_the_start(progress: &Progress) -> Progress {
    let changed = progress.failures.last().is_some_and(|code| code == CHANGED);
    let forget = changed && progress.draft.is_none();
    Progress {
        failures: Vec::new(),
        draft: progress.draft.clone(),
        body_hash: progress.body_hash.clone().filter(|_| !forget),
        ..Progress::default()
    }
}
