//! What is left to do about a sale, and when somebody must look: the lists of operators and of the deadlines
//! function. It follows from the sale alone and is saved with it as an index, so no list is ever a scan.

use crate::{
    Sale, Timestamp,
    mail::{Letter, Mail},
    money::Money,
    sale::{ERASURE_SETTLES_AFTER, Fulfilment, NotPaid},
};
use serde::Serialize;
use std::time::Duration;

/// What is left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Machines are at it.
    InFlight,
    /// The content filter holds it: an operator approves, replaces or refunds.
    Review,
    /// Paid without a usable tier or question: an operator tries again with the customer's reply, or refunds.
    Unusable,
    /// The authority gate lets nobody answer it: people with the roles for it approve, or the money goes back by itself.
    Declined,
    /// No verdict could be made: an operator tries again or refunds.
    Failed,
    /// A newer block list holds back what was delivered: an operator lets it stand, replaces it on the page, or refunds.
    Finding,
    /// It was ordered, and Stripe shows no payment: an operator gives it away, or it ends with the session.
    NotPaid,
    /// Its mail is a dead letter: an operator redrives it.
    DeadLetter,
    /// Its mail may or may not have gone: an operator looks into the mailbox.
    UnknownMail,
    /// The money is to go back and Stripe has not confirmed.
    Refund,
    /// A refund was canceled or bounced: an operator issues it again, or gives the money back another way.
    RefundFailed,
    /// Stripe waits for an answer to a dispute or an inquiry: an operator gives it there.
    Dispute,
    /// The customer has written back: an operator reads it and does what it asks for.
    Reply,
    /// The customer asked to be forgotten: what is kept is removed once more when no worker can write any more.
    Erasure,
}

impl Work {
    /// Every kind, in the order in which they are looked at: what concerns money comes first.
    pub const ALL: [Self; 14] = [
        Self::Refund,
        Self::RefundFailed,
        Self::Dispute,
        Self::Erasure,
        Self::Review,
        Self::Declined,
        Self::Reply,
        Self::Unusable,
        Self::Failed,
        Self::NotPaid,
        Self::DeadLetter,
        Self::UnknownMail,
        Self::Finding,
        Self::InFlight,
    ];

    /// What only a human can end.
    pub const FOR_HUMANS: [Self; 11] = [
        Self::RefundFailed,
        Self::Dispute,
        Self::Review,
        Self::Declined,
        Self::Reply,
        Self::Unusable,
        Self::Failed,
        Self::NotPaid,
        Self::DeadLetter,
        Self::UnknownMail,
        Self::Finding,
    ];

    /// Its name in the index and in lists.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InFlight => "in_flight",
            Self::Review => "review",
            Self::Unusable => "unusable",
            Self::Declined => "declined",
            Self::Failed => "failed",
            Self::NotPaid => "not_paid",
            Self::Finding => "finding",
            Self::DeadLetter => "dead_letter",
            Self::UnknownMail => "unknown_mail",
            Self::Refund => "refund",
            Self::RefundFailed => "refund_failed",
            Self::Dispute => "dispute",
            Self::Reply => "reply",
            Self::Erasure => "erasure",
        }
    }

    /// How long it may lie before somebody is reminded, and between two reminders.
    const fn patience(self) -> Duration {
        Duration::from_secs(match self {
            // Longer than the longest lease and the longest visibility time-out.
            Self::InFlight => 20 * 60,
            Self::Refund => 10 * 60,
            Self::Erasure => return ERASURE_SETTLES_AFTER,
            // Content filter GAP-J: 24 h. A sender is promised a response within 24 h (Inbox Watch).
            Self::Review
            | Self::Declined
            | Self::Failed
            | Self::NotPaid
            | Self::Finding
            | Self::DeadLetter
            | Self::UnknownMail
            | Self::Reply
            | Self::RefundFailed
            | Self::Dispute => 24 * 3600,
            // Silent Drop, output 3: 72 h without a reply.
            Self::Unusable => 72 * 3600,
        })
    }
}

/// So often are machines sent to publish what a sale could not, before its human work comes first.
const PUBLISH_FIRST: u32 = 2;

/// What is left to do, and when somebody must look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OpenWork {
    /// What.
    pub work: Work,
    /// Since when.
    pub since: Timestamp,
    /// When somebody must look.
    pub due: Timestamp,
}

impl Sale {
    /// What is left to do; `None` for a sale that has ended.
    #[must_use]
    pub fn open_work(&self) -> Option<OpenWork> {
        let (work, since) = self.work()?;
        let reminded = self.reminded_at.filter(|at| *at > since).unwrap_or(since);
        let patience = match work {
            // What was sent on its way again, or asked for again, need not be as often.
            Work::InFlight | Work::Refund => work.patience().saturating_mul(1 << self.chased.min(6)),
            // Nobody may let it be answered: the money goes back at once, also after records were published in between.
            Work::Declined
                if (reminded == since || self.chased > 0)
                    && self.declined().is_none_or(|declined| !declined.is_for_humans()) =>
            {
                Duration::ZERO
            }
            _ => work.patience(),
        };
        Some(OpenWork { work, since, due: reminded.plus(patience) })
    }

    /// Whether the sale, as it stands, still sends this letter: now, or once its verdict is there. A letter that it
    /// does not send is nobody's work, however far it came.
    #[must_use]
    pub const fn wants(&self, letter: Letter) -> bool {
        match letter {
            Letter::Verdict | Letter::Divergence => matches!(
                self.fulfilment,
                Fulfilment::Ordered { .. } | Fulfilment::Generating { .. } | Fulfilment::Ready { .. }
            ),
            Letter::SilentDrop => matches!(self.fulfilment, Fulfilment::Unusable { .. }),
            Letter::Refund => !self.refund_letter.is_not_ordered() && self.may_send(letter),
        }
    }

    fn work(&self) -> Option<(Work, Timestamp)> {
        if self.smoke {
            // Its test is over in a minute and has reported its result; only its records are still owed.
            return (!self.outbox.is_empty()).then_some((Work::InFlight, self.changed_at));
        }
        if let Fulfilment::Erased { at, removed_at: None, .. } = &self.fulfilment {
            return Some((Work::Erasure, *at));
        }
        if let Money::RefundAuthorised { at, .. } = &self.money {
            return Some((Work::Refund, *at));
        }
        if self.is_in_flight() {
            return Some((Work::InFlight, self.waits_since()));
        }
        // What a dead worker left unsaid is said first; but a log that cannot be written hides for long nothing that
        // a human has to decide.
        let unpublished = !self.outbox.is_empty() || !self.alerts.is_empty();
        let to_publish = unpublished.then_some((Work::InFlight, self.changed_at));
        if self.chased < PUBLISH_FIRST {
            to_publish.or_else(|| self.for_humans())
        } else {
            self.for_humans().or(to_publish)
        }
    }

    fn for_humans(&self) -> Option<(Work, Timestamp)> {
        if self.is_followup() {
            // Its money is its session's, whose sale is on the lists for it.
            return self.for_humans_about_the_sale();
        }
        if let Money::RefundFailed { at, .. } = &self.money {
            return Some((Work::RefundFailed, *at));
        }
        let to_answer = self.payment.to_answer().map(|dispute| (dispute.status.takes_money(), dispute.at));
        if let Some((true, at)) = to_answer {
            return Some((Work::Dispute, at));
        }
        // An inquiry has taken nothing: what the customer waits for comes first.
        self.for_humans_about_the_sale().or(to_answer.map(|(_, at)| (Work::Dispute, at)))
    }

    fn for_humans_about_the_sale(&self) -> Option<(Work, Timestamp)> {
        let kept = self.money == Money::Kept;
        if let Fulfilment::InReview { at, .. } = &self.fulfilment
            && kept
        {
            // First of all: what it leads to by policy must not wait for a reply to be read.
            return Some((Work::Review, *at));
        }
        if let (Fulfilment::Failed { at, .. }, true) = (&self.fulfilment, kept && self.declined().is_some()) {
            return Some((Work::Declined, *at));
        }
        if let Some(reply) = self.waiting_replies().next() {
            return Some((Work::Reply, reply.at));
        }
        if !kept {
            return self.for_humans_about_mails();
        }
        match &self.fulfilment {
            Fulfilment::Failed { at, .. } => {
                return match self.not_paid {
                    None => Some((Work::Failed, *at)),
                    // Nobody can pay any more: there is nothing to decide.
                    Some(NotPaid::Over) => None,
                    Some(_) => Some((Work::NotPaid, *at)),
                };
            }
            Fulfilment::Unusable { at } => return Some((Work::Unusable, *at)),
            Fulfilment::Ordered { .. }
            | Fulfilment::Generating { .. }
            | Fulfilment::Ready { .. }
            | Fulfilment::InReview { .. }
            | Fulfilment::Erased { .. } => {}
        }
        let finding = self.open_finding().map(|finding| (Work::Finding, finding.at));
        self.for_humans_about_mails().or(finding)
    }

    fn for_humans_about_mails(&self) -> Option<(Work, Timestamp)> {
        let mut wanted = Letter::ALL.into_iter().filter(|letter| self.is_to_send(*letter));
        wanted.find_map(|letter| match self.letter(letter) {
            Mail::Dead { at, .. } => Some((Work::DeadLetter, *at)),
            Mail::Unknown { at } => Some((Work::UnknownMail, *at)),
            _ => None,
        })
    }

    /// Whether the sale still sends this letter, with the money where it is.
    #[must_use]
    pub fn is_to_send(&self, letter: Letter) -> bool {
        self.wants(letter) && (letter == Letter::Refund || self.money == Money::Kept)
    }

    /// Whether machines have something left to make or to send.
    fn is_in_flight(&self) -> bool {
        let mails = Letter::ALL.into_iter().any(|letter| self.is_to_send(letter) && self.letter(letter).is_pending());
        if self.money != Money::Kept {
            return mails;
        }
        mails
            || match &self.fulfilment {
                Fulfilment::Ordered { .. } | Fulfilment::Generating { .. } => true,
                Fulfilment::Ready { archived, .. } => !archived || self.mail == Mail::NotOrdered,
                Fulfilment::Unusable { .. } => self.notice == Mail::NotOrdered,
                Fulfilment::InReview { .. } | Fulfilment::Failed { .. } | Fulfilment::Erased { .. } => false,
            }
    }

    /// Since when what is in flight waits for its end. A message that keeps coming back and changes nothing but its
    /// lease does not move it: a customer waits all the same.
    fn waits_since(&self) -> Timestamp {
        let since = self.refunded_at().unwrap_or(match &self.fulfilment {
            // Nobody need ask before the model may be asked.
            Fulfilment::Ordered { .. } => self.unavailable_until.unwrap_or(self.waiting_since).max(self.waiting_since),
            Fulfilment::Generating { .. } => self.waiting_since,
            Fulfilment::Ready { at, .. }
            | Fulfilment::InReview { at, .. }
            | Fulfilment::Failed { at, .. }
            | Fulfilment::Unusable { at }
            | Fulfilment::Erased { at, .. } => *at,
        });
        let due = Letter::ALL.into_iter().filter_map(|letter| match self.letter(letter) {
            Mail::Retrying { due, .. } => Some(*due),
            _ => None,
        });
        due.fold(since, Timestamp::max)
    }
}

#[cfg(test)]
mod tests;
