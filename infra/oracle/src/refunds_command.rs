//! `oracle refunds`.

use clap::{Args, Subcommand};
use domain::{SessionId, ports::Clock};
use operations::{
    list::{self, Row},
    refunds::{self, IssueError, Issued},
};
use runtime::System;
use serde::Serialize;
use serde_json::json;

use crate::{
    command::{CommandError, Ended, Signature, Target, session, wait},
    output::{self, minute},
    stack::Deployed,
};

#[derive(Subcommand)]
pub(crate) enum RefundsCommand {
    /// List the sales whose money needs a decision, with what was charged: try again, or give it back.
    ///
    /// Failed, unusable and held sales, and refunds that Stripe has not confirmed. An amount that Stripe does not
    /// tell just now is shown as unknown.
    #[command(after_help = "Example:\n  oracle refunds list")]
    List {
        #[command(flatten)]
        target: Target,
    },
    /// Give the money of a sale back, whole. Nothing more is made or sent for it.
    ///
    /// Who decided it and why go on record first; then Stripe is asked, under one key, so repeating the command
    /// never gives the money back twice.
    #[command(
        after_help = "Example:\n  oracle refunds issue cs_live_abc123 --by dana --reason 'no reply after a week'\n\nExit code 1: refused, by us or by Stripe."
    )]
    Issue(IssueArguments),
}

#[derive(Args)]
pub(crate) struct IssueArguments {
    /// The sale's Stripe session.
    #[arg(value_parser = session)]
    session: SessionId,
    #[command(flatten)]
    signature: Signature,
    #[command(flatten)]
    target: Target,
}

/// A sale with what was charged for it.
#[derive(Serialize)]
struct Charged {
    #[serde(flatten)]
    row: Row,
    /// In the currency's smallest unit.
    amount_total: Option<i64>,
    currency: Option<String>,
}

pub(crate) fn run(command: &RefundsCommand) -> Result<Ended, CommandError> {
    match command {
        RefundsCommand::List { target } => list(target),
        RefundsCommand::Issue(arguments) => issue(arguments),
    }
}

/// Gives the money of a sale back.
pub(crate) fn issue(arguments: &IssueArguments) -> Result<Ended, CommandError> {
    let (session, json) = (&arguments.session, arguments.target.json);
    let operator = arguments.signature.operator()?;
    if operator.reason().is_none() {
        return Err(CommandError::Usage("a refund needs a reason: --reason".to_owned()));
    }
    let deployed = arguments.target.open()?;
    let payments = deployed.payments()?;
    let ports = refund::Ports { journal: deployed.journal(), payments: &payments, ledger: &payments };
    let charged = wait(async {
        let amount = list::amount(&payments, session).await;
        amount.map_err(|error| CommandError::failed("Stripe cannot be asked what was charged", error))
    })?;
    let question = format!("Give {} back for {}?", output::amount(charged.as_ref()), session.as_str());
    if !arguments.signature.confirm(&question)? {
        return Ok(Ended::Nothing);
    }
    let issued = wait(async { refunds::issue(ports, &operator, session).await.map_err(failed) })?;
    let (word, told) = match issued {
        Issued::Refunded => ("refunded", "is refunded"),
        Issued::AlreadyRefunded => ("already_refunded", "was refunded before"),
        Issued::Pending => ("pending", "is authorised for refund; Stripe works on it"),
    };
    if json {
        output::print_json(&json!({ "session_id": session, "refund": word }))?;
    } else {
        output::print(&format!("{} {told}\n", session.as_str()))?;
    }
    Ok(if issued == Issued::AlreadyRefunded { Ended::Nothing } else { Ended::Done })
}

fn failed(error: IssueError) -> CommandError {
    if error.is_refusal() {
        CommandError::Refused(error.to_string())
    } else {
        CommandError::failed("the refund is not carried out for certain", error)
    }
}

fn list(target: &Target) -> Result<Ended, CommandError> {
    let deployed = target.open()?;
    let charged = wait(charged(&deployed))?;
    if target.json {
        output::print_json(&charged)?;
    } else if charged.is_empty() {
        output::print("no decision is needed\n")?;
    } else {
        output::print(&table(&charged, output::width()))?;
    }
    Ok(Ended::Done)
}

async fn charged(deployed: &Deployed) -> Result<Vec<Charged>, CommandError> {
    let payments = deployed.payments()?;
    let rows = list::undecided(deployed.lists(), System.now()).await;
    let rows = rows.map_err(|error| CommandError::failed("the lists cannot be read", error))?;
    let mut charged = Vec::new();
    for row in rows {
        let amount = list::amount(&payments, &row.session_id).await.ok().flatten();
        let (amount_total, currency) = amount.unzip();
        charged.push(Charged { row, amount_total, currency });
    }
    Ok(charged)
}

fn table(charged: &[Charged], width: usize) -> String {
    let line = |charged: &Charged| {
        let amount = charged.amount_total.zip(charged.currency.clone());
        let row = &charged.row;
        output::Row {
            cells: vec![
                row.work.as_str().to_owned(),
                output::amount(amount.as_ref()),
                format!("{}{}", minute(&row.due), if row.overdue { " !" } else { "" }),
                row.detail.clone(),
            ],
            below: row.session_id.as_str().to_owned(),
        }
    };
    let rows: Vec<_> = charged.iter().map(line).collect();
    output::table(&["WORK", "CHARGED", "DUE (UTC)", "DETAIL"], &rows, width)
}
