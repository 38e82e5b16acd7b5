//! `test`: all checks and tests. The steps with the cheapest failures run first.

#[path = "../../../shared/rules/attestation/src/suite.rs"]
mod attested_suite;
mod build;
mod contract;
mod events;
mod false_hits;
mod goldens;
mod machine;
mod npm;
mod peers;
mod prompts;
mod results;
mod steps;
mod vendor_types;

use crate::{
    error::Error,
    local_dir::{LocalDir, repository},
    processes::Supervisor,
    up,
};
use machine::Skipped;
use std::{
    cell::RefCell,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

/// The tests, counted from the output of `cargo test`.
#[derive(Default, Clone, Copy, PartialEq, Debug)]
struct Count {
    passed: u64,
    failed: u64,
}

/// The state that the steps share.
struct Suite {
    /// This program's path. It is determined first, because a step that builds everything replaces the file.
    program: PathBuf,
    root: PathBuf,
    supervisor: Supervisor,
    /// The private stack that the deployed tests run against.
    stack: LocalDir,
    /// What this machine cannot run.
    skipped: RefCell<Vec<Skipped>>,
}

/// One step: its name on the command line, and its function.
struct Step {
    name: &'static str,
    about: &'static str,
    run: fn(&Suite) -> Result<Count, Error>,
}

/// Runs the chosen steps (all if none is named), prints a summary, and ends with the line `N passed, N failed`.
pub(crate) fn test(only: &[String], sam: bool, list: bool) -> Result<ExitCode, Error> {
    let mut chosen: Vec<&Step> = steps::STEPS.iter().collect();
    if sam || only.iter().any(|name| name == steps::SAM.name) {
        chosen.push(&steps::SAM);
    }
    if list {
        for step in steps::STEPS.iter().chain([&steps::SAM]) {
            println!("{:10} {}", step.name, step.about);
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(unknown) = only.iter().find(|name| !chosen.iter().any(|step| step.name == **name)) {
        return Err(Error::Refused(format!("no step {unknown}; `cargo xtask test --list` names them")));
    }
    chosen.retain(|step| only.is_empty() || only.iter().any(|name| name == step.name));

    let root = repository()?;
    let stack = LocalDir::new(Some(root.join("target/test-stack")))?;
    let supervisor = Supervisor::new(&stack);
    let on_signal = stack.clone();
    up::stop_on_signal(&supervisor, move || {
        if let Err(error) = up::stop(&on_signal) {
            eprintln!("error: {error}");
        }
        130
    })?;
    let program = std::env::current_exe().map_err(Error::io("finding this program"))?;
    let suite = Suite { program, root, supervisor, stack, skipped: RefCell::default() };

    let mut results = Vec::new();
    for step in chosen {
        eprintln!("\n=== {}: {}", step.name, step.about);
        let begin = Instant::now();
        let outcome = (step.run)(&suite);
        if let Err(error) = &outcome {
            eprintln!("error: {error}");
        }
        results.push((step.name, begin.elapsed(), outcome));
    }
    up::stop(&suite.stack)?;
    Ok(summarise(&results, &suite.skipped.borrow()))
}

fn summarise(results: &[(&str, Duration, Result<Count, Error>)], skipped: &[Skipped]) -> ExitCode {
    let mut total = Count::default();
    println!();
    for (name, duration, outcome) in results {
        let (verdict, count) = match outcome {
            Ok(count) if count.failed == 0 => ("ok", *count),
            Ok(count) => ("FAILED", *count),
            // A step that could not run its tests counts as one failure; otherwise the total would show none.
            Err(_) => ("FAILED", Count { passed: 0, failed: 1 }),
        };
        total.passed += count.passed;
        total.failed += count.failed;
        println!("{verdict:7} {name:10} {:7.1} s", duration.as_secs_f64());
    }
    for Skipped { what, reason, enable } in skipped {
        println!("skipped {what}: {reason}; {enable}");
    }
    println!("\n{} passed, {} failed", total.passed, total.failed);
    if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Adds up the `test result:` lines of a `cargo test` run.
fn count(output: &str) -> Count {
    let number = |line: &str, what: &str| {
        line.split([';', '.']).find_map(|part| part.trim().strip_suffix(what)?.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    output.lines().filter(|line| line.starts_with("test result:")).fold(Count::default(), |sum, line| Count {
        passed: sum.passed + number(line, "passed"),
        failed: sum.failed + number(line, "failed"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_every_result_line() {
        let output = "running 2 tests\ntest a ... ok\ntest result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.10s\n\n\
                      test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\nerror: test failed";
        assert_eq!(count(output), Count { passed: 13, failed: 2 });
        assert_eq!(count("error: could not compile"), Count::default());
    }
}
