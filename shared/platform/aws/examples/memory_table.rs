//! Measures logs of the memory on a table: appends under contention, and the cold boot of one campaign beside more and
//! more others. `cargo xtask bench memory` runs it on a stack. Prints one JSON object per line.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, reason = "a benchmark's output and fixtures")]

use aws::{Connection, DynamoMemoryLogs, DynamoSales, SubjectSeal};
use domain::ports::{MemoryLogs, Randomness, SubjectKey};
use futures_util::{StreamExt, future::join_all, stream};
use memory::{Event, EventLog, Handle, Payload, event::StoryPointerChanged, store};
use serde_json::json;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Writers that append to one log at the same time.
const WRITERS: usize = 8;
/// Appends of each writer.
const APPENDS: usize = 50;
/// Events of the campaign that is booted.
const EVENTS: usize = 200;
/// Boots with each number of other campaigns.
const BOOTS: usize = 40;
/// The numbers of other campaigns.
const OTHERS: [usize; 3] = [1, 100, 10_000];

struct Tokens;

impl Randomness for Tokens {
    fn fraction(&self) -> f64 {
        0.5
    }
    fn token(&self) -> String {
        "0123456789abcdef0123456789abcdef".to_owned()
    }
}

fn handle(text: &str) -> Handle {
    Handle::parse(text).unwrap()
}

fn seal(log: &str) -> SubjectSeal {
    SubjectSeal::new(&SubjectKey([7; 32]), log).unwrap()
}

/// An event as a table writes many of: a clock moved.
fn event(log: &str, number: usize) -> Event {
    let payload: Payload = StoryPointerChanged {
        pointer: memory::event::PointerKind::Clock,
        handle: handle(&format!("clock-{}", number % 20)),
        value: lens::canonical::Value::Integer(i64::try_from(number).unwrap() + 1),
    }
    .into();
    Event { at: 1, campaign_id: handle(log), key: Some(handle(&format!("key-{number}"))), payload }
}

/// The value below which this share of the sorted times is, in milliseconds.
fn quantile(times: &mut [Duration], share: f64) -> f64 {
    times.sort();
    let last = times.len() - 1;
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let at = (last as f64 * share).round() as usize;
    times[at].as_secs_f64() * 1000.0
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    #[allow(clippy::disallowed_methods, reason = "a benchmark has no configuration of a function")]
    let lookup = |name: &'static str| std::env::var(name).ok();
    let table = lookup("TABLE_NAME").expect("TABLE_NAME");
    let connection = Connection::from_environment(lookup).expect("the variables of a function");
    let sales = DynamoSales::new(connection.silent(), table, Arc::new(Tokens));
    let logs = DynamoMemoryLogs(&sales);
    // Another run on the same table has other logs.
    let run = std::process::id().to_string();
    contention(&logs, &run).await;
    campaigns(&logs, &run).await;
}

/// Several writers append to one log; each reads it again when another one was faster.
async fn contention(logs: &DynamoMemoryLogs<'_>, run: &str) {
    let name = format!("bench-{run}-contended");
    let (campaign, seal) = (handle(&name), seal(&name));
    let write = async |writer: usize| {
        let mut log = EventLog::new(campaign.clone());
        let mut times = Vec::with_capacity(APPENDS);
        for number in 0..APPENDS {
            let event = event(&name, writer * APPENDS + number);
            let begin = Instant::now();
            store::append(logs, &name, &mut log, event, &seal).await.expect("an append");
            times.push(begin.elapsed());
        }
        times
    };
    let mut alone = write(WRITERS).await;
    let mut times: Vec<Duration> = join_all((0..WRITERS).map(write)).await.into_iter().flatten().collect();
    let log = store::load(logs, &name, &campaign, &seal).await.expect("a log");
    assert_eq!(log.records().len(), (WRITERS + 1) * APPENDS, "every append is in the log once");
    for (name, value) in [
        ("memory append p99 under contention", quantile(&mut times, 0.99)),
        ("memory append p50 under contention", quantile(&mut times, 0.5)),
        ("memory append p99 of one writer", quantile(&mut alone, 0.99)),
    ] {
        println!("{}", json!({"name": name, "value": value, "unit": "ms", "writers": WRITERS, "appends": APPENDS}));
    }
}

/// Boots one campaign beside more and more others.
async fn campaigns(logs: &DynamoMemoryLogs<'_>, run: &str) {
    let wanted = format!("bench-{run}-wanted");
    fill(logs, &wanted, EVENTS).await;
    let mut known = 0;
    let mut first = None;
    for others in OTHERS {
        stream::iter(known..others)
            .for_each_concurrent(16, |number| async move { fill(logs, &format!("bench-{run}-{number}"), 1).await })
            .await;
        known = others;
        let (campaign, seal) = (handle(&wanted), seal(&wanted));
        let mut times = Vec::with_capacity(BOOTS);
        for _ in 0..BOOTS {
            let begin = Instant::now();
            let log = store::load(logs, &wanted, &campaign, &seal).await.expect("a log");
            times.push(begin.elapsed());
            assert_eq!(log.records().len(), EVENTS);
        }
        let value = quantile(&mut times, 0.5);
        let first = *first.get_or_insert(value);
        println!(
            "{}",
            json!({"name": "memory cold boot by other campaigns on the table", "value": value, "unit": "ms",
                "events": EVENTS, "campaigns": others, "ratio": value / first})
        );
    }
}

/// Writes a log of its own, 20 events at a time.
async fn fill(logs: &DynamoMemoryLogs<'_>, name: &str, events: usize) {
    let (mut log, seal) = (EventLog::new(handle(name)), seal(name));
    for begin in (0..events).step_by(20) {
        let some = |_: &EventLog| Ok((begin..events.min(begin + 20)).map(|number| event(name, number)).collect());
        store::append_all(logs as &dyn MemoryLogs, name, &mut log, &some, &seal).await.expect("an append");
    }
}
