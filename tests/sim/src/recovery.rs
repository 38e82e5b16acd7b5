//! Measures how soon the sales that waited for a vendor are delivered after its return, in worlds of many sales with
//! one outage and no other fault. No page is open.

use crate::{
    cast::Customer,
    deployment::Deployment,
    faults::{Faults, MINUTE, Outage},
    rules::Violation,
    simulator::{Script, Simulator},
    start, surround,
};
use domain::{Sale, breaker::BreakerPolicy};
use std::time::Duration;
use testkit::{Fault, Random, World};

/// The beginning of the outage, in milliseconds of the world.
const FROM: i64 = 2 * MINUTE;

/// The end of the outage.
const UNTIL: i64 = 12 * MINUTE;

/// The result of one world.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// For each sale that waited when the vendor returned, the time from then until its mail was sent; `None` if none
    /// was sent.
    pub delays: Vec<Option<Duration>>,
    /// The rule that did not hold, if any.
    pub violation: Option<Violation>,
}

/// Simulates `sales` sales that are bought during an outage of ten minutes of the vendor whose boundaries begin with
/// `of`, with these settings of the model's circuit.
#[must_use]
pub fn recover(seed: u64, of: &'static str, how: Fault, sales: usize, breaker: BreakerPolicy) -> Recovery {
    let customers: Vec<Customer> = (0..sales).map(Customer::plain).collect();
    let faults = Faults::only(Outage { of, from: FROM, until: UNTIL, how });
    let world = World::at(start());
    surround(&world, &faults, Random::new(seed, 2), &customers);
    let mut deployment = Deployment::new(&world);
    deployment.verdict.policy.breaker = breaker;
    let mut simulator = Simulator::new(&deployment, faults, Random::new(seed, 1), customers, false);
    simulator.follow(Script { arrivals: UNTIL, ..Script::default() });
    let outlook = simulator.run();
    let state = world.state();
    let back = start().plus(millis(UNTIL));
    let waited = state.sales.values().map(|(sale, _)| sale).filter(|sale| sale.received_at() < back);
    let went = |sale: &Sale| {
        let mut mails = state.sent.iter().zip(&state.sent_at);
        mails.find(|((_, mail), _)| mail.session == *sale.session_id()).map(|(_, at)| at - back.as_millis())
    };
    let delays = waited.map(went).filter(|at| at.is_none_or(|at| at > 0)).map(|at| at.map(millis)).collect();
    Recovery { delays, violation: outlook.result.err() }
}

fn millis(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}
