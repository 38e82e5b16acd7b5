//! The Lambda functions and the sandbox as programs: lists and builds them.

use crate::{error::Error, local_dir::repository, processes::Supervisor};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

pub(crate) struct Built {
    /// Every function's binary by name.
    pub(crate) functions: BTreeMap<String, PathBuf>,
    pub(crate) sandbox: PathBuf,
}

/// `cargo` without the variables that an outer `cargo run` sets: build scripts that watch those variables would
///   otherwise run again with every switch between the two.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let from_outer = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE"];
        if from_outer.iter().any(|prefix| text.starts_with(prefix)) || text == "LD_LIBRARY_PATH" {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs a developer tool of the workspace with these options, from the repository's root, and returns its exit code.
pub(crate) fn run_tool(package: &str, options: &[String]) -> Result<ExitCode, Error> {
    let mut command = cargo();
    command.current_dir(repository()?).args(["run", "--quiet", "--locked", "--package", package, "--"]).args(options);
    let status = command.status().map_err(Error::io(format!("running {package}")))?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(2)))
}

/// The workspace by `cargo metadata`, without third-party packages.
pub(crate) fn metadata(root: &Path) -> Result<Value, Error> {
    metadata_with("--no-deps", root)
}

/// The workspace by `cargo metadata`, with third-party packages and the resolved dependencies.
pub(crate) fn full_metadata(root: &Path) -> Result<Value, Error> {
    metadata_with("--locked", root)
}

fn metadata_with(option: &str, root: &Path) -> Result<Value, Error> {
    let output = cargo()
        .current_dir(root)
        .args(["metadata", "--format-version", "1", option])
        .output()
        .map_err(Error::io("running cargo metadata"))?;
    if !output.status.success() {
        return Err(Error::Refused(format!("cargo metadata failed:\n{}", String::from_utf8_lossy(&output.stderr))));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| Error::Refused(format!("cargo metadata: {error}")))
}

/// The directory of a profile's programs, from [`metadata`].
pub(crate) fn binaries(metadata: &Value, profile_directory: &str) -> PathBuf {
    Path::new(metadata["target_directory"].as_str().unwrap_or("target")).join(profile_directory)
}

/// Every function and the sandbox in the dev profile: built now, or as built earlier.
pub(crate) fn develop(supervisor: &Supervisor, is_built: bool) -> Result<Built, Error> {
    let root = repository()?;
    let metadata = metadata(&root)?;
    let names = names(&metadata);
    if !is_built {
        build(supervisor, &root, &["--package", "sandbox"], &names)?;
    }
    Ok(located(&metadata, "debug", names))
}

/// Builds one package under functions/, or all of them, as for deployment.
pub(crate) fn build_release(supervisor: &Supervisor, only: Option<&str>) -> Result<BTreeMap<String, PathBuf>, Error> {
    let root = repository()?;
    let metadata = metadata(&root)?;
    let names: Vec<String> = names(&metadata).into_iter().filter(|name| only.is_none_or(|only| only == name)).collect();
    build(supervisor, &root, &["--release"], &names)?;
    Ok(located(&metadata, "release", names).functions)
}

/// Builds every function for Lambda, in the one call that leaves `sam build` nothing to compile.
pub(crate) fn build_for_lambda(supervisor: &Supervisor, architecture: &str, path: &OsStr) -> Result<(), Error> {
    let root = repository()?;
    let mut command = cargo();
    command.current_dir(&root).env("PATH", path).args(["lambda", "build", "--release"]);
    if architecture == "arm64" {
        command.arg("--arm64");
    }
    // By binary and not by package: sam names each binary, and the features of the whole workspace count for both.
    for name in names(&metadata(&root)?) {
        command.args(["--bin", &name]);
    }
    supervisor.check("cargo lambda build", &mut command)
}

/// The packages under functions/.
fn names(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages
        .filter(|package| package["manifest_path"].as_str().is_some_and(|path| path.contains("/functions/")))
        .filter_map(|package| package["name"].as_str().map(str::to_owned))
        .collect()
}

fn build(supervisor: &Supervisor, root: &Path, arguments: &[&str], names: &[String]) -> Result<(), Error> {
    let mut command = cargo();
    command.current_dir(root).arg("build").args(arguments);
    for name in names {
        command.args(["--package", name]);
    }
    supervisor.check("cargo build", &mut command)
}

fn located(metadata: &Value, profile_directory: &str, names: Vec<String>) -> Built {
    let binaries = binaries(metadata, profile_directory);
    Built {
        functions: names.into_iter().map(|name| (name.clone(), binaries.join(name))).collect(),
        sandbox: binaries.join("sandbox"),
    }
}
