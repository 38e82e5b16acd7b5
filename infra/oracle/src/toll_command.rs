//! `oracle toll`: purchases in USDC that wait for a human.

use audit::{Body, Change, Record};
use clap::{Args, Subcommand};
use domain::{
    SessionId, Timestamp,
    ports::{Clock, Purchases, Versioned},
    toll::{List, Paid, Purchase, Stage},
};
use runtime::System;
use serde_json::{Value, json};

use crate::{
    command::{CommandError, Ended, Signature, Target, wait},
    output::{self, minute},
    stack::Deployed,
};

#[derive(Subcommand)]
pub(crate) enum TollCommand {
    /// List payments that were settled without an answer, and settlements that the chain does not have.
    #[command(after_help = "Example:\n  oracle toll list")]
    List {
        #[command(flatten)]
        target: Target,
    },
    /// Note that a purchase is dealt with: its money was given back by hand, or the chain has it after all.
    #[command(
        after_help = "Example:\n  oracle toll settle 9f86d081 --by dana --reason 'sent back to the payer'\n\nExit code 1: no such purchase waits."
    )]
    Settle(SettleArguments),
}

#[derive(Args)]
pub(crate) struct SettleArguments {
    /// The purchase, as the list names it.
    purchase: String,
    #[command(flatten)]
    signature: Signature,
    #[command(flatten)]
    target: Target,
}

pub(crate) fn run(command: &TollCommand) -> Result<Ended, CommandError> {
    match command {
        TollCommand::List { target } => {
            let deployed = target.open()?;
            let waiting = wait(waiting(&deployed))?;
            let rows: Vec<Value> = waiting.iter().map(|it| row(&it.value)).collect();
            if target.json {
                output::print_json(&rows)?;
            } else if rows.is_empty() {
                output::print("no purchase in USDC waits\n")?;
            } else {
                output::print(&table(&rows, output::width()))?;
            }
            Ok(Ended::Done)
        }
        TollCommand::Settle(arguments) => settle(arguments),
    }
}

/// The purchases that wait for a human, oldest first.
async fn waiting(deployed: &Deployed) -> Result<Vec<Versioned<Purchase>>, CommandError> {
    let unreadable = |error| CommandError::failed("the list cannot be read", error);
    let store: &dyn Purchases = &deployed.sales;
    let mut found = Vec::new();
    for id in store.listed(List::Humans, System.now()).await.map_err(unreadable)? {
        found.extend(load(store, &id).await?.filter(|it| waits(&it.value)));
    }
    Ok(found)
}

async fn load(store: &dyn Purchases, id: &SessionId) -> Result<Option<Versioned<Purchase>>, CommandError> {
    store.load(id).await.map_err(|error| CommandError::failed("a purchase cannot be read", error))
}

fn waits(purchase: &Purchase) -> bool {
    matches!(purchase.next(), Some((List::Humans, _)))
}

fn row(purchase: &Purchase) -> Value {
    let (payer, network) = match purchase.paid() {
        Paid::Signed(signed) => (&signed.payer, &signed.network),
        Paid::Transferred { payer, network, .. } => (payer, network),
    };
    let why = match purchase.stage() {
        Stage::Owed { .. } => "settled without an answer: give the money back",
        _ => "called settled, and the chain does not have it: ask the facilitator",
    };
    json!({
        "purchase": purchase.id().reference(), "endpoint": purchase.offer().path(),
        "amount_usdc": purchase.offer().dollars(), "payer": payer, "network": network,
        "transaction": purchase.transaction(), "received_at": purchase.received_at().to_iso(), "why": why,
    })
}

fn table(rows: &[Value], width: usize) -> String {
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or("-").to_owned();
    let line = |row: &Value| output::Row {
        cells: vec![
            text(row, "purchase"),
            minute(row["received_at"].as_str().unwrap_or_default()),
            row["amount_usdc"].to_string(),
            text(row, "payer"),
        ],
        below: format!("{}; transaction {}", text(row, "why"), text(row, "transaction")),
    };
    let rows: Vec<_> = rows.iter().map(line).collect();
    output::table(&["PURCHASE", "SINCE (UTC)", "USDC", "PAYER"], &rows, width)
}

fn settle(arguments: &SettleArguments) -> Result<Ended, CommandError> {
    let operator = arguments.signature.operator()?;
    let deployed = arguments.target.open()?;
    let name = &arguments.purchase;
    if !arguments.signature.confirm(&format!("Is the purchase {name} dealt with?"))? {
        return Ok(Ended::Nothing);
    }
    wait(async {
        let found = waiting(&deployed).await?.into_iter().find(|it| it.value.id().reference() == name);
        let found = found.ok_or_else(|| CommandError::Refused(format!("no purchase {name} waits for a human")))?;
        let resolve = |purchase: &mut Purchase, now: Timestamp| {
            if purchase.resolve().is_err() {
                return Change::nothing(());
            }
            let body = Body::Operator {
                action: "toll settle".to_owned(),
                by: operator.name().to_owned(),
                reason: operator.reason().map(str::to_owned),
            };
            Change::recorded(vec![Record { timestamp: now, triggered_at: now, body }], ())
        };
        let committed = deployed.toll_journal().commit(found, resolve).await;
        let committed =
            committed.map_err(|error| CommandError::failed("the purchase may still be on the list", error))?;
        committed.settle().await;
        Ok(())
    })?;
    if arguments.target.json {
        output::print_json(&json!({ "purchase": name, "settled": true }))?;
    } else {
        output::print(&format!("{name} is settled\n"))?;
    }
    Ok(Ended::Done)
}
