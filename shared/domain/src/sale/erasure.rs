//! The right to be forgotten: erases a sale at its customer's request.

use super::{Event, Fulfilment, Refused, Sale};
use crate::{Timestamp, mail::Mail, operator::Operator};
use std::{collections::BTreeSet, time::Duration};

/// After this time no worker that began before the decision is still running, because Lambda ends every invocation
/// after at most 15 minutes. Data that such a worker wrote is then removed.
pub const ERASURE_SETTLES_AFTER: Duration = Duration::from_secs(15 * 60);

impl Sale {
    /// Whether its customer has paid, has no verdict, and no refund is decided.
    #[must_use]
    pub fn is_owed(&self) -> bool {
        self.is_money_kept() && self.is_undelivered()
    }

    /// Whether it was paid and not delivered, whatever became of the money since. A follow-up has no money of its own,
    /// and a verdict that is given away was not paid.
    fn is_undelivered(&self) -> bool {
        match self.fulfilment {
            Fulfilment::Ready { .. } => false,
            Fulfilment::Erased { owed, .. } => owed,
            _ => self.not_paid().is_none() && !self.given && !self.is_served(),
        }
    }

    /// Ends all pending work permanently and removes the customer's data from the sale. Its money, its tier and its
    /// audit stream stay, because they are the books. For each field of the sale, this function decides whether it
    /// stays.
    ///
    /// # Errors
    /// [`Refused`] when the sale is erased already, when it is a smoke test's (which removes itself), and when it may
    /// still be paid: a payment for an erased sale appears on no list.
    pub fn erase(&mut self, operator: &Operator, now: Timestamp) -> Result<Event, Refused> {
        if self.smoke || self.may_still_be_paid() || matches!(self.fulfilment, Fulfilment::Erased { .. }) {
            return Err(self.refuse("erased"));
        }
        let replies = self.replies.iter().map(|reply| reply.message.clone()).collect();
        *self = Self {
            session_id: self.session_id.clone(),
            smoke: false,
            tier: self.tier,
            query_hash: None,
            verdict_hash: None,
            email_tag: None,
            locale: None,
            received_at: self.received_at,
            // Whatever the state of the money: a dispute that is won later gives it back to us.
            fulfilment: Fulfilment::Erased { at: now, replies, removed_at: None, owed: self.is_undelivered() },
            mail: Mail::NotOrdered,
            notice: Mail::NotOrdered,
            divergence: Mail::NotOrdered,
            refund_letter: Mail::NotOrdered,
            money: self.money.clone(),
            payment: self.payment.clone(),
            refund_attempts: self.refund_attempts,
            refunded_by_hand: self.refunded_by_hand,
            amount_noted: self.amount_noted,
            regenerated_at: None,
            unavailable_until: None,
            model_wait: None,
            colour: None,
            page_colour: None,
            not_paid: None,
            given: false,
            finding: None,
            sent_again: self.sent_again,
            declined: None,
            drop_recorded: self.drop_recorded,
            drop_alerted: self.drop_alerted,
            resubmitted: false,
            waiting_since: now,
            changed_at: now,
            reminded_at: None,
            chased: 0,
            retrievals: 0,
            filtered_by: BTreeSet::new(),
            followups_declined: self.followups_declined,
            replies: Vec::new(),
            trail: self.trail.clone(),
        };
        Ok(Event::Erased(operator.clone()))
    }

    /// Whether the sale is erased, or its erasure is decided.
    #[must_use]
    pub const fn is_erased(&self) -> bool {
        matches!(self.fulfilment, Fulfilment::Erased { .. })
    }

    /// Records that all data is removed, at a time when no worker can still write.
    ///
    /// # Errors
    /// [`Refused`] before that time, when the sale is not to be erased, or when it was recorded before.
    pub fn erasure_finished(&mut self, now: Timestamp) -> Result<Event, Refused> {
        let refused = self.refuse("removed");
        match &mut self.fulfilment {
            Fulfilment::Erased { at, replies, removed_at: removed_at @ None, .. }
                if at.plus(ERASURE_SETTLES_AFTER) <= now =>
            {
                *removed_at = Some(now);
                replies.clear();
                Ok(Event::ErasureFinished)
            }
            _ => Err(refused),
        }
    }
}
