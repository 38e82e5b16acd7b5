//! The toll: its own time, the same handshake behind x402-axum, a sale on a stack whose model takes a second, and its start.

use super::{
    Bench, example,
    lambda::{Measured, measure},
    median, on_stack, report, run,
    start::{event, gateway_event, isolated},
    with_peer,
};
use crate::{
    error::Error,
    functions::{build_release, cargo},
    http::Caller,
    local_dir::repository,
    toll::{TOLL_NETWORK, TOLL_PAY_TO},
};
use axum::http::StatusCode;
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Handshakes with each server, in turns.
const HANDSHAKES: usize = 200;
/// Sales on the stack: each takes nearly two seconds.
const SALES: usize = 40;
const MODEL: Duration = Duration::from_secs(1);
/// Both calls of the facilitator together: the chain's part of a sale.
const CHAIN: Duration = Duration::from_millis(400);
/// Starts of each function, in turns.
const STARTS: usize = 25;
const QUESTION: &str = "Should we open a second shop next spring?";

/// The targets: the toll's own time per sale, its 95th percentile, and its start compared with the webhook's.
const MOST_OVERHEAD_MS: f64 = 2.0;
const MOST_P95_MS: f64 = 5_000.0;
const MOST_START: f64 = 1.5;

pub(super) fn toll(bench: &Bench) -> Result<(), Error> {
    eprintln!("toll/overhead has the target of {MOST_OVERHEAD_MS} ms");
    run(bench, "toll", &mut example("run", "toll", "toll_bench"))?;
    start(bench)?;
    on_stack(bench, &[], || sales(bench).and_then(|()| handshakes(bench)))
}

/// From the start of the process to its first poll, beside the webhook function.
fn start(bench: &Bench) -> Result<(), Error> {
    let built = |name: &str| -> Result<PathBuf, Error> {
        let binary = build_release(&bench.supervisor, Some(name))?.remove(name);
        binary.ok_or_else(|| Error::Refused(format!("no function {name}")))
    };
    let (toll, webhook) = (built("toll")?, built("webhook")?);
    let runtime = tokio::runtime::Runtime::new().map_err(Error::io("starting the benchmark"))?;
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} }).to_string();
    let listing = gateway_event("/mcp", &json!({ "content-type": "application/json" }), &initialize);
    let (mut ours, mut others) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let mut program = isolated(&toll);
        program.envs(environment());
        ours.push(runtime.block_on(measure(program, &listing))?);
        others.push(runtime.block_on(measure(isolated(&webhook), &event()?))?);
    }
    let compare = |name: &str, unit: &str, pick: fn(&Measured) -> f64| {
        let middle = |runs: &[Measured]| median(&mut runs.iter().map(pick).collect::<Vec<_>>());
        let (value, webhook) = (middle(&ours), middle(&others));
        let line = json!({ "name": name, "value": value, "unit": unit, "target_ratio": MOST_START, "runs": STARTS });
        report(&with_peer(line, "the webhook function", webhook));
    };
    compare("toll/start", "ms", |measured| measured.start_ms);
    compare("toll/memory", "MiB", |measured| measured.peak_mib);
    Ok(())
}

/// The toll's environment, as far as its start reads it.
fn environment() -> [(&'static str, &'static str); 13] {
    [
        ("SITE_URL", "https://oracle.example"),
        ("TABLE_NAME", "bench"),
        ("AUDIT_BUCKET", "bench"),
        ("ARCHIVE_BUCKET", "bench"),
        ("OPS_TOPIC_ARN", "arn:aws:sns:us-east-1:000000000000:ops"),
        ("CRITICAL_TOPIC_ARN", "arn:aws:sns:us-east-1:000000000000:critical"),
        ("GEMINI_SECRET_ID", "gemini"),
        ("GEMINI_BASE_URL", "http://127.0.0.1:9"),
        ("GEMINI_MODEL", "gemini-2.5-flash"),
        ("TOLL_PAY_TO", TOLL_PAY_TO),
        ("TOLL_NETWORK", TOLL_NETWORK),
        ("TOLL_FACILITATOR_URL", "http://127.0.0.1:9"),
        ("TOLL_RPC_URL", "http://127.0.0.1:9"),
    ]
}

/// One sale: milliseconds of the reply with the price, and of the reply with the answer.
fn handshake(caller: &Caller, url: &str, sandbox: &str) -> Result<(f64, f64), Error> {
    let body = json!({ "query": QUESTION });
    let failed = |status: StatusCode, reply: &Value| Error::Call {
        call: format!("POST {url}"),
        why: format!("{status} {reply}"),
    };
    let millis = |begin: Instant| begin.elapsed().as_secs_f64() * 1000.0;
    let begin = Instant::now();
    let (status, reply, required) = caller.post_with(url, &body, None, "payment-required")?;
    let priced = millis(begin);
    let required = required.ok_or_else(|| failed(status, &reply))?;
    let (_, signed) = caller.post(&format!("{sandbox}/control/chain/pay"), &json!({ "required": required }))?;
    let payment = signed["payment_signature"].as_str().unwrap_or_default();
    let begin = Instant::now();
    let (status, reply, _) = caller.post_with(url, &body, Some(("PAYMENT-SIGNATURE", payment)), "")?;
    if status == StatusCode::OK { Ok((priced, millis(begin))) } else { Err(failed(status, &reply)) }
}

/// Sales through the gateway, the emulator of AWS and the sandbox, with the delays that a real model and chain have.
fn sales(bench: &Bench) -> Result<(), Error> {
    let (stack, caller) = (bench.dir.stack()?, Caller::new()?);
    let url = format!("{}/query", stack.site);
    handshake(&caller, &url, &stack.sandbox)?;
    let mut times = Vec::with_capacity(SALES);
    for _ in 0..SALES {
        for (target, delay, calls) in [("gemini", MODEL, 1), ("facilitator", CHAIN / 2, 2)] {
            let reply = json!({ "delay_ms": u64::try_from(delay.as_millis()).unwrap_or(u64::MAX) });
            let faults = json!({ "target": target, "replies": vec![reply; calls] });
            caller.post(&format!("{}/control/faults", stack.sandbox), &faults)?;
        }
        times.push(handshake(&caller, &url, &stack.sandbox)?.1);
    }
    let middle = median(&mut times);
    let p95 = times.get(times.len() * 95 / 100).copied().unwrap_or(f64::NAN);
    report(&json!({ "name": "toll/sale-p95", "value": p95, "unit": "ms", "median": middle, "target": MOST_P95_MS,
        "sales": SALES, "model_ms": MODEL.as_millis(), "chain_ms": CHAIN.as_millis() }));
    Ok(())
}

/// A server of the benchmark's, ended with it.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    /// Starts the program and reads its address, the first line it writes.
    fn start(mut program: Command) -> Result<Self, Error> {
        let mut process = program.stdout(Stdio::piped()).spawn().map_err(Error::io("starting a server"))?;
        let mut address = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut address).map_err(Error::io("reading a server's address"))?;
        }
        Ok(Self { process, address: address.trim().to_owned() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The same handshake with the same facilitator: the toll, its store in memory, beside x402-axum, which has none.
fn handshakes(bench: &Bench) -> Result<(), Error> {
    let (stack, caller) = (bench.dir.stack()?, Caller::new()?);
    let facilitator = format!("{}/facilitator", stack.sandbox);
    let root = repository()?;
    let target = root.join("target/peers/axum");
    let mut build = cargo();
    build.args(["build", "--release", "--locked", "--quiet", "--manifest-path"]);
    build.arg(root.join("infra/peers/axum/Cargo.toml")).arg("--target-dir").arg(&target);
    run(bench, "cargo build", &mut build)?;
    let mut ours = Command::new(
        crate::functions::binaries(&crate::functions::metadata(&root)?, "release").join("examples/toll_bench"),
    );
    ours.arg(&facilitator);
    let mut peer = Command::new(target.join("release/peer-axum"));
    peer.arg(&facilitator);
    let servers = [Server::start(ours)?, Server::start(peer)?];
    let mut times = [(Vec::new(), Vec::new()), (Vec::new(), Vec::new())];
    for _ in 0..HANDSHAKES {
        for (server, (priced, sold)) in servers.iter().zip(&mut times) {
            let (price, sale) = handshake(&caller, &format!("{}/query", server.address), &stack.sandbox)?;
            priced.push(price);
            sold.push(sale);
        }
    }
    let [(mut priced, mut sold), (mut peer_priced, mut peer_sold)] = times;
    for (name, value, peer) in [
        ("toll/handshake-price", median(&mut priced), median(&mut peer_priced)),
        ("toll/handshake-sale", median(&mut sold), median(&mut peer_sold)),
    ] {
        let line = json!({ "name": name, "value": value, "unit": "ms", "handshakes": HANDSHAKES });
        report(&with_peer(line, "x402-axum 2.0.2", peer));
    }
    Ok(())
}
