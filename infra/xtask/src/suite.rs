//! `test`: all checks and tests. The steps with the cheapest failures run first.

mod attest;
#[path = "../../../shared/rules/attestation/src/suite.rs"]
mod attested_suite;
mod build;
mod contract;
mod events;
mod failures;
mod false_hits;
mod goldens;
mod machine;
mod npm;
mod peers;
mod prompts;
mod results;
mod running;
mod state;
mod steps;
mod targets;
mod vendor_types;

use crate::{
    error::Error,
    json_result::JsonResult,
    local_dir::{LocalDir, repository},
    processes::Supervisor,
    up,
};
use failures::Failure;
use serde_json::{Value, json};
use state::{Count, Skipped, Step, Suite};
use std::{process::ExitCode, sync::Mutex, thread, time::Duration};

/// The name, the duration and the outcome of a step.
type Ran = (&'static str, Duration, Result<Count, Error>);

/// Runs the chosen steps (all if none is named), prints a summary, and ends with the line `N passed, N failed`. For
/// programs the summary is one JSON object.
pub(crate) fn test(only: &[String], sam: bool, list: bool, as_json: bool) -> Result<ExitCode, Error> {
    let mut chosen: Vec<&Step> = steps::STEPS.iter().collect();
    if sam || only.iter().any(|name| name == steps::SAM.name) {
        chosen.push(&steps::SAM);
    }
    if list {
        for step in steps::STEPS.iter().chain([&steps::SAM]) {
            if as_json {
                println!("{}", json!({ "name": step.name, "about": step.about }));
            } else {
                println!("{:10} {}", step.name, step.about);
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(unknown) = only.iter().find(|name| !chosen.iter().any(|step| step.name == **name)) {
        return Err(Error::Refused(format!("no step {unknown}; `cargo xtask test --list` names them")));
    }
    chosen.retain(|step| only.is_empty() || only.iter().any(|name| name == step.name));

    let result = as_json.then(JsonResult::reserve).transpose()?;
    let root = repository()?;
    if only.is_empty() {
        machine::require_disk(&root)?;
    }
    let stack = |name: &str| LocalDir::new(Some(root.join("target").join(name)));
    let stacks = [stack("test-stack")?, stack("test-stack-2")?, stack("test-stack-3")?, stack("test-stack-4")?];
    let supervisor = Supervisor::new(&stacks[0]);
    let on_signal = stacks.clone();
    up::stop_on_signal(&supervisor, move || {
        if let Err(error) = Suite::stop(&on_signal) {
            eprintln!("error: {error}");
        }
        130
    })?;
    let program = std::env::current_exe().map_err(Error::io("finding this program"))?;
    let suite = &Suite { program, root, supervisor, stacks, skipped: Mutex::default(), failures: Mutex::default() };

    let mut results = Vec::new();
    for together in chosen.split_inclusive(|step| !step.beside_next) {
        thread::scope(|scope| {
            let running: Vec<_> = together.iter().map(|step| scope.spawn(|| suite.run(step))).collect();
            for (step, running) in together.iter().zip(running) {
                let panicked = |_| (step.name, Duration::ZERO, Err(Error::Refused(format!("{} panicked", step.name))));
                results.push(running.join().unwrap_or_else(panicked));
            }
        });
    }
    Suite::stop(&suite.stacks)?;
    let (skipped, failures) = (suite.skipped(), suite.failures());
    print_summary(&results, &skipped, &failures);
    if let Some(result) = result {
        result.write(&summary(&results, &skipped, &failures))?;
    }
    Ok(if total(&results).failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A step that could not run its tests counts as one failure; otherwise the total would show none.
fn count(outcome: &Result<Count, Error>) -> Count {
    outcome.as_ref().copied().unwrap_or(Count { passed: 0, failed: 1 })
}

fn total(results: &[Ran]) -> Count {
    results.iter().map(|(.., outcome)| count(outcome)).sum()
}

fn print_summary(results: &[Ran], skipped: &[Skipped], failures: &[Failure]) {
    println!();
    for (name, duration, outcome) in results {
        let verdict = if count(outcome).failed == 0 { "ok" } else { "FAILED" };
        println!("{verdict:7} {name:10} {:7.1} s", duration.as_secs_f64());
    }
    for Skipped { what, reason, enable } in skipped {
        println!("skipped {what}: {reason}; {enable}");
    }
    for Failure { test, said } in failures {
        println!("\nfailed {test}:\n{said}");
    }
    let Count { passed, failed } = total(results);
    println!("\n{passed} passed, {failed} failed");
}

fn summary(results: &[Ran], skipped: &[Skipped], failures: &[Failure]) -> Value {
    let Count { passed, failed } = total(results);
    let step = |(name, duration, outcome): &Ran| {
        let Count { passed, failed } = count(outcome);
        json!({ "name": name, "passed": passed, "failed": failed, "seconds": duration.as_secs_f64() })
    };
    let skip = |Skipped { what, reason, .. }: &Skipped| json!({ "what": what, "reason": reason });
    let failure = |Failure { test, said }: &Failure| json!({ "test": test, "said": said });
    json!({
        "passed": passed,
        "failed": failed,
        "steps": results.iter().map(step).collect::<Vec<_>>(),
        "skipped": skipped.iter().map(skip).collect::<Vec<_>>(),
        "failures": failures.iter().map(failure).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_could_not_run_is_a_failure_of_the_summary() {
        let ran = |name, outcome| (name, Duration::from_millis(1500), outcome);
        let broken = Err(Error::Refused("no tests".to_owned()));
        let results = [ran("rules", Ok(Count { passed: 9, failed: 0 })), ran("template", broken)];
        let failed = [Failure { test: "a".to_owned(), said: "b".to_owned() }];
        let summary = summary(&results, &[], &failed);
        assert_eq!((&summary["passed"], &summary["failed"]), (&json!(9), &json!(1)));
        assert_eq!(summary["steps"][1], json!({ "name": "template", "passed": 0, "failed": 1, "seconds": 1.5 }));
        assert_eq!(summary["failures"], json!([{ "test": "a", "said": "b" }]));
    }
}
