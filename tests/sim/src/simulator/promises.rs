//! The promises to customers: every paid sale ends in time or is before a human, and a world comes to rest.

use super::{Simulator, What};
use crate::{
    cast::Customer,
    checker::{Checked, Checker, Invocation},
    ends::{self, End, Whereabouts},
    faults::HOUR,
    queues::Queue,
    rules::{Rule, Violation},
};
use domain::{Sale, Timestamp, money::Money, notebooks, sale::Fulfilment};
use serde_json::Value;
use testkit::{Passage, world::State};

/// Every paid sale ends within this time, or is before a human (the owner's promise).
pub(super) const PROMISE: i64 = 3 * HOUR;

impl Simulator<'_> {
    /// The time from which a promise that is made now counts: the end of a long outage, because no code ends one.
    pub(super) fn promise_begins(&self) -> i64 {
        let now = self.now();
        self.faults.long_until(now - self.began).map_or(now, |until| self.began + until)
    }

    /// The promise to a customer is due: the sale must have ended or be on a human's list.
    pub(super) fn promise(&mut self, number: usize) -> Checked {
        self.trace(|| format!("the promise to customer {number} is due"));
        let Some(customer) = self.customers.get(number) else { return Ok(()) };
        // A promise that is due in a long period of faults counts from its end, and one to a customer whose money went
        // back meanwhile from then.
        let faults_end = self.faults.long_until(self.now() - self.began).map(|until| self.began + until);
        let begun = [customer.restarted_at, self.refunded_at(customer), faults_end].into_iter().flatten().max();
        if let Some(again) = begun.map(|at| at + PROMISE).filter(|again| *again > self.now()) {
            self.at(again, What::Promise { customer: number });
            return Ok(());
        }
        let end = self.end(&self.world.state(), customer)?;
        self.check_given_up(customer, end)
    }

    /// When the customer's sale was refunded.
    fn refunded_at(&self, customer: &Customer) -> Option<i64> {
        let state = self.world.state();
        let (sale, _) = state.sales.get(customer.session.as_ref()?)?;
        sale.refunded_at().map(Timestamp::as_millis)
    }

    /// Checks that a message is in a dead-letter queue only after a long outage or a mishap.
    fn check_given_up(&self, customer: &Customer, end: End) -> Checked {
        let excused = self.faults.is_long() || customer.mishap.is_some();
        Rule::NotGivenUp.require(end != End::DeadLetter || excused, || {
            format!("customer {}'s message is in a dead-letter queue", customer.number)
        })
    }

    pub(super) fn end(&self, state: &State, customer: &Customer) -> Result<End, Violation> {
        // Within an hour of the outage's end, the messages that the queues refused are sent.
        let refused = self.faults.outage.is_some_and(|outage| {
            let now = state.now - self.began;
            outage.of == "queue." && outage.from <= now && now < outage.until + HOUR
        });
        ends::end(state, customer, self.whereabouts(customer.number), refused)
    }

    pub(super) fn whereabouts(&self, number: usize) -> Whereabouts {
        let given_up = |queue: &Queue| queue.dead.iter().any(|waiting| waiting.customer == Some(number));
        if self.queues.iter().any(given_up) {
            Whereabouts::GivenUp
        } else if self.queues.iter().any(|queue| queue.has(number)) {
            Whereabouts::Waiting
        } else {
            Whereabouts::Nowhere
        }
    }

    /// Checks the world when nothing is under way and nothing waits: every sale has ended, every record is written.
    pub(super) fn at_rest(&mut self, redriven: bool) -> Checked {
        let waiting = self.queues.iter().all(Queue::is_empty) && self.tasks.is_empty();
        Rule::Queues.require(waiting, || "messages wait, and no delivery of them is due".to_owned())?;
        let state = self.world.state();
        self.checker.at_rest(&state, &self.customers)?;
        Checker::replies_at_rest(&state, &self.customers)?;
        let waiting: Vec<_> = state.waiting_notes(notebooks::without_schedule()).filter(|_| redriven).collect();
        Rule::Recorded.require(waiting.is_empty(), || format!("records wait for ever in the notes {waiting:?}"))?;
        for customer in &self.customers {
            let end = self.end(&state, customer)?;
            self.check_given_up(customer, end)?;
            let over = !matches!(end, End::MailWaits | End::VerdictWaits | End::QueueRefuses | End::RefundUnderWay);
            Rule::EndsInTime.require(over, || format!("{end:?} without end"))?;
            let given_back = customer.payment_id().is_some_and(|payment| state.given_back.contains(&payment));
            let is_kept = || {
                let session = customer.session.as_ref().filter(|session| !session.is_followup());
                session
                    .and_then(|session| state.sales.get(session))
                    .is_some_and(|(sale, _)| *sale.money() == Money::Kept)
            };
            // Stripe's report of a delivered sale may wait in a dead-letter queue, behind an alarm.
            let is_given_up = self.whereabouts(customer.number) == Whereabouts::GivenUp;
            let knows = !given_back || is_given_up || !is_kept();
            Rule::Money.require(knows, || "Stripe gave the money back, and the sale does not know".to_owned())?;
            // An order of an unpaid session is forged, and is not put back.
            let is_put_back = redriven && customer.paid_at.is_some();
            let settled = !is_put_back || !is_given_up || customer.mishap.is_some();
            Rule::NotGivenUp.require(settled, || "in a dead-letter queue again after the cause was gone".to_owned())?;
        }
        Ok(())
    }

    /// Checks what each customer finds on the page of a sale that has ended. From here on effects take no time and have
    /// no faults, so one poll completes a request.
    pub(super) fn pages_at_rest(&self) -> Checked {
        self.world.surround(Box::new(|_, _| Passage::default()));
        for customer in self.customers.iter().filter(|it| it.follow_up.is_none()) {
            let end = self.end(&self.world.state(), customer)?;
            let Some(session) = customer.session.as_ref() else { continue };
            let sale = self.world.state().sales.get(session).map(|(sale, _)| sale.clone());
            let reply = testkit::run(self.deployment.page(session.as_str()));
            let reply = reply.ok_or_else(|| Rule::Page.broken("a page dies although nothing fails"))?;
            let invocation = Invocation { began: self.now(), ..Invocation::default() };
            self.checker.page(&self.world.state(), customer, &invocation, &reply)?;
            let body: Value = serde_json::from_str(reply.body()).unwrap_or_default();
            let promises_refund = reply.body().contains("returned automatically")
                || body["status"] == "in_review" && body["message"].is_null();
            let may_promise = !promises_refund || sale.as_ref().is_some_and(Sale::gives_money_back);
            Rule::Money.require(may_promise, || "a page promises money that no policy returns".to_owned())?;
            // A mishap may have taken the verdict. A forged order that used up its receives may have left a sale that
            // waits for the model.
            let is_given_up = self.whereabouts(customer.number) == Whereabouts::GivenUp;
            if customer.mishap.is_some() || end == End::NotPaid && is_given_up {
                continue;
            }
            let (status, statuses) = (reply.status(), page_statuses(end, sale.as_ref()));
            let is_right = statuses.is_none_or(|statuses| statuses.contains(&status));
            Rule::Page.require(is_right, || format!("{end:?}, and its page answers {status}"))?;
        }
        Ok(())
    }
}

/// The statuses that the page of a sale may have after this end (functions/result/src/retrieve.rs). `None`: at rest no
/// sale ends so, or the end does not decide it.
fn page_statuses(end: End, sale: Option<&Sale>) -> Option<&'static [u16]> {
    let statuses: &'static [u16] = match end {
        End::Delivered | End::PageOnly | End::MailUndecided => &[200],
        End::Held => &[202],
        // The page asks Stripe again. If the session is paid by now, it orders the verdict, or announces an unusable
        // question.
        End::Failed if sale.is_some_and(|sale| sale.not_paid().is_some()) => &[202, 500],
        End::Failed | End::Unusable => &[500],
        End::Declined => &[422],
        // A verdict that was ready stays readable.
        End::Refunded | End::RefundFailed | End::Disputed => match sale.map(Sale::fulfilment) {
            Some(Fulfilment::Ready { .. }) => &[200],
            _ if sale.is_some_and(|sale| sale.declined().is_some()) => &[422],
            _ => &[500],
        },
        End::Erased => &[410],
        End::NotPaid => &[402],
        End::VerdictWaits
        | End::QueueRefuses
        | End::MailWaits
        | End::RefundUnderWay
        | End::DeadLetter
        | End::NotOrdered => return None,
    };
    Some(statuses)
}
