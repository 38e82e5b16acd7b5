//! The dependency rules: the layer of a crate is its folder, and the rules below are compared with cargo's dependencies
//! and with the calls and names in the sources.

mod circles;
mod drawing;
mod files;
mod workspace;

pub(crate) use drawing::{draw, is_current, write};

use crate::error::Error;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// The layers, from the top to the bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    /// The tests, which may use everything.
    Tests,
    Functions,
    Infra,
    Pipeline,
    Platform,
    Testkit,
    Rules,
    Audit,
    Memory,
    Vendors,
    Domain,
}

use Layer::{Audit, Domain, Functions, Infra, Memory, Pipeline, Platform, Rules, Testkit, Tests, Vendors};

/// The folder of each layer. One with a trailing slash contains several crates.
const FOLDERS: [(&str, Layer); 11] = [
    ("tests", Tests),
    ("functions/", Functions),
    ("infra/", Infra),
    ("shared/pipeline/", Pipeline),
    ("shared/platform/", Platform),
    ("shared/testkit", Testkit),
    ("shared/rules/", Rules),
    ("shared/audit", Audit),
    ("shared/memory", Memory),
    ("shared/vendors/", Vendors),
    ("shared/domain", Domain),
];

impl Layer {
    /// The layer of the crate in this folder, relative to the repository.
    fn of(folder: &str) -> Option<Self> {
        let is_in = |of: &str| match of.strip_suffix('/') {
            Some(_) => folder.strip_prefix(of).is_some_and(|rest| !rest.is_empty() && !rest.contains('/')),
            // A crate that was split from a layer of one crate is in it (`shared/audit/verify`).
            None => folder.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        };
        FOLDERS.iter().find(|(of, _)| is_in(of)).map(|(_, layer)| *layer)
    }

    /// The name of its folder, as in the drawing.
    const fn name(self) -> &'static str {
        match self {
            Tests => "tests",
            Functions => "functions",
            Infra => "infra",
            Pipeline => "shared/pipeline",
            Platform => "shared/platform",
            Testkit => "shared/testkit",
            Rules => "shared/rules",
            Audit => "shared/audit",
            Memory => "shared/memory",
            Vendors => "shared/vendors",
            Domain => "shared/domain",
        }
    }

    /// The layers that its crates may use.
    const fn uses(self) -> &'static [Self] {
        match self {
            Tests => &[Functions, Infra, Pipeline, Platform, Testkit, Rules, Audit, Memory, Vendors, Domain, Tests],
            Functions | Infra => &[Pipeline, Platform, Rules, Audit, Memory, Vendors, Domain],
            Pipeline => &[Pipeline, Platform, Rules, Audit, Memory, Vendors, Domain],
            Platform => &[Platform, Rules, Audit, Memory, Vendors, Domain],
            // The crate that reads the log is in the layer of the one that writes it.
            Testkit | Audit => &[Audit, Domain],
            Memory => &[Memory, Domain],
            Rules | Vendors => &[Domain],
            Domain => &[],
        }
    }

    /// Whether its crates contain decisions only: the same input always gives the same output.
    const fn is_pure(self) -> bool {
        matches!(self, Rules | Audit | Memory | Domain)
    }
}

/// Pure crates in layers that are not pure.
const ALSO_PURE: [&str; 6] = ["erasure", "gates", "operations", "prompt", "refund", "retrieval"];

/// Crates with narrower rules than their layer, with the reasons.
const NARROWER: [(&str, &[Layer], &str); 5] = [
    ("aws", &[Domain], "its ports are those of domain, so that every caller can have them"),
    ("lens", &[], "what models see of the memory depends on nothing that could write"),
    ("runtime", &[Domain], "it surrounds every handler, whatever that decides"),
    ("sandbox", &[], "the look-alikes share nothing with the code they try, so that no mistake can be on both sides"),
    ("xtask", &[], "it builds and runs the others, and must build when they do not"),
];

/// Crates that only these may use, with the reasons. Tests may use everything.
const RESERVED: [(&str, &[&str], &str); 2] = [
    (
        "audit-verify",
        &["audit-digest", "operations", "oracle-cli", "testkit"],
        "no function on a sale's way reads the log back",
    ),
    ("operations", &["oracle-cli"], "what operators decide is no function's to do"),
];

/// Dependencies that the rules forbid and that are accepted, with the reasons.
const EXCEPTIONS: [(&str, &str, &str); 2] = [
    ("authority", "filter", "it reads questions as the filter does, so that a disguise hides nothing from either"),
    (
        "memory",
        "filter",
        "one engine finds a locked detail in every disguise; two would see different ones (Memory Contract, HL-005)",
    ),
];

/// Name prefixes of third-party crates with I/O, clocks or randomness: pure crates must not depend on them, even
/// indirectly.
const IMPURE_CRATES: [&str; 13] = [
    "aws-",
    "axum",
    "fastrand",
    "getrandom",
    "hyper",
    "lambda_http",
    "lambda_runtime",
    "mio",
    "rand",
    "reqwest",
    "socket2",
    "tokio",
    "ureq",
];

/// Calls that read a clock, the environment or the disk, in the standard library and in libraries that pure crates may
/// use for arithmetic.
const IMPURE_CALLS: [&str; 7] =
    ["SystemTime::now", "Instant::now", "Timestamp::now", "Zoned::now", "std::env::var", "std::fs::", "std::net::"];

/// Names of a crate that only the sources of one layer may mention, with the reasons.
const RESERVED_NAMES: [(&str, &str, Layer, &str); 2] = [
    ("lens", "WorkingSet::seal", Memory, "a model's input is built from the memory alone (Memory Contract, ORC-C-002)"),
    (
        "lens",
        "WorkingSetContent",
        Memory,
        "a model's input is built from the memory alone (Memory Contract, ORC-C-002)",
    ),
];

/// One package of the workspace, with the data that the rules need.
#[derive(Default)]
pub(crate) struct Package {
    /// Its folder, relative to the repository.
    folder: String,
    /// Direct dependencies on our packages.
    ours: BTreeSet<String>,
    /// The same for tests and build scripts.
    ours_in_tests: BTreeSet<String>,
    /// All direct and indirect third-party dependencies.
    theirs: BTreeSet<String>,
    /// Sources by path: those of `src` without their tests, or all sources of a crate of tests.
    sources: BTreeMap<PathBuf, String>,
    /// The sources of the tests of another crate: files of tests in `src`, and the folder `tests`.
    tests: BTreeMap<PathBuf, String>,
}

/// The workspace's packages by name.
pub(crate) type Packages = BTreeMap<String, Package>;

pub(crate) fn read(root: &Path) -> Result<Packages, Error> {
    workspace::read(root)
}

fn is_pure(name: &str, layer: Layer) -> bool {
    layer.is_pure() || ALSO_PURE.contains(&name)
}

/// Every violation of the rules, one line each.
pub(crate) fn violations(packages: &Packages) -> Vec<String> {
    let layer = |name: &str| packages.get(name).and_then(|package| Layer::of(&package.folder));
    let mut found = Vec::new();
    for (name, package) in packages {
        let Some(own) = layer(name) else {
            found
                .push(format!("{name}: {} is the folder of no layer; see infra/xtask/src/layering.rs", package.folder));
            continue;
        };
        // Tests may use everything, but their files follow the rules of all files.
        if own != Tests {
            found.extend(dependencies(packages, name, own));
            found.extend(reserved_names(name, own, package));
        }
        found.extend(files::violations(name, &package.sources));
        found.extend(files::long_files(name, &package.tests));
    }
    found
}

/// The dependencies of a crate that the rules forbid.
fn dependencies(packages: &Packages, name: &str, own: Layer) -> Vec<String> {
    let layer = |name: &str| packages.get(name).and_then(|package| Layer::of(&package.folder));
    let package = &packages[name];
    let mut found = Vec::new();
    let allowed = NARROWER.iter().find(|(of, ..)| *of == name).map_or(own.uses(), |(_, uses, _)| *uses);
    let may = |used: &str| {
        let Some(other) = layer(used) else { return false };
        let excepted = EXCEPTIONS.iter().any(|(from, to, _)| (*from, *to) == (name, used));
        let reserved = RESERVED.iter().find(|(of, ..)| *of == used);
        let is_reserved = reserved.is_some_and(|(_, by, _)| !by.contains(&name));
        let stays_pure = !is_pure(name, own) || is_pure(used, other);
        excepted || allowed.contains(&other) && !is_reserved && stays_pure
    };
    for used in package.ours.iter().filter(|used| !may(used)) {
        found.push(format!("{name} depends on {used}; {}", rule(name, own, used, allowed)));
    }
    for used in &package.ours_in_tests {
        let by_all = layer(used).is_some_and(|of| of == Testkit || is_pure(used, of) && !is_pure(name, own));
        if !may(used) && !by_all {
            found.push(format!("{name}'s tests depend on {used}; beside its own they may use the testkit"));
        }
    }
    if is_pure(name, own) {
        found.extend(impurities(name, package));
    }
    found
}

/// The rule that was violated, in words.
fn rule(name: &str, own: Layer, used: &str, allowed: &[Layer]) -> String {
    if let Some((_, by, why)) = RESERVED.iter().find(|(of, ..)| *of == used) {
        return format!("only {} may: {why}", by.join(", "));
    }
    if let Some((.., why)) = NARROWER.iter().find(|(of, ..)| *of == name) {
        return format!("it may depend on {}: {why}", list(allowed));
    }
    let pure = if ALSO_PURE.contains(&name) { " as far as they are pure" } else { "" };
    format!("a crate of {} may depend on {}{pure}", own.name(), list(allowed))
}

fn list(layers: &[Layer]) -> String {
    if layers.is_empty() {
        return "nothing of ours".to_owned();
    }
    layers.iter().map(|layer| layer.name()).collect::<Vec<_>>().join(", ")
}

fn impurities(name: &str, package: &Package) -> Vec<String> {
    let is_impure = |used: &&String| IMPURE_CRATES.iter().any(|beginning| used.starts_with(beginning));
    let pulled = package.theirs.iter().filter(is_impure).map(|used| format!("{name} is pure but pulls in {used}"));
    let calls = package.sources.iter().flat_map(|(path, source)| {
        let called = IMPURE_CALLS.iter().filter(|call| source.contains(**call));
        called.map(move |call| format!("{name} is pure but {} calls {call}", path.display()))
    });
    pulled.chain(calls).collect()
}

fn reserved_names(name: &str, own: Layer, package: &Package) -> Vec<String> {
    let mut found = Vec::new();
    for (of, mentioned, layer, why) in RESERVED_NAMES {
        if layer == own || !package.ours.contains(of) {
            continue;
        }
        for (path, _) in package.sources.iter().filter(|(_, source)| source.contains(mentioned)) {
            let (path, layer) = (path.display(), layer.name());
            found.push(format!("{name}: {path} mentions {mentioned}; only {layer} may: {why}"));
        }
    }
    found
}

#[cfg(test)]
mod tests;
