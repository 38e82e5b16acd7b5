//! The chat and its subscriptions in worlds that are drawn from seeds: people with several tabs who ask, ask again,
//! read, erase and pay, while effects fail, lose their replies or end the process, and while Stripe's events come late,
//! twice, in another order or not at all.
//!
//! In some worlds they also use the Bridge: members accept, post and read, and operators grant, revoke and reply.
//!
//! The handlers are those of the chat, payment-events, reconcile and deadlines functions and of the operators'
//! commands. The [`Promise`]s are checked on every reply that leaves, on every prompt that the model gets, and on the
//! stores once the faults are over.

mod alerted;
mod asked;
mod chaos;
mod checker;
mod defects;
mod functions;
mod model;
mod people;
mod ports;
mod promises;
mod simulator;
mod stripe;
mod threads;

pub use defects::{ChatDefect, DEFECTS, hunt};
pub use promises::{Broken, Promise};

use std::collections::{BTreeMap, BTreeSet};
use testkit::Random;

/// What the world of a seed came to.
#[derive(Clone, Debug)]
pub struct ChatReport {
    /// The promise that did not hold, if any.
    pub broken: Option<Broken>,
    /// What happened, in numbers.
    pub tally: ChatTally,
    /// What happened, line by line, where it was asked for.
    pub trace: Vec<String>,
}

/// Counts over one or more worlds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatTally {
    /// Replies of the chat by method and status, faults by name, what Stripe reported, by kind.
    pub counts: BTreeMap<String, u64>,
    /// The effects that happened or failed, by boundary.
    pub reached: BTreeSet<&'static str>,
}

impl ChatTally {
    pub(crate) fn count(&mut self, what: impl Into<String>) {
        *self.counts.entry(what.into()).or_default() += 1;
    }

    /// Adds the counts of another world.
    pub fn add(&mut self, other: &Self) {
        for (what, count) in &other.counts {
            *self.counts.entry(what.clone()).or_default() += count;
        }
        self.reached.extend(&other.reached);
    }

    /// How often something happened.
    #[must_use]
    pub fn of(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or(0)
    }
}

/// Simulates the chat's world of a seed, where one port may have a defect. With `traced`, the report has a line for
/// every step.
#[must_use]
pub fn simulate_chat(seed: u64, traced: bool, defect: Option<ChatDefect>) -> ChatReport {
    let mut random = Random::new(seed, 11);
    let chaos = chaos::Chaos::draw(&mut random);
    let world = model::world(&mut random);
    let functions = functions::Functions::new(world, defect);
    let people = people::draw(&mut random);
    let [beside, apart, outs] = [15, 17, 19].map(|stream| Random::new(seed, stream));
    let mut simulator = simulator::Simulator::new(&functions, chaos, [random, beside, apart, outs], people, traced);
    let broken = simulator.live().err();
    let (tally, trace) = simulator.end();
    ChatReport { broken, tally, trace }
}
