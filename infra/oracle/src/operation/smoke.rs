//! `oracle smoke`.

use clap::Args;
use smoke::{Ending, Trigger};

use crate::{
    command::{CommandError, Ended, Target, wait},
    terminal::output,
};

#[derive(Args)]
pub(crate) struct SmokeArguments {
    /// Run as a deployment does: a failure is also a critical alert.
    #[arg(long, conflicts_with = "cron")]
    on_deploy: bool,
    /// Run as the daily schedule does: a failure is also a critical alert.
    #[arg(long)]
    cron: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) fn run(arguments: &SmokeArguments) -> Result<Ended, CommandError> {
    let trigger = match (arguments.on_deploy, arguments.cron) {
        (true, _) => Trigger::Deploy,
        (_, true) => Trigger::Cron,
        _ => Trigger::Manual,
    };
    let wired = arguments.target.open()?.smoke_test()?;
    // The report of a manual run is the command's output.
    let log = "the output of `oracle smoke`";
    let report = wait(async { Ok(wired.run(trigger, log).await) })?;
    output::print_answer(arguments.target.json, &report.json(), || report.text("above"))?;
    Ok(match report.ending() {
        Ending::Passed => Ended::Done,
        Ending::Failed => Ended::Nothing,
        Ending::Misconfigured => Ended::Misconfigured,
    })
}
