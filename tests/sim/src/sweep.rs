//! Sweeps one sale exhaustively: every fault at every effect, and a death of the process at every pair of effects.

use crate::{
    Rule, Violation,
    answer::Answer,
    cast::{self, Afterwards, Customer, Payment},
    ends::End,
    faults::{Faults, HOUR, MINUTE, SECOND},
    follow_up::Way,
    governed::governed,
    operator::Decision,
    simulator::{Mishap, Outlook, Script, Simulator},
    start,
};
use domain::{Tier, money::PaymentChange, retry::RetryTable};
use std::{
    collections::BTreeSet,
    panic::resume_unwind,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};
use testkit::{FAULTS, Fault, Passage, Random, World};

/// One kind of sale, with the ends that it may have under any fault.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    customer: Customer,
    /// How the customer orders a follow-up, if at all.
    follow_up: Option<Way>,
    ends: &'static [End],
    mishap: Option<(Mishap, i64)>,
    rival: bool,
    decision: Option<(Decision, i64)>,
    reconcile: Option<i64>,
    /// A vendor's replies to the first calls of an effect.
    refused: Option<(&'static str, usize, u16)>,
    looks: bool,
    /// Whether mails are sent by a service that stores no drafts.
    relays_mails: bool,
}

/// What a sweep found.
#[derive(Clone, Debug, Default)]
pub struct Sweep {
    /// The number of the sale's effects without faults.
    pub boundaries: usize,
    /// The number of runs.
    pub runs: u64,
    /// The names of the boundaries that were reached.
    pub names: BTreeSet<&'static str>,
    /// The faults that broke a promise, each with the rule.
    pub broken: Vec<(String, Violation)>,
}

/// Every kind of sale.
#[must_use]
pub fn scenarios() -> Vec<Scenario> {
    let plain = Scenario {
        name: "a sale",
        customer: Customer::plain(0),
        follow_up: None,
        ends: &[End::Delivered],
        mishap: None,
        rival: false,
        decision: None,
        reconcile: None,
        refused: None,
        looks: true,
        relays_mails: false,
    };
    let with = |name, ends, change: fn(&mut Scenario)| {
        let mut scenario = Scenario { name, ends, ..plain.clone() };
        change(&mut scenario);
        scenario
    };
    vec![
        plain.clone(),
        with("a held verdict", &[End::Held], |it| it.customer.answer = Answer::Held),
        with("a rejected reply", &[End::Failed], |it| it.customer.answer = Answer::Rejected),
        with("a first reply without a referral", &[End::Delivered], |it| {
            it.customer.question = governed("What does 'force majeure' mean?", "Asked", 0);
            it.customer.is_governed = true;
            it.customer.answer = Answer::UnreferredOnce;
        }),
        with("a model that is down", &[End::Failed], |it| it.customer.answer = Answer::Down),
        with("no address", &[End::PageOnly], |it| it.customer.has_address = false),
        with("a session that names no tier", &[End::Unusable], |it| {
            it.customer.by_link = true;
            it.customer.unusable = true;
        }),
        with("a slow payment", &[End::Delivered], |it| it.customer.payment = Payment::Slow),
        with("a cache entry that is lost", &[End::Delivered], |it| it.mishap = Some((Mishap::CacheLost, 3 * MINUTE))),
        with("a contaminated cache entry", &[End::Held, End::Delivered], |it| {
            it.mishap = Some((Mishap::CacheContaminated, 3 * MINUTE));
        }),
        with("two workers on one mail", &[End::Delivered], |it| it.rival = true),
        with("a held verdict that an operator replaces", &[End::Delivered, End::Held], |it| {
            it.customer.answer = Answer::Held;
            it.decision = Some((Decision::Replace, 4 * MINUTE));
        }),
        with("a held verdict that an operator approves", &[End::Delivered, End::Held], |it| {
            it.customer.answer = Answer::Held;
            it.mishap = Some((Mishap::ListChanged, 3 * MINUTE));
            it.decision = Some((Decision::Approve, 4 * MINUTE));
        }),
        with("a customer's reply", &[End::Delivered, End::Unusable], |it| {
            it.customer.by_link = true;
            it.customer.unusable = true;
            it.decision = Some((Decision::Resubmit, 20 * MINUTE));
        }),
        with("an operator's refund", &[End::Refunded, End::Failed], |it| {
            it.customer.answer = Answer::Rejected;
            it.decision = Some((Decision::Refund, 4 * MINUTE));
        }),
        with("a customer who asks to be forgotten at once", &[End::Erased, End::Delivered], |it| {
            it.decision = Some((Decision::Erase, 2 * MINUTE));
        }),
        with("a customer who asks to be forgotten later", &[End::Erased, End::Delivered], |it| {
            it.decision = Some((Decision::Erase, 40 * MINUTE));
        }),
        with("a declined question that people allow", &[End::Delivered, End::Declined], |it| {
            it.customer.question = governed("Should I buy Bitcoin with my savings?", "Asked", 0);
            it.customer.is_governed = true;
            it.customer.is_sold = false;
            it.customer.by_link = true;
            it.decision = Some((Decision::Allow, 6 * MINUTE));
        }),
        with("a delivered mail that an operator sends again", &[End::Delivered], |it| {
            it.decision = Some((Decision::SendAgain, 6 * MINUTE));
        }),
        with("a customer's bank", &[End::Disputed], |it| {
            it.customer.afterwards = Afterwards::Dispute(PaymentChange::DisputeOpened);
        }),
        with("a mailbox that is down", &[End::Delivered], |it| it.refused = Some(("mailbox.create_draft", 3, 503))),
        with("a mailbox that says no", &[End::MailUndecided], |it| {
            it.refused = Some(("mailbox.create_draft", usize::MAX, 400));
        }),
        with("a sale whose events are lost", &[End::Delivered], |it| {
            it.customer.events_lost = true;
            it.looks = false;
            it.reconcile = Some(3 * HOUR);
        }),
        with("a mail through a service that keeps none", &[End::Delivered, End::MailUndecided], |it| {
            it.relays_mails = true;
        }),
        with("two workers on one such mail", &[End::Delivered, End::MailUndecided], |it| {
            it.relays_mails = true;
            it.rival = true;
        }),
        with("a follow-up that is ordered by a reply to such a mail", &[End::Delivered, End::MailUndecided], |it| {
            it.relays_mails = true;
            it.order_follow_up(Way::Reply);
        }),
        with("a follow-up that is ordered on the page", &[End::Delivered], |it| it.order_follow_up(Way::Page)),
        with("a follow-up that is ordered by a reply", &[End::Delivered], |it| it.order_follow_up(Way::Reply)),
    ]
}

impl Scenario {
    fn order_follow_up(&mut self, way: Way) {
        self.customer.tier = Tier::Strategy;
        self.follow_up = Some(way);
    }
}

/// Sweeps one scenario: every fault at every effect; with `pairs`, also two deaths at every pair of effects. All
/// processors share the effects.
///
/// Leaves out pairs if mails are sent by a service that stores no drafts: one death can use up the whole schedule of
/// retries, and the promise is due before a second death in its last attempt is repaired.
#[must_use]
pub fn sweep(scenario: &Scenario, pairs: bool) -> Sweep {
    let pairs = pairs && !scenario.relays_mails;
    let mut sweep = Sweep::default();
    sweep.boundaries = sweep.live(scenario, &[]);
    let (next, boundaries) = (AtomicUsize::new(first(scenario)), sweep.boundaries);
    let sweep_until_none_is_left = || {
        let mut swept = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= boundaries {
                return swept;
            }
            swept.push((at, sweep_at(scenario, at, pairs)));
        }
    };
    let mut swept: Vec<(usize, Sweep)> = thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let running: Vec<_> = (0..workers).map(|_| scope.spawn(sweep_until_none_is_left)).collect();
        running.into_iter().flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    swept.sort_by_key(|(at, _)| *at);
    swept.into_iter().for_each(|(_, part)| sweep.add(part));
    sweep
}

/// Sweeps one effect: every fault at it, and with `pairs` a death at it and at every later effect.
fn sweep_at(scenario: &Scenario, at: usize, pairs: bool) -> Sweep {
    let mut sweep = Sweep::default();
    for fault in FAULTS {
        let then = sweep.live(scenario, &[(at, fault)]);
        if pairs && fault == Fault::CrashAfter {
            for second in at + 1..then {
                sweep.live(scenario, &[(at, fault), (second, Fault::CrashAfter)]);
            }
        }
    }
    sweep
}

/// The first effect that is swept: for a follow-up, the effects of its sale are swept by another scenario.
fn first(scenario: &Scenario) -> usize {
    if scenario.follow_up.is_none() {
        return 0;
    }
    let world = World::at(start());
    live_in(&world, scenario, &[], false);
    let reached = &world.state().boundaries;
    let ordering = reached.iter().position(|name| ["store.open_followup", "inbox.arrived"].contains(name));
    // The reads of the order come before its write.
    ordering.unwrap_or(0).saturating_sub(3)
}

/// The trace of one run.
#[must_use]
pub fn trace(scenario: &Scenario, faults: &[(usize, Fault)]) -> Vec<String> {
    live(scenario, faults, true).0.trace
}

impl Sweep {
    fn add(&mut self, part: Self) {
        self.runs += part.runs;
        self.names.extend(part.names);
        self.broken.extend(part.broken);
    }

    /// Runs a scenario and returns the number of its effects.
    fn live(&mut self, scenario: &Scenario, faults: &[(usize, Fault)]) -> usize {
        let (outlook, boundaries) = live(scenario, faults, false);
        self.runs += 1;
        self.names.extend(outlook.tally.boundaries.keys());
        let ends: Vec<End> = outlook.tally.ends.keys().copied().collect();
        // A sale and its follow-up may end differently.
        let as_expected = !ends.is_empty() && ends.iter().all(|end| scenario.ends.contains(end));
        let as_expected =
            Rule::EndsInTime.require(as_expected, || format!("it ended as {ends:?}, not as {:?}", scenario.ends));
        if let Err(violation) = outlook.result.and(as_expected) {
            self.broken.push((format!("{}: {faults:?}", scenario.name), violation));
        }
        boundaries
    }
}

fn live(scenario: &Scenario, faults: &[(usize, Fault)], traced: bool) -> (Outlook, usize) {
    let world = World::at(start());
    let outlook = live_in(&world, scenario, faults, traced);
    (outlook, world.passed())
}

fn live_in(world: &World, scenario: &Scenario, faults: &[(usize, Fault)], traced: bool) -> Outlook {
    let mut customers = vec![scenario.customer.clone()];
    let asked = "And if shop number 0 opens in autumn instead?".to_owned();
    customers.extend(scenario.follow_up.map(|way| cast::follow_up_of(&scenario.customer, 1, way, asked)));
    let mut deployment = crate::deploy(world, None);
    if scenario.follow_up.is_some() {
        crate::watch_inbox_first(&deployment);
    }
    crate::teach(world, &customers);
    world.state().relays_mails = scenario.relays_mails;
    let faults = faults.to_vec();
    let (mut begun, mut refused, refusal) = (0, 0, scenario.refused);
    world.surround(Box::new(move |name, _now| {
        let mut fault = faults.iter().find(|(at, _)| *at == begun).map(|(_, fault)| *fault);
        begun += 1;
        if let Some((_, most, status)) = refusal.filter(|(of, ..)| *of == name) {
            refused += 1;
            fault = fault.or_else(|| (refused <= most).then_some(Fault::Refuse(status)));
        }
        let before = Duration::from_millis(if name == "model.ask" { 900 } else { 5 });
        Passage { before, fault, after: Duration::from_millis(1) }
    }));
    // A few attempts reach every effect, and every fault is injected at each of them.
    deployment.verdict.retries = RetryTable::standard().cut(2, Duration::from_secs(150));
    let mut simulator = Simulator::new(&deployment, Faults::none(scenario.rival), Random::new(0, 0), customers, traced);
    simulator.follow(Script {
        arrivals: 0,
        looks: if scenario.looks { vec![2 * SECOND, 4 * MINUTE, 50 * MINUTE, 80 * MINUTE] } else { Vec::new() },
        mishap: scenario.mishap,
        rival: scenario.rival,
        decision: scenario.decision,
        reconcile: scenario.reconcile,
    });
    simulator.run()
}
