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
use machine::Skipped;
use std::{
    path::PathBuf,
    process::ExitCode,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// The tests, counted from the output of `cargo test`.
#[derive(Default, Clone, Copy, PartialEq, Debug)]
struct Count {
    passed: u64,
    failed: u64,
}

impl std::iter::Sum for Count {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts
            .fold(Self::default(), |sum, one| Self { passed: sum.passed + one.passed, failed: sum.failed + one.failed })
    }
}

/// The state that the steps share.
struct Suite {
    /// This program's path. It is determined first, because a step that builds everything replaces the file.
    program: PathBuf,
    root: PathBuf,
    supervisor: Supervisor,
    /// The private stacks that the deployed tests run against: one for the browser, one for generated calls, and two that
    /// the tests of the deployed system share.
    stacks: [LocalDir; 4],
    /// What this machine cannot run.
    skipped: Mutex<Vec<Skipped>>,
    /// What each failed test says. Repeated at the end: the output has thousands of lines, and the last ones are read first.
    failures: Mutex<Vec<Failure>>,
}

/// One step: its name on the command line, and its function.
struct Step {
    name: &'static str,
    about: &'static str,
    /// Whether it runs while the next step waits most of the time.
    beside_next: bool,
    run: fn(&Suite) -> Result<Count, Error>,
}

impl Suite {
    fn skipped(&self) -> MutexGuard<'_, Vec<Skipped>> {
        self.skipped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failures(&self) -> MutexGuard<'_, Vec<Failure>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops the stacks that are still running.
    fn stop(stacks: &[LocalDir]) -> Result<(), Error> {
        stacks.iter().try_for_each(|stack| up::stop(stack).map(drop))
    }

    fn run(&self, step: &Step) -> (&'static str, Duration, Result<Count, Error>) {
        eprintln!("\n=== {}: {}", step.name, step.about);
        let begin = Instant::now();
        let outcome = (step.run)(self);
        if let Err(error) = &outcome {
            eprintln!("error: {}: {error}", step.name);
        }
        (step.name, begin.elapsed(), outcome)
    }
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
