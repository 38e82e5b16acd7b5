//! What several steps do: run a program, and build the workspace once.

use super::{Count, Suite};
use crate::{error::Error, functions::cargo};
use std::process::Command;

/// Runs a program with its output on the terminal.
pub(super) fn run(suite: &Suite, name: &'static str, command: &mut Command) -> Result<Count, Error> {
    let status = suite.supervisor.run(name, command.current_dir(&suite.root))?;
    if status.success() {
        return Ok(Count::default());
    }
    Err(Error::Program { program: name.to_owned(), status: status.to_string(), log: None })
}

/// Builds every program and every test in one go. Cargo unites the features of what it builds together: built in
/// parts, with `--package`, the same libraries would be compiled once for each part.
pub(super) fn build(suite: &Suite) -> Result<(), Error> {
    let mut command = cargo();
    command.args(["build", "--workspace", "--locked", "--bins", "--tests"]);
    run(suite, "cargo build", &mut command).map(drop)
}
