//! The memory: cold boot and fold beside weavatrix-memory, the limits from its tests at full size, and its logs on the
//! emulator's table.

use super::{Bench, example, run};
use crate::{
    error::Error,
    local_dir::{REGION, repository},
    python,
    up::{self, EMULATOR},
};
use std::process::Command;

const TABLE: &str = "bench-memory";

pub(super) fn memory(bench: &Bench) -> Result<(), Error> {
    run(bench, "memory", example("run", "memory", "memory_bench").args(["--features", "peers"]))?;
    run(bench, "cargo build", &mut example("build", "aws", "memory_table"))?;
    let python = python::stack_environment(&bench.supervisor)?;
    let endpoint = up::start_emulator(&bench.dir, &bench.supervisor, &python, 0);
    let measured = endpoint.and_then(|endpoint| table(bench, &python, &endpoint));
    bench.supervisor.stop(EMULATOR);
    measured
}

/// The emulator alone with the table of template.yaml: no function of a stack disturbs the measurement.
fn table(bench: &Bench, python: &python::Environment, endpoint: &str) -> Result<(), Error> {
    let mut create = Command::new(python.program("python"));
    create.arg(repository()?.join("infra/local/create_table.py")).args([endpoint, REGION, TABLE]);
    run(bench, "creating the table", &mut create)?;
    let mut measure = example("run", "aws", "memory_table");
    measure.env("AWS_ENDPOINT_URL", endpoint).env("AWS_REGION", REGION).env("TABLE_NAME", TABLE);
    measure.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test");
    run(bench, "memory", &mut measure)
}
