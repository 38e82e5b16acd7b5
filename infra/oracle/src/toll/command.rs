//! `oracle toll`: lists purchases in USDC that are open, finds one, and records that one is dealt with.

use audit::{Body, Change, Record};
use audit_verify::stream::{session_of_stream, stream_of};
use clap::{Args, Subcommand};
use domain::{
    Operator, SessionId, Timestamp,
    ports::{AuditObjects, Clock, Purchases, Versioned},
    toll::{List, PREFIX, Purchase, Stage},
};
use runtime::System;
use serde::Serialize;
use serde_json::{Value, json};

use super::rows::{payer, row, table};
use crate::{
    command::{CommandError, Ended, OrFailed, Signed, Target, wait},
    evidence::Observed,
    terminal::{output, when},
};
use std::{collections::BTreeSet, time::Duration};

/// A list is read up to this time from now, so that it has every open purchase. One that waits for a human has been due
/// since then; the schedule's are due within hours, because a payment is valid for an hour at most.
const ALL_OPEN: Duration = Duration::from_secs(7 * 24 * 3600);

#[derive(Subcommand)]
pub(crate) enum TollCommand {
    /// List payments that were settled without an answer or cannot be traced, and settlements that the chain does not
    /// have.
    #[command(after_help = "Examples:\n  oracle toll list\n  oracle toll list --open")]
    List {
        /// Also list the purchases that the schedule still works on, at most a hundred.
        #[arg(long)]
        open: bool,
        #[command(flatten)]
        target: Target,
    },
    /// Find purchases by their reference, their transaction or their payer.
    #[command(
        after_help = "Example:\n  oracle toll show 0x8f3b2c1a4d5e… --since 7d\n\nPayments that were refused before they were verified have no purchase: `oracle audit report` counts them.\n\nExit code 1: no such purchase was found."
    )]
    Show(ShowArguments),
    /// Record that a purchase needs no more work: you returned the money by hand, or the chain has it after all.
    #[command(
        after_help = "Example:\n  oracle toll settle 9f86d081 --by dana --reason 'sent back to the payer'\n\nExit code 1: no such purchase waits."
    )]
    Settle(SettleArguments),
}

#[derive(Args)]
pub(crate) struct ShowArguments {
    /// A purchase's reference or id, a transaction, or a payer's address.
    wanted: String,
    /// Search the purchases of that day (UTC) and later: 2026-11-20, or 30d. Those that wait for a human or the
    /// schedule are always searched.
    #[arg(long, value_name = "DAY", default_value = "2d")]
    since: String,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
pub(crate) struct SettleArguments {
    /// The purchase, as the list names it.
    purchase: String,
    #[command(flatten)]
    signed: Signed,
}

pub(crate) fn run(command: &TollCommand) -> Result<Ended, CommandError> {
    match command {
        TollCommand::List { open, target } => {
            let deployed = target.open()?;
            let store: &dyn Purchases = &deployed.stores.sales;
            let mut found = wait(listed(store, List::Humans))?;
            if *open {
                found.extend(wait(listed(store, List::Machines))?);
            }
            print(&found, target, "no purchase in USDC waits\n")
        }
        TollCommand::Show(arguments) => show(arguments),
        TollCommand::Settle(arguments) => settle(arguments),
    }
}

fn print(found: &[Versioned<Purchase>], target: &Target, nothing: &str) -> Result<Ended, CommandError> {
    let rows: Vec<Value> = found.iter().map(|it| row(&it.value)).collect();
    output::print_list(target.json, &rows, nothing, || table(&rows, output::width()))
}

/// A purchase that waits for a human, as `oracle list` shows it.
#[derive(Serialize)]
pub(crate) struct Waiting {
    /// The kind of work in `oracle list`.
    work: &'static str,
    since: String,
    /// The payer has nothing for the money, which is due back at once, or may be.
    pub(crate) overdue: bool,
    #[serde(flatten)]
    purchase: Value,
}

impl Waiting {
    fn of(purchase: &Purchase) -> Option<Self> {
        let (_, since) = purchase.due().filter(|(list, _)| *list == List::Humans)?;
        let overdue = matches!(purchase.stage(), Stage::Owed { .. } | Stage::Lapsed { .. });
        Some(Self { work: "toll", since: since.to_iso(), overdue, purchase: row(purchase) })
    }
}

/// The purchases that wait for a human, the longest waiting first.
pub(crate) async fn waiting(store: &dyn Purchases) -> Result<Vec<Waiting>, CommandError> {
    let found = listed(store, List::Humans).await?;
    Ok(found.iter().filter_map(|it| Waiting::of(&it.value)).collect())
}

pub(crate) fn waiting_table(waiting: &[Waiting], width: usize) -> String {
    table(&waiting.iter().map(|it| it.purchase.clone()).collect::<Vec<_>>(), width)
}

/// The purchases on a list, the most urgent first.
async fn listed(store: &dyn Purchases, list: List) -> Result<Vec<Versioned<Purchase>>, CommandError> {
    let mut found = Vec::new();
    // While its records wait for the log, a purchase that waits for a human is on the schedule's list.
    let lists: &[List] = if list == List::Humans { &[List::Humans, List::Machines] } else { &[list] };
    for of in lists {
        for id in store.listed(*of, System.now().plus(ALL_OPEN)).await.or_failed("the list cannot be read")? {
            // The list lags behind the purchases.
            let waits = |it: &Versioned<Purchase>| matches!(it.value.due(), Some((on, _)) if on == list);
            let is_known = |it: &Versioned<Purchase>| *it.value.id() == id;
            if !found.iter().any(is_known) {
                found.extend(load(store, &id).await?.filter(waits));
            }
        }
    }
    found.sort_by_key(|it| it.value.received_at());
    Ok(found)
}

fn show(arguments: &ShowArguments) -> Result<Ended, CommandError> {
    let (deployed, target) = (arguments.target.open()?, &arguments.target);
    let since = when::parse(&arguments.since, System.now())?.to_date();
    let stores = &deployed.stores;
    let found = wait(find(&stores.sales, &stores.log, &arguments.wanted, &since))?;
    let (wanted, json) = (&arguments.wanted, target.json);
    if found.is_empty() && !json {
        output::print(&format!("no purchase {wanted} since {since}; look further back with --since\n"))?;
        return Ok(Ended::Nothing);
    }
    print(&found, target, "")?;
    Ok(if found.is_empty() { Ended::Nothing } else { Ended::Done })
}

/// The purchases that match, out of all that were begun since that day or that wait, for the schedule or for a human.
async fn find(
    store: &dyn Purchases,
    log: &dyn AuditObjects,
    wanted: &str,
    since: &str,
) -> Result<Vec<Versioned<Purchase>>, CommandError> {
    let mut ids = BTreeSet::new();
    let mut after = since.to_owned();
    loop {
        let page = log.keys("", &after).await.map_err(CommandError::unreadable_log)?;
        let Some(last) = page.last() else { break };
        after.clone_from(&last.key);
        let names = page.iter().filter_map(|object| session_of_stream(stream_of(&object.key)));
        ids.extend(names.filter(|name| name.starts_with(PREFIX)).filter_map(|name| SessionId::parse(name).ok()));
    }
    let mut found = listed(store, List::Machines).await?;
    found.extend(listed(store, List::Humans).await?);
    found.retain(|it| !ids.contains(it.value.id()));
    for id in ids {
        found.extend(load(store, &id).await?);
    }
    found.retain(|it| matches(&it.value, wanted));
    found.sort_by_key(|it| it.value.received_at());
    Ok(found)
}

/// Whether an operator means this purchase.
fn matches(purchase: &Purchase, wanted: &str) -> bool {
    let (payer, _) = payer(purchase);
    let names = [purchase.id().reference(), purchase.id().as_str(), payer, purchase.transaction().unwrap_or_default()];
    let payers = purchase.payers();
    let payers = payers.iter().map(|paid| paid.payer.as_str());
    names.into_iter().chain(payers).any(|name| !name.is_empty() && name.eq_ignore_ascii_case(wanted))
}

async fn load(store: &dyn Purchases, id: &SessionId) -> Result<Option<Versioned<Purchase>>, CommandError> {
    store.load(id).await.or_failed("a purchase cannot be read")
}

/// The purchase as it is before the operator decides.
fn observed(found: &Versioned<Purchase>) -> Observed<'static> {
    let rules = &["saved on condition of its version", "only a purchase that waits for a human"];
    let item = json!({ "purchase": found.value.id(), "version": found.version, "state": found.value });
    Observed { store: "purchases", rules, items: vec![item] }
}

fn settle(arguments: &SettleArguments) -> Result<Ended, CommandError> {
    let (deployed, operator) = arguments.signed.open()?;
    let name = &arguments.purchase;
    let found = wait(async {
        let waiting = listed(&deployed.stores.sales, List::Humans).await?;
        let found = waiting.into_iter().find(|it| it.value.id().reference() == name);
        found.ok_or_else(|| CommandError::Refused(format!("no purchase {name} waits for a human")))
    })?;
    let question = format!("Is the purchase {name} dealt with?");
    if !observed(&found).confirm(&deployed, (&arguments.signed, &operator), "toll settle", &question)? {
        return Ok(Ended::Nothing);
    }
    let is_resolved = wait(async {
        let resolve = |purchase: &mut Purchase, now: Timestamp| resolve(purchase, &operator, now);
        let committed = deployed.stores.toll_journal().commit(found, resolve).await;
        let committed = committed.or_failed("the purchase may still be on the list: repeat the command")?;
        Ok(committed.settle().await.1)
    })?;
    if !is_resolved {
        return Err(CommandError::Refused(format!("{name} changed meanwhile and waits for no human any more")));
    }
    let answer = json!({ "purchase": name, "settled": true });
    output::print_answer(arguments.signed.target.json, &answer, || format!("{name} is noted as dealt with\n"))
}

/// Records that the purchase is dealt with; `false` if it waits for no human any more.
fn resolve(purchase: &mut Purchase, operator: &Operator, now: Timestamp) -> Change<bool> {
    if purchase.resolve().is_err() {
        return Change::nothing(false);
    }
    let body = Body::operator(operator, "toll settle");
    Change::recorded(vec![Record::new(now, now, body)], true)
}

#[cfg(test)]
mod tests;
