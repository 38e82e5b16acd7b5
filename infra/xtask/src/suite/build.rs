//! Actions of several steps: run a program, and build the workspace once.

use super::{Count, Suite};
use crate::{error::Error, functions::cargo};
use std::process::Command;

/// Runs a program; its output goes to the terminal.
pub(super) fn run(suite: &Suite, name: &'static str, command: &mut Command) -> Result<Count, Error> {
    suite.supervisor.check(name, command.current_dir(&suite.root)).map(|()| Count::default())
}

/// Builds all programs and all tests with one command. Cargo unifies the features of the packages that it builds
/// together: separate builds with `--package` would compile the same libraries several times.
pub(super) fn build(suite: &Suite) -> Result<(), Error> {
    let mut command = cargo();
    command.args(["build", "--workspace", "--locked", "--bins", "--tests"]);
    run(suite, "cargo build", &mut command).map(drop)
}
