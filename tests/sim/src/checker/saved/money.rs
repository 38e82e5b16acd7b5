//! Checks the changes of a sale's money.

use super::{PAYMENT_CHANGE, Step};
use crate::{cast::Afterwards, checker::Checked, rules::Rule};
use domain::{
    money::Money,
    sale::{AuditEntry, Fulfilment},
};

impl Step<'_> {
    /// Money changes only with a record, and by the decision of somebody who may decide it.
    pub(super) fn money(&self, added: &[AuditEntry]) -> Checked {
        let (old, new) = (&self.old.money(), &self.new.money());
        if old == new {
            return Ok(());
        }
        let payment = self.customer.payment_id();
        let back = payment.is_some_and(|payment| {
            let made = self.state.refunds_of(&payment).any(|made| !made.status.is_void());
            // A refund that bounces later had succeeded when Stripe reported it.
            let bounces = self.customer.afterwards == Afterwards::Bounces;
            made || bounces || self.state.given_back.contains(&payment)
        });
        match (old, new) {
            (Money::Kept, Money::RefundAuthorised { authorisation, .. }) => {
                let by_policy = authorisation.is_by_policy();
                let may = if by_policy {
                    // A follow-up has no money of its own.
                    !self.new.is_followup()
                        && (matches!(self.new.fulfilment(), Fulfilment::InReview { .. }) || self.new.declined().is_some())
                } else {
                    self.customer.operated
                };
                Rule::Money.require(may, || "a refund without the right to decide it".to_owned())?;
                Rule::PaidOnly.require(self.customer.paid_at.is_some(), || "a refund of nothing".to_owned())?;
                Self::recorded(added, "\"step\":\"authorised\"")
            }
            (Money::RefundAuthorised { .. }, Money::Refunded { .. }) => {
                Rule::Money.require(back, || "said to be refunded, and is not".to_owned())?;
                Self::recorded(added, "\"step\":\"confirmed\"")
            }
            (Money::RefundFailed { .. }, Money::RefundAuthorised { .. }) => {
                Rule::Money.require(self.customer.operated, || "a machine issues a refund again".to_owned())?;
                Self::recorded(added, "\"step\":\"authorised\"")
            }
            (
                Money::Refunded { .. } | Money::RefundAuthorised { .. } | Money::Disputed { bounced: true, .. },
                Money::RefundFailed { .. },
            ) => Self::recorded(added, PAYMENT_CHANGE),
            // A machine would issue the refund again once the dispute is won.
            (old, Money::Disputed { bounced: false, .. }) if old.has_bounced() => {
                Err(Rule::Money.broken(format!("{old:?} became {new:?}")))
            }
            (_, Money::Refunded { .. }) => {
                Rule::Money.require(back, || "said to be refunded, and is not".to_owned())?;
                Self::recorded(added, PAYMENT_CHANGE)
            }
            (_, Money::Disputed { .. })
            | (Money::Disputed { refund: None, bounced: false, .. }, Money::Kept)
            // A refund that was authorised before the dispute is carried out once the dispute is won.
            | (Money::Disputed { refund: Some(_), bounced: false, .. }, Money::RefundAuthorised { .. }) => {
                Self::recorded(added, PAYMENT_CHANGE)
            }
            _ => Err(Rule::Money.broken(format!("{old:?} became {new:?}"))),
        }
    }
}
