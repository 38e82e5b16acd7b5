//! Benchmarks that live beside what they measure: each prints its own JSON lines.

use super::Bench;
use crate::{error::Error, functions::cargo};

/// AWS requests and their price per delivered Full Breakdown.
pub(super) fn requests(bench: &Bench) -> Result<(), Error> {
    run(bench, "requests", &["run", "--quiet", "--locked", "--package", "tests", "--example", "requests"])
}

/// The content filter beside its peers.
pub(super) fn filter(bench: &Bench) -> Result<(), Error> {
    run(bench, "filter", &["run", "--quiet", "--release", "--locked", "--package", "filter", "--example", "bench"])
}

fn run(bench: &Bench, name: &'static str, arguments: &[&str]) -> Result<(), Error> {
    let status = bench.supervisor.run(name, cargo().args(arguments))?;
    if status.success() {
        return Ok(());
    }
    Err(Error::Program { program: name.to_owned(), status: status.to_string(), log: None })
}
