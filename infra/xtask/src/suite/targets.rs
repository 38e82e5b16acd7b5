//! What cargo builds of the workspace.

use super::Suite;
use crate::{error::Error, functions::metadata};
use serde_json::Value;

/// What cargo builds of a package.
pub(super) struct Target {
    pub(super) package: String,
    pub(super) name: String,
    /// As cargo names it: "lib", "bin", "test".
    pub(super) kind: String,
    /// False if the manifest says `test = false`.
    pub(super) is_tested: bool,
}

/// All targets of the workspace.
pub(super) fn targets(suite: &Suite) -> Result<Vec<Target>, Error> {
    let metadata = metadata(&suite.root)?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut targets = Vec::new();
    for package in list(&metadata["packages"]) {
        for target in list(&package["targets"]) {
            targets.push(Target {
                package: text(&package["name"]),
                name: text(&target["name"]),
                kind: text(&target["kind"][0]),
                is_tested: target["test"] == true,
            });
        }
    }
    Ok(targets)
}

/// The names of the wanted integration-test programs.
pub(super) fn test_programs(targets: &[Target], is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let programs = targets.iter().filter(|target| target.kind == "test").map(|target| target.name.clone());
    programs.filter(|program| is_wanted(program)).collect()
}
