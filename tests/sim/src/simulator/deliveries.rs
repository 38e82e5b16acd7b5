//! Delivers messages from queues to functions, and ends invocations.

use super::{Outcome, Reported, Simulator, Task, What, Work, agenda::message_id, label};
use crate::{
    checker::{Checked, Checker},
    defects::Defect,
    faults::{MINUTE, SECOND},
    operator::Answered,
    queues::{QUEUES, Received, Waiting},
    rules::Rule,
};
use domain::SessionId;
use runtime::{Handled, http::Reply};

/// How long Stripe waits before it delivers an event again, which it does for days.
const STRIPE_WAITS: [i64; 8] =
    [20 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 20 * MINUTE, 30 * MINUTE];

impl<'h> Simulator<'h> {
    /// Puts a body into a queue, perhaps late.
    pub(super) fn enqueue(&mut self, queue: usize, body: String, customer: Option<usize>, hops: u32, delay: i64) {
        let late = if self.has_faults_now() { self.random.between(0, self.faults.delay) } else { 0 };
        if late > SECOND {
            self.tally.count_fault("delayed message");
        }
        let visible_at = self.now() + self.random.between(5, 400) + late + delay;
        self.counted += 1;
        let id = self.counted;
        self.queues[queue].put(id, Waiting { body, customer, receives: 0, visible_at, hops });
        self.at(visible_at, What::Due { queue, id });
    }

    pub(super) fn has_faults_now(&self) -> bool {
        self.now() < self.began + self.faults.faults_until
    }

    /// A message becomes visible.
    pub(super) fn receive(&mut self, queue: usize, id: u64) -> Checked {
        let now = self.now();
        match self.queues[queue].receive(id, now) {
            Received::Nothing => Ok(()),
            Received::GivenUp(waiting) => {
                self.tally.count_fault("moved to a dead-letter queue");
                let name = QUEUES[queue].0;
                self.trace(|| format!("{name} {id} moves to the dead-letter queue"));
                let most = self.queues[queue].max_receives;
                Rule::Queues.require(waiting.receives == most, || {
                    "moved to the dead-letter queue at the wrong receive".to_owned()
                })
            }
            Received::Delivered(waiting) => {
                let most = QUEUES[queue].2;
                Rule::Queues.require(waiting.receives <= most, || "a message goes round for ever".to_owned())?;
                let again = self.queues[queue].visibility;
                self.in_a_while(again, What::Due { queue, id });
                if let Some((wait, skew)) = self.second_delivery(queue, waiting.receives) {
                    let Waiting { body, customer, hops, .. } = waiting.clone();
                    self.in_a_while(wait, What::Again { queue, id, body, customer, hops, skew });
                }
                if self.deployment.ports.defect == Some(Defect::AcknowledgedBeforeWork) {
                    self.queues[queue].delete(id);
                }
                self.invoke_message(queue, id, waiting.receives, waiting, 0);
                Ok(())
            }
        }
    }

    /// Whether a queue delivers a message once more: after which time, and with which clock error of its worker.
    fn second_delivery(&mut self, queue: usize, receives: u32) -> Option<(i64, i64)> {
        if let Some(script) = &self.script {
            return (script.rival && queue == 1 && receives == 1).then_some((8, 15 * MINUTE));
        }
        if !self.has_faults_now() || !self.random.chance(self.faults.duplicates) {
            return None;
        }
        let most = self.random.pick(&[SECOND / 10, SECOND, 20 * SECOND, 4 * MINUTE]).unwrap_or(SECOND);
        Some((self.random.between(1, most), 0))
    }

    /// Invokes a function for a message.
    pub(super) fn invoke_message(&mut self, queue: usize, id: u64, receives: u32, message: Waiting, skew: i64) {
        let (deployment, name) = (self.deployment, QUEUES[queue].0);
        let Waiting { body, customer, hops, .. } = message;
        let handled =
            async move { Outcome::Handled(deployment.message(name, message_id(name, id), receives, body).await) };
        self.invoke(Work::Message { queue, id }, customer, hops, skew, handled);
    }

    /// An invocation ended with an outcome.
    pub(super) fn finished(&mut self, task: &Task<'h>, outcome: &Outcome) -> Checked {
        match outcome {
            Outcome::Handled(handled) => {
                self.trace(|| format!("{} {handled:?}", label(task)));
                if let (Work::Message { queue, id }, Handled::Done) = (&task.work, handled) {
                    let is_kept = || self.queues[*queue].dead.iter().any(|dead| dead.customer.is_none());
                    Rule::Queues.require(task.customer.is_some() || is_kept(), || {
                        "an unreadable message is deleted and not among the dead letters".to_owned()
                    })?;
                    self.queues[*queue].delete(*id);
                }
                Ok(())
            }
            Outcome::Ran => {
                self.trace(|| format!("{} done", label(task)));
                Ok(())
            }
            Outcome::Answered(answer) => {
                self.trace(|| format!("{} {answer:?}", label(task)));
                if let Work::Operator { decision, attempt } = task.work {
                    self.decided(task.customer, decision, attempt, *answer);
                }
                Ok(())
            }
            Outcome::Replied(reply) => {
                self.trace(|| format!("{} {}", label(task), reply.status()));
                match task.customer {
                    Some(number) => self.replied(number, task, reply),
                    None => {
                        let refused = [404, 503].contains(&reply.status());
                        Rule::Page.require(refused, || "a stranger is answered".to_owned())
                    }
                }
            }
        }
    }

    fn replied(&mut self, number: usize, task: &Task<'h>, reply: &Reply) -> Checked {
        match &task.work {
            Work::Page => {
                let state = self.world.state();
                let Some(customer) = self.customers.get(number) else { return Ok(()) };
                self.checker.page(&state, customer, &task.invocation, reply)?;
                if let Some(follow_up) = self.relative(number).map(|relative| &self.customers[relative]) {
                    Checker::followed(&state, follow_up, &task.invocation, reply)?;
                }
                drop(state);
                self.looked(number, reply);
            }
            Work::Webhook { kind, paid, attempt } => {
                self.stripe_hears(number, kind, *paid, *attempt, reply.status() == 200);
            }
            Work::Checkout { attempt } => {
                let body: serde_json::Value = serde_json::from_str(reply.body()).unwrap_or_default();
                let id = body["session_id"].as_str().and_then(|id| SessionId::parse(id).ok());
                let is_sold = self.customers.get(number).is_none_or(|customer| customer.is_sold);
                let refused = reply.status() == 422;
                Rule::Authority.require(is_sold != refused && (is_sold || id.is_none()), || {
                    format!("checkout answers {} to a question that is sold: {is_sold}", reply.status())
                })?;
                match id.filter(|_| reply.status() == 200) {
                    None if refused => {}
                    Some(id) => self.record_session(number, id),
                    None => self.comes_back(number, *attempt),
                }
            }
            Work::PaymentWebhook { reported, attempt } => {
                self.stripe_hears_of_payment(number, *reported, *attempt, reply.status() == 200);
            }
            Work::FollowUp { text, attempt } => return self.posted(number, *text, *attempt, reply),
            Work::Message { .. } | Work::Inbox | Work::Deadlines | Work::Reconcile | Work::Operator { .. } => {}
        }
        Ok(())
    }

    /// An invocation's process died: its caller gets no reply, and its queue delivers the message again.
    pub(super) fn died(&mut self, task: &Task<'h>) {
        self.may_be_left(&task.work, task.customer);
        match (&task.work, task.customer) {
            (Work::PaymentWebhook { reported, attempt }, Some(number)) => {
                self.stripe_hears_of_payment(number, *reported, *attempt, false);
            }
            (Work::Operator { decision, attempt }, customer) => {
                self.decided(customer, *decision, *attempt, Answered::Broken);
            }
            (Work::Webhook { kind, paid, attempt }, Some(number)) => {
                self.stripe_hears(number, kind, *paid, *attempt, false);
            }
            (Work::Checkout { attempt }, Some(number)) => self.comes_back(number, *attempt),
            (Work::FollowUp { text, attempt }, Some(number)) => self.posts_again(number, *text, *attempt),
            _ => {}
        }
    }

    /// Stripe got a reply: it delivers a refused event again, and may deliver an accepted one again too.
    fn stripe_hears(&mut self, customer: usize, kind: &'static str, paid: bool, attempt: u32, taken: bool) {
        if !taken {
            let at = usize::try_from(attempt).unwrap_or(0).min(STRIPE_WAITS.len() - 1);
            self.in_a_while(STRIPE_WAITS[at], What::Event { customer, kind, paid, attempt: attempt + 1 });
        } else if attempt < 3 && self.has_faults_now() && self.random.chance(self.faults.duplicates) {
            self.tally.count_fault("duplicate event");
            let wait = self.random.between(SECOND, 15 * MINUTE);
            self.in_a_while(wait, What::Event { customer, kind, paid, attempt: attempt + 1 });
        }
    }

    fn stripe_hears_of_payment(&mut self, customer: usize, reported: Reported, attempt: u32, taken: bool) {
        let at = usize::try_from(attempt).unwrap_or(0).min(STRIPE_WAITS.len() - 1);
        let again = taken && attempt < 3 && self.has_faults_now() && self.random.chance(self.faults.duplicates);
        if !taken || again {
            self.in_a_while(STRIPE_WAITS[at], What::PaymentEvent { customer, reported, attempt: attempt + 1 });
        }
    }

    fn comes_back(&mut self, customer: usize, attempt: u32) {
        if attempt < 5 {
            self.in_a_while(10 * SECOND, What::Arrive { customer, attempt: attempt + 1 });
        }
    }
}
