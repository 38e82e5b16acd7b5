//! Stripe's reports about a payment, stored by object. Reports come at least once and in any order: for each object the
//! most advanced state is stored, so that the same reports in any order lead to the same history.

use super::report::{DisputeStatus, EarlierChange, ObjectId, PaymentChange, PaymentReport, RefundStatus};
use crate::Timestamp;
use serde::{Deserialize, Serialize};

/// The state of a refund.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refund {
    /// Stripe's id.
    pub id: ObjectId,
    /// In the currency's smallest unit.
    pub amount: Option<i64>,
    /// Its status.
    pub status: RefundStatus,
    /// The time of that status, by Stripe's clock.
    pub at: Timestamp,
}

/// The state of a dispute or an inquiry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispute {
    /// Stripe's id.
    pub id: ObjectId,
    /// Its status.
    pub status: DisputeStatus,
    /// Stripe's deadline for our evidence.
    pub respond_by: Option<Timestamp>,
    /// The time of that status, by Stripe's clock.
    pub at: Timestamp,
}

impl Dispute {
    /// Whether it was stored before ids were stored.
    fn is_unnamed(&self) -> bool {
        self.id == ObjectId::unnamed()
    }
}

/// The refunded part of the charge at Stripe's last report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ChargeSeen {
    returned: i64,
    whole: bool,
    at: Timestamp,
}

/// Stripe's reports about a payment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub struct PaymentHistory {
    #[serde(skip_serializing_if = "Option::is_none")]
    charge: Option<ChargeSeen>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refunds: Vec<Refund>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    disputes: Vec<Dispute>,
}

/// A stored history: by object, or in the earlier form of a list of words.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Words(Vec<EarlierChange>),
    Objects {
        #[serde(default)]
        charge: Option<ChargeSeen>,
        #[serde(default)]
        refunds: Vec<Refund>,
        #[serde(default)]
        disputes: Vec<Dispute>,
    },
}

impl From<Stored> for PaymentHistory {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Objects { charge, refunds, disputes } => Self { charge, refunds, disputes },
            Stored::Words(words) => {
                let mut history = Self::default();
                for word in words {
                    let _: ReportEffect = history.record_report(&word.into(), None);
                }
                history
            }
        }
    }
}

/// The amount that went back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returned {
    /// In the currency's smallest unit, as far as known.
    pub amount: i64,
    /// Whether that is the whole payment.
    pub whole: bool,
}

/// The effect of a report on the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportEffect {
    /// Nothing.
    Nothing,
    /// Details without an effect of their own.
    Detail,
    /// This change.
    Change(PaymentChange),
}

impl PaymentHistory {
    /// A history without reports.
    #[must_use]
    pub const fn new() -> Self {
        Self { charge: None, refunds: Vec::new(), disputes: Vec::new() }
    }

    /// Whether nothing was ever reported.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::new()
    }

    /// The refunds.
    #[must_use]
    pub fn refunds(&self) -> &[Refund] {
        &self.refunds
    }

    /// The disputes and inquiries.
    #[must_use]
    pub fn disputes(&self) -> &[Dispute] {
        &self.disputes
    }

    /// Stores a report. `charged` is the amount paid.
    pub fn record_report(&mut self, report: &PaymentReport, charged: Option<i64>) -> ReportEffect {
        let before = self.clone();
        let word = match report {
            PaymentReport::Charge { returned, whole, at } => {
                let new = ChargeSeen { returned: *returned, whole: *whole, at: *at };
                let order = |seen: &ChargeSeen| (seen.at, seen.whole, seen.returned);
                if self.charge.as_ref().is_none_or(|known| order(&new) > order(known)) {
                    self.charge = Some(new);
                }
                self.growth(&before, charged)
            }
            PaymentReport::Refund { id, amount, status, at } => {
                let is_news = self.record_refund(Refund { id: id.clone(), amount: *amount, status: *status, at: *at });
                if is_news && status.is_void() {
                    Some(PaymentChange::RefundFailed)
                } else {
                    self.growth(&before, charged)
                }
            }
            PaymentReport::Dispute { id, status, respond_by, at } => {
                self.record_dispute(Dispute { id: id.clone(), status: *status, respond_by: *respond_by, at: *at })
            }
        };
        match word {
            Some(word) => ReportEffect::Change(word),
            None if *self == before => ReportEffect::Nothing,
            None => ReportEffect::Detail,
        }
    }

    /// The change, if more went back than in `before`.
    fn growth(&self, before: &Self, charged: Option<i64>) -> Option<PaymentChange> {
        let (was, is) = (before.returned(charged), self.returned(charged));
        if is.whole && !was.whole {
            return Some(PaymentChange::Refunded);
        }
        // A part without an amount is known by its report only.
        let is_first = before.charge.is_none() && self.charge.is_some() && was.amount == 0;
        (!is.whole && (is.amount > was.amount || is_first)).then_some(PaymentChange::PartlyRefunded)
    }

    /// Stores a refund; returns whether it, or its status, is new.
    fn record_refund(&mut self, new: Refund) -> bool {
        let Some(known) = self.refunds.iter_mut().find(|known| known.id == new.id) else {
            self.refunds.push(new);
            return true;
        };
        let is_news = new.status > known.status;
        if is_news {
            *known = new;
        } else if new.status == known.status {
            known.at = known.at.min(new.at);
        }
        is_news
    }

    /// Stores a refund that Stripe's answer to our request shows. Its own report, which may come later, is then known.
    pub(crate) fn record_answer(&mut self, refund: Refund) {
        let _: bool = self.record_refund(refund);
    }

    /// Whether this refund and the others that are not void return less than the payment. A refund of ours returns
    /// all that the others leave, so this one was made in Stripe's dashboard. `false` if an amount is not known.
    #[must_use]
    pub(crate) fn is_part(&self, id: Option<&ObjectId>, charged: Option<i64>) -> bool {
        let amount = self.refunds.iter().find(|refund| Some(&refund.id) == id).and_then(|refund| refund.amount);
        let others = self.refunds.iter().filter(|refund| Some(&refund.id) != id && !refund.status.is_void());
        let others = sum(others.filter_map(|refund| refund.amount));
        amount.zip(charged).is_some_and(|(amount, charged)| amount.saturating_add(others) < charged)
    }

    fn record_dispute(&mut self, new: Dispute) -> Option<PaymentChange> {
        let is_known = self.disputes.iter().any(|known| known.id == new.id);
        // A dispute that was stored without an id is the first one that has an id.
        let unnamed = self.disputes.iter_mut().find(|known| !is_known && known.is_unnamed());
        if let Some(unnamed) = unnamed {
            unnamed.id = new.id.clone();
            let was = unnamed.status;
            if was.stage() == new.status.stage() || matches!(was, DisputeStatus::Won | DisputeStatus::Lost) {
                return None;
            }
            *unnamed = new;
            return Some(word(unnamed.status));
        }
        let Some(known) = self.disputes.iter_mut().find(|known| known.id == new.id) else {
            let word = word(new.status);
            self.disputes.push(new);
            return Some(word);
        };
        let order = |dispute: &Dispute| (dispute.status.stage(), dispute.at, dispute.status);
        if order(&new) <= order(known) {
            return None;
        }
        let changed = (new.status != known.status).then(|| word(new.status));
        let moved = (new.respond_by != known.respond_by).then_some(PaymentChange::DeadlineChanged);
        *known = new;
        changed.or(moved)
    }

    /// The amount that went back: the charge's figure minus later bounces, or the sum of the refunds that arrived.
    #[must_use]
    pub fn returned(&self, charged: Option<i64>) -> Returned {
        let arrived = self.refunds.iter().filter(|refund| refund.status == RefundStatus::Succeeded);
        let mut amount = sum(arrived.filter_map(|refund| refund.amount));
        let mut whole = false;
        if let Some(seen) = &self.charge {
            let bounced = || self.refunds.iter().filter(|refund| refund.status.is_void() && refund.at >= seen.at);
            let then = if seen.whole { charged.unwrap_or(seen.returned) } else { seen.returned };
            // A refund without an amount may have been the whole payment.
            let since = sum(bounced().map(|refund| refund.amount.unwrap_or(i64::MAX)));
            amount = amount.max(then.saturating_sub(since));
            whole = seen.whole && bounced().next().is_none();
        }
        let covered = charged.is_some_and(|charged| charged > 0 && amount >= charged);
        Returned { amount, whole: whole || covered }
    }

    /// Whether the customer or their bank has the money because of a dispute.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        self.disputes.iter().any(|dispute| dispute.status.takes_money())
    }

    /// The dispute, or else the inquiry, that needs our answer.
    #[must_use]
    pub fn to_answer(&self) -> Option<&Dispute> {
        let waiting = self.disputes.iter().filter(|dispute| dispute.status.awaits_answer() && !dispute.is_unnamed());
        waiting.max_by_key(|dispute| (dispute.status.stage(), std::cmp::Reverse(dispute.respond_by)))
    }
}

fn sum(amounts: impl Iterator<Item = i64>) -> i64 {
    amounts.fold(0, i64::saturating_add)
}

/// The change that a new state of a dispute means.
const fn word(status: DisputeStatus) -> PaymentChange {
    match status {
        DisputeStatus::WarningNeedsResponse => PaymentChange::InquiryOpened,
        DisputeStatus::WarningUnderReview => PaymentChange::InquiryAnswered,
        DisputeStatus::WarningClosed => PaymentChange::InquiryClosed,
        DisputeStatus::NeedsResponse => PaymentChange::DisputeOpened,
        DisputeStatus::UnderReview => PaymentChange::DisputeAnswered,
        DisputeStatus::Won => PaymentChange::DisputeWon,
        DisputeStatus::Lost => PaymentChange::DisputeLost,
        DisputeStatus::Prevented => PaymentChange::DisputePrevented,
    }
}

#[cfg(test)]
mod tests;
