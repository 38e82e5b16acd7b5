//! The rules of files: a long file says why it is long, the files of a crate have no import cycles, and a function that
//! is named as a predicate returns a `bool`.

use super::circles::{self, Tie};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// A file with more lines than this says why in its documentation.
const LONG: usize = 300;
const REASON: &str = "more than 300 lines because";

/// Every violation in the sources of a crate, one line each.
pub(super) fn violations(name: &str, sources: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let circles = circles::circles(sources).into_iter().map(|ties| circle(name, &ties));
    let misnamed = sources.iter().flat_map(|(path, source)| {
        misnamed(source).map(move |function| {
            format!("{name}: {} names {function} as a predicate, but it does not return a bool", path.display())
        })
    });
    circles.chain(long_files(name, sources)).chain(misnamed).collect()
}

/// The long files that give no reason, one line each.
pub(super) fn long_files(name: &str, sources: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let is_long = |source: &str| source.lines().count() > LONG && !source.contains(REASON);
    sources.iter().filter(|(_, source)| is_long(source)).map(|(path, _)| long(name, path)).collect()
}

/// The functions that are named as predicates and do not return a `bool`.
fn misnamed(source: &str) -> impl Iterator<Item = &str> {
    let functions = source.split("fn ").skip(1);
    let predicates = functions.filter(|rest| ["is_", "has_", "can_"].iter().any(|start| rest.starts_with(start)));
    let is_misnamed = |rest: &&str| {
        let signature = rest.split([';', '{']).next().unwrap_or_default();
        !signature.rsplit_once("->").is_some_and(|(_, returned)| returned.contains("bool"))
    };
    predicates.filter(is_misnamed).filter_map(|rest| rest.split(['(', '<']).next())
}

fn circle(name: &str, ties: &[Tie<'_>]) -> String {
    let tie = |(from, to): &Tie<'_>| format!("{} takes from {}", from.display(), to.display());
    let ties: Vec<String> = ties.iter().map(tie).collect();
    format!("{name}: {}; break the import cycle: move the shared part into a file of its own", ties.join(", "))
}

fn long(name: &str, path: &Path) -> String {
    let path = path.display();
    format!("{name}: {path} has more than {LONG} lines; split it, or say in its documentation why it has {REASON} …")
}
