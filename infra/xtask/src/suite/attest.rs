//! Attests the authority gate's test suite to the builds that follow.

use super::{
    Count, Suite, attested_suite,
    running::run_tests,
    targets::{Target, targets},
};
use crate::{error::Error, functions::cargo};
use std::fs;

/// The package of the authority gate.
const GATE: &str = "authority";

/// Runs the authority gate's test suite, and stores its hash and its result for the builds that follow.
pub(super) fn attest(suite: &Suite) -> Result<Count, Error> {
    let rules = suite.root.join("shared/rules");
    let ran = gate_tests(suite);
    let passed = matches!(ran, Ok(Count { passed: 1.., failed: 0 }));
    let hash = attested_suite::hash(&rules).map_err(Error::io("the suite cannot be read"))?;
    let attested = serde_json::json!({ "suite": hash, "passed": passed });
    let file = rules.join("attestation/attested.json");
    fs::write(&file, format!("{attested}\n")).map_err(Error::io("the attestation cannot be written"))?;
    ran
}

fn gate_tests(suite: &Suite) -> Result<Count, Error> {
    let is_test = |target: &Target| target.package == GATE && target.kind == "test";
    let programs: Vec<String> = targets(suite)?.into_iter().filter(is_test).map(|target| target.name).collect();
    if programs.is_empty() {
        return Err(Error::Refused(format!("the package {GATE} has no test programs")));
    }
    let mut command = cargo();
    command.args(["test", "--locked", "--no-fail-fast", "--lib", "--package", GATE]);
    // These two have no library and no test program, so nothing of them is built or run. Cargo unifies the features of all
    // named packages, and with theirs the libraries are those that the builds of the whole workspace need.
    command.args(["--package", "xtask", "--package", "oracle-cli"]);
    for program in programs {
        command.args(["--test", &program]);
    }
    run_tests(suite, None, &mut command)
}
