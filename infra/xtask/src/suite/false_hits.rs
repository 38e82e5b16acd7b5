//! The content filter on ordinary English: how often it cries wolf, counted on texts nobody wrote for it.

use super::{Count, Suite};
use crate::{bench::corpus, error::Error, functions::cargo};
use serde_json::Value;
use std::fs;

/// What a count must keep to (issue 5): its name in the benchmark's output, and the most or the least it may be.
const TARGETS: [(&str, Limit); 3] = [
    ("words of ordinary text", Limit::AtLeast(4_900_000.0)),
    ("false replacements", Limit::AtMost(0.5)),
    ("false quarantines", Limit::AtMost(1.0)),
];

#[derive(Clone, Copy)]
enum Limit {
    AtLeast(f64),
    AtMost(f64),
}

/// Counts the false hits and compares them with the targets. A debug build counts the same as a release build.
pub(super) fn false_hits(suite: &Suite) -> Result<Count, Error> {
    let texts = corpus::texts(&suite.supervisor, &suite.root)?;
    let counts = suite.root.join("target/corpus/counts.jsonl");
    let file = fs::File::create(&counts).map_err(Error::io(format!("creating {}", counts.display())))?;
    let mut command = cargo();
    // Without --package, so that it is built with the same features as everything else.
    command.args(["run", "--quiet", "--locked", "--example", "bench", "--"]).args(texts);
    let status = suite.supervisor.run("filter", command.current_dir(&suite.root).stdout(file))?;
    if !status.success() {
        return Err(Error::Program {
            program: "counting false hits".to_owned(),
            status: status.to_string(),
            log: None,
        });
    }
    let lines = fs::read_to_string(&counts).map_err(Error::io(format!("reading {}", counts.display())))?;
    let mut count = Count::default();
    for (name, limit) in TARGETS {
        match broken(&lines, name, limit) {
            None => count.passed += 1,
            Some(problem) => {
                eprintln!("error: {problem}");
                count.failed += 1;
            }
        }
    }
    Ok(count)
}

/// Why a count does not keep to its limit, if it does not.
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
