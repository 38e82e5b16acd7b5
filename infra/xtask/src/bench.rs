//! `bench`: what was promised, measured. One JSON object a line on standard output, progress on standard error.

mod audit;
pub(crate) mod corpus;
mod forward;
mod front_door;
mod health;
mod lambda;
mod size;
mod start;
mod text;

use crate::{
    error::Error,
    local_dir::{LocalDir, repository},
    processes::Supervisor,
    up,
};
use serde_json::Value;
use std::process::{Command, ExitCode};

/// What the benchmarks share.
struct Bench {
    dir: LocalDir,
    supervisor: Supervisor,
}

type Run = fn(&Bench) -> Result<(), Error>;

const ALL: [(&str, Run); 10] = [
    ("size", size::size),
    ("start", start::start),
    ("requests", forward::requests),
    ("health", health::health),
    ("front-door", front_door::front_door),
    ("audit", audit::audit),
    ("filter", forward::filter),
    ("memory", forward::memory),
    ("authority", forward::authority),
    ("anvil", forward::anvil),
];

/// Runs one benchmark, or all.
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
    let status = bench.supervisor.run(name, command)?;
    if status.success() {
        return Ok(());
    }
    Err(Error::Program { program: name.to_owned(), status: status.to_string(), log: None })
}

fn report(line: &Value) {
    println!("{line}");
}

/// The middle value.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
