//! Attests the authority gate's test suite to the builds that follow.

use super::{
    Count, Suite, attested_suite,
    running::run_tests,
    targets::{Target, targets},
};
use crate::{error::Error, functions::cargo};
use serde_json::{Value, json};
use std::fs;

const GATE: &str = "authority";

/// Runs the authority gate's test suite, and stores its hash and its result for the builds that follow. A suite that was
/// edited while it ran has not passed.
pub(super) fn attest(suite: &Suite) -> Result<Count, Error> {
    let rules = suite.root.join("shared/rules");
    let hash = || attested_suite::hash(&rules).map_err(Error::io("the suite cannot be read"));
    let before = hash()?;
    let ran = gate_tests(suite);
    let after = hash()?;
    let file = rules.join("attestation/attested.json");
    let attested = attestation(&before, &after, &ran);
    fs::write(&file, format!("{attested}\n")).map_err(Error::io("the attestation cannot be written"))?;
    if before != after {
        return Err(Error::Refused("the suite was edited while it ran: run the step again".to_owned()));
    }
    ran
}

fn attestation(before: &str, after: &str, ran: &Result<Count, Error>) -> Value {
    let passed = before == after && matches!(ran, Ok(Count { passed: 1.., failed: 0 }));
    json!({ "suite": before, "passed": passed })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_suite_that_passed_and_was_not_edited_is_attested() {
        let ran = |passed, failed| Ok(Count { passed, failed });
        let state = |before, after, ran: &Result<Count, Error>| attestation(before, after, ran)["passed"].clone();
        assert_eq!(state("a", "a", &ran(9, 0)), true);
        assert_eq!(state("a", "b", &ran(9, 0)), false);
        assert_eq!(state("a", "a", &ran(9, 1)), false);
        assert_eq!(state("a", "a", &ran(0, 0)), false);
        assert_eq!(state("a", "a", &Err(Error::Refused("no tests".to_owned()))), false);
    }

    #[test]
    fn what_the_gates_build_includes_from_other_crates_is_attested() {
        let build = include_str!("../../../../shared/rules/authority/build.rs");
        let paths = build.lines().filter_map(|line| line.strip_prefix("#[path = \"")?.strip_suffix("\"]"));
        let elsewhere: Vec<_> = paths.filter_map(|path| path.strip_prefix("../")).collect();
        assert_eq!(elsewhere.len(), 1, "{elsewhere:?}");
        assert!(elsewhere.iter().all(|path| attested_suite::SUITE.contains(path)), "{elsewhere:?}");
    }
}
