//! Scheduled functions, operators' decisions, and changes of payments.

use super::{Outcome, Reported, Simulator, What, Work};
use crate::{
    cast::{Afterwards, Customer},
    checker::Checked,
    deployment::SIGNING_SECRET,
    ends::Whereabouts,
    faults::{HOUR, MINUTE},
    operator::{Answered, Decision, decide},
    queues::Queue,
    rules::Rule,
};
use domain::{
    Sale, Timestamp,
    mail::Mail,
    money::{PaymentChange, PaymentId, PaymentReport},
    open_work::{OpenWork, Work as OpenKind},
    ports::MadeRefund,
    sale::Fulfilment,
};
use std::cmp::Reverse;

/// How often the deadlines function runs.
const DEADLINES_EVERY: i64 = 5 * MINUTE;

/// The schedules end at this time after their horizon, whatever is left.
pub(super) const LONGEST: i64 = 60 * HOUR;

impl Simulator<'_> {
    /// Puts the schedules on the agenda.
    pub(super) fn schedule(&mut self) {
        self.in_a_while(DEADLINES_EVERY, What::Deadlines);
        if self.faults.faults_until == 0 {
            return;
        }
        let lost = self.customers.iter().any(|it| it.events_lost || it.payment_events_lost);
        if lost || self.random.chance(250) {
            let hours = self.random.between(if lost { 50 } else { 26 }, 80);
            self.horizon = self.now() + hours * HOUR;
        }
        self.refund_held = !self.random.chance(200);
        let when = self.random.between(HOUR, 24 * HOUR);
        self.in_a_while(when, What::Reconcile);
        if self.random.chance(400) {
            let when = self.random.between(20 * MINUTE, 4 * HOUR);
            self.in_a_while(when, What::OperatorsLook);
        }
    }

    /// The deadlines function runs, unless there is nothing for it to do; it does so mostly then, and changes nothing.
    pub(super) fn deadlines(&mut self) -> Checked {
        let now = self.now();
        let due = |open: &OpenWork| open.due.as_millis() <= now;
        let is_due = self.world.state().sales.values().any(|(sale, _)| sale.open_work().is_some_and(|it| due(&it)));
        self.orphans()?;
        if is_due || self.has_faults_now() && self.random.chance(20) {
            let (deployment, refund_held) = (self.deployment, self.refund_held);
            let runs = async move {
                deployment.deadlines(refund_held).await;
                Outcome::Ran
            };
            self.invoke(Work::Deadlines, None, 0, 0, runs);
        }
        if now < self.horizon || now < self.horizon + LONGEST && !self.is_quiet() {
            self.in_a_while(DEADLINES_EVERY, What::Deadlines);
        }
        Ok(())
    }

    /// Whether nothing is under way: no message, no invocation, no sale that machines still work on.
    fn is_quiet(&self) -> bool {
        // An order for an unpaid session stays open for days.
        let paid = |sale: &Sale| {
            self.customers.iter().any(|it| it.paid_at.is_some() && it.session.as_ref() == Some(sale.session_id()))
        };
        let machines = |sale: &Sale| {
            paid(sale) && {
                let by_machines = [OpenKind::InFlight, OpenKind::Refund, OpenKind::Erasure];
                sale.open_work().is_some_and(|open| by_machines.contains(&open.work))
            }
        };
        // What customers and Stripe still do may give the machines work.
        let outside = |what: &What| {
            matches!(
                what,
                What::Arrive { .. }
                    | What::Pay { .. }
                    | What::Event { .. }
                    | What::PaymentChanges { .. }
                    | What::PaymentEvent { .. }
                    | What::Decide { .. }
                    | What::Post { .. }
                    | What::Write { .. }
                    | What::Inbox
            )
        };
        self.tasks.is_empty()
            && !self.agenda.iter().any(|Reverse((_, _, what))| outside(what))
            && self.queues.iter().all(Queue::is_empty)
            && !self.world.state().sales.values().any(|(sale, _)| machines(sale))
    }

    /// Requires that work which is due now has a message or a worker.
    fn orphans(&self) -> Checked {
        let now = Timestamp::from_millis(self.now());
        let state = self.world.state();
        let ours = |it: &&Customer| it.paid_at.is_some() && !it.may_be_chased && it.mishap.is_none();
        for customer in self.customers.iter().filter(ours) {
            let sale = customer.session.as_ref().and_then(|session| state.sales.get(session)).map(|(sale, _)| sale);
            let Some(sale) = sale.filter(|sale| sale.outbox().is_empty() && sale.alerts().is_empty()) else { continue };
            let due = sale.open_work().is_some_and(|open| open.work == OpenKind::InFlight && open.due <= now);
            let worked_on = self.tasks.values().any(|task| task.customer == Some(customer.number));
            let left = due && !worked_on && self.whereabouts(customer.number) == Whereabouts::Nowhere;
            Rule::Orphaned.require(!left, || {
                let what = chased(sale);
                format!("{what} is due, and only the deadlines function brings it on ({})", customer.number)
            })?;
        }
        Ok(())
    }

    pub(super) fn reconcile(&mut self) {
        let deployment = self.deployment;
        let runs = async move {
            let _ = deployment.reconcile().await;
            Outcome::Ran
        };
        self.invoke(Work::Reconcile, None, 0, 0, runs);
        if self.now() + 24 * HOUR < self.horizon {
            self.in_a_while(24 * HOUR, What::Reconcile);
        }
    }

    /// Operators look at their lists, and decide some of what they find.
    pub(super) fn operators_look(&mut self) {
        for number in 0..self.customers.len() {
            let session = self.customers[number].session.clone();
            let work = session.and_then(|session| {
                let state = self.world.state();
                Some((state.sales.get(&session)?.0.open_work()?.work, self.customers[number].paid_at?))
            });
            let anything = self.random.below(100);
            let decision = match work.map(|(work, _)| work) {
                Some(OpenKind::Review) => {
                    self.random.pick(&[Decision::Approve, Decision::Replace, Decision::Replace, Decision::Refund])
                }
                Some(OpenKind::Unusable) => {
                    self.random.pick(&[Decision::Resubmit, Decision::Resubmit, Decision::Refund])
                }
                Some(OpenKind::Failed) => self.random.pick(&[Decision::Reattempt, Decision::Refund]),
                Some(OpenKind::DeadLetter) => {
                    self.random.pick(&[Decision::Redrive, Decision::Redrive, Decision::Refund])
                }
                Some(OpenKind::UnknownMail | OpenKind::Refund | OpenKind::RefundFailed) => Some(Decision::Refund),
                // An operator may do anything at any time; what makes no sense is refused.
                Some(OpenKind::InFlight) if anything < 30 => self.random.pick(&[Decision::Refund, Decision::Redrive]),
                _ => None,
            };
            let is_known = self.is_known(number);
            let decision =
                if anything >= 96 && is_known { Some(Decision::Erase) } else { decision.filter(|_| anything < 70) };
            if let Some(decision) = decision {
                self.in_a_while(0, What::Decide { customer: number, decision, attempt: 1 });
            }
        }
        let again = self.random.between(20 * MINUTE, 12 * HOUR);
        if self.now() + again < self.horizon {
            self.in_a_while(again, What::OperatorsLook);
        }
    }

    /// Whether the customer has paid and there is a sale of it.
    fn is_known(&self, number: usize) -> bool {
        let customer = self.customers.get(number).filter(|customer| customer.paid_at.is_some());
        let session = customer.and_then(|customer| customer.session.as_ref());
        session.is_some_and(|session| self.world.state().sales.contains_key(session))
    }

    pub(super) fn decide(&mut self, number: usize, decision: Decision, attempt: u32) {
        let begins = self.promise_begins();
        let Some(customer) = self.customers.get(number) else { return };
        let Some(session) = customer.session.clone() else { return };
        let (deployment, tier, submission) = (self.deployment, customer.tier, customer.submission());
        for number in [Some(number), self.relative(number)].into_iter().flatten() {
            self.customers[number].operated = true;
            self.customers[number].restarted_at = Some(begins);
        }
        let decides = async move { Outcome::Answered(decide(deployment, decision, session, tier, submission).await) };
        self.invoke(Work::Operator { decision, attempt }, Some(number), 0, 0, decides);
        if self.script.is_none() {
            self.at(begins + super::PROMISE, What::Promise { customer: number });
        }
    }

    /// An operator whose command did not say that it was done repeats it.
    pub(super) fn decided(&mut self, customer: Option<usize>, decision: Decision, attempt: u32, answer: Answered) {
        if let (Some(customer), Answered::Broken, 1..=4) = (customer, answer, attempt) {
            self.in_a_while(MINUTE, What::Decide { customer, decision, attempt: attempt + 1 });
        }
    }

    /// What will become of a payment that was made now.
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
            // The bank sends back what was given back in Stripe's dashboard; what we gave back has arrived.
            PaymentChange::RefundFailed if standing || !state.given_back.remove(&payment) => return,
            _ => {}
        }
        drop(state);
        let (listed, is_lost) = (customer.listed(change, Timestamp::from_millis(now)), customer.payment_events_lost);
        self.list(&payment, listed);
        // The daily comparison finds what no event reports; the second one at the latest.
        let begins = if is_lost { begins + 48 * HOUR } else { begins };
        let is_brought_on = change == PaymentChange::DisputeWon || customer.events_lost || is_lost;
        for number in [Some(number), self.relative(number)].into_iter().flatten() {
            let customer = &mut self.customers[number];
            customer.restarted_at = Some(begins);
            // The deadlines function brings on a sale after a won dispute, and one that only a payment event has reported.
            customer.may_be_chased |= is_brought_on;
        }
        self.tally.count_fault("payment changed");
        self.note(|| format!("customer {number}: {change:?}"));
        let wait = self.random.between(200, 3 * MINUTE);
        if is_lost {
            self.tally.count_fault("payment event lost");
        } else {
            let reported = Reported { change, at: now / 1000 };
            self.in_a_while(wait, What::PaymentEvent { customer: number, reported, attempt: 1 });
        }
        self.at(begins + super::PROMISE, What::Promise { customer: number });
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

/// What of a sale is left to machines, for a report.
fn chased(sale: &Sale) -> &'static str {
    match (sale.fulfilment(), sale.mail(), sale.notice(), sale.divergence()) {
        (Fulfilment::Ordered { .. }, ..) => "an order",
        (Fulfilment::Generating { .. }, ..) => "a claimed order",
        (_, Mail::Sending { .. }, ..) => "a claimed mail",
        (_, Mail::Retrying { .. }, ..) => "a retry",
        (Fulfilment::Ready { archived: false, .. }, ..) => "an archive",
        (_, Mail::Ordered, ..) => "a mail",
        (_, _, notice, _) if notice.is_pending() => "a notice",
        (.., divergence) if divergence.is_pending() => "a divergence",
        _ => "something",
    }
}
