//! One world from its first customer to the last message: an agenda of what happens when, and the invocations that
//! are under way. All of it is drawn from one seed, and one thread polls it, so the same seed does the same.

mod agenda;
mod customers;
mod deliveries;
mod follow_ups;
mod schedules;

pub(crate) use agenda::{Mishap, Script};
use agenda::{Outcome, Reported, Task, What, Work, fault_name, label, message_id};

use crate::{
    cast::Customer,
    checker::{Checked, Checker, Invocation},
    defects::Defect,
    deployment::Deployment,
    ends::{self, End, Whereabouts},
    faults::{Faults, HOUR, MINUTE, SECOND},
    queues::{MAX_HOPS, QUEUES, Queue, Waiting},
    random::Random,
    rules::{Rule, Violation},
    tally::Tally,
};
use domain::{Timestamp, message::Message, money::Money};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap},
    future::Future,
    task::{Context, Poll, Waker},
    time::Duration,
};
use testkit::{World, world::State};

/// Every paid sale ends within this time, or is before a human (the owner's promise).
const PROMISE: i64 = 3 * HOUR;

/// The result of a world.
pub(crate) struct Outlook {
    pub(crate) result: Checked,
    pub(crate) tally: Tally,
    pub(crate) trace: Vec<String>,
}

pub(crate) struct Simulator<'h> {
    deployment: &'h Deployment<'h>,
    world: &'h World,
    faults: Faults,
    random: Random,
    began: i64,
    agenda: BinaryHeap<Reverse<(i64, u64, What)>>,
    counted: u64,
    tasks: BTreeMap<u64, Task<'h>>,
    queues: Vec<Queue>,
    customers: Vec<Customer>,
    checker: Checker,
    tally: Tally,
    trace: Option<Vec<String>>,
    script: Option<Script>,
    /// The schedules run at least until then.
    horizon: i64,
    /// The customers whose refund Stripe has reported.
    refunds_reported: BTreeSet<usize>,
    /// Whether what is held for a day is refunded by policy.
    refund_held: bool,
    /// Whether inbox-watch is on the agenda.
    watches_inbox: bool,
}

impl<'h> Simulator<'h> {
    pub(crate) fn new(
        deployment: &'h Deployment<'h>,
        faults: Faults,
        random: Random,
        customers: Vec<Customer>,
        traced: bool,
    ) -> Self {
        let checker = Checker::new(faults.wrong_clocks == 0, deployment.verdict.retries.clone());
        let began = deployment.world.state().now;
        let for_ever = deployment.ports.defect == Some(Defect::NeverDeadLettered);
        let queue = |(_, visibility, most)| Queue::new(visibility, if for_ever { u32::MAX } else { most });
        Self {
            deployment,
            world: deployment.world,
            faults,
            random,
            began,
            agenda: BinaryHeap::new(),
            counted: 0,
            tasks: BTreeMap::new(),
            queues: QUEUES.map(queue).into(),
            customers,
            checker,
            tally: Tally { worlds: 1, ..Tally::default() },
            trace: traced.then(Vec::new),
            script: None,
            horizon: began + 4 * HOUR,
            refunds_reported: BTreeSet::new(),
            refund_held: true,
            watches_inbox: false,
        }
    }

    /// Lives through everything on the agenda, and through what an operator does with the dead letters at the end.
    pub(crate) fn run(mut self) -> Outlook {
        let result = self.live();
        for customer in &self.customers {
            let end = self.end(&self.world.state(), customer);
            if let Ok(end) = end {
                *self.tally.ends.entry(end).or_default() += 1;
            }
        }
        for customer in self.customers.iter().filter(|it| it.is_governed && it.follow_up.is_none()) {
            let state = authority::evaluate(&customer.question, None).state().as_str();
            match customer.by_link {
                false => self.tally.count_governed(state, "on the site"),
                true if customer.paid_at.is_some() => self.tally.count_governed(state, "by a Payment Link"),
                true => {}
            }
        }
        self.tally.sales = self.customers.len() as u64;
        Outlook { result, tally: self.tally, trace: self.trace.unwrap_or_default() }
    }

    fn live(&mut self) -> Checked {
        self.until_all_is_quiet()?;
        self.at_rest(false)?;
        self.redrive();
        self.until_all_is_quiet()?;
        self.at_rest(true)
    }

    fn until_all_is_quiet(&mut self) -> Checked {
        while let Some(Reverse((at, _, what))) = self.agenda.pop() {
            self.world.state().now = at;
            self.happen(what)?;
        }
        Ok(())
    }

    fn happen(&mut self, what: What) -> Checked {
        match what {
            What::Poll(task) => self.poll(task),
            What::TimeOut(task) => {
                if let Some(task) = self.tasks.remove(&task) {
                    self.tally.count_fault("function time-out");
                    self.note(|| format!("{} timed out", label(&task)));
                    self.died(&task);
                }
                Ok(())
            }
            What::Due { queue, id } => self.receive(queue, id),
            What::Again { queue, id, body, customer, hops, skew } => {
                self.tally.count_fault("duplicate delivery");
                self.may_be_chased(customer);
                let receives = self.queues[queue].get(id).map_or(1, |waiting| waiting.receives + 1);
                self.invoke_message(
                    queue,
                    id,
                    receives,
                    Waiting { body, customer, receives, visible_at: 0, hops },
                    skew,
                );
                Ok(())
            }
            What::Promise { customer } => self.promise(customer),
            What::Deadlines => self.deadlines(),
            other => {
                self.customer_does(other);
                Ok(())
            }
        }
    }

    /// Puts something on the agenda.
    fn at(&mut self, when: i64, what: What) {
        self.counted += 1;
        self.agenda.push(Reverse((when, self.counted, what)));
    }

    fn in_a_while(&mut self, wait: i64, what: What) {
        let now = self.now();
        self.at(now + wait.max(0), what);
    }

    fn now(&self) -> i64 {
        self.world.state().now
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        let now = self.now() - self.began;
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:>6}.{:03} {}", now / 1000, now % 1000, line()));
        }
    }

    /// Starts an invocation on a clock that is off by `skew`, or by more in a world of wrong clocks.
    fn invoke(
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
        self.note(|| format!("{} begins", label(&task)));
        self.tasks.insert(id, task);
        self.in_a_while(0, What::Poll(id));
        self.in_a_while(time_out, What::TimeOut(id));
    }

    /// Lets an invocation go on until its next effect.
    fn poll(&mut self, id: u64) -> Checked {
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
            self.note(|| {
                let fault = crossing.fault.map_or_else(String::new, |fault| format!(" [{fault:?}]"));
                format!("{} {}{fault}", label(&task), crossing.name)
            });
            let state = self.world.state();
            match task.customer.and_then(|number| self.customers.get(number)) {
                Some(customer) => {
                    self.checker.crossed(&state, customer, &mut task.invocation, crossing)?;
                    // What is done about a sale may change its follow-up too, and the other way round.
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
            self.note(|| format!("an unreadable message goes to the dead letters of {name}"));
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
                        self.note(|| format!("{} died", label(&task)));
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

    /// No queue follows these: what they could not finish, the deadlines function does.
    fn may_be_left(&mut self, work: &Work, customer: Option<usize>) {
        match work {
            Work::Page | Work::FollowUp { .. } | Work::Operator { .. } => self.may_be_chased(customer),
            // It may have stopped between a sale and its messages, whichever sale that was.
            Work::Deadlines | Work::Reconcile | Work::Inbox => {
                (0..self.customers.len()).for_each(|it| self.may_be_chased(Some(it)))
            }
            Work::Checkout { .. } | Work::Webhook { .. } | Work::PaymentWebhook { .. } | Work::Message { .. } => {}
        }
    }

    fn may_be_chased(&mut self, customer: Option<usize>) {
        let relative = customer.and_then(|number| self.relative(number));
        for number in customer.into_iter().chain(relative) {
            if let Some(customer) = self.customers.get_mut(number) {
                customer.may_be_chased = true;
            }
        }
    }

    /// From when on a promise that is made now counts: no code ends a long outage.
    fn promise_begins(&self) -> i64 {
        let now = self.now();
        self.faults.long_until(now - self.began).map_or(now, |until| self.began + until)
    }

    /// The promise to a customer is due: an end, or a human.
    fn promise(&mut self, number: usize) -> Checked {
        self.note(|| format!("the promise to customer {number} is due"));
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
        self.forgiven(customer, end)
    }

    /// When the money of the customer's sale went back.
    fn refunded_at(&self, customer: &Customer) -> Option<i64> {
        let state = self.world.state();
        let (sale, _) = state.sales.get(customer.session.as_ref()?)?;
        sale.refunded_at().map(Timestamp::as_millis)
    }

    /// Whether a dead letter may be.
    fn forgiven(&self, customer: &Customer, end: End) -> Checked {
        let excused = self.faults.is_long() || customer.mishap.is_some();
        Rule::NotGivenUp.require(end != End::DeadLetter || excused, || {
            format!("customer {}'s message is in a dead-letter queue", customer.number)
        })
    }

    fn end(&self, state: &State, customer: &Customer) -> Result<End, Violation> {
        // What lay meanwhile is on its way within an hour of the end.
        let refused = self.faults.outage.is_some_and(|outage| {
            let now = state.now - self.began;
            outage.of == "queue." && outage.from <= now && now < outage.until + HOUR
        });
        ends::end(state, customer, self.whereabouts(customer.number), refused)
    }

    fn whereabouts(&self, number: usize) -> Whereabouts {
        let given_up = |queue: &Queue| queue.dead.iter().any(|waiting| waiting.customer == Some(number));
        if self.queues.iter().any(given_up) {
            Whereabouts::GivenUp
        } else if self.queues.iter().any(|queue| queue.has(number)) {
            Whereabouts::Waiting
        } else {
            Whereabouts::Nowhere
        }
    }

    /// Nothing is under way and nothing waits: every sale has ended, every record is written.
    fn at_rest(&mut self, redriven: bool) -> Checked {
        let waiting = self.queues.iter().all(Queue::is_empty) && self.tasks.is_empty();
        Rule::Queues.require(waiting, || "messages wait, and no delivery of them is due".to_owned())?;
        let state = self.world.state();
        self.checker.at_rest(&state)?;
        Checker::replies_at_rest(&state, &self.customers)?;
        for customer in &self.customers {
            let end = self.end(&state, customer)?;
            self.forgiven(customer, end)?;
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

    /// An operator puts the dead letters back once the faults are over, all but what cannot be read and orders of unpaid
    /// sessions.
    fn redrive(&mut self) {
        let now = self.now().max(self.began + self.faults.over());
        for queue in 0..self.queues.len() {
            for waiting in self.queues[queue].take_dead() {
                if waiting.customer.is_none_or(|number| self.customers[number].paid_at.is_none()) {
                    self.queues[queue].dead.push(waiting);
                    continue;
                }
                self.counted += 1;
                let id = self.counted;
                self.queues[queue].put(id, Waiting { receives: 0, visible_at: now + SECOND, ..waiting });
                self.at(now + SECOND, What::Due { queue, id });
            }
        }
        self.horizon = now + HOUR;
        self.at(now + MINUTE, What::Deadlines);
    }
}

fn queue_named(name: &str) -> Option<usize> {
    QUEUES.iter().position(|(known, ..)| *known == name)
}
