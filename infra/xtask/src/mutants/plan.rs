//! infra/mutants.toml: which code is mutated, and which mutants change nothing observable.

use super::mutant::{Mutant, Target};
use crate::error::Error;
use serde::Deserialize;
use std::{collections::BTreeSet, fs, path::Path};

const FILE: &str = "infra/mutants.toml";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    /// The version of cargo-mutants; another version lists other mutants.
    pub(crate) cargo_mutants: String,
    /// Modules of tests that are asked last.
    #[serde(default)]
    pub(crate) long_tests: Vec<String>,
    #[serde(rename = "target")]
    pub(crate) targets: Vec<Target>,
    #[serde(rename = "equivalent", default)]
    pub(crate) equivalents: Vec<Equivalent>,
}

/// A mutant that no test can detect. Its file, its change and the text of its line identify it, so that it is still
/// recognized when lines move.
#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields)]
pub(crate) struct Equivalent {
    pub(crate) file: String,
    /// The change in cargo-mutants' words, as in `replace > with >= in Sale::due`.
    pub(crate) change: String,
    /// The line of code in which the change begins, without indentation.
    pub(crate) line: String,
    /// Why no test can detect it.
    pub(crate) reason: String,
}

impl Plan {
    pub(crate) fn read(root: &Path) -> Result<Self, Error> {
        let path = root.join(FILE);
        let text = fs::read_to_string(&path).map_err(Error::io(format!("reading {}", path.display())))?;
        let plan = Self::parse(&text)?;
        let files = plan.targets.iter().flat_map(|target| target.files.iter().chain(&target.exclude));
        match files.chain(plan.equivalents.iter().map(|it| &it.file)).find(|file| !root.join(file).is_file()) {
            Some(file) => Err(refused(&format!("there is no file {file}"))),
            None => Ok(plan),
        }
    }

    fn parse(text: &str) -> Result<Self, Error> {
        let plan: Self = toml::from_str(text).map_err(|error| refused(&error.to_string()))?;
        let mut known = BTreeSet::new();
        for equivalent in &plan.equivalents {
            let Equivalent { file, change, line, reason } = equivalent;
            if reason.split_whitespace().count() < 4 {
                return Err(refused(&format!("{file}: {change}: a reason is a sentence")));
            }
            if !known.insert((file, change, line)) {
                return Err(refused(&format!("{file}: {change}: listed twice")));
            }
        }
        Ok(plan)
    }

    /// The packages whose tests check this package's decisions too.
    pub(crate) fn tested_by(&self, package: &str) -> &[String] {
        self.targets.iter().find(|target| target.package == package).map_or(&[], |target| &target.tested_by)
    }

    /// The entry of this mutant, if it is listed as equivalent.
    pub(crate) fn equivalent(&self, mutant: &Mutant) -> Option<&Equivalent> {
        self.equivalents.iter().find(|listed| listed.is(mutant))
    }

    /// The entries that match no mutant any more.
    pub(crate) fn stale(&self, all: &[Mutant]) -> Vec<&Equivalent> {
        self.equivalents.iter().filter(|listed| !all.iter().any(|mutant| listed.is(mutant))).collect()
    }
}

impl Equivalent {
    fn is(&self, mutant: &Mutant) -> bool {
        self.file == mutant.file && self.change == mutant.change() && self.line == mutant.line_text
    }
}

fn refused(why: &str) -> Error {
    Error::Refused(format!("{FILE}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str = "cargo_mutants = \"27.1.0\"\n[[target]]\npackage = \"domain\"\n\
        [[equivalent]]\nfile = \"a.rs\"\nchange = \"replace > with >= in f\"\nline = \"if a > b {\"\n";

    fn mutant(line: u64, text: &str) -> Mutant {
        let mut mutant = super::super::mutant::example();
        mutant.name = format!("a.rs:{line}:6: replace > with >= in f");
        text.clone_into(&mut mutant.line_text);
        mutant
    }

    #[test]
    fn the_committed_plan_names_files_that_exist() -> Result<(), Error> {
        Plan::read(&crate::local_dir::repository()?).map(drop)
    }

    #[test]
    fn an_equivalent_mutant_is_known_wherever_its_line_is() -> Result<(), Error> {
        let plan = Plan::parse(&format!("{ENTRY}reason = \"both branches return the same value\"\n"))?;
        let (known, other) = (mutant(7, "if a > b {"), mutant(7, "if a > c {"));
        assert!(plan.equivalent(&known).is_some() && plan.equivalent(&mutant(70, "if a > b {")).is_some());
        assert!(plan.equivalent(&other).is_none());
        assert_eq!((plan.stale(&[known]).len(), plan.stale(&[other]).len()), (0, 1));
        Ok(())
    }

    #[test]
    fn an_entry_without_a_sentence_or_twice_or_misspelt_is_refused() {
        let error = |text: String| Plan::parse(&text).map(drop).map_err(|error| error.to_string()).err();
        assert!(error(format!("{ENTRY}reason = \"same\"\n")).is_some_and(|why| why.contains("a reason is a sentence")));
        let entry = format!("{ENTRY}reason = \"both branches return the same value\"\n");
        let again = entry.split_once("[[equivalent]]").map_or("", |(_, again)| again);
        let twice = error(format!("{entry}[[equivalent]]{again}"));
        assert!(twice.is_some_and(|why| why.contains("listed twice")));
        assert!(error(format!("{ENTRY}reasons = \"x\"\n")).is_some_and(|why| why.contains("infra/mutants.toml")));
    }
}
