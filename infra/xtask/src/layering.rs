//! Who may depend on whom: DESIGN's rule as data, checked against what cargo sees and what the sources call.

use crate::{error::Error, functions::cargo};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Crates that hold decisions only: the same input gives the same output, anywhere.
const PURE: [&str; 12] = [
    "domain",
    "filter",
    "crosscheck",
    "authority",
    "audit",
    "audit-verify",
    "gates",
    "lens",
    "memory",
    "operations",
    "prompt",
    "refund",
];

/// What each crate of ours may use of ours. Functions are one row: none may use another.
const ALLOWED: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("filter", &["domain"]),
    ("crosscheck", &["domain"]),
    // Reads questions as the filter does, so that its disguises hide nothing here either.
    ("authority", &["filter"]),
    ("audit", &["domain"]),
    // What reads the log back.
    ("audit-verify", &["audit", "domain"]),
    // What model-facing code sees of the memory: it depends on nothing of ours, so on nothing that writes.
    ("lens", &[]),
    // The exception beside `domain`: the filter's engine finds a locked detail in every disguise (spec 002, HL-005),
    // and two engines would see different disguises.
    ("memory", &["domain", "filter", "lens"]),
    // What both content gates do alike: the filter, and the record of what it did.
    ("gates", &["audit", "domain", "filter"]),
    // What the model is asked; its build refuses texts that the filter would hold.
    ("prompt", &["audit", "authority", "domain", "filter"]),
    // What operators decide, apart from the command line that asks them.
    ("operations", &["audit", "audit-verify", "crosscheck", "domain", "filter", "gates", "refund"]),
    // Refunds, which operators and the deadlines function both decide.
    ("refund", &["audit", "domain"]),
    ("stripe", &["domain"]),
    ("gemini", &["domain"]),
    ("graph", &["domain"]),
    ("aws", &["domain"]),
    ("runtime", &["domain"]),
    // Builds the clients of a function from its environment.
    ("backend", &["audit", "aws", "domain", "gemini", "graph", "runtime", "stripe"]),
    // What the two functions that carry mail do alike.
    ("delivery", &["audit", "aws", "backend", "domain", "filter", "gates", "graph", "runtime", "stripe"]),
    // The smoke test, which its function and the operators' command line both run.
    ("smoke", &["audit", "aws", "backend", "crosscheck", "domain", "graph", "runtime", "stripe"]),
    ("testkit", &["audit", "domain"]),
    (
        FUNCTION,
        &[
            "audit",
            "authority",
            "aws",
            "backend",
            "crosscheck",
            "delivery",
            "domain",
            "filter",
            "gates",
            "gemini",
            "graph",
            "prompt",
            "refund",
            "runtime",
            "smoke",
            "stripe",
        ],
    ),
    (
        "oracle-cli",
        &[
            "audit",
            "audit-verify",
            "authority",
            "aws",
            "backend",
            "crosscheck",
            "domain",
            "filter",
            "gates",
            "gemini",
            "graph",
            "memory",
            "operations",
            "prompt",
            "refund",
            "runtime",
            "smoke",
            "stripe",
        ],
    ),
    // Measures what the prompts let through; needs the model, the crosscheck and the filter.
    ("prompt-regression", &["audit", "crosscheck", "domain", "filter", "gemini", "prompt", "runtime"]),
    // The look-alikes share nothing with the code they try, so that no mistake can be on both sides.
    ("sandbox", &[]),
    ("xtask", &[]),
];
const FUNCTION: &str = "functions/*";

/// What a single function may use besides.
const ALSO: &[(&str, &str)] = &[
    // It writes the digests, whose format is that of their verification.
    ("audit-digest", "audit-verify"),
];

/// Packages that stand outside: they test everything.
const UNRESTRICTED: [&str; 3] = ["tests", "simulation", "template"];

/// What tests inside a crate may use besides.
const IN_TESTS: [&str; 1] = ["testkit"];

/// Beginnings of the names of other people's crates that bring the world in: pure crates have none, however indirect.
const WORLDLY: [&str; 13] = [
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

/// Calls of the standard library, and of libraries pure crates may use for arithmetic, that read a clock, the
/// environment or the disk.
const WORLDLY_CALLS: [&str; 7] =
    ["SystemTime::now", "Instant::now", "Timestamp::now", "Zoned::now", "std::env::var", "std::fs::", "std::net::"];

/// One package of the workspace, reduced to what the rules speak of.
#[derive(Default)]
struct Package {
    /// Whether it lies under functions/.
    is_function: bool,
    /// Direct dependencies on packages of ours.
    ours: BTreeSet<String>,
    /// The same for tests and build scripts.
    ours_in_tests: BTreeSet<String>,
    /// Everything of other people's it depends on, however indirectly.
    theirs: BTreeSet<String>,
    /// Sources by path, without what follows `#[cfg(test)]`.
    sources: BTreeMap<PathBuf, String>,
}

/// Every violation in the workspace, one line each.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, Error> {
    Ok(violations(&read(root)?))
}

fn violations(packages: &BTreeMap<String, Package>) -> Vec<String> {
    let mut found = Vec::new();
    let functions: BTreeSet<&String> =
        packages.iter().filter(|(_, package)| package.is_function).map(|(name, _)| name).collect();
    for (name, package) in packages {
        if UNRESTRICTED.contains(&name.as_str()) {
            continue;
        }
        let row = if package.is_function { FUNCTION } else { name.as_str() };
        let Some((_, allowed)) = ALLOWED.iter().find(|(row_name, _)| *row_name == row) else {
            found.push(format!("{name}: no rule says what it may depend on; add it to infra/xtask/src/layering.rs"));
            continue;
        };
        let is_allowed = |used: &str| allowed.contains(&used) || ALSO.contains(&(name.as_str(), used));
        for used in package.ours.iter().filter(|used| !is_allowed(used)) {
            found.push(format!("{name} depends on {used}; it may depend on {}", list(allowed)));
        }
        for used in &package.ours_in_tests {
            let usual = IN_TESTS.contains(&used.as_str()) || allowed.contains(&used.as_str());
            let pure = PURE.contains(&used.as_str()) && !PURE.contains(&name.as_str());
            if !usual && !pure || functions.contains(used) {
                found.push(format!("{name}'s tests depend on {used}; beside its own they may use {}", list(&IN_TESTS)));
            }
        }
        if PURE.contains(&name.as_str()) {
            for used in package.theirs.iter().filter(|used| WORLDLY.iter().any(|beginning| used.starts_with(beginning)))
            {
                found.push(format!("{name} is pure but pulls in {used}"));
            }
            for (path, source) in &package.sources {
                for call in WORLDLY_CALLS.iter().filter(|call| source.contains(*call)) {
                    found.push(format!("{name} is pure but {} calls {call}", path.display()));
                }
            }
        }
    }
    found
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "nothing of ours".to_owned() } else { names.join(", ") }
}

/// Reads the workspace from `cargo metadata` and the pure crates' sources from the disk.
fn read(root: &Path) -> Result<BTreeMap<String, Package>, Error> {
    let output = cargo()
        .current_dir(root)
        .args(["metadata", "--format-version", "1", "--locked"])
        .output()
        .map_err(Error::io("running cargo metadata"))?;
    if !output.status.success() {
        return Err(Error::Refused(format!("cargo metadata failed:\n{}", String::from_utf8_lossy(&output.stderr))));
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| Error::Refused(format!("cargo metadata: {error}")))?;
    let graph = Graph::new(&metadata);
    let mut packages = BTreeMap::new();
    for id in strings(&metadata["workspace_members"]) {
        let Some((name, manifest)) = graph.packages.get(id) else { continue };
        let directory = Path::new(manifest).parent().unwrap_or(root);
        let mut package = Package { is_function: manifest.contains("/functions/"), ..Package::default() };
        for (used, kind) in graph.direct.get(id).into_iter().flatten() {
            if graph.members.contains(used) {
                let set = if *kind == Kind::Normal { &mut package.ours } else { &mut package.ours_in_tests };
                set.insert(graph.packages[used].0.to_owned());
            }
        }
        if PURE.contains(name) {
            package.theirs = graph.reachable(id);
            sources(&directory.join("src"), &mut package.sources)?;
        }
        packages.insert((*name).to_owned(), package);
    }
    Ok(packages)
}

#[derive(PartialEq, Clone, Copy)]
enum Kind {
    Normal,
    TestOrBuild,
}

/// cargo's resolved dependency graph.
struct Graph<'a> {
    /// Name and manifest path by id.
    packages: BTreeMap<&'a str, (&'a str, &'a str)>,
    members: BTreeSet<&'a str>,
    direct: BTreeMap<&'a str, Vec<(&'a str, Kind)>>,
}

impl<'a> Graph<'a> {
    fn new(metadata: &'a Value) -> Self {
        let array = |value: &'a Value| value.as_array().into_iter().flatten();
        let text = |value: &'a Value| value.as_str().unwrap_or_default();
        let packages = array(&metadata["packages"])
            .map(|package| (text(&package["id"]), (text(&package["name"]), text(&package["manifest_path"]))))
            .collect();
        let direct = array(&metadata["resolve"]["nodes"])
            .map(|node| {
                let dependencies = array(&node["deps"])
                    .flat_map(|dependency| {
                        array(&dependency["dep_kinds"]).map(|kind| {
                            let kind = if kind["kind"].is_null() { Kind::Normal } else { Kind::TestOrBuild };
                            (text(&dependency["pkg"]), kind)
                        })
                    })
                    .collect();
                (text(&node["id"]), dependencies)
            })
            .collect();
        Self { packages, members: strings(&metadata["workspace_members"]).collect(), direct }
    }

    /// Names of other people's packages that end up in this one.
    fn reachable(&self, from: &str) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        let mut next = vec![from];
        while let Some(id) = next.pop() {
            for (used, _) in self.direct.get(id).into_iter().flatten().filter(|(_, kind)| *kind == Kind::Normal) {
                if seen.insert(*used) {
                    next.push(used);
                }
            }
        }
        seen.into_iter().filter(|id| !self.members.contains(id)).map(|id| self.packages[id].0.to_owned()).collect()
    }
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn sources(directory: &Path, into: &mut BTreeMap<PathBuf, String>) -> Result<(), Error> {
    let what = || format!("reading {}", directory.display());
    for entry in fs::read_dir(directory).map_err(Error::io(what()))? {
        let path = entry.map_err(Error::io(what()))?.path();
        if path.is_dir() {
            sources(&path, into)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test_file(&path) {
            let text = fs::read_to_string(&path).map_err(Error::io(what()))?;
            let shipped = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
            into.insert(path, shipped);
        }
    }
    Ok(())
}

fn is_test_file(path: &Path) -> bool {
    path.file_stem().and_then(|stem| stem.to_str()).is_some_and(|stem| stem == "tests" || stem.ends_with("_tests"))
        || path.components().any(|part| part.as_os_str() == "tests")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(ours: &[&str]) -> Package {
        Package { ours: ours.iter().map(|name| (*name).to_owned()).collect(), ..Package::default() }
    }

    fn function(ours: &[&str]) -> Package {
        Package { is_function: true, ..package(ours) }
    }

    fn found(packages: Vec<(&str, Package)>) -> Vec<String> {
        violations(&packages.into_iter().map(|(name, package)| (name.to_owned(), package)).collect())
    }

    #[test]
    fn the_design_itself_is_allowed() {
        let packages = vec![
            ("domain", package(&[])),
            ("filter", package(&["domain"])),
            ("stripe", package(&["domain"])),
            ("aws", package(&["domain"])),
            ("audit-digest", function(&["audit", "audit-verify"])),
            ("verdict", function(&["aws", "domain", "filter", "gates", "gemini", "runtime"])),
            ("tests", package(&["verdict", "result", "testkit"])),
        ];
        assert_eq!(found(packages), Vec::<String>::new());
    }

    #[test]
    fn every_forbidden_direction_is_named() {
        for (name, bad, used) in [
            ("domain", package(&["audit"]), "audit"),
            ("filter", package(&["crosscheck"]), "crosscheck"),
            ("stripe", package(&["graph"]), "graph"),
            ("aws", package(&["audit"]), "audit"),
            ("gemini", package(&["runtime"]), "runtime"),
            ("verdict", function(&["result"]), "result"),
            ("verdict", function(&["testkit"]), "testkit"),
            ("verdict", function(&["audit-verify"]), "audit-verify"),
            ("sandbox", package(&["domain"]), "domain"),
        ] {
            let lines = found(vec![(name, bad)]);
            assert_eq!(lines.len(), 1, "{name}");
            assert!(lines[0].starts_with(&format!("{name} depends on {used};")), "{}", lines[0]);
        }
    }

    #[test]
    fn a_pure_crate_with_the_world_in_it_is_named() {
        let mut with_network = package(&[]);
        with_network.theirs = ["serde", "tokio-util", "aws-sdk-s3"].map(str::to_owned).into();
        let mut with_clock = package(&[]);
        with_clock.sources.insert("src/lib.rs".into(), "let now = jiff::Timestamp::now();".to_owned());
        let lines = found(vec![("crosscheck", with_network), ("filter", with_clock)]);
        assert_eq!(
            lines,
            [
                "crosscheck is pure but pulls in aws-sdk-s3",
                "crosscheck is pure but pulls in tokio-util",
                "filter is pure but src/lib.rs calls Timestamp::now",
            ]
        );
    }

    #[test]
    fn tests_may_use_the_testkit_but_no_function() {
        let tests_use = |name: &str| Package { ours_in_tests: [name.to_owned()].into(), ..function(&[]) };
        assert_eq!(found(vec![("verdict", tests_use("testkit"))]), Vec::<String>::new());
        let lines = found(vec![("result", function(&[])), ("verdict", tests_use("result"))]);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("verdict's tests depend on result"), "{}", lines[0]);
    }

    #[test]
    fn a_crate_without_a_rule_is_named() {
        let lines = found(vec![("newcomer", package(&[]))]);
        assert!(lines[0].starts_with("newcomer: no rule"), "{lines:?}");
    }
}
