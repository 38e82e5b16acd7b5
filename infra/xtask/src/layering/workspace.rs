//! Reads the workspace from `cargo metadata`, and the sources from the disk.

use super::{Layer, Package, Packages, is_pure};
use crate::{error::Error, functions::full_metadata};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

pub(super) fn read(root: &Path) -> Result<Packages, Error> {
    let metadata = full_metadata(root)?;
    let graph = Graph::new(&metadata);
    let workspace = metadata["workspace_root"].as_str().unwrap_or_default();
    let mut packages = BTreeMap::new();
    for id in strings(&metadata["workspace_members"]) {
        let Some((name, manifest)) = graph.packages.get(id) else { continue };
        let directory = Path::new(manifest).parent().unwrap_or(root);
        let folder = directory.strip_prefix(workspace).unwrap_or(directory).display().to_string();
        let mut package = Package { folder, ..Package::default() };
        for (used, ships) in graph.direct.get(id).into_iter().flatten() {
            if graph.members.contains(used) {
                let set = if *ships { &mut package.ours } else { &mut package.ours_in_tests };
                set.insert(graph.packages[used].0.to_owned());
            }
        }
        if Layer::of(&package.folder).is_some_and(|layer| is_pure(name, layer)) {
            package.theirs = graph.reachable(id);
        }
        match Layer::of(&package.folder) {
            Some(Layer::Tests) => sources(directory, &|_| true, &mut package.sources)?,
            _ => {
                let source = directory.join("src");
                let is_test = |path: &Path| path.strip_prefix(&source).is_ok_and(is_test_file);
                sources(&source, &|path: &Path| !is_test(path), &mut package.sources)?;
                sources(&source, &is_test, &mut package.tests)?;
                sources(&directory.join("tests"), &|_| true, &mut package.tests)?;
            }
        }
        packages.insert((*name).to_owned(), package);
    }
    Ok(packages)
}

/// Cargo's resolved dependency graph.
struct Graph<'a> {
    /// Name and manifest path by id.
    packages: BTreeMap<&'a str, (&'a str, &'a str)>,
    members: BTreeSet<&'a str>,
    /// The dependencies by id; false for those of tests and of build scripts.
    direct: BTreeMap<&'a str, Vec<(&'a str, bool)>>,
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
                        let kinds = array(&dependency["dep_kinds"]);
                        kinds.map(|kind| (text(&dependency["pkg"]), kind["kind"].is_null()))
                    })
                    .collect();
                (text(&node["id"]), dependencies)
            })
            .collect();
        Self { packages, members: strings(&metadata["workspace_members"]).collect(), direct }
    }

    /// The names of third-party packages that this one depends on.
    fn reachable(&self, from: &str) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        let mut next = vec![from];
        while let Some(id) = next.pop() {
            for (used, _) in self.direct.get(id).into_iter().flatten().filter(|(_, ships)| *ships) {
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

/// Reads the sources below a directory that are wanted, but not those of another package in it.
fn sources(
    directory: &Path,
    is_wanted: &dyn Fn(&Path) -> bool,
    into: &mut BTreeMap<PathBuf, String>,
) -> Result<(), Error> {
    let what = || format!("reading {}", directory.display());
    if !directory.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(directory).map_err(Error::io(what()))? {
        let path = entry.map_err(Error::io(what()))?.path();
        if path.is_dir() {
            if !path.join("Cargo.toml").exists() {
                sources(&path, is_wanted, into)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") && is_wanted(&path) {
            let text = fs::read_to_string(&path).map_err(Error::io(what()))?;
            let shipped = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
            into.insert(path, shipped);
        }
    }
    Ok(())
}

/// Whether a file below a crate's `src` has tests only.
fn is_test_file(path: &Path) -> bool {
    path.file_stem().and_then(|stem| stem.to_str()).is_some_and(|stem| stem == "tests" || stem.ends_with("_tests"))
        || path.components().any(|part| part.as_os_str() == "tests")
}
