//! `bench`: measures what was promised. Prints one JSON object per line on standard output, progress on standard error.
//!
//! A line is `{"name","value","unit","peer"?: {"name","value"},"ratio"?,…}`: a peer is another program in the same
//! measurement, and the ratio is our value divided by the peer's. Other quotients have names of their own.

mod audit;
mod chat;
pub(crate) mod corpus;
mod forward;
mod front_door;
mod health;
mod lambda;
mod memory;
mod size;
mod start;
mod text;
mod toll;

use crate::{
    error::Error,
    functions::cargo,
    local_dir::{LocalDir, repository},
    processes::Supervisor,
    up,
};
use serde_json::{Value, json};
use std::process::{Command, ExitCode, Stdio};

/// The common parts of the benchmarks.
struct Bench {
    dir: LocalDir,
    supervisor: Supervisor,
}

type Run = fn(&Bench) -> Result<(), Error>;

const ALL: [(&str, Run); 12] = [
    ("size", size::size),
    ("start", start::start),
    ("requests", forward::requests),
    ("health", health::health),
    ("front-door", front_door::front_door),
    ("audit", audit::audit),
    ("filter", forward::filter),
    ("memory", memory::memory),
    ("authority", forward::authority),
    ("anvil", forward::anvil),
    ("toll", toll::toll),
    ("chat", chat::chat),
];

pub(crate) fn bench(name: Option<&str>) -> Result<ExitCode, Error> {
    let chosen: Vec<Run> =
        ALL.iter().filter(|(known, _)| name.is_none_or(|name| name == *known)).map(|(_, run)| *run).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = ALL.iter().map(|(known, _)| *known).collect();
        return Err(Error::Refused(format!(
            "no benchmark {}; there are {}",
            name.unwrap_or_default(),
            names.join(", ")
        )));
    }
    let dir = LocalDir::new(Some(repository()?.join("target/bench")))?;
    let supervisor = Supervisor::new(&dir);
    up::stop_on_signal(&supervisor, || 130)?;
    let bench = Bench { dir, supervisor };
    for run in chosen {
        run(&bench)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn run(bench: &Bench, name: &'static str, command: &mut Command) -> Result<(), Error> {
    bench.supervisor.check(name, command)
}

/// Runs or builds a crate's example as it would be deployed.
fn example(verb: &str, package: &str, name: &str) -> Command {
    let mut command = cargo();
    command.args([verb, "--quiet", "--release", "--locked", "--package", package, "--example", name]);
    command
}

/// Builds and starts a stack with these parameters, measures on it, and stops it. No function runs by itself meanwhile.
fn on_stack(bench: &Bench, parameters: &[&str], measure: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
    let this = std::env::current_exe().map_err(Error::io("finding this program"))?;
    let mut start = Command::new(this);
    start.args(["up", "--detach", "--sandbox-only", "--unscheduled", "--dir"]).arg(bench.dir.path());
    for parameter in parameters {
        start.args(["--parameter", parameter]);
    }
    // Standard output belongs to the benchmark.
    start.stdout(Stdio::null());
    run(bench, "cargo xtask up", &mut start)?;
    let measured = measure();
    up::stop(&bench.dir)?;
    measured
}

fn report(line: &Value) {
    println!("{line}");
}

/// Adds a peer's value to the line, and the ratio of ours to it.
fn with_peer(mut line: Value, peer: &str, value: f64) -> Value {
    line["ratio"] = line["value"].as_f64().map(|ours| ours / value).into();
    line["peer"] = json!({ "name": peer, "value": value });
    line
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_our_value_by_the_peers() {
        let line = with_peer(json!({ "name": "start", "value": 3.0, "unit": "ms" }), "node", 12.0);
        assert_eq!(line["ratio"], 0.25);
        assert_eq!(line["peer"], json!({ "name": "node", "value": 12.0 }));
    }
}
