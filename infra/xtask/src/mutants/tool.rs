//! The tools of mutation testing: cargo-mutants in the plan's version, and a work tree of the commit to change.

use crate::{
    error::{Error, require_success},
    functions::cargo,
};
use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The hash of the commit that is checked out.
pub(crate) fn commit(root: &Path) -> Result<String, Error> {
    let status = output(root, &["status", "--porcelain", "--untracked-files=no"])?;
    if !status.is_empty() {
        eprintln!("warning: uncommitted changes are neither mutated nor used as judges");
    }
    output(root, &["rev-parse", "HEAD"])
}

/// The path of cargo-mutants in this version; installs it under target/ if it is missing.
pub(crate) fn install(root: &Path, version: &str) -> Result<PathBuf, Error> {
    let directory = root.join("target/mutants/tool");
    let program = directory.join("bin/cargo-mutants");
    let installed = Command::new(&program).args(["mutants", "--version"]).output();
    let wanted = format!("cargo-mutants {version}");
    if installed.is_ok_and(|answer| String::from_utf8_lossy(&answer.stdout).trim() == wanted) {
        return Ok(program);
    }
    eprintln!("installing {wanted}; once, some minutes");
    let mut command = cargo();
    command.args(["install", "cargo-mutants", "--locked", "--force", "--debug", "--version", version, "--root"]);
    run(command.arg(&directory).stdout(Stdio::null()), "cargo install cargo-mutants")?;
    Ok(program)
}

/// A work tree of the commit under target/. Git writes only files that differ, so the compiled code stays valid, and
/// changes of an interrupted run are undone.
pub(crate) fn checkout(root: &Path, commit: &str) -> Result<PathBuf, Error> {
    let tree = root.join("target/mutants/source");
    if !tree.join(".git").exists() {
        run(
            git(root).args(["worktree", "add", "--force", "--detach", "--quiet"]).arg(&tree).arg(commit),
            "git worktree",
        )?;
    }
    run(git(&tree).args(["checkout", "--force", "--detach", "--quiet", commit]), "git checkout")?;
    Ok(tree)
}

fn git(directory: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(directory).stdin(Stdio::null());
    command
}

fn output(root: &Path, arguments: &[&str]) -> Result<String, Error> {
    let answer = git(root).args(arguments).output().map_err(Error::io("starting git"))?;
    require_success(format!("git {}", arguments.join(" ")), answer.status, None)?;
    Ok(String::from_utf8_lossy(&answer.stdout).trim().to_owned())
}

fn run(command: &mut Command, name: &str) -> Result<(), Error> {
    let status = command.status().map_err(Error::io(format!("starting {name}")))?;
    require_success(name, status, None)
}
