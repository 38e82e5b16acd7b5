//! Measures logs of the memory on a table: appends with and without contention, and the cold boot of one campaign beside
//! more and more others. Fails if an append is lost or doubled. `cargo xtask bench memory` runs it on the emulator's table.
//! Prints one JSON object per line.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, reason = "a benchmark's output and fixtures")]

use aws::{Connection, DynamoMemoryLogs, DynamoSales, SubjectSeal};
use domain::ports::{MemoryLogs, Randomness, SubjectKey};
use futures_util::{StreamExt, future::join_all, stream};
use memory::{
    Event, EventLog, Handle, Payload,
    event::StoryPointerChanged,
    store::{self, StoreError},
};
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::Barrier;

/// Writers that append at the same time.
const WRITERS: usize = 8;
/// Appends of each of them. A writer alone does as many as all of them.
const APPENDS: usize = 50;
/// A writer repeats one append of this many, as after a lost reply.
const REPEATED: usize = 5;
/// The most calls for one append: a call fails when others were faster in each of its attempts.
const CALLS: usize = 10;
/// Events of the campaign that is booted.
const EVENTS: usize = 200;
/// Boots with each number of other campaigns.
const BOOTS: usize = 40;
/// The numbers of other campaigns.
const OTHERS: [usize; 3] = [1, 100, 10_000];
/// The longest that all measurements may take.
const LIMIT: Duration = Duration::from_secs(900);

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

fn key(writer: usize, number: usize) -> Handle {
    handle(&format!("writer-{writer}-{number}"))
}

fn keys(writer: usize, events: usize) -> impl Iterator<Item = Handle> {
    (0..events).map(move |number| key(writer, number))
}

/// An event as a table writes many of: a clock moved.
fn event(log: &str, writer: usize, number: usize) -> Event {
    let payload: Payload = StoryPointerChanged {
        pointer: memory::event::PointerKind::Clock,
        handle: handle(&format!("clock-{}", number % 20)),
        value: lens::canonical::Value::Integer(i64::try_from(number).unwrap() + 1),
    }
    .into();
    Event { at: 1, campaign_id: handle(log), key: Some(key(writer, number)), payload }
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
    let measured = tokio::time::timeout(LIMIT, async {
        appends(&logs, &run).await;
        campaigns(&logs, &run).await;
    });
    measured.await.expect("an end within the limit");
}

/// The times of the appends of some writers, and how often one had to call again.
#[derive(Default)]
struct Appends {
    times: Vec<Duration>,
    calls_again: usize,
}

/// Appends the events of one writer to a log, and repeats some of them from the log as it was before. Without `together`
/// one append follows the other at once; with it, each writer loads the log, and all append at the same moment.
async fn write(
    logs: &DynamoMemoryLogs<'_>,
    name: &str,
    writer: usize,
    events: usize,
    together: Option<&Barrier>,
) -> Appends {
    let (mut log, seal) = (EventLog::new(handle(name)), seal(name));
    let mut done = Appends::default();
    for number in 0..events {
        if let Some(all) = together {
            log = store::load(logs, name, log.campaign_id(), &seal).await.expect("a log");
            all.wait().await;
        }
        let before = (number % REPEATED == 0).then(|| log.clone());
        let begin = Instant::now();
        done.calls_again += append(logs, name, &mut log, event(name, writer, number), &seal).await;
        done.times.push(begin.elapsed());
        if let Some(mut before) = before {
            append(logs, name, &mut before, event(name, writer, number), &seal).await;
        }
    }
    done
}

/// Appends one event. Returns how often it called again.
async fn append(
    logs: &DynamoMemoryLogs<'_>,
    name: &str,
    log: &mut EventLog,
    event: Event,
    seal: &SubjectSeal,
) -> usize {
    for again in 0..CALLS {
        match store::append(logs, name, log, event.clone(), seal).await {
            Ok(_) => return again,
            Err(StoreError::Contention) => {
                *log = store::load(logs, name, log.campaign_id(), seal).await.expect("a log")
            }
            Err(error) => panic!("an append: {error:?}"),
        }
    }
    panic!("others were faster in {CALLS} calls");
}

/// One writer alone, several with a log each, and several with one log.
async fn appends(logs: &DynamoMemoryLogs<'_>, run: &str) {
    let log = |what: String| format!("bench-{run}-{what}");
    let [alone, together, unpaused] = ["alone", "together", "unpaused"].map(|what| log(what.to_owned()));
    let own: Vec<String> = (0..WRITERS).map(|writer| log(format!("own-{writer}"))).collect();
    report("of one writer", &[write(logs, &alone, 0, WRITERS * APPENDS, None).await]);
    let writers = own.iter().enumerate().map(|(writer, name)| write(logs, name, writer, APPENDS, None));
    report(&format!("of {WRITERS} writers to a log each"), &join_all(writers).await);
    let all = Barrier::new(WRITERS);
    let writers = (0..WRITERS).map(|writer| write(logs, &together, writer, APPENDS, Some(&all)));
    report(&format!("under contention, {WRITERS} writers at the same moment"), &join_all(writers).await);
    let writers = (0..WRITERS).map(|writer| write(logs, &unpaused, writer, APPENDS, None));
    report(&format!("under contention, {WRITERS} writers without a pause"), &join_all(writers).await);

    let of_all = || (0..WRITERS).flat_map(|writer| keys(writer, APPENDS)).collect();
    let mut written: Vec<(&String, Vec<Handle>)> =
        vec![(&alone, keys(0, WRITERS * APPENDS).collect()), (&together, of_all()), (&unpaused, of_all())];
    written.extend(own.iter().enumerate().map(|(writer, name)| (name, keys(writer, APPENDS).collect())));
    let (mut lost, mut doubled) = (0, 0);
    for (name, written) in &written {
        // Loading verifies the chain and the head.
        let log = store::load(logs, name, &handle(name), &seal(name)).await.expect("a log");
        let mut found: BTreeMap<Handle, usize> = BTreeMap::new();
        for key in log.events(&seal(name)).into_iter().filter_map(|event| event.key) {
            *found.entry(key).or_default() += 1;
        }
        doubled += log.records().len() - found.len();
        lost += written.iter().filter(|key| !found.contains_key(*key)).count();
    }
    let of: usize = written.iter().map(|(_, written)| written.len()).sum();
    println!(
        "{}",
        json!({"name": "memory appends lost or doubled", "value": lost + doubled, "unit": "appends",
            "lost": lost, "doubled": doubled, "of": of, "repeated": of / REPEATED})
    );
    assert_eq!((lost, doubled), (0, 0), "every append is in its log once");
}

fn report(whose: &str, writers: &[Appends]) {
    let mut times: Vec<Duration> = writers.iter().flat_map(|writer| writer.times.clone()).collect();
    let calls_again: usize = writers.iter().map(|writer| writer.calls_again).sum();
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
        println!(
            "{}",
            json!({"name": format!("memory append {name} {whose}"), "value": quantile(&mut times, share), "unit": "ms",
                "writers": writers.len(), "appends": times.len(), "calls_again": calls_again})
        );
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
                "events": EVENTS, "campaigns": others, "growth": value / first})
        );
    }
}

/// Writes a log of its own, 20 events at a time.
async fn fill(logs: &DynamoMemoryLogs<'_>, name: &str, events: usize) {
    let (mut log, seal) = (EventLog::new(handle(name)), seal(name));
    for begin in (0..events).step_by(20) {
        let some = |_: &EventLog| Ok((begin..events.min(begin + 20)).map(|number| event(name, 0, number)).collect());
        store::append_all(logs as &dyn MemoryLogs, name, &mut log, &some, &seal).await.expect("an append");
    }
}
