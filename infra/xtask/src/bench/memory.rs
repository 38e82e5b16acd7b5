//! The memory: cold boot and fold beside weavatrix-memory, the limits from its tests at full size, and its logs on the
//! table of a stack.

use super::{Bench, UNSCHEDULED, on_stack, run};
use crate::{error::Error, functions::cargo};

pub(super) fn memory(bench: &Bench) -> Result<(), Error> {
    let example = ["run", "--quiet", "--release", "--locked", "--package", "memory", "--example", "memory_bench"];
    run(bench, "memory", cargo().args(example))?;
    on_stack(bench, &UNSCHEDULED, || table(bench))
}

fn table(bench: &Bench) -> Result<(), Error> {
    let stack = bench.dir.stack()?;
    let table = stack.outputs.get("TableName").ok_or_else(|| Error::Refused("the stack names no table".to_owned()))?;
    let example = ["run", "--quiet", "--locked", "--package", "aws", "--example", "memory_table"];
    let mut command = cargo();
    command.args(example).env("AWS_ENDPOINT_URL", &stack.aws_endpoint).env("AWS_REGION", &stack.region);
    command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test").env("TABLE_NAME", table);
    run(bench, "memory", &mut command)
}
