//! Stripe's reports about a subscription, its invoices and their payments.

use crate::{
    Timestamp,
    chat::PaidPlan,
    money::{ObjectId, PaymentId, PaymentReport},
};
use serde::{Deserialize, Serialize};

crate::enum_with_words! {
    /// A subscription's status, in Stripe's words. Of two reports with the same second, the one with the later status
    /// in this order counts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SubscriptionStatus {
        /// The first payment is pending.
        Incomplete = "incomplete",
        /// A free trial. We offer none.
        Trialing = "trialing",
        /// It is paid.
        Active = "active",
        /// A payment failed, and Stripe retries it.
        PastDue = "past_due",
        /// Stripe has stopped retrying the payment.
        Unpaid = "unpaid",
        /// It is paused.
        Paused = "paused",
        /// The first payment was not made in time.
        IncompleteExpired = "incomplete_expired",
        /// It has ended.
        Canceled = "canceled",
    }
    /// The status in Stripe's words.
    pub const fn as_str;
    /// Every status, in this order.
    const ALL;
}

impl SubscriptionStatus {
    /// Whether the status is final.
    #[must_use]
    pub const fn has_ended(self) -> bool {
        matches!(self, Self::IncompleteExpired | Self::Canceled)
    }

    /// Whether the period is paid, or Stripe still retries its payment.
    #[must_use]
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Trialing | Self::Active | Self::PastDue)
    }

    /// Parses a status in Stripe's words.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// A subscription's state at the time of a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionState {
    /// Stripe's customer.
    pub customer: ObjectId,
    /// The subscribed plan.
    pub plan: PaidPlan,
    /// The status.
    pub status: SubscriptionStatus,
    /// When it ends or has ended, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<Timestamp>,
    /// The time of the report, by Stripe's clock.
    pub at: Timestamp,
}

impl SubscriptionState {
    /// The sort key of a subscription's states, oldest first. The order is total, so that every order of arrival leads
    /// to the same state. A final state sorts last, even if a report with a later time is not final.
    pub(super) fn order(&self) -> impl Ord + '_ {
        (self.status.has_ended(), self.at, self.status, self.ends_at, self.plan, &self.customer)
    }

    /// Whether it will be charged again.
    #[must_use]
    pub const fn goes_on(&self) -> bool {
        self.status.is_live() && self.ends_at.is_none()
    }

    /// Whether it is charged for a period that begins then.
    pub(super) fn goes_on_after(&self, period: Timestamp) -> bool {
        self.status.is_live() && self.ends_at.is_none_or(|end| end > period)
    }
}

/// The period, plan and amount that an invoice bills.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Bill {
    /// The end of the period.
    pub until: Timestamp,
    /// The subscription.
    pub subscription: ObjectId,
    /// The billed plan.
    pub plan: PaidPlan,
    /// In the currency's smallest unit.
    pub amount: i64,
}

/// The state of one of Stripe's objects at the time of a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "object", rename_all = "snake_case")]
pub enum BillingReport {
    /// A subscription began, changed or ended.
    Subscription {
        /// The subscription.
        id: ObjectId,
        /// Its state.
        state: SubscriptionState,
    },
    /// An invoice was paid.
    InvoicePaid {
        /// The invoice.
        id: ObjectId,
        /// Its period, plan and amount.
        bill: Bill,
        /// When it was paid.
        at: Timestamp,
    },
    /// A payment of an invoice failed.
    InvoiceFailed {
        /// The invoice.
        id: ObjectId,
        /// Its period, plan and amount.
        bill: Bill,
        /// When the payment failed.
        at: Timestamp,
    },
    /// An invoice's payment was refunded or disputed.
    Payment {
        /// The invoice.
        invoice: ObjectId,
        /// Its payment.
        payment: PaymentId,
        /// The paid amount, in the currency's smallest unit.
        charged: Option<i64>,
        /// The refund or dispute.
        report: PaymentReport,
    },
}

impl BillingReport {
    /// Stripe's id of the reported object; of a refund or dispute, the invoice's id.
    #[must_use]
    pub const fn id(&self) -> &ObjectId {
        match self {
            Self::Subscription { id, .. } | Self::InvoicePaid { id, .. } | Self::InvoiceFailed { id, .. } => id,
            Self::Payment { invoice, .. } => invoice,
        }
    }
}

/// The change that a report makes to the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BillingChange {
    /// A subscription was reported for the first time.
    Opened,
    /// A subscription will end with its period.
    Ending,
    /// A planned end was withdrawn.
    Resumed,
    /// A subscription has ended.
    Ended,
    /// A subscription's status changed.
    StatusChanged,
    /// A period was paid.
    Paid,
    /// A period's payment failed for the first time.
    PaymentFailed,
    /// A period's payment was refunded in full or is held by a dispute.
    MoneyGone,
    /// A refunded or disputed payment came back to us.
    MoneyBack,
    /// A detail that changes no access by itself.
    Detail,
}

impl BillingChange {
    /// The change when a subscription's state replaces an earlier one.
    pub(super) fn between(before: Option<&SubscriptionState>, now: &SubscriptionState) -> Self {
        let Some(before) = before else { return Self::Opened };
        if now.status.has_ended() != before.status.has_ended() {
            return Self::Ended;
        }
        match (before.ends_at, now.ends_at) {
            (None, Some(_)) => Self::Ending,
            (Some(_), None) => Self::Resumed,
            _ if before.status != now.status => Self::StatusChanged,
            _ => Self::Detail,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [SubscriptionStatus; 8] = SubscriptionStatus::ALL;

    fn state(status: SubscriptionStatus, ends_at: Option<i64>) -> SubscriptionState {
        SubscriptionState {
            customer: ObjectId::parse("cus_1").unwrap(),
            plan: PaidPlan::Chat,
            status,
            ends_at: ends_at.map(Timestamp::from_seconds),
            at: Timestamp::from_seconds(1),
        }
    }

    #[test]
    fn a_status_is_stripes_word_and_says_whether_it_is_live_or_over() {
        assert!(ALL.is_sorted());
        for status in ALL {
            assert_eq!(SubscriptionStatus::parse(status.as_str()), Some(status));
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        }
        assert_eq!(SubscriptionStatus::parse("gone"), None);
        assert_eq!(ALL.map(SubscriptionStatus::has_ended), [false, false, false, false, false, false, true, true]);
        assert_eq!(ALL.map(SubscriptionStatus::is_live), [false, true, true, true, false, false, false, false]);
    }

    #[test]
    fn a_subscription_goes_on_while_it_is_live_and_has_no_end() {
        assert!(state(SubscriptionStatus::Active, None).goes_on());
        assert!(!state(SubscriptionStatus::Active, Some(9)).goes_on());
        assert!(!state(SubscriptionStatus::Unpaid, None).goes_on());
    }

    #[test]
    fn a_change_is_named_by_what_matters_most() {
        use SubscriptionStatus::{Active, Canceled, PastDue};
        let change = |before: &SubscriptionState, now: &SubscriptionState| BillingChange::between(Some(before), now);
        let (active, ending, ended) = (state(Active, None), state(Active, Some(9)), state(Canceled, Some(9)));
        assert_eq!(BillingChange::between(None, &active), BillingChange::Opened);
        assert_eq!(change(&active, &ending), BillingChange::Ending);
        assert_eq!(change(&ending, &active), BillingChange::Resumed);
        assert_eq!(change(&ending, &ended), BillingChange::Ended);
        assert_eq!(change(&active, &state(PastDue, None)), BillingChange::StatusChanged);
        assert_eq!(change(&active, &active), BillingChange::Detail);
        assert_eq!(change(&ending, &state(Active, Some(10))), BillingChange::Detail);
    }
}
