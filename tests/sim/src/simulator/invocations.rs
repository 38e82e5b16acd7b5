//! The invocations of the functions: starts them, polls them, and applies the consequences of their effects.

use super::{
    Outcome, Simulator, Task, What, Work,
    agenda::{fault_name, label, message_id},
};
use crate::{
    checker::{Checked, Checker, Invocation},
    queues::{MAX_HOPS, QUEUES, Waiting},
    rules::Rule,
};
use domain::message::Message;
use std::{
    future::Future,
    task::{Context, Poll, Waker},
    time::Duration,
};

impl<'h> Simulator<'h> {
    /// Starts an invocation whose clock is wrong by `skew`, or by more in a world of wrong clocks.
    pub(super) fn invoke(
        &mut self,
        work: Work,
        customer: Option<usize>,
        hops: u32,
        skew: i64,
        future: impl Future<Output = Outcome> + 'h,
    ) {
        let skew = if self.has_faults_now() && self.random.chance(self.faults.wrong_clocks) {
            self.tally.count_fault("wrong clock");
            self.may_be_chased(customer);
            self.random.between(-self.faults.clock_error, self.faults.clock_error)
        } else {
            skew
        };
        let owner = match &work {
            Work::Message { queue, id } => Some(message_id(QUEUES[*queue].0, *id)),
            _ => None,
        };
        *self.tally.invocations.entry(work.name()).or_default() += 1;
        let time_out = work.time_out();
        let began = self.now();
        let invocation = Invocation { owner, began, ..Invocation::default() };
        let task = Task { future: Box::pin(future), work, customer, skew, hops, invocation };
        self.counted += 1;
        let id = self.counted;
        self.trace(|| format!("{} begins", label(&task)));
        self.tasks.insert(id, task);
        self.in_a_while(0, What::Poll(id));
        self.in_a_while(time_out, What::TimeOut(id));
    }

    /// Polls an invocation until its next effect.
    pub(super) fn poll(&mut self, id: u64) -> Checked {
        let Some(mut task) = self.tasks.remove(&id) else { return Ok(()) };
        self.world.state().skew = task.skew;
        let polled = task.future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let (crossings, outgoing, hidden, put_aside) = {
            let mut state = self.world.state();
            state.skew = 0;
            (
                std::mem::take(&mut state.crossings),
                std::mem::take(&mut state.outgoing),
                std::mem::take(&mut state.hidden),
                std::mem::take(&mut state.put_aside),
            )
        };
        for crossing in crossings {
            *self.tally.boundaries.entry(crossing.name).or_default() += 1;
            if let Some(fault) = crossing.fault {
                self.tally.count_fault(fault_name(fault));
                self.may_be_left(&task.work, task.customer);
            }
            self.trace(|| {
                let fault = crossing.fault.map_or_else(String::new, |fault| format!(" [{fault:?}]"));
                format!("{} {}{fault}", label(&task), crossing.name)
            });
            let state = self.world.state();
            match task.customer.and_then(|number| self.customers.get(number)) {
                Some(customer) => {
                    self.checker.crossed(&state, customer, &mut task.invocation, crossing)?;
                    // A decision about a sale may change its follow-up too, and vice versa.
                    if let Some(relative) = self.relative(customer.number) {
                        self.checker.changed(&state, &self.customers[relative], crossing)?;
                    }
                }
                None => self.checker.crossed_by_all(&state, &self.customers, crossing)?,
            }
            drop(state);
            match crossing.name {
                "ledger.refund" => self.stripe_refunded(),
                "store.open_followup" => self.opened(&task.work)?,
                "mailbox.send_draft" | "mailbox.hand_over" => self.mailed(task.customer)?,
                _ => {}
            }
        }
        for (queue, message, delay) in outgoing {
            self.send(&task, queue, &message, delay)?;
        }
        for (queue, receipt, duration) in hidden {
            self.hide(queue, &receipt, duration);
        }
        for (name, body) in put_aside {
            let Some(queue) = queue_named(name) else { continue };
            self.trace(|| format!("an unreadable message goes to the dead letters of {name}"));
            let unreadable = Waiting { body, customer: None, receives: 0, visible_at: 0, hops: task.hops + 1 };
            self.queues[queue].dead.push(unreadable);
        }
        match polled {
            Poll::Ready(outcome) => self.finished(&task, &outcome),
            Poll::Pending => {
                match self.world.wake() {
                    Some(at) => {
                        self.tasks.insert(id, task);
                        self.at(at, What::Poll(id));
                    }
                    None => {
                        self.trace(|| format!("{} died", label(&task)));
                        self.died(&task);
                    }
                }
                Ok(())
            }
        }
    }

    /// A message that an invocation sent is in its queue.
    fn send(&mut self, task: &Task<'h>, name: &'static str, message: &Message, delay: Duration) -> Checked {
        let of_session =
            |session| self.customers.iter().position(|customer| customer.session.as_ref() == Some(session));
        let of_payment = || match message {
            Message::PaymentChanged { payment, .. } => {
                self.buyers().find(|number| self.customers[*number].payment_id().as_ref() == Some(payment))
            }
            _ => None,
        };
        let number = message.session_id().and_then(of_session).or_else(of_payment).or(task.customer);
        if let Some(customer) = number.and_then(|number| self.customers.get(number)) {
            Checker::queued(&self.world.state(), customer, name, message)?;
        }
        let hops = task.hops + 1;
        Rule::Queues.require(hops <= MAX_HOPS, || format!("{hops} messages in a chain"))?;
        let Some(queue) = queue_named(name) else {
            return Err(Rule::Queues.broken(format!("no queue {name}")));
        };
        let body = serde_json::to_string(message).unwrap_or_default();
        Rule::Private
            .require(!body.contains('@') && !body.contains("shop number"), || "customer text in a queue".to_owned())?;
        self.enqueue(queue, body, number, hops, i64::try_from(delay.as_millis()).unwrap_or(i64::MAX));
        Ok(())
    }

    /// A message that an invocation works on is to be hidden for a while.
    fn hide(&mut self, name: &str, receipt: &str, duration: Duration) {
        let (Some(queue), Ok(id)) = (queue_named(name), receipt.parse()) else { return };
        let until = self.now() + i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        self.queues[queue].hide(id, until);
        self.at(until, What::Due { queue, id });
    }

    /// No queue delivers the work of these invocations again: the deadlines function finishes it.
    pub(super) fn may_be_left(&mut self, work: &Work, customer: Option<usize>) {
        match work {
            Work::Page | Work::FollowUp { .. } | Work::Operator { .. } => self.may_be_chased(customer),
            // It may have stopped between a sale and its messages, whichever sale that was.
            Work::Deadlines | Work::Reconcile | Work::Inbox => {
                (0..self.customers.len()).for_each(|it| self.may_be_chased(Some(it)))
            }
            Work::Checkout { .. } | Work::Webhook { .. } | Work::PaymentWebhook { .. } | Work::Message { .. } => {}
        }
    }

    pub(super) fn may_be_chased(&mut self, customer: Option<usize>) {
        let relative = customer.and_then(|number| self.relative(number));
        for number in customer.into_iter().chain(relative) {
            if let Some(customer) = self.customers.get_mut(number) {
                customer.may_be_chased = true;
            }
        }
    }
}

fn queue_named(name: &str) -> Option<usize> {
    QUEUES.iter().position(|(known, ..)| *known == name)
}
