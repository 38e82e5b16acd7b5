//! The state that the steps share, and their results.

use super::failures::Failure;
use crate::{error::Error, local_dir::LocalDir, processes::Supervisor, up};
use std::{
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// The tests, counted from the output of `cargo test`.
#[derive(Default, Clone, Copy, PartialEq, Debug)]
pub(super) struct Count {
    pub(super) passed: u64,
    pub(super) failed: u64,
}

impl Count {
    /// Counts a test, and prints its problem if it has one.
    pub(super) fn add(&mut self, problem: Option<String>) {
        match problem {
            None => self.passed += 1,
            Some(problem) => {
                eprintln!("error: {problem}");
                self.failed += 1;
            }
        }
    }
}

impl std::iter::Sum for Count {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts
            .fold(Self::default(), |sum, one| Self { passed: sum.passed + one.passed, failed: sum.failed + one.failed })
    }
}

/// The state that the steps share.
pub(super) struct Suite {
    /// This program's path. It is determined first, because a step that builds everything replaces the file.
    pub(super) program: PathBuf,
    pub(super) root: PathBuf,
    pub(super) supervisor: Supervisor,
    /// The private stacks that the deployed tests run against: one for the browser, one for generated calls, and two
    /// that the tests of the deployed system share.
    pub(super) stacks: [LocalDir; 4],
    /// What this machine cannot run.
    pub(super) skipped: Mutex<Vec<Skipped>>,
    /// What each failed test says. Repeated at the end: the output has thousands of lines, and the last ones are read
    /// first.
    pub(super) failures: Mutex<Vec<Failure>>,
}

/// One step: its name on the command line, and its function.
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// Whether it runs while the next step waits most of the time.
    pub(super) beside_next: bool,
    pub(super) run: fn(&Suite) -> Result<Count, Error>,
}

impl Suite {
    pub(super) fn skipped(&self) -> MutexGuard<'_, Vec<Skipped>> {
        self.skipped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn failures(&self) -> MutexGuard<'_, Vec<Failure>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn stop(stacks: &[LocalDir]) -> Result<(), Error> {
        stacks.iter().try_for_each(|stack| up::stop(stack).map(drop))
    }

    pub(super) fn run(&self, step: &Step) -> (&'static str, Duration, Result<Count, Error>) {
        eprintln!("\n=== {}: {}", step.name, step.about);
        let begin = Instant::now();
        let outcome = (step.run)(self);
        if let Err(error) = &outcome {
            eprintln!("error: {}: {error}", step.name);
        }
        (step.name, begin.elapsed(), outcome)
    }
}

/// A test that could not run here.
pub(super) struct Skipped {
    pub(super) what: &'static str,
    pub(super) reason: String,
    /// What would enable it.
    pub(super) enable: &'static str,
}
