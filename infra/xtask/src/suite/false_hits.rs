//! The content filter on ordinary English: counts false hits in texts that were not written for this test.

use super::{Count, Skipped, Suite, machine};
use crate::{
    bench::corpus,
    error::{Error, require_success},
    functions::cargo,
};
use serde_json::Value;
use std::{fs, path::PathBuf};

/// Ordinary texts, and verdicts of our own wording, small enough for the repository: the filter must hit none of them.
const SAMPLE: [&str; 2] =
    ["shared/rules/filter/tests/data/ordinary_questions.txt", "shared/rules/filter/tests/data/clean_verdicts.txt"];

const SAMPLE_TARGETS: [(&str, Limit); 3] = [
    ("words of ordinary text", Limit::AtLeast(1_400.0)),
    ("false replacements", Limit::AtMost(0.0)),
    ("false quarantines", Limit::AtMost(0.0)),
];

/// The limits for the counts on the fetched texts: the name in the benchmark's output, and the maximum or minimum.
const TARGETS: [(&str, Limit); 3] = [
    ("words of ordinary text", Limit::AtLeast(4_900_000.0)),
    ("false replacements", Limit::AtMost(0.5)),
    ("false quarantines", Limit::AtMost(1.0)),
];

/// The limits on texts that were first counted before any rule was written for them: 2.5 hits per million words.
const UNSEEN_TARGETS: [(&str, Limit); 3] = [
    ("words of ordinary text", Limit::AtLeast(3_000_000.0)),
    ("false replacements", Limit::AtMost(0.75)),
    ("false quarantines", Limit::AtMost(1.75)),
];

#[derive(Clone, Copy)]
enum Limit {
    AtLeast(f64),
    AtMost(f64),
}

/// Counts the false hits and compares them with the targets. A debug build counts the same as a release build.
pub(super) fn false_hits(suite: &Suite) -> Result<Count, Error> {
    let mut all = counted(suite, SAMPLE.map(|path| suite.root.join(path)).to_vec(), &SAMPLE_TARGETS)?;
    for (packages, targets) in [(corpus::MEASURED, &TARGETS), (corpus::UNSEEN, &UNSEEN_TARGETS)] {
        let fetched = match corpus::texts(&suite.supervisor, &suite.root, packages) {
            Ok(texts) => counted(suite, texts, targets)?,
            Err(error) => machine::skip(
                suite,
                Skipped {
                    what: "false hits on fetched texts",
                    reason: error.to_string(),
                    enable: "run it on Debian 12 after `apt-get update` as root",
                },
            )?,
        };
        all = Count { passed: all.passed + fetched.passed, failed: all.failed + fetched.failed };
    }
    Ok(all)
}

fn counted(suite: &Suite, texts: Vec<PathBuf>, targets: &[(&str, Limit)]) -> Result<Count, Error> {
    fs::create_dir_all(suite.root.join("target/corpus")).map_err(Error::io("creating target/corpus"))?;
    let counts = suite.root.join("target/corpus/counts.jsonl");
    let file = fs::File::create(&counts).map_err(Error::io(format!("creating {}", counts.display())))?;
    let mut command = cargo();
    // Without --package, so that it has the same features as all other builds.
    command.args(["run", "--quiet", "--locked", "--example", "bench", "--"]).args(texts);
    let status = suite.supervisor.run("filter", command.current_dir(&suite.root).stdout(file))?;
    require_success("counting false hits", status, None)?;
    let lines = fs::read_to_string(&counts).map_err(Error::io(format!("reading {}", counts.display())))?;
    let mut count = Count::default();
    for (name, limit) in targets {
        count.add(broken(&lines, name, *limit));
    }
    Ok(count)
}

/// The reason why a count breaks its limit, if it does.
fn broken(lines: &str, name: &str, limit: Limit) -> Option<String> {
    let parsed = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let Some(value) = parsed.filter(|line| line["name"] == name).find_map(|line| line["value"].as_f64()) else {
        return Some(format!("{name}: not counted"));
    };
    match limit {
        Limit::AtLeast(least) if value < least => Some(format!("{name}: {value}, at least {least} are needed")),
        Limit::AtMost(most) if value > most => Some(format!("{name}: {value} per million words, at most {most}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_is_missing_or_beyond_its_limit_is_named() {
        let lines = "{\"name\":\"a\",\"value\":0.4}\n{\"name\":\"b\",\"value\":7.0}";
        assert_eq!(broken(lines, "a", Limit::AtMost(0.5)), None);
        assert_eq!(broken(lines, "b", Limit::AtLeast(7.0)), None);
        assert_eq!(broken(lines, "b", Limit::AtMost(0.5)).unwrap(), "b: 7 per million words, at most 0.5");
        assert_eq!(broken(lines, "b", Limit::AtLeast(8.0)).unwrap(), "b: 7, at least 8 are needed");
        assert_eq!(broken("", "c", Limit::AtMost(1.0)).unwrap(), "c: not counted");
    }
}
