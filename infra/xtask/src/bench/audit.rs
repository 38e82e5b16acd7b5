//! Measures `oracle audit report` over a million records, each in its own file as in a copy of the log.

use super::{Bench, report, run};
use crate::{
    error::Error,
    functions::{binaries, cargo, metadata},
    local_dir::repository,
};
use serde_json::{Value, json};
use std::{
    fs,
    process::{Command, Stdio},
    time::Instant,
};

/// The number of records; the target is one minute (infra/decisions/audit-reading.md).
const RECORDS: u64 = 1_000_000;

/// Built in the dev profile, like an operator's build from the checkout.
pub(super) fn audit(bench: &Bench) -> Result<(), Error> {
    let root = repository()?;
    let build = ["build", "--locked", "--package", "oracle-cli", "--bin", "oracle"];
    run(bench, "cargo build", cargo().current_dir(&root).args(build))?;
    let log = bench.dir.file("audit-log");
    // Written once, because it is always the same. It gets its name when it is complete.
    if !log.exists() {
        let unfinished = bench.dir.file("audit-log.unfinished");
        let _ = fs::remove_dir_all(&unfinished);
        let example = ["run", "--quiet", "--locked", "--package", "audit", "--example", "log", "--"];
        let mut write = cargo();
        write.current_dir(&root).args(example).arg(&unfinished).arg(RECORDS.to_string());
        run(bench, "writing the log", write.stdout(Stdio::null()))?;
        fs::rename(&unfinished, &log).map_err(Error::io("naming the log"))?;
    }
    let answer = bench.dir.file("audit-report.json");
    let file = fs::File::create(&answer).map_err(Error::io("creating the report"))?;
    let mut read = Command::new(binaries(&metadata(&root)?, "debug").join("oracle"));
    read.args(["audit", "report", "--json", "--directory"]).arg(&log).stdout(file);
    let begin = Instant::now();
    run(bench, "oracle", &mut read)?;
    let took = begin.elapsed();
    let found: Value =
        serde_json::from_slice(&fs::read(&answer).map_err(Error::io("reading the report"))?).unwrap_or_default();
    report(&json!({ "name": "audit/report", "value": took.as_secs_f64(), "unit": "s", "records": found["records"] }));
    Ok(())
}
