//! `oracle quarantine`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use domain::{
    SessionId, customer_text,
    ports::{Clock, Quarantine},
};
use operations::{
    list,
    quarantine::{self, DecideError, Decided},
};
use runtime::System;
use serde_json::{Value, json};

use crate::{
    command::{CommandError, Ended, Signature, Target, session, wait},
    list_command, output,
    refunds_command::{self, IssueArguments},
};

#[derive(Subcommand)]
pub(crate) enum QuarantineCommand {
    /// List the sales that the content filter holds.
    #[command(after_help = "Example:\n  oracle quarantine list")]
    List {
        #[command(flatten)]
        target: Target,
    },
    /// Print what is held of a sale: customer content, for few eyes.
    #[command(
        after_help = "Example:\n  oracle quarantine show cs_live_abc123 --json | jq .payload\n\nExit code 1: nothing is held."
    )]
    Show {
        /// The sale's Stripe session.
        #[arg(value_parser = session)]
        session: SessionId,
        #[command(flatten)]
        target: Target,
    },
    /// Let a held sale go on as it is, if the content filter lets it pass now.
    #[command(
        after_help = "Example:\n  oracle quarantine approve cs_live_abc123 --by dana --reason 'the list was too strict'\n\nExit code 1: refused; the sale stays held."
    )]
    Approve {
        /// The sale's Stripe session.
        #[arg(value_parser = session)]
        session: SessionId,
        #[command(flatten)]
        signature: Signature,
        #[command(flatten)]
        target: Target,
    },
    /// Put a cleaned verdict in place of the held one, if it passes the crosscheck and the content filter.
    #[command(
        after_help = "Example:\n  oracle quarantine replace cs_live_abc123 --file cleaned.json --by dana\n\nExit code 1: refused; the sale stays held."
    )]
    Replace(ReplaceArguments),
    /// Give the money of a held sale back: the same as `oracle refunds issue`.
    #[command(
        after_help = "Example:\n  oracle quarantine refund cs_live_abc123 --by dana --reason 'cannot be cleaned'\n\nExit code 1: refused, by us or by Stripe."
    )]
    Refund(IssueArguments),
}

#[derive(Args)]
pub(crate) struct ReplaceArguments {
    /// The sale's Stripe session.
    #[arg(value_parser = session)]
    session: SessionId,
    /// The cleaned verdict: JSON in the form of the held one.
    #[arg(long, value_name = "VERDICT.json")]
    file: PathBuf,
    #[command(flatten)]
    signature: Signature,
    #[command(flatten)]
    target: Target,
}

pub(crate) fn run(command: &QuarantineCommand) -> Result<Ended, CommandError> {
    match command {
        QuarantineCommand::List { target } => {
            let deployed = target.open()?;
            let rows = wait(async {
                let rows = list::in_review(deployed.lists(), System.now()).await;
                rows.map_err(|error| CommandError::failed("the list cannot be read", error))
            })?;
            list_command::print(&rows, target.json)
        }
        QuarantineCommand::Show { session, target } => show(session, target),
        QuarantineCommand::Approve { session, signature, target } => decide(session, None, signature, target),
        QuarantineCommand::Refund(arguments) => refunds_command::issue(arguments),
        QuarantineCommand::Replace(arguments) => {
            let verdict = read(&arguments.file)?;
            decide(&arguments.session, Some(&verdict), &arguments.signature, &arguments.target)
        }
    }
}

fn show(session: &SessionId, target: &Target) -> Result<Ended, CommandError> {
    let deployed = target.open()?;
    let bucket = deployed.quarantine()?;
    let held = wait(async {
        bucket.held(session).await.map_err(|error| CommandError::failed("the quarantine cannot be read", error))
    })?;
    for payload in &held {
        // A payload that is no JSON is printed as it stands.
        let payload: Value = serde_json::from_str(payload).unwrap_or_else(|_| payload.as_str().into());
        if target.json {
            output::print_json(&payload)?;
        } else {
            output::print(&format!("{}\n", customer_text::visible(&serde_json::to_string_pretty(&payload)?)))?;
        }
    }
    Ok(if held.is_empty() { Ended::Nothing } else { Ended::Done })
}

fn read(file: &Path) -> Result<Value, CommandError> {
    let name = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| CommandError::failed(&format!("{name} cannot be read"), error))?;
    serde_json::from_str(&text).map_err(|error| CommandError::failed(&format!("{name} is no JSON"), error))
}

fn decide(
    session: &SessionId,
    verdict: Option<&Value>,
    signature: &Signature,
    target: &Target,
) -> Result<Ended, CommandError> {
    let operator = signature.operator()?;
    let deployed = target.open()?;
    let (orders, retries) = (deployed.queue("OrdersQueueUrl")?, deployed.queue("EmailRetryQueueUrl")?);
    let (notices, bucket, payments) =
        (deployed.queue("NoticesQueueUrl")?, deployed.quarantine()?, deployed.payments()?);
    let ports = quarantine::Ports {
        journal: deployed.journal(),
        quarantine: &bucket,
        payments: &payments,
        submissions: &aws::DynamoSubmissions(&deployed.sales),
        orders: &orders,
        retries: &retries,
        notices: &notices,
    };
    let what = if verdict.is_some() { "Replace what is held of" } else { "Approve" };
    if !signature.confirm(&format!("{what} {} and deliver it?", session.as_str()))? {
        return Ok(Ended::Nothing);
    }
    let decided = wait(async {
        let decided = match verdict {
            Some(verdict) => quarantine::replace(ports, &operator, session, verdict).await,
            None => quarantine::approve(ports, &operator, session).await,
        };
        decided.map_err(failed)
    })?;
    let (word, told) = match decided {
        Decided::Freed => ("freed", "is on its way to the customer"),
        Decided::AskedAgain => ("asked_again", "was decided already; its delivery is asked for again"),
    };
    if target.json {
        output::print_json(&json!({ "session_id": session, "decided": word }))?;
    } else {
        output::print(&format!("{} {told}\n", session.as_str()))?;
    }
    Ok(Ended::Done)
}

fn failed(error: DecideError) -> CommandError {
    if error.is_refusal() {
        CommandError::Refused(error.to_string())
    } else {
        CommandError::failed("the decision was not carried out", error)
    }
}
