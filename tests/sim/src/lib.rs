//! The simulation runs the deployed handlers on ports that fail, in worlds that are drawn from seeds.
//!
//! In a world some customers buy. Processes die before, after and between their effects, replies are lost after the
//! work was done, messages are delivered twice, late and out of order, vendors are slow, refuse or are down, and clocks
//! are wrong. After every effect the simulation checks the [`Rule`]s on the data that the effect changed. One thread
//! polls everything, and everything is drawn from the seed: the same seed gives the same trace.

mod answer;
mod cast;
pub mod chat;
mod checker;
pub mod defects;
pub mod deployment;
mod ends;
mod faults;
mod follow_up;
mod governed;
mod operator;
mod ports;
mod queues;
pub mod recovery;
mod rules;
pub mod settings;
mod simulator;
pub mod sweep;
mod tally;

pub use ends::End;
pub use rules::{Rule, Violation};
pub use tally::Tally;

use cast::{Afterwards, Customer};
use defects::Defect;
use deployment::Deployment;
use domain::{Timestamp, breaker::BreakerPolicy, ports::ModelError};
use faults::{Faults, SECOND};
use simulator::Simulator;
use testkit::{Passage, Plan, Random, World};

/// The result of a seed's world.
#[derive(Clone, Debug)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// The rule that did not hold, if any.
    pub violation: Option<Violation>,
    /// What happened, in numbers.
    pub tally: Tally,
    /// What happened, line by line, if a trace was requested.
    pub trace: Vec<String>,
}

/// Simulates the world of a seed. With `traced`, the report has a line for every step.
#[must_use]
pub fn simulate(seed: u64, traced: bool) -> Report {
    simulate_with(seed, traced, None)
}

/// Simulates the world of a seed, where one port or queue may have a defect.
#[must_use]
pub fn simulate_with(seed: u64, traced: bool, defect: Option<Defect>) -> Report {
    let mut random = Random::new(seed, 1);
    let faults = Faults::draw(&mut random);
    let number = usize::try_from(random.between(1, 8)).unwrap_or(1);
    let mut customers: Vec<Customer> = (0..number).map(|number| Customer::draw(number, &mut random)).collect();
    let mut lost = Random::new(seed, 4);
    for customer in customers.iter_mut().filter(|customer| customer.afterwards != Afterwards::Stays) {
        customer.payment_events_lost = lost.chance(150);
    }
    cast::ask_governed(&mut customers, &mut Random::new(seed, 6));
    customers.extend(cast::draw_follow_ups(&customers, &mut Random::new(seed, 3)));
    let world = World::at(start());
    let deployment = deploy(&world, defect);
    watch_inbox_first(&deployment);
    surround(&world, &faults, Random::new(seed, 2), &customers);
    world.state().relays_mails = Random::new(seed, 5).chance(250);
    let mut simulator = Simulator::new(&deployment, faults, random, customers, traced);
    simulator.begin();
    let outlook = simulator.run();
    Report { seed, violation: outlook.result.err(), tally: outlook.tally, trace: outlook.trace }
}

/// Runs inbox-watch once before the first customer arrives: its first run marks the messages in the inbox as seen.
fn watch_inbox_first(deployment: &Deployment<'_>) {
    // There are no faults yet, so one poll completes it.
    let ended = testkit::run(deployment.watch_inbox("first"));
    assert!(ended.is_some(), "the first run of inbox-watch did not end");
    // Its effects are not part of the world's counts.
    deployment.world.plan(Plan::none());
    let mut state = deployment.world.state();
    state.crossings.clear();
    state.boundaries.clear();
    state.alerts.clear();
}

/// The lists of the deadlines function that are empty in these worlds. They take no time and have no faults here; the
/// worlds of the chat and of the toll read them with faults.
const EMPTY_LISTS: [&str; 5] =
    ["accounts.erasures_due", "accounts.unpublished", "bridges.letters_due", "purchases.listed", "stored_mails.named"];

/// Gives a world its faults and a model that knows the customers' questions.
fn surround(world: &World, faults: &Faults, mut random: Random, customers: &[Customer]) {
    teach(world, customers);
    let faults = faults.clone();
    let mut state = world.state();
    state.random = Random::seeded(random.next());
    state.sent_items_lag = faults.sent_items_lag;
    // A worker with a wrong clock may take over the claim of one that has just sent its mail, and send it again.
    state.draft_lag = if faults.wrong_clocks == 0 { faults.sent_items_lag.min(10 * SECOND) } else { 0 };
    let began = state.now;
    drop(state);
    world.surround(Box::new(move |name, now| match name {
        _ if EMPTY_LISTS.contains(&name) => Passage::default(),
        _ => faults.passage(&mut random, name, now - began),
    }));
}

/// Gives a world a model that knows the customers' questions, and a promotion code.
fn teach(world: &World, customers: &[Customer]) {
    let customers = customers.to_vec();
    let mut calls = vec![0_u64; customers.len()];
    let mut state = world.state();
    state.promotion_codes.insert("FRIEND".to_owned(), "promo_friend".to_owned());
    state.model = Some(Box::new(move |_model, prompt| {
        // Follow-ups come last, and their prompts have the first question too.
        match customers.iter().rfind(|customer| customer.asks(&prompt.content)) {
            Some(customer) => {
                calls[customer.number] += 1;
                answer::reply(customer.answer, customer.tier, customer.fickle, calls[customer.number])
            }
            None => Err(ModelError::BadRequest(400)),
        }
    }));
}

const fn start() -> Timestamp {
    Timestamp::from_seconds(1_800_000_000)
}

/// The functions of a world of a few sales: breakers open earlier than with the template's settings.
fn deploy(world: &World, defect: Option<Defect>) -> Deployment<'_> {
    let mut deployment = Deployment::with_defect(world, defect);
    deployment.verdict.policy.breaker = breaker_policy();
    deployment
}

pub(crate) fn breaker_policy() -> BreakerPolicy {
    BreakerPolicy { failures: 2, slow_successes: 3, ..settings::breaker() }
}
