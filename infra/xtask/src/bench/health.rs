//! What one look of cache-health costs at several sizes of the cache, on a stack of its own.

use super::{Bench, run};
use crate::{error::Error, local_dir::repository, python, up};
use std::process::Command;

/// Entries in the cache.
const SIZES: [&str; 2] = ["100", "10000"];

pub(super) fn health(bench: &Bench) -> Result<(), Error> {
    let this = std::env::current_exe().map_err(Error::io("finding this program"))?;
    let mut start = Command::new(this);
    start.args(["up", "--detach", "--sandbox-only", "--dir"]).arg(bench.dir.path());
    // Only the looks that are measured.
    start.args(["--parameter", "CacheHealth=DISABLED"]);
    // The emulator reads an index by going through the table: at ten thousand entries each request takes it a second.
    // What is comparable are the read units.
    start.args(["--parameter", "CacheConnectTimeoutMs=10000"]);
    run(bench, "cargo xtask up", &mut start)?;
    let python = python::stack_environment(&bench.supervisor)?;
    let mut measure = Command::new(python.program("python"));
    measure.arg(repository()?.join("infra/local/bench_health.py")).arg(bench.dir.file("stack.json")).args(SIZES);
    let measured = run(bench, "measuring", &mut measure);
    up::stop(&bench.dir)?;
    measured
}
