//! The right to be forgotten: what becomes of a sale whose customer asks for it.

use super::{Event, Fulfilment, Refused, Sale};
use crate::{Timestamp, mail::Mail, operator::Operator};
use std::time::Duration;

/// No worker that began before the decision still runs then: Lambda ends every invocation after 15 minutes at the
/// latest. What it wrote meanwhile is removed by then.
pub const ERASURE_SETTLES_AFTER: Duration = Duration::from_secs(15 * 60);

impl Sale {
    /// Ends whatever is pending for good and forgets what the sale knows of its customer. Its money, its tier and its
    /// audit stream stay: they are the books. A field that is added to the sale decides here whether it stays.
    ///
    /// # Errors
    /// [`Refused`] when the sale is erased already, or is the smoke test's, which removes itself.
    pub fn erase(&mut self, operator: &Operator, now: Timestamp) -> Result<Event, Refused> {
        if self.smoke || matches!(self.fulfilment, Fulfilment::Erased { .. }) {
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
            received_at: self.received_at,
            fulfilment: Fulfilment::Erased { at: now, replies, removed_at: None },
            mail: Mail::NotOrdered,
            notice: Mail::NotOrdered,
            divergence: Mail::NotOrdered,
            refund_letter: Mail::NotOrdered,
            money: self.money.clone(),
            payment: self.payment.clone(),
            refund_attempts: self.refund_attempts,
            amount_noted: self.amount_noted,
            regenerated_at: None,
            unavailable_until: None,
            model_wait: None,
            colour: None,
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
            replies: Vec::new(),
            audit: self.audit.clone(),
            outbox: self.outbox.clone(),
            alerts: self.alerts.clone(),
        };
        Ok(Event::Erased(operator.clone()))
    }

    /// Whether the sale is erased, or is about to be.
    #[must_use]
    pub const fn is_erased(&self) -> bool {
        matches!(self.fulfilment, Fulfilment::Erased { .. })
    }

    /// Notes that everything is removed, at a moment when no worker can write anything any more.
    ///
    /// # Errors
    /// [`Refused`] before that moment, when the sale is not to be erased, or when that was noted before.
    pub fn erasure_finished(&mut self, now: Timestamp) -> Result<Event, Refused> {
        let refused = self.refuse("removed");
        match &mut self.fulfilment {
            Fulfilment::Erased { at, replies, removed_at: removed_at @ None }
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
