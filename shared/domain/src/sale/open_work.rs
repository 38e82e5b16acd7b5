//! The open work of a sale and its due time, for the lists of operators and of the deadlines function. Both follow from
//! the sale alone and are saved with it as an index, so no list needs a scan.
//!
//! The file has more than 300 lines because it decides every kind of open work, in the order of urgency.

use crate::{
    Sale, Timestamp,
    mail::{Letter, Mail},
    money::Money,
    sale::{ERASURE_SETTLES_AFTER, Fulfilment, NotPaid},
};
use serde::Serialize;
use std::time::Duration;

crate::enum_with_words! {
    /// The kinds of open work.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Work {
        /// Functions are working on it.
        InFlight = "in_flight",
        /// The content filter holds it: an operator approves, replaces or refunds.
        Review = "review",
        /// Paid without a usable tier or question: an operator tries again with the customer's reply, or refunds.
        Unusable = "unusable",
        /// The authority gate declines it: people with the required roles approve, or the money goes back
        /// automatically. If the customer has a verdict by mail, people approve or reject it, or an operator refunds
        /// it.
        Declined = "declined",
        /// No verdict could be made: an operator tries again or refunds.
        Failed = "failed",
        /// A newer block list would hold the delivered verdict: an operator dismisses the finding, replaces the verdict
        /// on the page, or refunds.
        Finding = "finding",
        /// It was ordered, and Stripe shows no payment: an operator gives it away, or it ends with the session.
        NotPaid = "not_paid",
        /// Its mail is a dead letter: an operator redrives it.
        DeadLetter = "dead_letter",
        /// Its mail may or may not have been sent: an operator checks the mailbox.
        UnknownMail = "unknown_mail",
        /// A refund is decided, and Stripe has not confirmed it.
        Refund = "refund",
        /// A refund was canceled or bounced: an operator issues it again, or refunds by other means.
        RefundFailed = "refund_failed",
        /// Stripe waits for an answer to a dispute or an inquiry: an operator gives it at Stripe.
        Dispute = "dispute",
        /// The customer has replied to a mail, or one came back: an operator reads and handles the message.
        Reply = "reply",
        /// It was erased before its verdict was delivered, and the money is still here: an operator refunds.
        Owed = "owed",
        /// The customer asked for erasure: the data is removed once more when no worker can still write.
        Erasure = "erasure",
    }
    /// Its name in the index and in lists.
    pub const fn as_str;
}

impl Work {
    /// Every kind, in the order in which the deadlines function handles them: money comes first, then customers who
    /// wait. Where little time is left, it is not used for reminders.
    pub const ALL: [Self; 15] = [
        Self::Refund,
        Self::InFlight,
        Self::RefundFailed,
        Self::Dispute,
        Self::Erasure,
        Self::Review,
        Self::Declined,
        Self::Reply,
        Self::Unusable,
        Self::Failed,
        Self::Owed,
        Self::NotPaid,
        Self::DeadLetter,
        Self::UnknownMail,
        Self::Finding,
    ];

    /// The kinds that only a human can end.
    pub const FOR_HUMANS: [Self; 12] = [
        Self::RefundFailed,
        Self::Dispute,
        Self::Review,
        Self::Declined,
        Self::Reply,
        Self::Unusable,
        Self::Failed,
        Self::Owed,
        Self::NotPaid,
        Self::DeadLetter,
        Self::UnknownMail,
        Self::Finding,
    ];

    /// The time until the work is due, and between two reminders.
    const fn interval(self) -> Duration {
        Duration::from_secs(match self {
            // Longer than the longest lease and the longest visibility time-out.
            Self::InFlight => 20 * 60,
            Self::Refund => 10 * 60,
            Self::Erasure => return ERASURE_SETTLES_AFTER,
            // Content filter GAP-J: 24 h. A sender is promised a response within 24 h (Inbox Watch).
            Self::Review
            | Self::Declined
            | Self::Failed
            | Self::Owed
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

/// The number of attempts to publish a sale's records before its work for a human takes precedence.
const PUBLISH_FIRST: u32 = 2;

/// Open work and its due time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OpenWork {
    /// The kind of work.
    pub work: Work,
    /// Since when it is open.
    pub since: Timestamp,
    /// When it is due.
    pub due: Timestamp,
}

impl Sale {
    /// The open work; `None` for a sale that has ended.
    #[must_use]
    pub fn open_work(&self) -> Option<OpenWork> {
        let (work, since) = self.work()?;
        let reminded = self.reminded_at.filter(|at| *at > since).unwrap_or(since);
        let due = match work {
            // The time doubles with each restart or request.
            Work::InFlight | Work::Refund => reminded.plus(work.interval().saturating_mul(1 << self.chased.min(6))),
            // Without people who may approve, the money goes back at once, even if records were published in between.
            Work::Declined
                if (reminded == since || self.chased > 0)
                    && self.declined().is_none_or(|declined| !declined.is_for_humans()) =>
            {
                reminded
            }
            // The customer is promised an end within this time. Operators are not reminded before it is over, so an
            // earlier time is that of a chase, which published records, and moves nothing.
            _ => {
                let first = since.plus(work.interval());
                self.reminded_at.filter(|at| *at >= first).map_or(first, |at| at.plus(work.interval()))
            }
        };
        Some(OpenWork { work, since, due })
    }

    /// When the policy gives back the money of a declined question that people may still approve. Approvals do not
    /// move it. `None` if no policy refunds the sale.
    #[must_use]
    pub fn declined_refund_due(&self) -> Option<Timestamp> {
        let Fulfilment::Failed { at, .. } = &self.fulfilment else { return None };
        let is_refunded = self.is_declined_and_kept() && self.may_be_refunded_by_policy();
        is_refunded.then(|| at.plus(Work::Declined.interval()))
    }

    /// Whether the sale in its state still needs this letter: now, or once its verdict is ready. A letter that it does
    /// not need is no work, whatever the letter's state.
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
            // The smoke test ends within a minute and has reported its result; only its records are still missing.
            return (!self.outbox().is_empty()).then_some((Work::InFlight, self.changed_at));
        }
        if let Fulfilment::Erased { at, removed_at: None, .. } = &self.fulfilment {
            return Some((Work::Erasure, *at));
        }
        if let Money::RefundAuthorised { at, .. } = &self.money {
            return Some((Work::Refund, *at));
        }
        // The refund of a declined question does not wait for the mail with sources of help.
        if self.is_in_flight() && !self.is_declined_and_kept() {
            return Some((Work::InFlight, self.waits_since()));
        }
        // Records and alerts that a crashed worker left are published first; but a failing log must not hide work for a
        // human for long.
        let to_publish = (!self.trail.is_published()).then_some((Work::InFlight, self.changed_at));
        if self.chased < PUBLISH_FIRST {
            to_publish.or_else(|| self.for_humans())
        } else {
            self.for_humans().or(to_publish)
        }
    }

    fn for_humans(&self) -> Option<(Work, Timestamp)> {
        if self.is_followup() {
            // The money belongs to its session, whose sale is on the lists for it.
            return self.for_humans_about_the_sale();
        }
        if let Money::RefundFailed { at, .. } = &self.money {
            return Some((Work::RefundFailed, *at));
        }
        let to_answer = self.payment.to_answer().map(|dispute| (dispute.status.takes_money(), dispute.at));
        if let Some((true, at)) = to_answer {
            return Some((Work::Dispute, at));
        }
        // An inquiry has taken no money, so work that the customer waits for comes first.
        self.for_humans_about_the_sale().or(to_answer.map(|(_, at)| (Work::Dispute, at)))
    }

    fn for_humans_about_the_sale(&self) -> Option<(Work, Timestamp)> {
        let kept = self.money == Money::Kept;
        if let Fulfilment::InReview { at, .. } = &self.fulfilment
            && kept
        {
            // This comes first: the refund by policy must not wait until a reply is read.
            return Some((Work::Review, *at));
        }
        if let (Fulfilment::Failed { at, .. }, true) = (&self.fulfilment, self.is_declined_and_kept()) {
            return Some((Work::Declined, *at));
        }
        if let Some(reply) = self.waiting_replies().next() {
            return Some((Work::Reply, reply.at));
        }
        if !kept {
            return self.for_humans_about_mails();
        }
        match &self.fulfilment {
            Fulfilment::Failed { .. } if self.is_declined_for_good() => {}
            Fulfilment::Failed { at, .. } => {
                return match self.not_paid {
                    None => Some((Work::Failed, *at)),
                    // The session can no longer be paid: there is nothing to decide.
                    Some(NotPaid::Over) => None,
                    Some(_) => Some((Work::NotPaid, *at)),
                };
            }
            Fulfilment::Unusable { at } => return Some((Work::Unusable, *at)),
            Fulfilment::Erased { at, owed: true, .. } => return Some((Work::Owed, *at)),
            Fulfilment::Ordered { .. }
            | Fulfilment::Generating { .. }
            | Fulfilment::Ready { .. }
            | Fulfilment::InReview { .. }
            | Fulfilment::Erased { .. } => {}
        }
        let finding = self.open_finding().map(|finding| (Work::Finding, finding.at));
        self.for_humans_about_mails().or(finding)
    }

    /// Whether the question was declined and its payment is still here. The payment goes back unless people approve the
    /// question. If no policy may refund it, the people who may approve or an operator decide about it. No mail with
    /// sources of help waits for their decision: no role may approve a question with a possible disclosure of self-harm.
    pub(super) fn is_declined_and_kept(&self) -> bool {
        self.is_money_kept() && self.declined().is_some() && !self.is_declined_for_good()
    }

    fn for_humans_about_mails(&self) -> Option<(Work, Timestamp)> {
        let mut wanted = Letter::ALL.into_iter().filter(|letter| self.is_to_send(*letter));
        wanted.find_map(|letter| match self.letter(letter) {
            Mail::Dead { at, .. } => Some((Work::DeadLetter, *at)),
            Mail::Unknown { at } => Some((Work::UnknownMail, *at)),
            _ => None,
        })
    }

    /// Whether the sale still has to send this letter, in the current state of the money.
    #[must_use]
    pub fn is_to_send(&self, letter: Letter) -> bool {
        self.wants(letter) && (letter == Letter::Refund || self.money == Money::Kept)
    }

    /// Whether functions have work left.
    fn is_in_flight(&self) -> bool {
        let mails = Letter::ALL.into_iter().any(|letter| self.is_to_send(letter) && self.letter(letter).is_pending());
        if self.money != Money::Kept {
            return mails;
        }
        mails
            || match &self.fulfilment {
                Fulfilment::Ordered { .. } | Fulfilment::Generating { .. } => true,
                Fulfilment::Ready { .. } => self.is_undispatched(),
                // A drop that is not open is not announced: its customer has the verdict, or a human has the reply.
                Fulfilment::Unusable { .. } => self.is_drop_open(),
                Fulfilment::InReview { .. } | Fulfilment::Failed { .. } | Fulfilment::Erased { .. } => false,
            }
    }

    /// The time since which the automatic work is pending. Repeated deliveries of a message that change only the lease
    /// do not move it, because the customer is still waiting.
    fn waits_since(&self) -> Timestamp {
        let since = self.refunded_at().unwrap_or(match &self.fulfilment {
            // While the model must not be called, no attempt is due.
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
