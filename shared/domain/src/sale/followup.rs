//! The follow-up that a Strategy Session includes: a sale of its own, with the session that paid for it as its parent
//! (infra/decisions/followup.md).

use super::{Event, Fulfilment, MAX_RECORDED_DECLINES, Part, Refused, Sale};
use crate::{Tier, Timestamp, message::OrderedBy};
use serde_json::Value;

impl Sale {
    /// A newly ordered sale for the follow-up that this sale includes. It has Stripe's reports about the payment so
    /// far, because later reports come to both.
    #[must_use]
    pub fn ordered_followup(&self, now: Timestamp) -> Self {
        Self { payment: self.payment.clone(), ..Self::ordered(self.session_id.followup(), now) }
    }

    /// Whether this is the sale of a follow-up: its text is a submission, and its money is that of its session.
    #[must_use]
    pub fn is_followup(&self) -> bool {
        self.session_id.is_followup()
    }

    /// Whether the customer may order the follow-up now: the tier includes one, its verdict is ready, and the money is
    /// kept. The follow-up's own sale shows whether it was used.
    #[must_use]
    pub fn offers_followup(&self) -> bool {
        self.tier == Some(Tier::Strategy)
            && !self.is_followup()
            && !self.smoke
            && self.is_money_kept()
            && matches!(self.fulfilment, Fulfilment::Ready { .. })
    }

    /// Whether the follow-up that this sale includes stops with it: its verdict is neither made nor sent while the money
    /// is gone or about to go, or once the sale is erased.
    #[must_use]
    pub const fn stops_followup(&self) -> bool {
        !self.is_money_kept() || self.is_erased()
    }

    /// Counts a follow-up that the authority gate declines before it is ordered. It uses nothing. `evaluation` is the
    /// gate's, in the form of its record.
    ///
    /// # Errors
    /// [`Refused`] after [`MAX_RECORDED_DECLINES`]: later ones are not recorded.
    pub fn decline_followup(&mut self, ordered_by: OrderedBy, evaluation: Value) -> Result<Event, Refused> {
        if self.followups_declined >= MAX_RECORDED_DECLINES {
            return Err(Refused { part: Part::Declines, from: "full", to: "recorded as declined" });
        }
        self.followups_declined += 1;
        Ok(Event::FollowupDeclined { ordered_by, evaluation })
    }
}
