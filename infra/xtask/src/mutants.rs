//! `mutants`: mutation testing of the crates that make decisions. A mutant is one small change of the code, found by
//!   cargo-mutants; a mutant that no test detects shows a rule that no test covers.
//!
//! cargo-mutants only lists the mutants. This module compiles all of them at once, each behind a switch, and runs the
//! tests itself: cargo-mutants compiles and runs everything for every mutant, but the cheapest judge, the crate's own
//! tests, catches most of them in a second.

mod compile;
mod constants;
mod judge;
mod mutant;
mod options;
mod places;
mod plan;
mod switches;
mod tool;

pub(crate) use options::Options;

use crate::{error::Error, local_dir::repository};
use compile::WorkTree;
use judge::{Judges, Outcome};
use mutant::Mutant;
use plan::Plan;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::ExitCode,
    sync::{Mutex, PoisonError},
    thread,
};

pub(crate) fn mutants(options: &Options) -> Result<ExitCode, Error> {
    let root = repository()?;
    let plan = Plan::read(&root)?;
    let commit = tool::commit(&root)?;
    let program = tool::install(&root, &plan.cargo_mutants)?;
    let source = tool::checkout(&root, &commit)?;
    let all = mutant::list(&program, &source, &plan.targets)?;
    let stale = plan.stale(&all);
    for equivalent in &stale {
        eprintln!("infra/mutants.toml: no such mutant any more: {}: {}", equivalent.file, equivalent.change);
    }
    let listed = all.len();
    let settled = options.resume.as_deref().map(settled_in).transpose()?.unwrap_or_default();
    let asked_for = |mutant: &Mutant| {
        options.containing.as_ref().is_none_or(|text| mutant.name.contains(text)) && !settled.contains(&mutant.name)
    };
    let drawn = mutant::draw(all.into_iter().filter(asked_for).collect(), &commit, options.sample);
    if options.list {
        drawn.iter().for_each(|mutant| report(&json!({ "mutant": mutant.name, "package": mutant.package })));
        return Ok(ExitCode::SUCCESS);
    }
    let work_tree = WorkTree { source, target: root.join("target/mutants/build") };
    let (equivalent, judged): (Vec<Mutant>, Vec<Mutant>) =
        drawn.into_iter().partition(|mutant| plan.equivalent(mutant).is_some());
    let run = Run { judged: &judged, counts: Mutex::default() };
    for mutant in &equivalent {
        let reason = plan.equivalent(mutant).map(|known| known.reason.clone()).unwrap_or_default();
        run.report(mutant, &Outcome::Equivalent(reason));
    }
    let board = work_tree.switch(&judged)?;
    for index in &board.unviable {
        run.report(&judged[*index], &Outcome::Unviable);
    }
    let mut judges = Judges::new(&work_tree, options, &plan);
    let packages = judged.iter().map(|mutant| mutant.package.as_str()).collect();
    judges.prepare(&packages)?;
    let with_switch = |index: &usize| !board.unviable.contains(index) && !board.apart.contains(index);
    run.choose(&judges, (0..judged.len()).filter(with_switch).collect())?;
    tool::checkout(&root, &commit)?;
    for index in &board.apart {
        let mutant = &judged[*index];
        eprintln!("alone: {}", mutant.name);
        run.report(mutant, &judges.apply(mutant)?);
    }
    let counts = run.counts.into_inner().unwrap_or_else(PoisonError::into_inner);
    report(&summary(&counts, &commit, listed, stale.len()));
    let missed = counts.get("missed").copied().unwrap_or(0);
    Ok(if missed == 0 && stale.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The names of the mutants that an earlier result settled.
fn settled_in(path: &Path) -> Result<BTreeSet<String>, Error> {
    let text = std::fs::read_to_string(path).map_err(Error::io(format!("reading {}", path.display())))?;
    let name = |line: &str| {
        let line: Value = serde_json::from_str(line).ok()?;
        (line["outcome"] != Outcome::Missed.word()).then(|| line["mutant"].as_str().map(str::to_owned))?
    };
    Ok(text.lines().filter_map(name).collect())
}

/// The mutants that are judged, and how many had which outcome so far.
struct Run<'a> {
    judged: &'a [Mutant],
    counts: Mutex<BTreeMap<&'static str, usize>>,
}

impl Run<'_> {
    /// Judges mutants with a switch, one on each processor.
    fn choose(&self, judges: &Judges<'_>, indices: Vec<usize>) -> Result<(), Error> {
        let left = Mutex::new(indices.into_iter());
        let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || -> Result<(), Error> {
            while let Some(index) = next() {
                let mutant = &self.judged[index];
                self.report(mutant, &judges.choose(index + 1, &mutant.package)?);
            }
            Ok(())
        };
        let processors = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            let workers: Vec<_> = (0..processors).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| match worker.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })
    }

    fn report(&self, mutant: &Mutant, outcome: &Outcome) {
        let mut line = json!({ "mutant": mutant.name, "package": mutant.package, "outcome": outcome.word() });
        match outcome {
            Outcome::Caught(judge) | Outcome::TimedOut(judge) => line["judge"] = (*judge).into(),
            Outcome::Equivalent(reason) => line["reason"] = reason.as_str().into(),
            Outcome::Missed | Outcome::Unviable => {}
        }
        report(&line);
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(outcome.word()).or_default() += 1;
    }
}

/// The last line: how many mutants had which outcome, and the share of viable mutants that a test detected.
fn summary(counts: &BTreeMap<&'static str, usize>, commit: &str, listed: usize, stale: usize) -> Value {
    let count = |word: &str| counts.get(word).copied().unwrap_or(0);
    let noticed = count("caught") + count("timeout");
    let viable = noticed + count("missed");
    let percent = (noticed * 1000).checked_div(viable).map(|thousandths| thousandths as f64 / 10.0);
    json!({ "summary": {
        "commit": commit, "listed": listed, "judged": counts.values().sum::<usize>(),
        "caught": count("caught"), "timeout": count("timeout"), "missed": count("missed"),
        "unviable": count("unviable"), "equivalent": count("equivalent"),
        "noticed_percent": percent, "equivalent_without_mutant": stale,
    }})
}

// The lines are the command's result.
#[allow(clippy::print_stdout)]
fn report(line: &Value) {
    println!("{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_viable_mutants() {
        let counts =
            BTreeMap::from([("caught", 56), ("timeout", 1), ("missed", 3), ("unviable", 9), ("equivalent", 2)]);
        let line = summary(&counts, "abc", 1000, 0);
        assert_eq!(line["summary"]["noticed_percent"], 95.0);
        assert_eq!(line["summary"]["judged"], 71);
        assert!(summary(&BTreeMap::new(), "abc", 0, 0)["summary"]["noticed_percent"].is_null());
    }
}
