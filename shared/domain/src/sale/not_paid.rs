//! An order for which Stripe shows no payment: it fails, and ends by a payment, by a human's decision, or when the
//! session can no longer be paid. Functions do not ask Stripe repeatedly.

use super::{Event, Fulfilment, Refused, Sale};
use crate::{CheckoutSession, PaymentStatus, Timestamp};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long after a purchase Stripe's slowest payment method may still pay or fail, with a day for the session.
pub const SLOWEST_PAYMENT: Duration = Duration::from_secs(31 * 24 * 3600);

crate::enum_with_words! {
    /// Stripe's answer about a session that was ordered and is not paid.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum NotPaid {
        /// It is unpaid, and may still be paid.
        Unpaid = "ordered, but Stripe says it is not paid",
        /// Stripe has no such session.
        Unknown = "ordered, but Stripe knows no such session",
        /// It was completed, and there was nothing to pay.
        Free = "completed without a payment",
        /// It expired, is still unknown a day later, or was completed so long ago that its payment has failed: it can
        /// no longer be paid.
        Over = "never paid: the session is over",
    }
    /// The state in words, for the log and for operators.
    pub const fn words;
}

impl Sale {
    /// Stripe's answer, if the sale failed for lack of a payment.
    #[must_use]
    pub const fn not_paid(&self) -> Option<NotPaid> {
        match self.fulfilment {
            Fulfilment::Failed { .. } => self.not_paid,
            _ => None,
        }
    }

    /// Whether it is not paid, and may still be.
    #[must_use]
    pub const fn may_still_be_paid(&self) -> bool {
        matches!(self.not_paid(), Some(NotPaid::Unpaid | NotPaid::Unknown))
    }

    /// Whether an operator gives the verdict away without a payment.
    #[must_use]
    pub const fn is_given(&self) -> bool {
        self.given
    }

    /// Whether a session entitles to the verdict: it is paid, or there was nothing to pay and an operator gives the
    /// verdict away. The follow-up of such a verdict is given away too.
    #[must_use]
    pub fn is_covered_by(&self, session: &CheckoutSession) -> bool {
        match session.payment_status {
            PaymentStatus::Paid => true,
            PaymentStatus::NoPaymentRequired => self.given || self.is_followup(),
            PaymentStatus::Unpaid => false,
        }
    }

    /// Ends a claim, because Stripe shows no payment.
    ///
    /// # Errors
    /// [`Refused`] when the claim was lost.
    pub fn unpaid(&mut self, owner: &str, why: NotPaid, now: Timestamp) -> Result<Event, Refused> {
        let failed = self.fail(owner, None, why.words(), now)?;
        self.not_paid = Some(why);
        Ok(failed)
    }

    /// Ends a sale that can no longer be paid.
    ///
    /// # Errors
    /// [`Refused`] unless it waits for a payment.
    pub fn lapse(&mut self, now: Timestamp) -> Result<Event, Refused> {
        if !self.may_still_be_paid() {
            return Err(self.refuse("never paid"));
        }
        let reason = NotPaid::Over.words().to_owned();
        self.fulfilment = Fulfilment::Failed { reason: reason.clone(), at: now };
        self.not_paid = Some(NotPaid::Over);
        Ok(Event::Failed { reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        SessionId,
        open_work::Work,
        operator::Operator,
        sale::{Claim, Claimant},
    };

    const LEASE: Duration = Duration::from_secs(10);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn not_paid(why: NotPaid) -> Sale {
        let mut sale = Sale::ordered(SessionId::parse("cs_test_1").unwrap(), at(0));
        assert_eq!(sale.claim("a", Claimant::Customer, at(1), LEASE), Claim::Granted);
        sale.unpaid("a", why, at(2)).unwrap();
        sale
    }

    #[test]
    fn it_is_a_humans_until_somebody_pays_or_nobody_can() {
        for why in [NotPaid::Unpaid, NotPaid::Unknown, NotPaid::Free] {
            let sale = not_paid(why);
            assert_eq!(sale.not_paid(), Some(why));
            assert_eq!(sale.open_work().unwrap().work, Work::NotPaid, "nobody chases it");
            // The session was paid: the order about it is handled.
            let mut paid = sale.clone();
            assert_eq!(paid.claim("b", Claimant::Customer, at(3), LEASE), Claim::Granted);
            assert_eq!(paid.not_paid(), None);
            let mut page = sale.clone();
            assert!(page.needs_order(at(3)) && page.order_again(at(3)).is_ok() && page.not_paid().is_none());
            let mut over = sale;
            assert_eq!(over.lapse(at(4)).is_ok(), why != NotPaid::Free, "what was completed does not expire");
        }
        let mut over = not_paid(NotPaid::Unpaid);
        over.lapse(at(4)).unwrap();
        assert_eq!((over.open_work(), over.not_paid()), (None, Some(NotPaid::Over)));
        assert!(over.lapse(at(5)).is_err());
        assert_eq!(over.claim("b", Claimant::Customer, at(6), LEASE), Claim::Granted, "a payment counts all the same");
    }

    #[test]
    fn an_operator_gives_away_what_was_completed_without_a_payment_and_nothing_else() {
        for (why, given) in [(NotPaid::Free, true), (NotPaid::Unpaid, false), (NotPaid::Unknown, false)] {
            let mut sale = not_paid(why);
            sale.reattempt(&Operator::parse("o", None).unwrap(), false, at(3)).unwrap();
            assert_eq!((sale.is_given(), sale.not_paid()), (given, None), "{why:?}");
        }
    }
}
