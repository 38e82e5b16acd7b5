//! Measures the memory and weavatrix-memory in the same run. Prints one JSON object per line. Release builds only.
//!
//! Run `cargo run --release -p memory --features peers --example memory_bench`; add `-- --trials N` to limit the trials
//! (default: 100,000 histories and changes, 1,000,000 renderings and budgets).
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark's output and its own fixtures")]

#[path = "../tests/support/mod.rs"]
mod support;

use memory::{
    Event, EventLog, State,
    log::{Record, Unsealed},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, hint::black_box, time::Instant};
use support::{Table, handle, history, sentence, trials, unlocked};
use testkit::Random;
use weavatrix_memory::{
    AgentId, EntityId, EventId, EventStore, ExpectedVersion, InMemoryStore, MemoryEvent, MemoryNode, MemoryProjection,
    NewEvent, SessionId, StreamId, Timestamp, replay, replay_owned,
};

const EVENTS: u64 = 10_000;
const ROUNDS: usize = 25;

fn main() {
    let trials = std::env::args().skip_while(|argument| argument != "--trials").nth(1);
    let trials: Option<u64> = trials.map(|number| number.parse().unwrap());
    times();
    promises(trials.unwrap_or(100_000), trials.unwrap_or(1_000_000));
}

fn report(line: &Value) {
    println!("{line}");
}

/// The best of several rounds, in microseconds per 1,000 events: other load on the machine can only slow a round down.
/// `prepare` is not timed.
fn per_1000<T>(events: u64, mut prepare: impl FnMut() -> T, mut run: impl FnMut(T)) -> f64 {
    (0..ROUNDS)
        .map(|_| {
            let input = prepare();
            let start = Instant::now();
            run(input);
            start.elapsed().as_secs_f64() * 1e6 * 1000.0 / events as f64
        })
        .fold(f64::MAX, f64::min)
}

fn facts(events: u64) -> Table {
    let mut table = Table::new();
    let mut draw = Random::seeded(7);
    for number in 0..events {
        table.add(unlocked(&format!("observation-{number}"), &sentence(&mut draw, 4)));
    }
    table
}

fn events_of(table: &Table) -> Vec<Event> {
    table.log.records().iter().map(|record| Event::parse_canonical(&record.body[1..]).unwrap()).collect()
}

fn boot(records: Vec<Record>) -> EventLog {
    EventLog::boot(handle("camp-1"), records, &Unsealed).unwrap()
}

fn times() {
    for (name, table) in [("facts", facts(EVENTS)), ("mixed", history(3, 2 * EVENTS))] {
        let count = table.log.records().len() as u64;
        let (records, events) = (table.log.records().to_vec(), events_of(&table));
        let cold = per_1000(count, || records.clone(), |records| drop(black_box(boot(records))));
        report(&json!({"name": format!("memory cold boot, verified ({name})"), "value": cold,
            "unit": "µs per 1,000 events", "events": count, "limit": 2500}));
        let fold = |events: Vec<Event>| {
            let mut state = State::default();
            events.into_iter().for_each(|event| state.apply(event));
            drop(black_box(state));
        };
        let ours = per_1000(count, || events.clone(), fold);
        let (borrowed, owned) = peer(count);
        for (peer, value) in
            [("weavatrix-memory 0.3.3 replay", borrowed), ("weavatrix-memory 0.3.3 replay_owned", owned)]
        {
            report(&json!({"name": format!("memory fold ({name})"), "value": ours, "unit": "µs per 1,000 events",
                "limit": 370, "peer": {"name": peer, "value": value}, "ratio": ours / value}));
        }
    }
    campaigns();
}

/// The peer's strict replay of the same number of events into its projection.
fn peer(count: u64) -> (f64, f64) {
    let mut draw = Random::seeded(7);
    let (agent, session) = (AgentId::new("agent").unwrap(), SessionId::new("session").unwrap());
    let pending: Vec<_> = (0..count)
        .map(|number| {
            let entity = EntityId::new(format!("observation-{number}")).unwrap();
            let node = MemoryNode::new(entity, "observation", sentence(&mut draw, 4)).unwrap();
            let at = Timestamp::from_unix_micros(number as i64);
            let id = EventId::new(format!("event-{number}")).unwrap();
            let event = MemoryEvent::NodeUpserted { node };
            NewEvent::new(id, "node_upserted", at, at, agent.clone(), session.clone(), event).unwrap()
        })
        .collect();
    let mut store = InMemoryStore::default();
    let stream = StreamId::new("stream").unwrap();
    store.append_owned(&stream, ExpectedVersion::NoStream, pending).unwrap();
    let events = store.load_all(None, usize::MAX);
    let borrowed = per_1000(count, || (), |()| drop(black_box(replay::<_, MemoryProjection>(&events).unwrap())));
    let owned = per_1000(
        count,
        || events.clone(),
        |events| drop(black_box(replay_owned::<_, MemoryProjection>(events).unwrap())),
    );
    (borrowed, owned)
}

/// Measures the cold boot of one campaign of 1,000 events from a store that holds more and more campaigns.
fn campaigns() {
    let records = facts(1000).log.records().to_vec();
    let mut first = None;
    for others in [1_u64, 100, 10_000] {
        let mut store: BTreeMap<String, Vec<Record>> = BTreeMap::new();
        for number in 0..others {
            store.insert(format!("log-{number:06}"), records[..10].to_vec());
        }
        store.insert("log-wanted".to_owned(), records.clone());
        let value = per_1000(1000, || (), |()| drop(black_box(boot(store["log-wanted"].clone()))));
        let first = *first.get_or_insert(value);
        report(&json!({"name": "memory cold boot by campaigns in an in-memory store", "value": value,
            "unit": "µs per 1,000 events", "campaigns": others + 1, "growth": value / first}));
    }
}

fn promises(histories: u64, inputs: u64) {
    let equal = (0..histories).filter(|seed| trials::rebuilds_equal(*seed)).count();
    report(&json!({"name": "memory histories rebuilt equal", "value": equal, "unit": "histories", "of": histories}));
    let per_set = 50;
    let sets = inputs.div_ceil(per_set);
    let leaks: u64 = (0..sets).map(|seed| trials::leaks(seed, per_set)).sum();
    report(&json!({"name": "memory locked tokens in working sets", "value": leaks, "unit": "leaks",
        "of": sets * per_set}));
    let table = history(1, 60);
    let found = (0..histories).filter(|seed| trials::finds_tampering(&table, *seed)).count();
    report(&json!({"name": "memory tampering found", "value": found, "unit": "changes", "of": histories}));
    let kept = (0..inputs).filter(|seed| trials::keeps_to_budget(*seed)).count();
    report(&json!({"name": "memory truncations within budget", "value": kept, "unit": "truncations", "of": inputs}));
    let whole = histories.min(100_000);
    let kept = (0..whole).filter(|seed| trials::set_keeps_to_budget(&table, *seed)).count();
    report(&json!({"name": "memory working sets within budget", "value": kept, "unit": "working sets", "of": whole}));
}
