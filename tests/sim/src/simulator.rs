//! One world from its first customer to the last message: the agenda of its events, and the running invocations.
//! Everything is drawn from one seed and polled by one thread, so the same seed gives the same trace.

mod agenda;
mod customers;
mod deliveries;
mod follow_ups;
mod invocations;
mod operators;
mod payments;
mod promises;
mod schedules;

pub(crate) use agenda::{Mishap, Script};
use agenda::{Outcome, Reported, Task, What, Work, label};

use crate::{
    cast::Customer,
    checker::{Checked, Checker},
    defects::Defect,
    deployment::Deployment,
    faults::{Faults, HOUR, MINUTE, SECOND},
    queues::{QUEUES, Queue, Waiting},
    tally::Tally,
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap},
};
use testkit::{Random, World};

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
    /// Whether the policy refunds verdicts that were held for a day.
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

    /// Runs the agenda to its end, then an operator's redrive of the dead letters.
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
        self.at_rest(true)?;
        // A script says when the customers look.
        if self.script.is_none() { self.pages_at_rest() } else { Ok(()) }
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
                    self.trace(|| format!("{} timed out", label(&task)));
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

    fn trace(&mut self, line: impl FnOnce() -> String) {
        let now = self.now() - self.began;
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:>6}.{:03} {}", now / 1000, now % 1000, line()));
        }
    }

    /// An operator redrives the dead letters once the faults are over, except unreadable messages and orders of unpaid
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
