//! `sim`: starts the simulation, a separate program that is built with the functions, and then the toll's worlds.

use crate::{error::Error, functions::cargo, json_result::JsonResult, local_dir::repository};
use serde_json::json;
use std::process::ExitCode;

/// How cargo runs a simulation.
const RUN: [&str; 3] = ["run", "--quiet", "--locked"];

/// The profile of `--optimized` (`Cargo.toml`).
const OPTIMIZED: [&str; 2] = ["--profile", "simulation"];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many worlds
    #[arg(long, default_value_t = 2000)]
    pub(crate) seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    pub(crate) first: u64,
    /// One world only, with its trace
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Go on after a world in which a promise was broken
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Give a port or a queue one defect after the other, and print the first world of --seeds that shows it
    #[arg(long)]
    pub(crate) defects: bool,
    /// Worlds of the chat and its subscriptions instead of sales
    #[arg(long)]
    pub(crate) chat: bool,
    /// Compile with optimisation, in a directory of its own: for tens of thousands of worlds
    #[arg(long)]
    pub(crate) optimized: bool,
}

impl Options {
    fn profile(&self) -> &'static [&'static str] {
        if self.optimized { &OPTIMIZED } else { &[] }
    }

    /// The first seed, and how many worlds.
    fn worlds(&self) -> (u64, u64) {
        self.seed.map_or((self.first, self.seeds), |seed| (seed, 1))
    }
}

pub(crate) fn sim(options: &Options, as_json: bool) -> Result<ExitCode, Error> {
    let result = as_json.then(JsonResult::reserve).transpose()?;
    let mut command = cargo();
    command.current_dir(repository()?).args(RUN).args(options.profile()).args(["--package", "simulation"]);
    command.arg("--");
    command.args(["--seeds", &options.seeds.to_string(), "--first", &options.first.to_string()]);
    if let Some(seed) = options.seed {
        command.args(["--seed", &seed.to_string()]);
    }
    if options.keep_going {
        command.arg("--keep-going");
    }
    for (is_set, option) in [(options.defects, "--defects"), (options.chat, "--chat")] {
        if is_set {
            command.arg(option);
        }
    }
    let status = command.status().map_err(Error::io("starting the simulation"))?;
    let lived = (status.success() || options.keep_going) && toll(options)?;
    let passed = status.success() && lived;
    if let Some(result) = result {
        let (first, seeds) = options.worlds();
        result.write(&json!({ "first": first, "seeds": seeds, "passed": passed }))?;
    }
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The worlds in which agents buy: whether every promise was kept, or every defect noticed. One seed is that of both.
fn toll(options: &Options) -> Result<bool, Error> {
    let (first, count) = options.worlds();
    let mut command = cargo();
    command.current_dir(repository()?).args(RUN).args(options.profile());
    command.args(["--package", "toll", "--example", "worlds"]);
    command.arg("--").args([first.to_string(), count.to_string()]);
    if options.defects {
        command.arg("--defects");
    }
    if options.keep_going {
        command.arg("--keep-going");
    }
    Ok(command.status().map_err(Error::io("starting the toll's worlds"))?.success())
}
