//! The golden files of the memory on aarch64, the processor of the deployed functions (Memory Contract, GAP-004:
//! "stable across machines"): the tests are built for it and run by an emulator.

use super::{Count, Skipped, Suite, machine, running::run_tests};
use crate::{error::Error, functions::cargo};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Linked by the linker that comes with the compiler, so that no cross compiler is needed.
const TARGET: &str = "aarch64-unknown-linux-musl";

/// The crates whose bytes are pinned, with the programs that hold the pins: the profile's vectors, and the gates.
const PINNED: [&[&str]; 2] = [&["--package", "lens", "--lib"], &["--package", "memory", "--test", "gates"]];

/// Runs the tests, and installs what they need where that is possible. A machine on which it is not is no failure, in
/// CI neither (infra/decisions/memory.md): the step is skipped by name.
pub(super) fn goldens(suite: &Suite) -> Result<Count, Error> {
    if cfg!(target_arch = "aarch64") {
        // The step `tests` has just run them on this processor.
        return Ok(Count::default());
    }
    if !has_target() {
        let mut add = Command::new("rustup");
        let added = suite.supervisor.run("rustup", add.args(["target", "add", TARGET]).env("RUSTUP_MAX_RETRIES", "1"));
        if !added.is_ok_and(|status| status.success()) || !has_target() {
            return machine::skip_uninstallable(suite, missing("the compiler has no aarch64 library"));
        }
    }
    let Some(emulator) = emulator().or_else(|| machine::install(suite, &["qemu-user"]).ok().and_then(|()| emulator()))
    else {
        return machine::skip_uninstallable(suite, missing("no emulator for aarch64 was found"));
    };
    let one = |tests: &&[&str]| {
        let mut command = cargo();
        command.args(["test", "--locked", "--target", TARGET]).args(*tests);
        command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER", "rust-lld");
        command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER", &emulator);
        run_tests(suite, None, &mut command)
    };
    PINNED.iter().map(one).sum()
}

fn missing(reason: &str) -> Skipped {
    Skipped {
        what: "the memory's golden files on aarch64",
        reason: reason.to_owned(),
        enable: "rustup target add aarch64-unknown-linux-musl; Debian: apt install qemu-user",
    }
}

/// Whether the compiler has a standard library for the target.
fn has_target() -> bool {
    let asked = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    asked.is_ok_and(|output| {
        output.status.success() && Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
    })
}

fn emulator() -> Option<PathBuf> {
    ["qemu-aarch64", "qemu-aarch64-static"].into_iter().find_map(machine::program)
}
