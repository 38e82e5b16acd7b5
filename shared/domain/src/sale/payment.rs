//! What becomes of the money.

use super::{Event, Refused, Sale};
use crate::{
    Timestamp,
    money::{Authorisation, Money, PaymentChange, PaymentId, RefundStep},
    sale::event::Charge,
};

/// What Stripe answered to a refund.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefundAnswer<'a> {
    /// The money is on its way to the customer, or there.
    Confirmed,
    /// Stripe works on it.
    Pending,
    /// Stripe refused, or could not do it, with this code.
    Failed(&'a str),
}

impl Sale {
    /// Decides that the money goes back. Machines stop everything else that they would do about the sale.
    ///
    /// # Errors
    /// [`Refused`] when the money is not here.
    pub fn refund_authorised(
        &mut self,
        authorisation: &Authorisation,
        charge: Charge,
        now: Timestamp,
    ) -> Result<Event, Refused> {
        if !self.is_money_kept() {
            return Err(self.refuse_money("authorised to go back"));
        }
        self.money = Money::RefundAuthorised { authorisation: authorisation.clone(), at: now };
        // From here on it counts how often Stripe was asked.
        self.chased = 0;
        self.reminded_at = None;
        Ok(Event::RefundAuthorised { authorisation: authorisation.clone(), charge })
    }

    /// Notes Stripe's answer to a refund.
    ///
    /// # Errors
    /// [`Refused`] when no refund is under way: Stripe's own event was faster.
    pub fn refund_answered(
        &mut self,
        answer: RefundAnswer<'_>,
        charge: Charge,
        now: Timestamp,
    ) -> Result<Event, Refused> {
        let Money::RefundAuthorised { authorisation, at: decided_at } = self.money.clone() else {
            return Err(self.refuse_money("refunded"));
        };
        let (step, error) = match answer {
            RefundAnswer::Confirmed => (RefundStep::Confirmed, None),
            RefundAnswer::Pending => (RefundStep::Issued, None),
            RefundAnswer::Failed(code) => (RefundStep::Failed, Some(code.to_owned())),
        };
        if step == RefundStep::Confirmed {
            self.money = Money::Refunded { at: now };
        } else {
            self.chased += 1;
            self.reminded_at = Some(now);
        }
        Ok(Event::RefundAnswered { step, authorisation, decided_at, error, charge, answers: self.chased })
    }

    /// Notes a change of the payment, once. Kinds are told apart, not events: Stripe reports each several times, and a
    /// second partial refund or a second dispute of one payment changes nothing for its sale.
    ///
    /// # Errors
    /// [`Refused`] when a change of this kind is noted already.
    pub fn payment_changed(
        &mut self,
        payment: &PaymentId,
        change: PaymentChange,
        charge: Charge,
        now: Timestamp,
    ) -> Result<Event, Refused> {
        if self.payment_changes.contains(&change) {
            return Err(self.refuse_money("changed in the same way again"));
        }
        let confirms = match (change, &self.money) {
            (PaymentChange::Refunded, Money::RefundAuthorised { authorisation, at }) => {
                Some((authorisation.clone(), *at))
            }
            _ => None,
        };
        self.money = money_after(&self.money, change, &self.payment_changes, now);
        self.payment_changes.push(change);
        Ok(Event::PaymentChanged { payment: payment.clone(), change, charge, confirms })
    }

    /// Notes that another amount than the tier's price was paid.
    ///
    /// # Errors
    /// [`Refused`] when that is noted already.
    pub fn amount_noted(&mut self, charge: Charge, price: u32) -> Result<Event, Refused> {
        if self.amount_noted {
            return Err(self.refuse_money("noted for its amount again"));
        }
        self.amount_noted = true;
        Ok(Event::AmountNoted { charge, price })
    }
}

/// What became of the money. Events may come in any order: the end of a dispute that comes before its beginning
/// counts, and money that went back stays away whatever becomes of a dispute.
fn money_after(money: &Money, change: PaymentChange, before: &[PaymentChange], now: Timestamp) -> Money {
    let is_decided = before.iter().any(|one| matches!(one, PaymentChange::DisputeWon | PaymentChange::DisputeLost));
    match (change, money) {
        (_, Money::Refunded { .. }) | (PaymentChange::PartlyRefunded | PaymentChange::RefundFailed, _) => money.clone(),
        (PaymentChange::Refunded, _) => Money::Refunded { at: now },
        (PaymentChange::DisputeOpened, _) if is_decided => money.clone(),
        (PaymentChange::DisputeOpened | PaymentChange::DisputeLost, _) => {
            let refund = match money {
                Money::RefundAuthorised { authorisation, .. } => Some(authorisation.clone()),
                Money::Disputed { refund, .. } => refund.clone(),
                Money::Kept | Money::Refunded { .. } => None,
            };
            Money::Disputed { at: now, refund }
        }
        (PaymentChange::DisputeWon, Money::Disputed { refund: Some(authorisation), .. }) => {
            Money::RefundAuthorised { authorisation: authorisation.clone(), at: now }
        }
        (PaymentChange::DisputeWon, Money::Disputed { .. }) => Money::Kept,
        (PaymentChange::DisputeWon, _) => money.clone(),
    }
}
