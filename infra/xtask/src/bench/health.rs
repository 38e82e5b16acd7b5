//! Measures one look of cache-health at several sizes of the cache, on a separate stack.

use super::{Bench, on_stack, run};
use crate::{error::Error, local_dir::repository, python};
use std::process::Command;

/// Entries in the cache.
const SIZES: [&str; 2] = ["100", "10000"];

pub(super) fn health(bench: &Bench) -> Result<(), Error> {
    // The emulator reads an index by scanning the table, which takes a second per request at ten thousand entries. The
    // read units are comparable.
    on_stack(bench, &["CacheConnectTimeoutMs=10000"], || {
        let python = python::stack_environment(&bench.supervisor)?;
        let mut measure = Command::new(python.program("python"));
        measure.arg(repository()?.join("infra/local/bench_health.py")).arg(bench.dir.file("stack.json")).args(SIZES);
        run(bench, "measuring", &mut measure)
    })
}
