//! Benchmarks that live beside what they measure: each prints its own JSON lines.

use super::{Bench, corpus, run};
use crate::{error::Error, functions::cargo, local_dir::repository};

/// AWS requests and their price per delivered Full Breakdown.
pub(super) fn requests(bench: &Bench) -> Result<(), Error> {
    run(bench, "requests", cargo().args(["run", "--quiet", "--locked", "--package", "tests", "--example", "requests"]))
}

/// The memory beside weavatrix-memory: cold boot, fold, and the promises of its tests in full numbers.
pub(super) fn memory(bench: &Bench) -> Result<(), Error> {
    let example = ["run", "--quiet", "--release", "--locked", "--package", "memory", "--example", "memory_bench"];
    run(bench, "memory", cargo().args(example))
}

/// The authority gate on questions of 300 bytes.
pub(super) fn authority(bench: &Bench) -> Result<(), Error> {
    let example = ["run", "--quiet", "--release", "--locked", "--package", "authority", "--example", "authority_bench"];
    run(bench, "authority", cargo().args(example))
}

/// The quality gate's rule and its reading of texts.
pub(super) fn anvil(bench: &Bench) -> Result<(), Error> {
    let example = ["run", "--quiet", "--release", "--locked", "--package", "anvil-rules", "--example", "anvil_bench"];
    run(bench, "anvil", cargo().args(example))
}

/// The content filter beside its peers: times, then false hits on documentation that is fetched for it.
pub(super) fn filter(bench: &Bench) -> Result<(), Error> {
    let example = ["run", "--quiet", "--release", "--locked", "--package", "filter", "--example", "bench"];
    run(bench, "filter", cargo().args(example))?;
    let texts = corpus::texts(&bench.supervisor, &repository()?)?;
    let texts: Vec<&str> = texts.iter().filter_map(|path| path.to_str()).collect();
    run(bench, "filter", cargo().args(example).arg("--").args(&texts))
}
