//! `sim`: the simulation is a program of its own, built with the functions; this starts it.

use crate::{error::Error, functions::cargo, local_dir::repository};
use std::process::ExitCode;

/// What to simulate.
pub(crate) struct Options {
    pub(crate) seeds: u64,
    pub(crate) first: u64,
    pub(crate) seed: Option<u64>,
    pub(crate) keep_going: bool,
    pub(crate) defects: bool,
}

pub(crate) fn sim(options: &Options) -> Result<ExitCode, Error> {
    let mut command = cargo();
    command.current_dir(repository()?).args(["run", "--quiet", "--locked", "--package", "simulation"]);
    command.arg("--");
    command.args(["--seeds", &options.seeds.to_string(), "--first", &options.first.to_string()]);
    if let Some(seed) = options.seed {
        command.args(["--seed", &seed.to_string()]);
    }
    if options.keep_going {
        command.arg("--keep-going");
    }
    if options.defects {
        command.arg("--defects");
    }
    let status = command.status().map_err(Error::io("starting the simulation"))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
