//! `oracle refunds`.

use clap::Subcommand;
use domain::ports::Clock;
use operations::list::{self, Row};
use runtime::System;
use serde::Serialize;

use crate::{
    command::{CommandError, Ended, Target, wait},
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
    let RefundsCommand::List { target } = command;
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
