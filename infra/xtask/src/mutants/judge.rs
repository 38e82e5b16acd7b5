//! The judges of a mutant, cheapest first: the tests of its crate, those of crates that use it, the pipeline's tests,
//! simulated worlds. Each judge must pass on the unchanged code; that run also sets its time limit.

use super::mutant::Mutant;
use crate::{error::Error, functions::cargo, processes::wait_until};
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// The shortest time limit of a judge; it ends a mutant that loops for ever.
const LEAST_TIME: Duration = Duration::from_secs(60);
/// The time limit of a judge, as a multiple of its time on the unchanged code.
const SLOWER: u32 = 5;
/// The longest time that a build may take.
const BUILD_TIME: Duration = Duration::from_secs(30 * 60);

/// The outcome of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// This judge failed.
    Caught(&'static str),
    /// This judge exceeded its time limit.
    TimedOut(&'static str),
    /// Every judge passed.
    Missed,
    /// It does not compile.
    Unviable,
    /// The mutant is listed as undetectable, for this reason.
    Equivalent(String),
}

impl Outcome {
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Caught(_) => "caught",
            Self::TimedOut(_) => "timeout",
            Self::Missed => "missed",
            Self::Unviable => "unviable",
            Self::Equivalent(_) => "equivalent",
        }
    }
}

/// A program whose failure detects a mutant.
struct Judge {
    name: &'static str,
    /// The arguments with which cargo builds it.
    build: Vec<String>,
    /// The arguments with which cargo runs it.
    run: Vec<String>,
}

/// The judges, with the time limit of each judge that was used so far.
pub(crate) struct Judges {
    source: PathBuf,
    target: PathBuf,
    seeds: u64,
    times: BTreeMap<Vec<String>, Duration>,
}

#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Passed,
    Failed,
    TimedOut,
}

impl Judges {
    pub(crate) fn new(root: &Path, source: &Path, seeds: u64) -> Self {
        let target = root.join("target/mutants/build");
        Self { source: source.to_owned(), target, seeds, times: BTreeMap::new() }
    }

    /// Runs the judges on the code with a mutant until one detects it. The code is restored afterwards; after an error,
    /// the next checkout restores it.
    pub(crate) fn judge(&mut self, mutant: &Mutant, tested_by: &[String]) -> Result<Outcome, Error> {
        let path = self.source.join(&mutant.file);
        let original = read(&path)?;
        let changed = mutant.apply(&original);
        let mut outcome = None;
        for judge in judges(&mutant.package, tested_by, self.seeds) {
            if !self.times.contains_key(&judge.run) {
                put(&path, &original)?;
                self.calibrate(&judge)?;
            }
            put(&path, &changed)?;
            outcome = self.ask(&judge)?;
            if outcome.is_some() {
                break;
            }
        }
        put(&path, &original)?;
        Ok(outcome.unwrap_or(Outcome::Missed))
    }

    /// The outcome of one judge on the code as it is; `None` if it detects nothing.
    fn ask(&self, judge: &Judge) -> Result<Option<Outcome>, Error> {
        let time = self.times.get(&judge.run).copied().unwrap_or(LEAST_TIME);
        if self.cargo(&judge.build, BUILD_TIME)? != Ended::Passed {
            return Ok(Some(Outcome::Unviable));
        }
        Ok(match self.cargo(&judge.run, time)? {
            Ended::Passed => None,
            Ended::Failed => Some(Outcome::Caught(judge.name)),
            Ended::TimedOut => Some(Outcome::TimedOut(judge.name)),
        })
    }

    /// Finds the time limit of a judge: runs it on the unchanged code, where it must pass.
    fn calibrate(&mut self, judge: &Judge) -> Result<(), Error> {
        eprintln!("without a mutant: cargo {}", judge.run.join(" "));
        let built = self.cargo(&judge.build, BUILD_TIME)?;
        let began = Instant::now();
        if built != Ended::Passed || self.cargo(&judge.run, BUILD_TIME)? != Ended::Passed {
            let log = Some(self.log());
            let program = format!("cargo {} (without a mutant)", judge.run.join(" "));
            return Err(Error::Program { program, status: "a judge must pass".to_owned(), log });
        }
        self.times.insert(judge.run.clone(), LEAST_TIME.max(began.elapsed() * SLOWER));
        Ok(())
    }

    fn log(&self) -> PathBuf {
        self.target.with_file_name("judge.log")
    }

    /// Runs cargo in the work tree, in a process group of its own, which is killed at the time limit.
    fn cargo(&self, arguments: &[String], time: Duration) -> Result<Ended, Error> {
        let log = fs::File::create(self.log()).map_err(Error::io(format!("creating {}", self.log().display())))?;
        let errors = log.try_clone().map_err(Error::io("sharing a log"))?;
        let mut command = cargo();
        command.args(arguments).current_dir(&self.source).env("CARGO_TARGET_DIR", &self.target);
        run(command.stdout(log).stderr(errors), time)
    }
}

fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(Error::io(format!("reading {}", path.display())))
}

/// Writes a file unless it already has this text: cargo does not recompile an untouched file.
fn put(path: &Path, text: &str) -> Result<(), Error> {
    if read(path)? == text {
        return Ok(());
    }
    fs::write(path, text).map_err(Error::io(format!("writing {}", path.display())))
}

fn judges(package: &str, tested_by: &[String], seeds: u64) -> Vec<Judge> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let test = |name, packages: &str, what: &str| {
        let run = words(&format!("test --quiet --locked --package {packages} {what}"));
        Judge { name, build: [run.clone(), words("--no-run")].concat(), run }
    };
    let mut judges = vec![test("unit", package, "--lib --bins --tests")];
    if !tested_by.is_empty() {
        judges.push(test("users", &tested_by.join(" --package "), "--lib --bins --tests"));
    }
    judges.push(test("pipeline", "tests", "--test pipeline"));
    judges.push(Judge {
        name: "simulation",
        build: words("build --quiet --locked --package simulation --bin simulation"),
        run: words(&format!("run --quiet --locked --package simulation -- --seeds {seeds}")),
    });
    judges
}

fn run(command: &mut Command, time: Duration) -> Result<Ended, Error> {
    let mut child = command.stdin(Stdio::null()).process_group(0).spawn().map_err(Error::io("starting a judge"))?;
    let mut status = None;
    wait_until(time, || {
        status = child.try_wait().ok().flatten();
        status.is_some()
    });
    if let Some(status) = status {
        return Ok(if status.success() { Ended::Passed } else { Ended::Failed });
    }
    if let Ok(group) = i32::try_from(child.id()) {
        // The group may have ended already.
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
    child.wait().map_err(Error::io("waiting for a judge"))?;
    Ok(Ended::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_passes_fails_or_is_stopped_with_its_children() -> Result<(), Error> {
        let shell = |script: &str, time| run(Command::new("sh").args(["-c", script]), Duration::from_millis(time));
        assert_eq!(shell("exit 0", 20_000)?, Ended::Passed);
        assert_eq!(shell("exit 3", 20_000)?, Ended::Failed);
        let began = Instant::now();
        assert_eq!(shell("sleep 100 & wait", 50)?, Ended::TimedOut);
        assert!(began.elapsed() < Duration::from_secs(50));
        Ok(())
    }

    #[test]
    fn the_crates_own_tests_come_first() {
        let runs = |tested_by: &[&str]| {
            let tested_by: Vec<String> = tested_by.iter().map(|package| (*package).to_owned()).collect();
            judges("verdict", &tested_by, 40).iter().map(|judge| judge.run.join(" ")).collect::<Vec<_>>()
        };
        let [unit, pipeline, simulation] = &runs(&[])[..] else { panic!("three judges") };
        assert_eq!(unit, "test --quiet --locked --package verdict --lib --bins --tests");
        assert_eq!(pipeline, "test --quiet --locked --package tests --test pipeline");
        assert!(simulation.ends_with("simulation -- --seeds 40"));
        let users = "test --quiet --locked --package a --package b --lib --bins --tests";
        assert_eq!(runs(&["a", "b"])[1], users);
        let built = judges("verdict", &[], 40).remove(0).build.join(" ");
        assert_eq!(built, "test --quiet --locked --package verdict --lib --bins --tests --no-run");
    }
}
