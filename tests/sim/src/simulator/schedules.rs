//! The scheduled functions.

use super::{Outcome, Simulator, What, Work};
use crate::{
    cast::Customer,
    checker::Checked,
    ends::{Whereabouts, is_stopped},
    faults::{HOUR, MINUTE},
    queues::Queue,
    rules::Rule,
};
use domain::{
    Sale, Timestamp,
    mail::Mail,
    notebooks,
    open_work::{OpenWork, Work as OpenKind},
    sale::Fulfilment,
};
use std::cmp::Reverse;

/// How often the deadlines function runs.
const DEADLINES_EVERY: i64 = 5 * MINUTE;

/// The schedules end at this time after their horizon even if work is left.
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

    /// Runs the deadlines function if work is due, and sometimes if none is: then it must change nothing.
    pub(super) fn deadlines(&mut self) -> Checked {
        let now = self.now();
        let due = |open: &OpenWork| open.due.as_millis() <= now;
        let is_due = {
            let state = self.world.state();
            let of_sales = state.sales.values().any(|(sale, _)| sale.open_work().is_some_and(|it| due(&it)));
            of_sales || state.waiting_notes(notebooks::without_schedule()).next().is_some()
        };
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
        // Scheduled actions of customers and Stripe may give the functions work.
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
            && self.world.state().waiting_notes(notebooks::without_schedule()).next().is_none()
    }

    /// Requires that work which is due now has a message or a worker.
    fn orphans(&self) -> Checked {
        let now = Timestamp::from_millis(self.now());
        let state = self.world.state();
        let ours = |it: &&Customer| it.paid_at.is_some() && !it.may_be_chased && it.mishap.is_none();
        for customer in self.customers.iter().filter(ours) {
            let sale = customer.session.as_ref().and_then(|session| state.sales.get(session)).map(|(sale, _)| sale);
            let Some(sale) = sale.filter(|sale| sale.outbox().is_empty() && sale.alerts().is_empty()) else { continue };
            // A follow-up that its session stops has no message and no worker.
            if is_stopped(&state, sale) {
                continue;
            }
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
}

/// The part of a sale that the functions have not finished, for a report.
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
