//! Stripe's reports about the subscriptions of one subscriber, stored by Stripe's object ids. Reports arrive at least
//! once, late and in any order. Of each object the latest state is stored, so that every order of the same reports leads
//! to the same record.
//!
//! An invoice pays for a period. Access lasts until the end of the last period that is paid and not refunded or disputed,
//! and [`RENEWAL_GRACE`] longer while the subscription continues after it (Product Tiers, GAP-2).

mod report;

pub use report::{Bill, BillingChange, BillingReport, SubscriptionState, SubscriptionStatus};

use super::{Access, PaidPlan, RENEWAL_GRACE};
use crate::{
    Timestamp,
    money::{ObjectId, PaymentHistory, PaymentId, PaymentReport},
};

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// One invoice of a subscription.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Invoice {
    /// The period and plan that it bills; unknown while only a refund or a dispute was reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bill: Option<Bill>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    paid_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failed_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    payments: BTreeMap<PaymentId, Payment>,
}

/// Refunds and disputes of an invoice's payment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Payment {
    charged: Option<i64>,
    /// A set, so that the record does not depend on the order of arrival.
    reports: BTreeSet<PaymentReport>,
}

impl Payment {
    /// Stores a report. The daily reconciliation reports the same state of a refund again; the earliest time is stored.
    fn keep(&mut self, report: &PaymentReport) {
        let same = |known: &&PaymentReport| match (known, report) {
            (
                PaymentReport::Refund { id, amount, status, .. },
                PaymentReport::Refund { id: new_id, amount: new_amount, status: new_status, .. },
            ) => (id, amount, status) == (new_id, new_amount, new_status),
            (known, new) => *known == new,
        };
        match self.reports.iter().find(same).cloned() {
            Some(known) if *report < known => {
                self.reports.remove(&known);
                self.reports.insert(report.clone());
            }
            Some(_) => {}
            None => {
                self.reports.insert(report.clone());
            }
        }
    }

    /// Whether the payment was refunded in full or is held by a dispute.
    fn is_gone(&self) -> bool {
        let mut history = PaymentHistory::new();
        for report in &self.reports {
            let _: crate::money::ReportEffect = history.record_report(report, self.charged);
        }
        history.returned(self.charged).whole || history.is_taken()
    }
}

impl Invoice {
    fn is_gone(&self) -> bool {
        self.payments.values().any(Payment::is_gone)
    }

    /// The period and plan that it bills, if it is paid.
    fn paid(&self) -> Option<&Bill> {
        self.bill.as_ref().filter(|_| self.paid_at.is_some())
    }
}

/// Stripe's reports about the subscriptions of one subscriber.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Billing {
    #[serde(default)]
    subscriptions: BTreeMap<ObjectId, SubscriptionState>,
    #[serde(default)]
    invoices: BTreeMap<ObjectId, Invoice>,
}

/// The time until which a subscription is paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Reach {
    plan: PaidPlan,
    paid_until: Timestamp,
    access_until: Timestamp,
}

impl Billing {
    /// Stores a report. Returns `None` if it adds nothing to the record.
    pub fn record_report(&mut self, report: &BillingReport) -> Option<BillingChange> {
        match report {
            BillingReport::Subscription { id, state } => {
                let known = self.subscriptions.get(id);
                if known.is_some_and(|known| known.order() >= state.order()) {
                    return None;
                }
                let change = BillingChange::between(known, state);
                self.subscriptions.insert(id.clone(), state.clone());
                Some(change)
            }
            BillingReport::InvoicePaid { id, bill, at } => {
                let invoice = self.invoices.entry(id.clone()).or_default();
                let before = (invoice.bill.clone(), invoice.paid_at);
                invoice.bill = invoice.bill.take().max(Some(bill.clone()));
                invoice.paid_at = Some(invoice.paid_at.map_or(*at, |known| known.min(*at)));
                let is_new = before.1.is_none();
                let change = if is_new { BillingChange::Paid } else { BillingChange::Detail };
                (before != (invoice.bill.clone(), invoice.paid_at)).then_some(change)
            }
            BillingReport::InvoiceFailed { id, bill, at } => {
                let invoice = self.invoices.entry(id.clone()).or_default();
                let before = (invoice.bill.clone(), invoice.failed_at);
                invoice.bill = invoice.bill.take().max(Some(bill.clone()));
                invoice.failed_at = invoice.failed_at.max(Some(*at));
                let is_new = before.1.is_none() && invoice.paid_at.is_none();
                let change = if is_new { BillingChange::PaymentFailed } else { BillingChange::Detail };
                (before != (invoice.bill.clone(), invoice.failed_at)).then_some(change)
            }
            BillingReport::Payment { invoice, payment, charged, report } => {
                let invoice = self.invoices.entry(invoice.clone()).or_default();
                let (was_gone, before) = (invoice.is_gone(), invoice.payments.get(payment).cloned());
                let kept = invoice.payments.entry(payment.clone()).or_default();
                kept.charged = kept.charged.max(*charged);
                kept.keep(report);
                let is_news = before.as_ref() != Some(kept);
                is_news.then(|| match (was_gone, invoice.is_gone()) {
                    (false, true) => BillingChange::MoneyGone,
                    (true, false) => BillingChange::MoneyBack,
                    _ => BillingChange::Detail,
                })
            }
        }
    }

    /// The subscriber's access now.
    #[must_use]
    pub fn access(&self, now: Timestamp) -> Access {
        let reaches = self.ids().into_iter().filter_map(|id| self.reach(id));
        let best = reaches.filter(|reach| reach.access_until > now).max();
        best.map_or_else(Access::default, |reach| Access {
            plan: reach.plan.into(),
            paid_until: Some(reach.paid_until),
        })
    }

    /// The end of the last period that is paid and not refunded or disputed, with the grace.
    #[must_use]
    pub fn access_until(&self) -> Option<Timestamp> {
        self.ids().into_iter().filter_map(|id| self.reach(id)).map(|reach| reach.access_until).max()
    }

    /// The subscriptions that Stripe will charge again, with their latest state.
    pub fn going_on(&self) -> impl Iterator<Item = (&ObjectId, &SubscriptionState)> {
        self.subscriptions.iter().filter(|(_, state)| state.goes_on())
    }

    /// Every reported subscription.
    #[must_use]
    pub const fn subscriptions(&self) -> &BTreeMap<ObjectId, SubscriptionState> {
        &self.subscriptions
    }

    /// Stripe's customer id of the newest subscription.
    #[must_use]
    pub fn customer(&self) -> Option<&ObjectId> {
        self.subscriptions.values().max_by_key(|state| (state.goes_on(), state.at)).map(|state| &state.customer)
    }

    /// How many invoices were paid, and how many of these were refunded in full or are disputed.
    #[must_use]
    pub fn paid_invoices(&self) -> (usize, usize) {
        let paid = || self.invoices.values().filter(|invoice| invoice.paid().is_some());
        (paid().count(), paid().filter(|invoice| invoice.is_gone()).count())
    }

    /// Whether the payment of an invoice failed, is still due, and the invoice's subscription is live. An invoice does
    /// not count once a later period of its subscription is paid, because no report says that an operator has voided
    /// it.
    #[must_use]
    pub fn has_failed_payment(&self) -> bool {
        let is_paid_after = |bill: &Bill| {
            let mut paid = self.invoices.values().filter_map(Invoice::paid);
            paid.any(|paid| paid.subscription == bill.subscription && paid.until >= bill.until)
        };
        let waits = |invoice: &Invoice| {
            let is_unpaid = invoice.failed_at.is_some() && invoice.paid_at.is_none();
            is_unpaid && !invoice.bill.as_ref().is_some_and(is_paid_after)
        };
        let of_live = |invoice: &Invoice| {
            let subscription = invoice.bill.as_ref().map(|bill| &bill.subscription);
            subscription.and_then(|id| self.subscriptions.get(id)).is_some_and(|state| state.status.is_live())
        };
        self.invoices.values().any(|invoice| waits(invoice) && of_live(invoice))
    }

    /// The ids of all subscriptions and of all invoices' subscriptions.
    fn ids(&self) -> BTreeSet<&ObjectId> {
        let billed = self.invoices.values().filter_map(|invoice| Some(&invoice.bill.as_ref()?.subscription));
        self.subscriptions.keys().chain(billed).collect()
    }

    /// The time until which a subscription is paid, if any payment remains. A paid period lasts until its end even after
    /// a cancellation. A subscription that is canceled in a later period is charged for that one, too: Stripe sends the
    /// invoice of a new period about an hour after it began. If the last payment was refunded, the period before it gets
    /// no grace.
    fn reach(&self, id: &ObjectId) -> Option<Reach> {
        let paid = || {
            let of_this = self.invoices.values().filter_map(|invoice| Some((invoice.paid()?, invoice)));
            of_this.filter(|(bill, _)| bill.subscription == *id)
        };
        let last = paid().map(|(bill, _)| bill.until).max()?;
        let kept = paid().filter(|(_, invoice)| !invoice.is_gone()).map(|(bill, _)| bill);
        let kept = kept.max_by_key(|bill| (bill.until, bill.plan))?;
        let goes_on = |state: &SubscriptionState| state.goes_on_after(kept.until);
        let is_renewed = kept.until == last && self.subscriptions.get(id).is_some_and(goes_on);
        let access_until = if is_renewed { kept.until.plus(RENEWAL_GRACE) } else { kept.until };
        Some(Reach { plan: kept.plan, paid_until: kept.until, access_until })
    }
}

#[cfg(test)]
mod tests;
