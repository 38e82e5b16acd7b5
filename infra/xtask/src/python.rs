//! Virtual Python environments under target/, made from the pinned lists in infra/local/.

use crate::{
    error::{Error, require_success},
    local_dir::repository,
    processes::Supervisor,
};
use sha2::{Digest, Sha256};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

/// The oldest Python version that the pinned packages support.
const OLDEST: (u32, u32) = (3, 10);

/// A ready virtual environment.
pub(crate) struct Environment(PathBuf);

impl Environment {
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.0.join("bin").join(name)
    }

    /// The directory of the environment's programs.
    pub(crate) fn programs(&self) -> PathBuf {
        self.0.join("bin")
    }
}

pub(crate) fn stack_environment(supervisor: &Supervisor) -> Result<Environment, Error> {
    prepare(supervisor, "target/local/venv", "requirements.txt")
}

/// Creates the environment, unless it was already made from the same list.
pub(crate) fn prepare(supervisor: &Supervisor, directory: &str, requirements: &str) -> Result<Environment, Error> {
    let root = repository()?;
    let directory = root.join(directory);
    let list = root.join("infra/local").join(requirements);
    let wanted = fs::read(&list).map_err(Error::io(format!("reading {}", list.display())))?;
    let wanted = hex::encode(Sha256::digest(wanted));
    let stamp = directory.join(".requirements");
    let parent = directory.parent().unwrap_or(&root).to_path_buf();
    fs::create_dir_all(&parent).map_err(Error::io(format!("creating {}", parent.display())))?;

    // Two commands may prepare it at the same time.
    let lock_path = directory.with_extension("lock");
    let lock = File::create(&lock_path).map_err(Error::io(format!("creating {}", lock_path.display())))?;
    lock.lock().map_err(Error::io(format!("locking {}", lock_path.display())))?;
    if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == wanted) {
        return Ok(Environment(directory));
    }
    let python = interpreter()?;
    let log = directory.with_extension("log");
    let create = |program: &Path, arguments: &[&str]| -> Result<(), Error> {
        let output = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .map_err(Error::io(format!("opening {}", log.display())))?;
        let errors = output.try_clone().map_err(Error::io("sharing a log"))?;
        let status = supervisor.run("pip", Command::new(program).args(arguments).stdout(output).stderr(errors))?;
        require_success(format!("preparing {}", directory.display()), status, Some(log.clone()))
    };
    // The existing directory is not removed: a stack may run from it, and an interrupted attempt is completed.
    let target = directory.to_string_lossy();
    create(&python, &["-m", "venv", &target])?;
    let pip = directory.join("bin/python");
    // The lists are complete. Older versions of pip find extras of a pinned package unpinned, and refuse.
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r"];
    create(&pip, &[&install[..], &[&*list.to_string_lossy()]].concat())?;
    fs::write(&stamp, wanted).map_err(Error::io(format!("writing {}", stamp.display())))?;
    Ok(Environment(directory))
}

/// A Python interpreter that is new enough.
fn interpreter() -> Result<PathBuf, Error> {
    let names = ["python3", "python", "python3.13", "python3.12", "python3.11", "python3.10"];
    let code = format!("import sys, venv, ensurepip; sys.exit(sys.version_info < {OLDEST:?})");
    names
        .iter()
        .find(|name| Command::new(name).args(["-c", &code]).output().is_ok_and(|output| output.status.success()))
        .map(PathBuf::from)
        .ok_or_else(|| {
            Error::Refused(format!(
                "Python {}.{} or newer with the venv module is needed and was not found (Debian: apt install python3-venv)",
                OLDEST.0, OLDEST.1
            ))
        })
}
