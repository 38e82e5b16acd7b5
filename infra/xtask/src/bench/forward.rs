//! Benchmarks that live beside what they measure: each prints its own JSON lines.

use super::{Bench, corpus};
use crate::{error::Error, functions::cargo, local_dir::repository};

/// AWS requests and their price per delivered Full Breakdown.
pub(super) fn requests(bench: &Bench) -> Result<(), Error> {
    run(bench, "requests", &["run", "--quiet", "--locked", "--package", "tests", "--example", "requests"])
}

/// The content filter beside its peers: times, then false hits on documentation that is fetched for it.
pub(super) fn filter(bench: &Bench) -> Result<(), Error> {
    let example = ["run", "--quiet", "--release", "--locked", "--package", "filter", "--example", "bench"];
    run(bench, "filter", &example)?;
    let texts = corpus::texts(&bench.supervisor, &repository()?)?;
    let texts: Vec<&str> = texts.iter().filter_map(|path| path.to_str()).collect();
    run(bench, "filter", &[&example[..], &["--"], &texts].concat())
}

fn run(bench: &Bench, name: &'static str, arguments: &[&str]) -> Result<(), Error> {
    let status = bench.supervisor.run(name, cargo().args(arguments))?;
    if status.success() {
        return Ok(());
    }
    Err(Error::Program { program: name.to_owned(), status: status.to_string(), log: None })
}
