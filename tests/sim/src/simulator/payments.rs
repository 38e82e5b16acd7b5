//! The changes of a payment after it was made, and Stripe's events about them.

use super::{Outcome, Reported, Simulator, What, Work, promises::PROMISE};
use crate::{
    cast::Afterwards,
    deployment::SIGNING_SECRET,
    faults::{HOUR, MINUTE},
};
use domain::{
    Timestamp,
    money::{PaymentChange, PaymentId, PaymentReport},
    ports::MadeRefund,
};

impl Simulator<'_> {
    /// Schedules the later changes of a payment that was made now.
    pub(super) fn arrange_afterwards(&mut self, number: usize) {
        let Some(afterwards) = self.customers.get(number).map(|customer| customer.afterwards) else { return };
        let longest = self.random.pick(&[5 * MINUTE, HOUR, 4 * HOUR]).unwrap_or(HOUR);
        let first = self.random.between(1000, longest);
        match afterwards {
            Afterwards::Stays => {}
            Afterwards::Changes(change) => self.in_a_while(first, What::PaymentChanges { customer: number, change }),
            Afterwards::Dispute(PaymentChange::DisputePrevented) => {
                let change = PaymentChange::DisputePrevented;
                self.in_a_while(first, What::PaymentChanges { customer: number, change });
            }
            Afterwards::Dispute(end) => self.two_changes(number, first, PaymentChange::DisputeOpened, end),
            Afterwards::Inquiry(end) => self.two_changes(number, first, PaymentChange::InquiryOpened, end),
            Afterwards::InParts => {
                self.two_changes(number, first, PaymentChange::PartlyRefunded, PaymentChange::Refunded);
            }
            Afterwards::Bounces => {
                self.two_changes(number, first, PaymentChange::Refunded, PaymentChange::RefundFailed);
            }
        }
    }

    fn two_changes(&mut self, customer: usize, first: i64, change: PaymentChange, end: PaymentChange) {
        self.in_a_while(first, What::PaymentChanges { customer, change });
        if end != change {
            let second = first + self.random.between(1000, 3 * HOUR);
            self.in_a_while(second, What::PaymentChanges { customer, change: end });
        }
    }

    pub(super) fn payment_changes(&mut self, number: usize, change: PaymentChange) {
        let (now, begins) = (self.now(), self.promise_begins());
        let Some(customer) = self.customers.get(number) else { return };
        let Some(payment) = customer.payment_id() else { return };
        let mut state = self.world.state();
        let standing = state.refunds_of(&payment).any(|made| !made.status.is_void());
        match change {
            PaymentChange::Refunded if standing => return,
            PaymentChange::Refunded => {
                state.given_back.insert(payment.clone());
            }
            // Only refunds that were made in Stripe's dashboard fail; ours have arrived.
            PaymentChange::RefundFailed if standing || !state.given_back.remove(&payment) => return,
            _ => {}
        }
        drop(state);
        let (listed, is_lost) = (customer.listed(change, Timestamp::from_millis(now)), customer.payment_events_lost);
        self.list(&payment, listed);
        // The daily comparison finds a change whose events are lost; the second one at the latest.
        let begins = if is_lost { begins + 48 * HOUR } else { begins };
        let is_brought_on = change == PaymentChange::DisputeWon || customer.events_lost || is_lost;
        for number in [Some(number), self.relative(number)].into_iter().flatten() {
            let customer = &mut self.customers[number];
            customer.restarted_at = Some(begins);
            // The deadlines function restarts a sale after a won dispute, and one that only a payment event has
            // reported.
            customer.may_be_chased |= is_brought_on;
        }
        self.tally.count_fault("payment changed");
        self.trace(|| format!("customer {number}: {change:?}"));
        let wait = self.random.between(200, 3 * MINUTE);
        if is_lost {
            self.tally.count_fault("payment event lost");
        } else {
            let reported = Reported { change, at: now / 1000 };
            self.in_a_while(wait, What::PaymentEvent { customer: number, reported, attempt: 1 });
        }
        self.at(begins + PROMISE, What::Promise { customer: number });
    }

    /// A refund or a dispute is new, or has changed, in Stripe's lists.
    fn list(&self, payment: &PaymentId, report: PaymentReport) {
        let mut state = self.world.state();
        let now = Timestamp::from_millis(state.now);
        let same =
            |(_, of, known): &&mut (Timestamp, PaymentId, PaymentReport)| of == payment && known.id() == report.id();
        match state.reports.iter_mut().find(same) {
            Some((_, _, known)) => *known = report,
            None => state.reports.push((now, payment.clone(), report)),
        }
    }

    /// Stripe sends an event for every refund, its own or ours.
    pub(super) fn stripe_refunded(&mut self) {
        for number in self.buyers() {
            let Some(payment) = self.customers[number].payment_id() else { continue };
            let refunded = self.world.state().refunds.iter().any(|(refunded, _)| *refunded == payment);
            let refunds: Vec<MadeRefund> = self.world.state().refunds_of(&payment).collect();
            for made in refunds {
                let at = Timestamp::from_millis(self.now());
                let MadeRefund { id, amount, status, .. } = made;
                self.list(&payment, PaymentReport::Refund { id, amount, status, at });
            }
            let is_lost = self.customers[number].payment_events_lost;
            if refunded && self.refunds_reported.insert(number) && !is_lost {
                let wait = self.random.between(200, 3 * MINUTE);
                let reported = Reported { change: PaymentChange::Refunded, at: self.now() / 1000 };
                self.in_a_while(wait, What::PaymentEvent { customer: number, reported, attempt: 1 });
            }
        }
    }

    pub(super) fn payment_event(&mut self, number: usize, reported: Reported, attempt: u32) {
        let event =
            self.customers.get(number).and_then(|customer| customer.payment_event(reported.change, reported.at));
        let Some(event) = event else { return };
        let (deployment, signed_at) = (self.deployment, Timestamp::from_millis(self.now()));
        let tells = async move { Outcome::Replied(deployment.webhook(SIGNING_SECRET, signed_at, event).await) };
        self.invoke(Work::PaymentWebhook { reported, attempt }, Some(number), 0, 0, tells);
    }
}
