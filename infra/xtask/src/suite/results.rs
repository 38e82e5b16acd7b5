//! What a step leaves of its tests, for `oracle anvil assess spec --results`: which tests passed, and of which commit.

use crate::error::Error;
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, path::Path, process::Command};

/// Where the results are left, under the repository's root.
pub(super) const DIRECTORY: &str = "target/test-results";

/// Leaves the results of a step's `cargo test`, which began with the tree of the commit `began`.
pub(super) fn keep(root: &Path, step: &str, output: &str, began: Option<String>) -> Result<(), Error> {
    let directory = root.join(DIRECTORY);
    fs::create_dir_all(&directory).map_err(Error::io(format!("creating {DIRECTORY}")))?;
    let results = results(output, tested(began, commit(root)));
    fs::write(directory.join(format!("{step}.json")), format!("{results}\n"))
        .map_err(Error::io(format!("writing {DIRECTORY}/{step}.json")))
}

/// The commit that is tested; `None` where there is work that is not committed.
pub(super) fn commit(root: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let asked = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
        asked.status.success().then(|| String::from_utf8_lossy(&asked.stdout).trim().to_owned())
    };
    let is_clean = git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    git(&["rev-parse", "HEAD"]).filter(|_| is_clean)
}

/// The commit whose tests ran. `None` if the tree changed during the run: it is unknown which tree was built.
fn tested(began: Option<String>, ended: Option<String>) -> Option<String> {
    began.filter(|began| ended.as_ref() == Some(began))
}

/// Counts the tests of each name in what `cargo test` prints. A documentation test has no name.
fn results(output: &str, commit: Option<String>) -> Value {
    let mut passed: BTreeMap<&str, u64> = BTreeMap::new();
    let mut failed = Vec::new();
    for line in output.lines() {
        let Some((test, outcome)) = line.strip_prefix("test ").and_then(|line| line.rsplit_once(" ... ")) else {
            continue;
        };
        let test = test.strip_suffix(" - should panic").unwrap_or(test);
        let name = test.rsplit("::").next().unwrap_or(test);
        if name.contains(' ') {
            continue;
        }
        match outcome.trim() {
            "ok" => *passed.entry(name).or_insert(0) += 1,
            "FAILED" => failed.push(name),
            _ => {}
        }
    }
    json!({ "commit": commit, "passed": passed, "failed": failed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_counts_by_the_name_of_its_function() {
        let output = "running 5 tests\ntest a::tests::one ... ok\ntest one ... ok\ntest b::two - should panic ... ok\n\
                      test b::three ... FAILED\ntest b::four ... ignored, slow\ntest src/lib.rs - (line 6) ... ok\n\
                      test result: FAILED. 3 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out\n";
        let expected = json!({ "commit": "c", "passed": { "one": 2, "two": 1 }, "failed": ["three"] });
        assert_eq!(results(output, Some("c".to_owned())), expected);
    }

    #[test]
    fn results_of_a_tree_that_changed_meanwhile_belong_to_no_commit() {
        let commit = |name: &str| Some(name.to_owned());
        assert_eq!(tested(commit("c"), commit("c")), commit("c"));
        for (began, ended) in [(commit("c"), commit("d")), (commit("c"), None), (None, commit("c"))] {
            assert_eq!(tested(began, ended), None);
        }
    }
}
