//! The judges of a mutant, cheapest first: the short tests of its crate, those of crates that use it, those of the
//! pipeline, simulated worlds, the long tests of its crate and of the pipeline. Each judge must pass on the unchanged
//! code; that run also sets its time limit.

use super::{
    compile::{Program, WorkTree, put, read},
    mutant::Mutant,
    options::Options,
    plan::Plan,
    switches::VARIABLE,
};
use crate::{error::Error, processes::wait_until};
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// The shortest time limit of a judge; it ends a mutant that loops for ever.
const LEAST_TIME: Duration = Duration::from_secs(60);
/// The time limit of a judge, as a multiple of its time on the unchanged code.
const SLOWER: u32 = 5;
/// The longest time that a judge may take on the unchanged code.
const CALIBRATION: Duration = Duration::from_secs(30 * 60);

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

/// Programs whose failure detects a mutant.
struct Judge {
    name: &'static str,
    /// The packages whose own tests it runs; none for another judge.
    packages: Vec<String>,
    /// The arguments with which cargo builds its programs alone.
    build: Vec<String>,
    /// The arguments of the programs.
    arguments: Vec<String>,
}

impl Judge {
    fn key(&self) -> (&'static str, Vec<String>) {
        (self.name, self.build.clone())
    }
}

/// A judge that passed on the unchanged code.
struct Ready {
    programs: Vec<Program>,
    /// How long it may take with a mutant.
    time: Duration,
}

/// The judges, by their name and what builds them.
pub(super) struct Judges<'a> {
    work_tree: &'a WorkTree,
    options: &'a Options,
    plan: &'a Plan,
    ready: BTreeMap<(&'static str, Vec<String>), Ready>,
}

#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Passed,
    Failed,
    TimedOut,
}

impl<'a> Judges<'a> {
    pub(super) const fn new(work_tree: &'a WorkTree, options: &'a Options, plan: &'a Plan) -> Self {
        Self { work_tree, options, plan, ready: BTreeMap::new() }
    }

    fn of(&self, package: &str) -> Vec<Judge> {
        judges(package, self.plan.tested_by(package), self.options, &self.plan.long_tests)
    }

    /// Builds the judges of these packages and runs them on the code as it is, where they must pass.
    pub(super) fn prepare(&mut self, packages: &BTreeSet<&str>) -> Result<(), Error> {
        let all: Vec<Judge> = packages.iter().flat_map(|package| self.of(package)).collect();
        // One build for all of them, because cargo compiles a dependency again for every set of its features.
        let tests: BTreeSet<&String> = all.iter().flat_map(|judge| &judge.packages).collect();
        let together = if tests.is_empty() { Vec::new() } else { self.must_build(&own_tests(tests))? };
        for judge in all {
            if self.ready.contains_key(&judge.key()) {
                continue;
            }
            eprintln!("without a mutant: cargo {}", judge.build.join(" "));
            let own = |program: &&Program| judge.packages.contains(&program.package);
            let programs = match judge.packages.is_empty() {
                true => self.must_build(&judge.build)?,
                false => together.iter().filter(own).cloned().collect(),
            };
            let began = Instant::now();
            let log = self.work_tree.target.with_file_name("judge.log");
            if programs.is_empty() || run(&programs, &judge.arguments, 0, CALIBRATION, Some(&log))? != Ended::Passed {
                let program = format!("cargo {} (without a mutant)", judge.build.join(" "));
                return Err(Error::Program { program, status: "a judge must pass".to_owned(), log: Some(log) });
            }
            let time = LEAST_TIME.max(began.elapsed() * SLOWER);
            self.ready.insert(judge.key(), Ready { programs, time });
        }
        Ok(())
    }

    /// Asks the judges about a mutant with a switch, until one detects it.
    pub(super) fn choose(&self, number: usize, package: &str) -> Result<Outcome, Error> {
        for judge in self.of(package) {
            let Some(ready) = self.ready.get(&judge.key()) else { continue };
            match run(&ready.programs, &judge.arguments, number, ready.time, None)? {
                Ended::Passed => {}
                Ended::Failed => return Ok(Outcome::Caught(judge.name)),
                Ended::TimedOut => return Ok(Outcome::TimedOut(judge.name)),
            }
        }
        Ok(Outcome::Missed)
    }

    /// Asks the judges about a mutant without a switch, which is compiled alone. The code is restored afterwards; after
    /// an error, the next checkout restores it.
    pub(super) fn apply(&self, mutant: &Mutant) -> Result<Outcome, Error> {
        let path = self.work_tree.source.join(&mutant.file);
        let original = read(&path)?;
        put(&path, &mutant.apply(&original))?;
        let mut outcome = Outcome::Missed;
        for judge in self.of(&mutant.package) {
            let programs = self.build(&judge.build)?;
            let time = self.ready.get(&judge.key()).map_or(LEAST_TIME, |ready| ready.time);
            if programs.is_empty() {
                outcome = Outcome::Unviable;
                break;
            }
            outcome = match run(&programs, &judge.arguments, 0, time, None)? {
                Ended::Passed => continue,
                Ended::Failed => Outcome::Caught(judge.name),
                Ended::TimedOut => Outcome::TimedOut(judge.name),
            };
            break;
        }
        put(&path, &original)?;
        Ok(outcome)
    }

    /// The programs that cargo builds; none if the code does not compile.
    fn build(&self, arguments: &[String]) -> Result<Vec<Program>, Error> {
        let built = self.work_tree.cargo(arguments)?;
        Ok(if built.succeeded { built.programs } else { Vec::new() })
    }

    /// The programs that cargo builds of code that has to compile.
    fn must_build(&self, arguments: &[String]) -> Result<Vec<Program>, Error> {
        let built = self.work_tree.cargo(arguments)?;
        match built.succeeded {
            true => Ok(built.programs),
            false => Err(Error::Refused(format!("cargo {}:\n{}", arguments.join(" "), built.reason()))),
        }
    }
}

/// The judges of a package, cheapest first. `long` names the modules of tests that are asked last.
fn judges(package: &str, tested_by: &[String], options: &Options, long: &[String]) -> Vec<Judge> {
    let skip: Vec<String> = long.iter().flat_map(|module| ["--skip", module]).map(str::to_owned).collect();
    let tests = |name, packages: &[String], arguments: &[String]| {
        let (packages, arguments) = (packages.to_vec(), arguments.to_vec());
        Judge { name, build: own_tests(&packages), packages, arguments }
    };
    let other = |name, build: &str, arguments: &[String]| {
        let build = build.split_whitespace().map(str::to_owned).collect();
        Judge { name, packages: Vec::new(), build, arguments: arguments.to_vec() }
    };
    let own = [package.to_owned()];
    let pipeline = "test --locked --no-run --package tests --test pipeline";
    let simulation = "build --locked --package simulation --bin simulation";
    let mut judges = vec![tests("unit", &own, &skip)];
    if !tested_by.is_empty() {
        judges.push(tests("users", tested_by, &skip));
    }
    judges.push(other("pipeline", pipeline, &skip));
    judges.push(other("simulation", simulation, &["--seeds".to_owned(), options.seeds.to_string()]));
    judges.push(tests("long", &own, long));
    judges.push(other("long", pipeline, long));
    judges.retain(|judge| options.judges.is_empty() || options.judges.iter().any(|name| name == judge.name));
    judges
}

/// The arguments with which cargo builds the packages' own tests.
fn own_tests<'p>(packages: impl IntoIterator<Item = &'p String>) -> Vec<String> {
    let build = ["test", "--locked", "--no-run", "--lib", "--bins", "--tests"].map(str::to_owned);
    build
        .into_iter()
        .chain(packages.into_iter().flat_map(|package| ["--package".to_owned(), package.clone()]))
        .collect()
}

/// Runs programs one after the other with a mutant, until one fails. Each has a process group of its own, which is
/// killed at the time limit. `log` receives what the last one wrote.
fn run(
    programs: &[Program],
    arguments: &[String],
    number: usize,
    time: Duration,
    log: Option<&Path>,
) -> Result<Ended, Error> {
    let end = Instant::now() + time;
    for program in programs {
        let mut command = Command::new(&program.executable);
        command.args(arguments).current_dir(&program.directory).env(VARIABLE, number.to_string());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(log) = log {
            let file = File::create(log).map_err(Error::io(format!("creating {}", log.display())))?;
            command.stderr(file.try_clone().map_err(Error::io("sharing a log"))?).stdout(file);
        }
        let ended = finish(&mut command, end.saturating_duration_since(Instant::now()))?;
        if ended != Ended::Passed {
            return Ok(ended);
        }
    }
    Ok(Ended::Passed)
}

fn finish(command: &mut Command, time: Duration) -> Result<Ended, Error> {
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
        let shell = |script: &str, time| finish(Command::new("sh").args(["-c", script]), Duration::from_millis(time));
        assert_eq!(shell("exit 0", 20_000)?, Ended::Passed);
        assert_eq!(shell("exit 3", 20_000)?, Ended::Failed);
        let began = Instant::now();
        assert_eq!(shell("sleep 100 & wait", 50)?, Ended::TimedOut);
        assert!(began.elapsed() < Duration::from_secs(50));
        Ok(())
    }

    #[test]
    fn the_crates_own_tests_come_first_and_the_long_ones_last() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let asked = |tested_by: &[&str], only: &[&str]| {
            let options =
                Options { sample: None, containing: None, resume: None, seeds: 40, judges: words(only), list: false };
            let line =
                |judge: Judge| format!("{}: {} -- {}", judge.name, judge.build.join(" "), judge.arguments.join(" "));
            judges("verdict", &words(tested_by), &options, &words(&["a::", "b::"]))
                .into_iter()
                .map(line)
                .collect::<Vec<_>>()
        };
        let own = "test --locked --no-run --lib --bins --tests --package";
        let [unit, users, pipeline, simulation, long, longer] = &asked(&["c", "d"], &[])[..] else {
            panic!("six judges")
        };
        assert_eq!(*unit, format!("unit: {own} verdict -- --skip a:: --skip b::"));
        assert_eq!(*users, format!("users: {own} c --package d -- --skip a:: --skip b::"));
        let tests = "test --locked --no-run --package tests --test pipeline";
        assert_eq!(*pipeline, format!("pipeline: {tests} -- --skip a:: --skip b::"));
        let worlds = "build --locked --package simulation --bin simulation";
        assert_eq!(*simulation, format!("simulation: {worlds} -- --seeds 40"));
        assert_eq!([long, longer], [&format!("long: {own} verdict -- a:: b::"), &format!("long: {tests} -- a:: b::")]);
        assert_eq!((asked(&[], &[]).len(), asked(&["c"], &["users"]).len()), (5, 1));
    }
}
