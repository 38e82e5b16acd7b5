//! `oracle anvil override`: two people let one deployment of a release go live against its verdict.

use clap::Args;
use release::{Request, grant};

use crate::{
    command::{CommandError, Ended, OrFailed, Target, wait},
    terminal::output,
};

#[derive(Args)]
pub(crate) struct OverrideArguments {
    /// The release, as the template's parameter Release names it.
    #[arg(long, value_name = "RELEASE")]
    release: String,
    /// The first person's name, for the audit log; never an address.
    #[arg(long, value_name = "NAME")]
    by: String,
    /// The second person's name.
    #[arg(long, value_name = "NAME")]
    second: String,
    /// Why, for the audit log; never an address.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    target: Target,
}

/// Grants the override.
pub(crate) fn run(arguments: &OverrideArguments) -> Result<Ended, CommandError> {
    let OverrideArguments { release, by, second, reason, target } = arguments;
    let request = Request::parse(release, by, second, reason).map_err(CommandError::refused)?;
    let deployed = target.open()?;
    let granted = wait(async {
        let request = request.known_as(deployed.caller_identity().await);
        let granted = grant(deployed.stores.function_journal(release::FUNCTION), &request).await;
        granted.or_failed("the override may not have been granted: repeat the command")
    })?;
    output::print_answer(target.json, &granted, || {
        format!(
            "Release {} may go live once until {}, by {} and {}. It is in the audit log, and operators are alerted.\n",
            granted.release, granted.until, granted.by, granted.second
        )
    })
}
