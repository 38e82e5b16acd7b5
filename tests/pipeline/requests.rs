//! The cost of a delivered Full Breakdown in AWS requests: `cargo xtask bench requests`.
//!
//! A sale runs through the functions' own code in process. Each call of a port is one request of its adapter
//! (shared/platform/aws), so the calls are counted by name and priced; item sizes are those of the stored records.
//! Values that a warm process already has (secrets) are not counted, and neither are the queues' empty polls, which do
//! not grow with sales.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

#[allow(dead_code)]
mod samples;
#[allow(dead_code)]
mod simulator;

use serde_json::json;
use simulator::Simulator;
use std::collections::BTreeMap;

#[path = "requests/month.rs"]
mod month;
#[path = "requests/prices.rs"]
mod prices;

/// The page polls every two seconds, and the model takes about twelve.
const PENDING_POLLS: f64 = 6.0;

/// A breakdown as long as a real one: about 3 KB.
fn breakdown() -> String {
    let analysis = "The demand is there and the costs are known, but the lease runs longer than the plan does, and \
        nobody has yet said who does the work in the second and third month. A smaller start would show the same \
        thing for a tenth of the money. "
        .repeat(2);
    let dimension = |name: &str| json!({ "verdict": "AMBER", "analysis": format!("{name}: {analysis}") });
    let names = ["Stability", "Turbulence", "Change Rate", "Completion", "Curvature"];
    let dimensions: serde_json::Map<_, _> = names.map(|name| (name.to_owned(), dimension(name))).into_iter().collect();
    json!({ "verdict": "AMBER", "summary": "Start smaller, and sign nothing yet.", "breakdown": dimensions })
        .to_string()
}

/// The memory of a function in gigabytes, as template.yaml has it.
fn memory(function: &str) -> f64 {
    let template = include_str!("../../template.yaml");
    let name = format!("FunctionName: !Sub ${{AWS::StackName}}-{function}\n");
    let (_, properties) = template.split_once(&name).expect("the template has the function");
    let (_, size) = properties.split_once("MemorySize: ").expect("the function has a memory size");
    let megabytes: f64 = size.lines().next().and_then(|size| size.parse().ok()).expect("a number of megabytes");
    megabytes / 1024.0
}

fn main() {
    let sim = Simulator::worked_off("full", &breakdown());
    assert_eq!(sim.page().expect("a page").status(), 200);
    let state = sim.world.state();
    assert_eq!(state.sent.len(), 1, "one mail");
    let sale = serde_json::to_string(&state.sales.values().next().expect("a sale").0).expect("JSON").len() as f64;
    let verdict = serde_json::to_string(state.cache.values().next().expect("a verdict")).expect("JSON").len() as f64;
    let calls = |name: &str| state.boundaries.iter().filter(|found| **found == name).count() as f64;
    let units = |bytes: f64, unit: f64| (bytes / unit).ceil();

    let messages = calls("queue.send");
    // One of the saves is the transaction that writes both items and a counter, at twice the units; the verdict's entry
    // in the index of ages is one more.
    let writes = (calls("store.save") - 1.0) * units(sale, 1024.0)
        + 2.0 * (units(sale, 1024.0) + units(verdict, 1024.0) + 1.0)
        + 1.0;
    // A sale and its verdict are read in a transaction, at twice the units. A verdict that is not there yet is one unit.
    let reads = calls("store.load") * units(sale, 4096.0)
        + calls("breaker.load")
        + calls("store.load_with_verdict") * 2.0 * (units(sale, 4096.0) + units(verdict, 4096.0))
        + PENDING_POLLS * 2.0 * (units(sale, 4096.0) + 1.0);
    // Front page, checkout, webhook, result page, the polls and the reply.
    let http = 4.0 + PENDING_POLLS + 1.0;
    let counted = BTreeMap::from([
        ("api_gateway_request", http),
        ("lambda_invocation", http + messages),
        ("sqs_request", messages * 3.0),
        ("dynamodb_write_unit", writes),
        ("dynamodb_read_unit", reads),
        ("s3_put", calls("log.publish") + calls("archive.keep")),
        ("s3_get", calls("archive.find")),
    ]);
    let prices = prices::Prices::read();
    let price = |kind: &str| prices.usd(kind);
    let mut requests = 0.0;
    for (kind, count) in &counted {
        requests += count * price(kind);
        println!("{}", json!({ "name": format!("requests.{kind}"), "value": count, "unit": "per Full Breakdown" }));
    }
    // The verdict function waits for the model; the others take some 50 ms each, at the memory of most of them.
    let (verdicts, others) = (memory("verdict"), memory("result"));
    let compute = (12.0 * verdicts + 0.05 * (http + messages) * others) * price("lambda_gb_second");
    let per_thousand = |dollars: f64| (dollars * 1000.0 * 10_000.0).round() / 10_000.0;
    println!(
        "{}",
        json!({ "name": "cost.requests", "value": per_thousand(requests), "unit": "USD per 1000 verdicts", "target": 0.10 })
    );
    println!(
        "{}",
        json!({ "name": "cost.compute", "value": per_thousand(compute), "unit": "USD per 1000 verdicts", "assumes": format!("12 s of model time at {} MB", verdicts * 1024.0) })
    );
    let sale = month::Sale {
        requests,
        compute,
        audit_bytes: state.log.values().map(String::len).sum::<usize>() as f64,
        archive_bytes: verdict,
        row_bytes: sale + verdict,
        stripe_calls: 1.0 + calls("payments.session"),
        s3_puts: counted["s3_put"],
        waf_requests: http,
        open_work_writes: calls("store.save"),
    };
    for sales in [1_000.0, 100_000.0, 10_000_000.0] {
        for line in month::priced(&prices, &sale, sales) {
            println!("{line}");
        }
    }
}
