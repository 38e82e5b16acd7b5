//! The transitions of the money.

use super::{Event, Part, Refused, Sale};
use crate::{
    Timestamp,
    mail::Mail,
    money::{
        Authorisation, Money, ObjectId, PaymentChange, PaymentId, PaymentReport, Refund, RefundStatus, RefundStep,
        ReportEffect,
    },
    operator::Operator,
    sale::event::Charge,
};

/// Stripe's answer to a request for a refund.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefundAnswer<'a> {
    /// The money is in transit to the customer, or has arrived.
    Confirmed,
    /// Stripe is processing it.
    Pending,
    /// Stripe refused to make it, with this code: a later attempt may succeed.
    Refused(&'a str),
    /// Stripe made it, and it was canceled or bounced.
    Bounced {
        /// The error as a code.
        code: &'a str,
        /// Stripe's id of the refund.
        id: &'a ObjectId,
        /// In the currency's smallest unit.
        amount: Option<i64>,
        /// Its status.
        status: RefundStatus,
    },
}

impl Sale {
    /// Decides a refund. All other automatic work on the sale stops.
    ///
    /// # Errors
    /// [`Refused`] when the money is not here, or a refund is in progress.
    pub fn refund_authorised(
        &mut self,
        authorisation: &Authorisation,
        charge: Charge,
        now: Timestamp,
    ) -> Result<Event, Refused> {
        if !matches!(self.money, Money::Kept | Money::RefundFailed { .. }) {
            return Err(self.refuse_money("authorised to go back"));
        }
        self.money = Money::RefundAuthorised { authorisation: authorisation.clone(), at: now };
        // From here on it counts the requests to Stripe.
        self.chased = 0;
        self.reminded_at = None;
        Ok(Event::RefundAuthorised { authorisation: authorisation.clone(), charge })
    }

    /// Records Stripe's answer to a request for a refund. A refused refund is requested again with another key, because
    /// Stripe replays the refusal of a used key; a bounced one is issued again by a human.
    ///
    /// # Errors
    /// [`Refused`] when no refund is in progress, because Stripe's own event came first.
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
            RefundAnswer::Refused(code) | RefundAnswer::Bounced { code, .. } => {
                (RefundStep::Failed, Some(code.to_owned()))
            }
        };
        match answer {
            RefundAnswer::Confirmed => {
                self.money = Money::Refunded { at: now };
                self.order_refund_letter(&authorisation);
            }
            RefundAnswer::Bounced { id, amount, status, .. } => {
                // Stripe's own report of it may come days later, and must not undo the refund that follows.
                self.payment.record_answer(Refund { id: id.clone(), amount, status, at: now });
                self.money = Money::RefundFailed { at: now, refund: Some(authorisation.clone()) };
            }
            RefundAnswer::Pending | RefundAnswer::Refused(_) => {
                self.chased += 1;
                self.reminded_at = Some(now);
            }
        }
        if step == RefundStep::Failed {
            self.refund_attempts += 1;
        }
        Ok(Event::RefundAnswered { step, authorisation, decided_at, error, charge, answers: self.chased })
    }

    /// When the money went back, if the customer has it now.
    #[must_use]
    pub const fn refunded_at(&self) -> Option<Timestamp> {
        match self.money {
            Money::Refunded { at } => Some(at),
            _ => None,
        }
    }

    /// What operators do about a refund that came back.
    pub const REFUND_CAME_BACK: &'static str =
        "a refund came back: issue it again, or record it (oracle refunds record) and then give it back by hand";

    /// Orders the refund letter for a customer whose money goes back by policy, because no operator has written to
    /// them. The deadlines function sends it if a worker does not.
    fn order_refund_letter(&mut self, authorisation: &Authorisation) {
        if authorisation.is_by_policy() && !self.is_erased() {
            // After a possible disclosure of self-harm it is ordered already.
            if self.refund_letter.is_not_ordered() {
                self.refund_letter = Mail::Ordered;
            }
            self.chased = 0;
            self.reminded_at = None;
        }
    }

    /// Records that an operator refunds the money by other means than Stripe. Stripe is not asked any more, and a
    /// request that is on its way sees by the changed key that its attempt has ended. A follow-up is updated with its
    /// session.
    ///
    /// # Errors
    /// [`Refused`] unless a refund is in progress or has failed, also before a dispute, or the refund is that of a
    /// follow-up's session.
    pub fn refunded_by_hand(&mut self, operator: &Operator, now: Timestamp) -> Result<Event, Refused> {
        let is_due = match self.money {
            Money::RefundAuthorised { .. } | Money::RefundFailed { .. } | Money::Disputed { bounced: true, .. } => true,
            Money::Kept | Money::Disputed { .. } => self.is_followup(),
            Money::Refunded { .. } => false,
        };
        if !is_due {
            return Err(self.refuse_money("refunded by hand"));
        }
        self.money = Money::Refunded { at: now };
        self.refunded_by_hand = true;
        self.refund_attempts += 1;
        Ok(Event::RefundedByHand(operator.clone()))
    }

    /// The idempotency key of the current attempt at a refund: unchanged until Stripe has reported that the attempt
    /// failed, or an operator refunds by hand.
    #[must_use]
    pub fn refund_key(&self) -> String {
        let session = self.session_id.as_str();
        match self.refund_attempts {
            0 => format!("refund-{session}"),
            attempts => format!("refund-{session}-{attempts}"),
        }
    }

    /// Stores Stripe's report about an object of the payment. Events come at least once and in any order, so the state
    /// of the money follows from all reports together.
    ///
    /// # Errors
    /// [`Refused`] when the report has nothing new.
    pub fn payment_reported(
        &mut self,
        payment: &PaymentId,
        report: &PaymentReport,
        charge: Charge,
        now: Timestamp,
    ) -> Result<Event, Refused> {
        let was_whole = self.payment.returned(charge.amount_total).whole;
        let change = match self.payment.record_report(report, charge.amount_total) {
            ReportEffect::Nothing => return Err(Refused { part: Part::Report, from: "known", to: "reported on" }),
            ReportEffect::Detail => return Ok(Event::PaymentDetail),
            ReportEffect::Change(change) => change,
        };
        let returned = self.payment.returned(charge.amount_total);
        // A part that was given back in Stripe's dashboard can bounce too. That ends no refund of ours. Of refunded money
        // any bounce is a human's, because a report that was lost could have shown that it is ours.
        let is_refunded = matches!(self.money, Money::Refunded { .. });
        let is_part = !was_whole && !is_refunded && self.payment.is_part(report.id(), charge.amount_total);
        let bounced = change == PaymentChange::RefundFailed && !is_part;
        let money = self.money_after(bounced, returned.whole, now);
        let confirms = match (&self.money, &money) {
            // A dispute keeps the decision about a refund but not its time, so the time of the dispute replaces it.
            (
                Money::RefundAuthorised { authorisation, at }
                | Money::Disputed { refund: Some(authorisation), at, bounced: false },
                Money::Refunded { .. },
            ) => Some((authorisation.clone(), *at)),
            _ => None,
        };
        if let Some((authorisation, _)) = &confirms {
            self.order_refund_letter(authorisation);
        }
        if money.has_bounced() && !self.money.has_bounced() {
            self.refund_attempts += 1;
        }
        if money != self.money && matches!(money, Money::RefundFailed { .. }) {
            self.reminded_at = None;
        }
        if money == Money::Kept && self.money != Money::Kept {
            // No attempt was made while the bank had the money, so the retries begin anew.
            self.stop_waiting();
        }
        self.money = money;
        let (payment, report) = (payment.clone(), report.clone());
        let returned = (returned.amount > 0).then_some(returned.amount);
        Ok(Event::PaymentChanged { payment, change, report, returned, charge, confirms })
    }

    /// The state of the money after a change. Refunded money stays refunded, whatever the result of a dispute, until a
    /// refund bounces. Money that is recorded as refunded by hand stays so, because no report is about that refund. A
    /// refund that bounced before a dispute, or during it, is a human's again once the dispute is won.
    fn money_after(&self, bounced: bool, is_returned: bool, now: Timestamp) -> Money {
        let money = &self.money;
        if let Money::Refunded { .. } = money
            && (is_returned || !bounced || self.refunded_by_hand)
        {
            return money.clone();
        }
        if is_returned {
            return Money::Refunded { at: now };
        }
        let (refund, bounced) = match money {
            Money::RefundAuthorised { authorisation, .. } => (Some(authorisation.clone()), bounced),
            Money::RefundFailed { refund, .. } => (refund.clone(), true),
            Money::Disputed { refund, bounced: before, .. } => {
                (refund.clone(), *before || (bounced && refund.is_some()))
            }
            Money::Refunded { .. } => (None, bounced),
            // No refund of ours was made, so the one that bounced was made in Stripe's dashboard.
            Money::Kept => (None, false),
        };
        if self.payment.is_taken() {
            let at = if let Money::Disputed { at, .. } = money { *at } else { now };
            return Money::Disputed { at, refund, bounced };
        }
        match (money, refund) {
            (Money::RefundFailed { .. }, _) => money.clone(),
            (_, refund) if bounced => Money::RefundFailed { at: now, refund },
            (Money::Disputed { .. }, Some(authorisation)) => Money::RefundAuthorised { authorisation, at: now },
            (Money::Disputed { .. }, None) => Money::Kept,
            (money, _) => money.clone(),
        }
    }

    /// Records that another amount than the tier's price was paid.
    ///
    /// # Errors
    /// [`Refused`] when it is recorded already.
    pub fn amount_noted(&mut self, charge: Charge, price: u32) -> Result<Event, Refused> {
        if self.amount_noted {
            return Err(Refused { part: Part::AmountNote, from: "recorded", to: "noted for its amount" });
        }
        self.amount_noted = true;
        Ok(Event::AmountNoted { charge, price })
    }
}
