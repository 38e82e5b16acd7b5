//! Compares the list of the specification's rules with the repository: checks that the places that implement each rule
//! exist, and that the tests in those places ran and passed.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anvil_rules::evidence::{Compliance, Rule, RuleTests};
use serde::Deserialize;

use crate::command::{CommandError, read_file};

/// Folders of the repository that hold tests.
const SOURCES: [&str; 4] = ["functions", "shared", "infra", "tests"];

#[derive(Deserialize)]
struct RuleList {
    specification: Vec<Specification>,
}

#[derive(Deserialize)]
struct Specification {
    name: String,
    rules: Vec<ListedRule>,
}

#[derive(Deserialize)]
struct ListedRule {
    rule: String,
    kept: Vec<String>,
    /// The tests that check the rule. If empty, these are all tests of its places.
    #[serde(default)]
    tests: Vec<String>,
}

/// The test results that a step of `cargo xtask test` writes.
#[derive(Deserialize)]
struct StepResults {
    /// The commit; `None` if the work tree had uncommitted changes.
    commit: Option<String>,
    /// The number of passed tests of each name.
    passed: BTreeMap<String, usize>,
    failed: Vec<String>,
}

/// The results of all steps. `commit` is set only if all steps ran on the same commit.
struct Results {
    commit: Option<String>,
    passed: BTreeMap<String, usize>,
    failed: Vec<String>,
}

/// Compares the list with the repository and, if `results` is given, with the results of its tests.
pub(crate) fn compliance(repository: &Path, results: Option<&Path>) -> Result<Compliance, CommandError> {
    let path = repository.join("infra/spec/rules.toml");
    let text = read_file(&path)?;
    let list: RuleList = toml::from_str(&text)
        .map_err(|error| CommandError::failed(&format!("{} is no list of rules", path.display()), error))?;
    let results = results.map(read_results).transpose()?;
    let mut defined = BTreeMap::new();
    for folder in SOURCES {
        for name in tests_in(&repository.join(folder))? {
            *defined.entry(name).or_insert(0) += 1;
        }
    }
    let mut rules = Vec::new();
    for Specification { name, rules: listed } in list.specification {
        for ListedRule { rule, kept, tests } in listed {
            let mut lost: Vec<String> = kept.iter().filter(|place| !repository.join(place).exists()).cloned().collect();
            let mut found = Vec::new();
            for place in &kept {
                found.extend(tests_in(&repository.join(place))?);
            }
            lost.extend(tests.iter().filter(|test| !found.contains(test)).map(|test| format!("the test {test}")));
            let wanted = if tests.is_empty() { found } else { tests };
            let tests = results.as_ref().map(|results| judge(&wanted, &defined, results));
            rules.push(Rule { rule: format!("{name}, {rule}"), kept: kept.len(), lost, tests });
        }
    }
    let tested = results.and_then(|results| results.commit);
    Ok(Compliance { rules, commit: commit_of(repository), tested })
}

/// Sorts the tests of a rule by result. A test counts as passed if as many tests of its name passed as the repository
/// has.
fn judge(wanted: &[String], defined: &BTreeMap<String, usize>, results: &Results) -> RuleTests {
    let mut tests = RuleTests::default();
    for name in wanted {
        if results.failed.contains(name) {
            tests.failed.push(name.clone());
        } else if results.passed.get(name).copied().unwrap_or(0) >= defined.get(name).copied().unwrap_or(1) {
            tests.passed += 1;
        } else {
            tests.not_run.push(name.clone());
        }
    }
    tests
}

fn read_results(directory: &Path) -> Result<Results, CommandError> {
    let failed = |error| CommandError::failed(&format!("{} cannot be read", directory.display()), error);
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        files.push(entry.map_err(failed)?.path());
    }
    let mut all = Results { commit: None, passed: BTreeMap::new(), failed: Vec::new() };
    let mut commits = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "json")) {
        let step: StepResults = serde_json::from_str(&read_file(file)?)
            .map_err(|error| CommandError::failed(&format!("{} holds no results", file.display()), error))?;
        commits.push(step.commit);
        all.failed.extend(step.failed);
        for (name, passed) in step.passed {
            *all.passed.entry(name).or_insert(0) += passed;
        }
    }
    commits.dedup();
    if let [commit] = commits.as_slice() {
        all.commit.clone_from(commit);
    }
    Ok(all)
}

/// The commit that the repository holds; `None` where there is work that is not committed, because no result is of that.
fn commit_of(repository: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let asked = Command::new("git").arg("-C").arg(repository).args(arguments).output().ok()?;
        asked.status.success().then(|| String::from_utf8_lossy(&asked.stdout).trim().to_owned())
    };
    let is_clean = git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    git(&["rev-parse", "HEAD"]).filter(|commit| is_clean && !commit.is_empty())
}

/// The names of the test functions in a place. A place is a folder, or a source file with the files of its tests.
fn tests_in(place: &Path) -> Result<Vec<String>, CommandError> {
    let failed = |error| CommandError::failed(&format!("{} cannot be read", place.display()), error);
    let mut names = Vec::new();
    if place.is_dir() {
        for entry in fs::read_dir(place).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let is_source = path.extension().is_some_and(|extension| extension == "rs");
            if path.is_dir() && !path.ends_with("target") {
                names.extend(tests_in(&path)?);
            } else if is_source {
                names.extend(test_names(&read_file(&path)?));
            }
        }
    } else if place.extension().is_some_and(|extension| extension == "rs") && place.is_file() {
        let stem = place.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let beside = [place.with_file_name(format!("{stem}_tests.rs")), place.with_extension("").join("tests.rs")];
        for source in std::iter::once(place.to_owned()).chain(beside.into_iter().filter(|path| path.is_file())) {
            names.extend(test_names(&read_file(&source)?));
        }
    }
    Ok(names)
}

/// The names of a source's test functions, without those that run only on request.
fn test_names(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    let (mut is_test, mut is_ignored) = (false, false);
    for line in source.lines().map(str::trim) {
        if line == "#[test]" || line.starts_with("#[tokio::test") {
            (is_test, is_ignored) = (true, false);
        } else if line.starts_with("#[ignore") {
            is_ignored = true;
        } else if is_test && let Some((_, rest)) = line.split_once("fn ") {
            let name = rest.split(['(', '<']).next().unwrap_or_default();
            if !is_ignored && !name.is_empty() {
                names.push(name.to_owned());
            }
            (is_test, is_ignored) = (false, false);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use anvil_rules::evidence::Evidence;
    use anvil_rules::{Effect, Verdict};

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    #[test]
    fn this_repository_keeps_what_it_says_it_keeps() {
        let compliance = compliance(&root(), None).unwrap();
        assert!(compliance.rules.len() > 100);
        let judged = compliance.assess();
        assert!(judged.reasons().iter().all(|reason| reason.effect() != Effect::Fault), "{}", judged.text());
        assert_eq!(judged.verdict(), Verdict::Null, "without results the tests were not observed");
    }

    /// A rule without a test could never be more than AMBER, and one with a test that never runs never more than NULL.
    #[test]
    fn each_rule_of_this_repository_has_tests_and_is_kept_if_all_pass() {
        let directory = std::env::temp_dir().join(format!("specification-all-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let mut passed = BTreeMap::new();
        for folder in SOURCES {
            for name in tests_in(&root().join(folder)).unwrap() {
                *passed.entry(name).or_insert(0_usize) += 1;
            }
        }
        let judged = |passed: &BTreeMap<String, usize>, failed: &[&str]| {
            let results = serde_json::json!({ "commit": "c", "passed": passed, "failed": failed });
            fs::write(directory.join("tests.json"), results.to_string()).unwrap();
            let found = compliance(&root(), Some(&directory)).unwrap();
            Compliance { commit: Some("c".to_owned()), ..found }.assess()
        };
        let all = judged(&passed, &[]);
        assert_eq!(all.verdict(), Verdict::Green, "{}", all.text());
        let of_a_rule = "reports_of_the_smoke_test_are_kept_thirty_days";
        assert_eq!(judged(&passed, &[of_a_rule]).verdict(), Verdict::Red);
        passed.remove(of_a_rule);
        assert_eq!(judged(&passed, &[]).verdict(), Verdict::Null);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn test_functions_are_found_and_those_on_request_are_not() {
        let source = "#[test]\nfn a() {}\nfn helper() {}\n    #[test]\n    #[ignore = \"slow\"]\n    fn b() {}\n\
                      #[tokio::test(flavor = \"current_thread\")]\nasync fn c() {}\n#[test]\n/// Doc.\nfn d(x in 0..8) {}";
        assert_eq!(test_names(source), ["a", "c", "d"]);
    }

    /// A verdict on the results of a commit is not one on what is changed since.
    #[test]
    fn a_repository_with_work_that_is_not_committed_is_of_no_commit() {
        let directory = std::env::temp_dir().join(format!("specification-work-{}", std::process::id()));
        // A process that was killed may have had this number.
        fs::remove_dir_all(&directory).ok();
        fs::create_dir_all(&directory).unwrap();
        let git = |arguments: &[&str]| {
            let identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
            let done = Command::new("git").arg("-C").arg(&directory).args(identity).args(arguments).output().unwrap();
            assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        };
        assert_eq!(commit_of(&directory), None, "no repository");
        git(&["init", "-q"]);
        fs::write(directory.join("rules.toml"), "a").unwrap();
        git(&["add", "."]);
        git(&["commit", "-q", "-m", "one"]);
        assert_eq!(commit_of(&directory).map(|commit| commit.len()), Some(40));
        fs::write(directory.join("rules.toml"), "b").unwrap();
        assert_eq!(commit_of(&directory), None);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn the_results_of_a_run_decide_each_rule() {
        let directory = std::env::temp_dir().join(format!("specification-{}", std::process::id()));
        fs::remove_dir_all(&directory).ok();
        let at = |path: &str| directory.join(path);
        for folder in ["infra/spec", "shared/a/src", "functions", "tests", "results"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        let rules = "[[specification]]\nname = \"S\"\nrules = [\n\
                     { rule = \"1\", says = \"x\", kept = [\"shared/a\"] },\n\
                     { rule = \"2\", says = \"x\", kept = [\"shared/a\"], tests = [\"two\"] },\n]\n";
        fs::write(at("infra/spec/rules.toml"), rules).unwrap();
        fs::write(at("shared/a/src/lib.rs"), "#[test]\nfn one() {}\n#[test]\nfn two() {}\n").unwrap();
        let run = |passed: &str, failed: &str| {
            let results = format!(r#"{{"commit":"c","passed":{passed},"failed":{failed}}}"#);
            fs::write(at("results/tests.json"), results).unwrap();
            let found = compliance(&directory, Some(&at("results"))).unwrap();
            let found = Compliance { commit: Some("c".to_owned()), ..found };
            assert_eq!(found.tested.as_deref(), Some("c"));
            found.assess().verdict()
        };
        assert_eq!(run(r#"{"one":1,"two":1}"#, "[]"), Verdict::Green);
        assert_eq!(run(r#"{"two":1}"#, "[]"), Verdict::Null);
        assert_eq!(run(r#"{"one":1,"two":1}"#, r#"["two"]"#), Verdict::Red);
        // A second test of the same name elsewhere must have passed, too.
        fs::write(at("tests/other.rs"), "#[test]\nfn two() {}\n").unwrap();
        assert_eq!(run(r#"{"one":1,"two":1}"#, "[]"), Verdict::Null);
        assert_eq!(run(r#"{"one":1,"two":2}"#, "[]"), Verdict::Green);
        // A rule whose named test is missing is lost.
        fs::write(at("shared/a/src/lib.rs"), "#[test]\nfn one() {}\n").unwrap();
        assert_eq!(run(r#"{"one":1,"two":1}"#, "[]"), Verdict::Red);
        // Results of two commits count for no commit.
        fs::write(at("results/sim.json"), r#"{"commit":"d","passed":{},"failed":[]}"#).unwrap();
        assert_eq!(compliance(&directory, Some(&at("results"))).unwrap().tested, None);
        fs::remove_dir_all(&directory).unwrap();
    }
}
