//! Shared parts of this crate's tests.

use crate::{Operator, list};
use audit::Journal;
use domain::{
    CallerIdentity, CheckoutSession, Sale, SessionId, Timestamp,
    mail::{Mail, Progress},
    sale::{Declined, Fulfilment, HumanLock},
};
use std::fmt::Debug;
use testkit::{Plan, World, every_single_fault, sale::WithField, session::paid};

pub(crate) const NOW: i64 = 1_800_000_000;

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(NOW + seconds)
}

pub(crate) fn session() -> SessionId {
    SessionId::parse("cs_test_a1B2c3D4e5F6").unwrap()
}

/// A delivered sale.
pub(crate) fn sale() -> Sale {
    Sale::ordered(session(), at(-600))
        .with("tier", Some(domain::Tier::Quick))
        .with("fulfilment", Fulfilment::Ready { at: at(-500), archived: true })
        .with("mail", Mail::Sent { at: at(-400) })
}

pub(crate) const IDENTITY: &str = "arn:aws:sts::123456789012:assumed-role/ops/dana";

pub(crate) fn operator() -> Operator {
    Operator::parse("dana", Some("looked at it")).unwrap().known_as(CallerIdentity::parse(IDENTITY).ok())
}

pub(crate) fn world() -> World {
    World::at(at(0))
}

pub(crate) fn world_with(sale: Sale) -> World {
    let world = world();
    let paid = CheckoutSession {
        metadata: [("tier", "quick"), ("q0", "Open a shop?"), ("qn", "1")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        amount_total: Some(100),
        ..paid(sale.session_id().as_str())
    };
    let mut state = world.state();
    state.sessions.insert(paid.id.clone(), paid);
    state.sales.insert(sale.session_id().clone(), (sale, 1));
    drop(state);
    world
}

pub(crate) fn journal(world: &World) -> Journal<'_> {
    Journal { store: world, log: world, alerts: world, clock: world }
}

pub(crate) fn stored(world: &World) -> Sale {
    world.state().sales[&session()].0.clone()
}

/// The operators' records in the log.
pub(crate) fn decisions(world: &World) -> Vec<serde_json::Value> {
    let lines = world.state().records();
    lines.into_iter().filter(|line| line["event"] == "operator").collect()
}

/// Injects every single fault at every boundary of an operation, repeats the operation as an operator would after a
/// failure, and then calls `check`. The operation must succeed without a fault, and when it is repeated.
pub(crate) fn whatever_breaks<T, E: Debug>(
    fresh: impl Fn() -> World,
    operation: impl Fn(&World) -> Option<Result<T, E>>,
    check: impl Fn(&World, &str),
) {
    whatever_breaks_or_is_done(fresh, operation, |_| false, check);
}

/// The same for an operation that may refuse to be repeated: `is_done` recognises the refusal of one that was carried
/// out.
pub(crate) fn whatever_breaks_or_is_done<T, E: Debug>(
    fresh: impl Fn() -> World,
    operation: impl Fn(&World) -> Option<Result<T, E>>,
    is_done: impl Fn(&E) -> bool,
    check: impl Fn(&World, &str),
) {
    let clean = fresh();
    operation(&clean).unwrap().map(drop).unwrap();
    for (plan, what) in every_single_fault(clean.passed(), 2) {
        let world = fresh();
        world.plan(plan);
        drop(operation(&world));
        world.plan(Plan::none());
        let repeated = operation(&world).unwrap().map(drop);
        assert!(repeated.as_ref().err().is_none_or(&is_done), "{what}: {repeated:?}");
        check(&world, &what);
    }
}

fn named(number: usize, sale: Sale) -> Sale {
    sale.with("session_id", SessionId::parse(format!("cs_test_{number}")).unwrap())
}

/// A dead letter.
pub(crate) fn dead(seconds: i64) -> Mail {
    Mail::Dead { at: at(seconds), progress: Progress { failures: vec!["503".into()], ..Progress::default() } }
}

/// A sale whose question the authority gate declined at this second.
pub(crate) fn declined(lock: HumanLock, is_crisis: bool, seconds: i64) -> Sale {
    let declined = Declined {
        state: domain::authority_state::State::Blocked,
        reason: "drug_dosing".into(),
        domain: "medicine".into(),
        lock,
        helpers: Vec::new(),
        advice: Vec::new(),
        is_crisis,
        is_emergency: false,
        at: at(seconds),
        approvals: Vec::new(),
        approved_at: None,
    };
    let failed = Fulfilment::Failed { reason: "authority gate: BLOCKED drug_dosing".into(), at: at(seconds) };
    sale().with("fulfilment", failed).with("mail", Mail::NotOrdered).with("declined", Some(declined))
}

/// The lock of a question that this many people may let through.
pub(crate) fn people(persons: u8) -> HumanLock {
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    HumanLock::People { persons, roles: named(&["pharmacist", "physician"]), sources: named(&["npi_registry"]) }
}

/// A world with these sales.
pub(crate) fn world_of(sales: impl IntoIterator<Item = Sale>) -> World {
    let world = world();
    let sales = sales.into_iter().enumerate().map(|(number, sale)| named(number, sale));
    world.state().sales.extend(sales.map(|sale| (sale.session_id().clone(), (sale, 1))));
    world
}

/// The lists of open work of `world`.
pub(crate) fn ports(world: &World) -> list::Ports<'_> {
    list::Ports { open: world, store: world }
}
