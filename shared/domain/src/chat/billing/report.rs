//! What Stripe tells of a subscription, of its invoices and of their payments.

use crate::{
    Timestamp,
    chat::PaidPlan,
    money::{ObjectId, PaymentId, PaymentReport},
};
use serde::{Deserialize, Serialize};

/// How a subscription stands, in Stripe's words. Where two reports bear the same second, the later in this order counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubscriptionStatus {
    /// Its first payment is awaited.
    Incomplete,
    /// It is tried for nothing. We offer no trial.
    Trialing,
    /// It is paid.
    Active,
    /// A payment failed, and Stripe tries again.
    PastDue,
    /// Stripe has stopped trying.
    Unpaid,
    /// Somebody paused it.
    Paused,
    /// Its first payment never came.
    IncompleteExpired,
    /// It has ended.
    Canceled,
}

impl SubscriptionStatus {
    /// Whether nothing can come after it.
    #[must_use]
    pub const fn has_ended(self) -> bool {
        matches!(self, Self::IncompleteExpired | Self::Canceled)
    }

    /// Whether its period is paid, or Stripe still tries to have it paid.
    #[must_use]
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Trialing | Self::Active | Self::PastDue)
    }

    /// Stripe's word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Incomplete => "incomplete",
            Self::Trialing => "trialing",
            Self::Active => "active",
            Self::PastDue => "past_due",
            Self::Unpaid => "unpaid",
            Self::Paused => "paused",
            Self::IncompleteExpired => "incomplete_expired",
            Self::Canceled => "canceled",
        }
    }

    /// Reads Stripe's word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [
            Self::Incomplete,
            Self::Trialing,
            Self::Active,
            Self::PastDue,
            Self::Unpaid,
            Self::Paused,
            Self::IncompleteExpired,
            Self::Canceled,
        ]
        .into_iter()
        .find(|status| status.as_str() == word)
    }
}

/// A subscription as it stood when Stripe told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionState {
    /// Stripe's customer.
    pub customer: ObjectId,
    /// What is subscribed to.
    pub plan: PaidPlan,
    /// How it stands.
    pub status: SubscriptionStatus,
    /// When it ends or has ended, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<Timestamp>,
    /// When Stripe told of it, by Stripe's clock.
    pub at: Timestamp,
}

impl SubscriptionState {
    /// Which of two states of one subscription is the newer: a total order, so that no two orders of reports differ. An end
    /// is final, also where a report of an earlier time arrives with a later one.
    pub(super) fn order(&self) -> impl Ord + '_ {
        (self.status.has_ended(), self.at, self.status, self.ends_at, self.plan, &self.customer)
    }

    /// Whether it will be charged again.
    #[must_use]
    pub const fn goes_on(&self) -> bool {
        self.status.is_live() && self.ends_at.is_none()
    }
}

/// What an invoice bills.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Bill {
    /// The end of the period.
    pub until: Timestamp,
    /// The subscription.
    pub subscription: ObjectId,
    /// What is subscribed to.
    pub plan: PaidPlan,
    /// In the currency's smallest unit.
    pub amount: i64,
}

/// One object of Stripe's, as it stood when Stripe told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "object", rename_all = "snake_case")]
pub enum BillingReport {
    /// A subscription began, changed or ended.
    Subscription {
        /// Which.
        id: ObjectId,
        /// How it stands.
        state: SubscriptionState,
    },
    /// An invoice was paid.
    InvoicePaid {
        /// Which.
        id: ObjectId,
        /// What it bills.
        bill: Bill,
        /// When.
        at: Timestamp,
    },
    /// A payment of an invoice failed.
    InvoiceFailed {
        /// Which.
        id: ObjectId,
        /// What it bills.
        bill: Bill,
        /// When.
        at: Timestamp,
    },
    /// Money of an invoice was given back, or disputed.
    Payment {
        /// The invoice.
        invoice: ObjectId,
        /// Its payment.
        payment: PaymentId,
        /// What was paid, in the currency's smallest unit.
        charged: Option<i64>,
        /// What is told of it.
        report: PaymentReport,
    },
}

impl BillingReport {
    /// Stripe's id of what is told of.
    #[must_use]
    pub const fn id(&self) -> &ObjectId {
        match self {
            Self::Subscription { id, .. } | Self::InvoicePaid { id, .. } | Self::InvoiceFailed { id, .. } => id,
            Self::Payment { invoice, .. } => invoice,
        }
    }
}

/// What a report changed, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BillingChange {
    /// A subscription was heard of for the first time.
    Opened,
    /// A subscription will end with its period.
    Ending,
    /// It will not, after all.
    Resumed,
    /// It has ended.
    Ended,
    /// Its status is another.
    StatusChanged,
    /// A period was paid.
    Paid,
    /// A period's payment failed for the first time.
    PaymentFailed,
    /// The money of a period went back, or the customer's bank has taken it.
    MoneyGone,
    /// It came back to us.
    MoneyBack,
    /// Something that changes nobody's access by itself.
    Detail,
}

impl BillingChange {
    /// What to call it when a subscription's state replaces another.
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
