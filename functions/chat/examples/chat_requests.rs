//! Prices 1,000 exchanges of the chat in AWS requests and in a model's tokens: `cargo xtask bench requests`.
//!
//! A conversation runs through the function in process. Each call of a port is one request of its adapter
//! (shared/platform/aws), so the calls are counted by name and priced; item sizes are those of the stored accounts and
//! records. Tokens are estimated at four bytes each.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::cast_precision_loss, dead_code)]

#[path = "../../../tests/pipeline/requests/prices.rs"]
mod prices;
#[path = "../tests/support/mod.rs"]
mod support;

use domain::chat::PaidPlan;
use serde_json::json;
use std::time::Duration;
use support::*;
use testkit::World;

const BYTES_OF_TOKEN: f64 = 4.0;

/// How often the page looks at a reply that takes four seconds (functions/result/pages/chat.js): four times until its
/// first sentence, and seven times after it. A look takes some 30 ms.
const LOOKS: f64 = 11.0;
const LOOK_SECONDS: f64 = 0.03;

/// How long the model takes for one of the reply's twelve sentences.
const SENTENCE_TIME: Duration = Duration::from_millis(330);

/// A thousand characters, as a real reply has.
const REPLY: &str = "Count what the first shop earns before you look at a lease, and count it for a whole year. ";

/// Runs a conversation with one plan. The figures are those of its last exchange.
fn conversation(plan: PaidPlan, exchanges: u64) -> World {
    let world = world();
    let mut asked = 0;
    world.state().sentence_time = SENTENCE_TIME;
    world.state().model = Some(Box::new(move |_, _| {
        asked += 1;
        Ok(said(&format!("{}This is reply {asked}.", REPLY.repeat(11))))
    }));
    let cookie = signed_in(&world, "someone@example.com");
    grant(&world, "someone@example.com", plan);
    for n in 1..=exchanges {
        world.state().boundaries.clear();
        world.state().prompts.clear();
        let question = format!("Should we open a second bakery in Halifax, or wait for year {n} of the first one?");
        assert_eq!(ask(&world, n, &question, &cookie).status(), 200);
        world.advance(Duration::from_secs(120));
    }
    world
}

fn report(prices: &prices::Prices, name: &str, plan: PaidPlan, exchanges: u64) {
    let world = conversation(plan, exchanges);
    let state = world.state();
    let calls = |name: &str| state.boundaries.iter().filter(|found| **found == name).count() as f64;
    let units = |bytes: f64, unit: f64| (bytes / unit).ceil().max(1.0);
    let account = serde_json::to_string(&state.accounts.values().next().expect("an account").0).expect("JSON");
    let (account, records) = (account.len() as f64, state.memory_logs.values().next().expect("a log"));
    let size = |record: &domain::ports::MemoryRecord| record.body.len() as f64 + 150.0;
    let log: f64 = records.iter().map(size).sum();
    // An append is a transaction of the records and the head, which costs twice the units of all. The first exchange also
    // appends the memory's world and mode.
    let new = if exchanges == 1 { records.len() } else { 1 };
    let new: f64 = records.iter().rev().take(new).map(|record| units(size(record), 1024.0)).sum();
    let appended = calls("memory.append") * 2.0 * (new + 1.0);
    // The last beginning is the longest; the mean is half of it.
    let begun = state.beginnings.values().next_back().expect("a beginning").len() as f64;
    let beginnings = calls("beginnings.put") * units(begun / 2.0, 1024.0);
    let writes = calls("accounts.save") * units(account, 1024.0) + appended + calls("sign_ins.take") + beginnings;
    // A query answers a megabyte.
    let queries = units(log, 1_000_000.0);
    let gets =
        ["sign_ins.session", "subscribers.access", "bridges.load", "memory.make_key", "memory.head", "breaker.load"];
    let reads = gets.iter().map(|name| calls(name)).sum::<f64>()
        + calls("accounts.load") * units(account, 4096.0)
        + units(log, 4096.0)
        // The session, the account, the beginning and the key.
        + LOOKS * (2.0 + units(account, 4096.0) + units(begun / 2.0, 4096.0));
    let requests = gets.iter().map(|name| calls(name)).sum::<f64>()
        + calls("accounts.load")
        + calls("accounts.save")
        + calls("memory.append")
        + calls("beginnings.put")
        + LOOKS * 4.0
        + queries;
    let asked: usize = state.prompts.iter().map(|(_, prompt)| prompt.instruction.len() + prompt.content.len()).sum();
    let answered = calls("model.ask") * REPLY.len() as f64 * 11.0;
    let (input, output) = (asked as f64 / BYTES_OF_TOKEN, answered / BYTES_OF_TOKEN);
    let counted = [
        ("api_gateway_request", 1.0 + LOOKS),
        ("lambda_invocation", 1.0 + LOOKS),
        ("dynamodb_write_unit", writes),
        ("dynamodb_read_unit", reads),
        ("kms_request", calls("memory.make_key") + LOOKS),
        ("s3_put", calls("log.publish")),
    ];
    // The function waits some four seconds for the model at 512 MB (template.yaml).
    let compute = (4.0 + LOOKS * LOOK_SECONDS) * 0.5 * prices.usd("lambda_gb_second");
    let aws: f64 = counted.iter().map(|(kind, count)| count * prices.usd(kind)).sum();
    let tokens = input * prices.usd("model_input_token") + output * prices.usd("model_output_token");
    let per_thousand = |dollars: f64| (dollars * 1000.0 * 10_000.0).round() / 10_000.0;
    let calls: serde_json::Map<_, _> = counted.iter().map(|(kind, count)| ((*kind).to_owned(), json!(count))).collect();
    println!(
        "{}",
        json!({ "name": format!("chat.{name}.{exchanges}.requests"), "value": per_thousand(aws), "unit": "USD per 1000 exchanges",
            "dynamodb_requests": requests, "account_bytes": account, "log_bytes": log, "calls": calls })
    );
    println!(
        "{}",
        json!({ "name": format!("chat.{name}.{exchanges}.compute"), "value": per_thousand(compute),
            "unit": "USD per 1000 exchanges", "assumes": "4 s of model time and 11 looks of the page at 512 MB" })
    );
    println!(
        "{}",
        json!({ "name": format!("chat.{name}.{exchanges}.tokens"), "value": per_thousand(tokens),
            "unit": "USD per 1000 exchanges", "input_tokens": input.round(), "output_tokens": output.round() })
    );
}

fn main() {
    let prices = prices::Prices::read();
    for exchanges in [1, 10, 100] {
        report(&prices, "chat", PaidPlan::Chat, exchanges);
    }
    report(&prices, "pro", PaidPlan::Pro, 10);
}
