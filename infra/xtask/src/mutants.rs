//! `mutants`: mutation testing of the crates that make decisions. A mutant is one small change of the code, found by
//!   cargo-mutants; a mutant that no test detects shows a rule that no test covers.
//!
//! cargo-mutants only lists the mutants. This module runs the tests itself: cargo-mutants runs the same tests on every
//! mutant, but the cheapest judge, the crate's own tests, catches most of them.

mod judge;
mod mutant;
mod plan;
mod tool;

use crate::{error::Error, local_dir::repository};
use judge::{Judges, Outcome};
use mutant::Mutant;
use plan::Plan;
use serde_json::{Value, json};
use std::{collections::BTreeMap, process::ExitCode, time::Instant};

/// Which mutants to run, and how.
pub(crate) struct Options {
    /// How many mutants to draw; `None` means all.
    pub(crate) sample: Option<usize>,
    /// Only mutants whose name contains this.
    pub(crate) containing: Option<String>,
    /// How many simulated worlds judge a mutant that the other tests missed.
    pub(crate) seeds: u64,
    /// Lists the mutants and does not test them.
    pub(crate) list: bool,
}

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
    let named = |mutant: &Mutant| options.containing.as_ref().is_none_or(|text| mutant.name.contains(text));
    let drawn = mutant::draw(all.into_iter().filter(named).collect(), &commit, options.sample);
    if options.list {
        drawn.iter().for_each(|mutant| report(&json!({ "mutant": mutant.name, "package": mutant.package })));
        return Ok(ExitCode::SUCCESS);
    }
    let mut counts = BTreeMap::new();
    let mut judges = Judges::new(&root, &source, options.seeds);
    for (number, mutant) in drawn.iter().enumerate() {
        eprintln!("{} of {}: {}", number + 1, drawn.len(), mutant.name);
        let began = Instant::now();
        let outcome = match plan.equivalent(mutant) {
            Some(equivalent) => Outcome::Equivalent(equivalent.reason.clone()),
            None => judges.judge(mutant, plan.tested_by(&mutant.package))?,
        };
        *counts.entry(outcome.word()).or_insert(0_usize) += 1;
        let mut line = json!({
            "mutant": mutant.name, "package": mutant.package, "outcome": outcome.word(),
            "seconds": began.elapsed().as_secs(),
        });
        match outcome {
            Outcome::Caught(judge) | Outcome::TimedOut(judge) => line["judge"] = judge.into(),
            Outcome::Equivalent(reason) => line["reason"] = reason.into(),
            Outcome::Missed | Outcome::Unviable => {}
        }
        report(&line);
    }
    report(&summary(&counts, &commit, listed, stale.len()));
    let missed = counts.get("missed").copied().unwrap_or(0);
    Ok(if missed == 0 && stale.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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
