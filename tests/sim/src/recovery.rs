//! How soon the sales that waited for a vendor are delivered after its return: worlds of many sales, one outage, and
//! nothing else that goes wrong. Nobody has a page open.

use crate::{
    cast::Customer,
    deployment::Deployment,
    faults::{Faults, MINUTE, Outage},
    random::Random,
    rules::Violation,
    simulator::{Script, Simulator},
    start, surround,
};
use std::time::Duration;
use testkit::{Fault, World};

/// The outage begins,
const FROM: i64 = 2 * MINUTE;

/// and ends.
const UNTIL: i64 = 12 * MINUTE;

/// What came of one world.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// For each sale that was ordered before the vendor's return: how long after it its mail went, nothing where it went
    /// before. `None` where it never went.
    pub delays: Vec<Option<Duration>>,
    /// The rule that did not hold, if any.
    pub violation: Option<Violation>,
}

/// Lets `sales` sales come in the course of an outage of ten minutes of the vendor whose boundaries begin with `of`.
#[must_use]
pub fn recover(seed: u64, of: &'static str, how: Fault, sales: usize) -> Recovery {
    let customers: Vec<Customer> = (0..sales).map(Customer::plain).collect();
    let faults = Faults { outage: Some(Outage { of, from: FROM, until: UNTIL, how }), ..Faults::none(false) };
    let world = World::at(start());
    surround(&world, &faults, Random::new(seed, 2), &customers);
    let deployment = Deployment::new(&world);
    let mut simulator = Simulator::new(&deployment, faults, Random::new(seed, 1), customers, false);
    simulator.follow(Script { arrivals: UNTIL, ..Script::default() });
    let outlook = simulator.run();
    let state = world.state();
    let back = start().plus(millis(UNTIL));
    let waited = state.sales.values().map(|(sale, _)| sale).filter(|sale| sale.received_at() < back);
    let delays = waited.map(|sale| {
        let mails = state.sent.iter().zip(&state.sent_at);
        let mut went = mails.filter(|((_, mail), _)| mail.session == *sale.session_id()).map(|(_, at)| *at);
        went.next().map(|at| millis(at - back.as_millis()))
    });
    Recovery { delays: delays.collect(), violation: outlook.result.err() }
}

fn millis(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}
