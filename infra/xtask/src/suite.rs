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
    local_dir::{LocalDir, repository},
    processes::Supervisor,
    up,
};
use failures::Failure;
use state::{Count, Skipped, Step, Suite};
use std::{process::ExitCode, sync::Mutex, thread, time::Duration};

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
    Ok(summarise(&results, &suite.skipped(), &suite.failures()))
}

fn summarise(
    results: &[(&str, Duration, Result<Count, Error>)],
    skipped: &[Skipped],
    failures: &[Failure],
) -> ExitCode {
    println!();
    let counts = results.iter().map(|(name, duration, outcome)| {
        let (verdict, count) = match outcome {
            Ok(count) if count.failed == 0 => ("ok", *count),
            Ok(count) => ("FAILED", *count),
            // A step that could not run its tests counts as one failure; otherwise the total would show none.
            Err(_) => ("FAILED", Count { passed: 0, failed: 1 }),
        };
        println!("{verdict:7} {name:10} {:7.1} s", duration.as_secs_f64());
        count
    });
    let total: Count = counts.sum();
    for Skipped { what, reason, enable } in skipped {
        println!("skipped {what}: {reason}; {enable}");
    }
    for Failure { test, said } in failures {
        println!("\nfailed {test}:\n{said}");
    }
    println!("\n{} passed, {} failed", total.passed, total.failed);
    if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
