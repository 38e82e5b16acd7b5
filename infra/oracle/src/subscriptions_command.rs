//! `oracle subscriptions`: shows the chat's subscribers and Stripe's reports about them.

use clap::{Args, Subcommand};
use domain::{
    Timestamp,
    chat::{Subscriber, SubscriberId},
    ports::{Clock, Subscribers},
};
use runtime::System;
use serde_json::{Value, json};

use crate::{
    command::{CommandError, Ended, Target, wait},
    output::{self, minute},
    stack::Deployed,
};

#[derive(Subcommand)]
pub(crate) enum SubscriptionsCommand {
    /// List the subscribers with access, the one that ends soonest first.
    #[command(after_help = "Example:\n  oracle subscriptions list")]
    List {
        /// Also those whose access has ended.
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        target: Target,
    },
    /// Show one subscriber: what they may do, until when, and each subscription.
    #[command(
        after_help = "Example:\n  oracle subscriptions show 3f2a9c1b77d0\n\nExit code 1: nobody, or more than one subscriber, is named so."
    )]
    Show(ShowArguments),
}

#[derive(Args)]
pub(crate) struct ShowArguments {
    /// The subscriber: the first digits of the id, as alerts and the list name them.
    subscriber: String,
    #[command(flatten)]
    target: Target,
}

pub(crate) fn run(command: &SubscriptionsCommand) -> Result<Ended, CommandError> {
    match command {
        SubscriptionsCommand::List { all, target } => {
            let deployed = target.open()?;
            let now = System.now();
            let from = if *all { Timestamp::from_millis(0) } else { now };
            let rows: Vec<Value> = wait(found(&deployed, from))?.iter().map(|it| row(it, now)).collect();
            if target.json {
                output::print_json(&rows)?;
            } else if rows.is_empty() {
                output::print("nobody subscribes\n")?;
            } else {
                output::print(&table(&rows, output::width()))?;
            }
        }
        SubscriptionsCommand::Show(ShowArguments { subscriber, target }) => {
            let deployed = target.open()?;
            let one = one(wait(found(&deployed, Timestamp::from_millis(0)))?, subscriber)?;
            let shown = show(&one, System.now());
            if target.json {
                output::print_json(&shown)?;
            } else {
                output::print(&text(&shown))?;
            }
        }
    }
    Ok(Ended::Done)
}

async fn found(deployed: &Deployed, from: Timestamp) -> Result<Vec<Subscriber>, CommandError> {
    let unreadable = |error| CommandError::failed("the subscribers cannot be read", error);
    let store: &dyn Subscribers = &deployed.stores.sales;
    let ids: Vec<SubscriberId> = store.ending_after(from).await.map_err(unreadable)?;
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        found.extend(store.load(&id).await.map_err(unreadable)?.map(|it| it.value));
    }
    Ok(found)
}

fn one(subscribers: Vec<Subscriber>, name: &str) -> Result<Subscriber, CommandError> {
    let mut named: Vec<_> = subscribers.into_iter().filter(|it| it.id().as_str().starts_with(name)).collect();
    match (named.pop(), named.is_empty()) {
        (Some(one), true) if !name.is_empty() => Ok(one),
        (None, _) => Err(CommandError::Refused(format!("there is no subscriber {name}"))),
        _ => Err(CommandError::Refused(format!("{name} is more than one subscriber: give more digits"))),
    }
}

fn row(subscriber: &Subscriber, now: Timestamp) -> Value {
    let (access, billing) = (subscriber.access(now), subscriber.billing());
    let (paid, gone) = billing.paid_invoices();
    json!({
        "subscriber": subscriber.id().prefix(),
        "plan": access.plan.key(),
        "paid_until": access.paid_until.map(Timestamp::to_iso),
        "access_until": billing.access_until().map(Timestamp::to_iso),
        "goes_on": billing.going_on().next().is_some(),
        "payment_failed": billing.has_failed_payment(),
        "paid_invoices": paid,
        "given_back": gone,
    })
}

fn show(subscriber: &Subscriber, now: Timestamp) -> Value {
    let mut shown = row(subscriber, now);
    shown["subscriber"] = json!(subscriber.id().as_str());
    shown["customer"] = json!(subscriber.billing().customer());
    let subscriptions = subscriber.billing().subscriptions().iter().map(|(id, state)| {
        json!({
            "subscription": id, "plan": state.plan.key(), "status": state.status.as_str(),
            "ends_at": state.ends_at.map(Timestamp::to_iso), "reported_at": state.at.to_iso(),
        })
    });
    shown["subscriptions"] = subscriptions.collect();
    shown
}

/// The text of the last column.
fn remark(row: &Value) -> &'static str {
    match (row["payment_failed"] == true, row["goes_on"] == true) {
        (true, _) => "its payment failed",
        (_, true) => "goes on",
        _ => "ends",
    }
}

fn table(rows: &[Value], width: usize) -> String {
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or("-").to_owned();
    let line = |row: &Value| output::Row {
        cells: vec![
            text(row, "subscriber"),
            text(row, "plan"),
            minute(row["paid_until"].as_str().unwrap_or_default()),
            row["paid_invoices"].to_string(),
        ],
        below: remark(row).to_owned(),
    };
    let rows: Vec<_> = rows.iter().map(line).collect();
    output::table(&["SUBSCRIBER", "PLAN", "PAID UNTIL (UTC)", "INVOICES"], &rows, width)
}

fn text(shown: &Value) -> String {
    let of = |value: &Value, name: &str| value[name].as_str().unwrap_or("-").to_owned();
    let mut text = format!(
        "{}\nplan {}, paid until {}, access until {}; {}\n{} invoices paid, {} of them given back or disputed; customer {}\n",
        of(shown, "subscriber"),
        of(shown, "plan"),
        of(shown, "paid_until"),
        of(shown, "access_until"),
        remark(shown),
        shown["paid_invoices"],
        shown["given_back"],
        of(shown, "customer"),
    );
    for subscription in shown["subscriptions"].as_array().into_iter().flatten() {
        text.push_str(&format!(
            "  {} {} {}, ends {}, reported {}\n",
            of(subscription, "subscription"),
            of(subscription, "plan"),
            of(subscription, "status"),
            of(subscription, "ends_at"),
            of(subscription, "reported_at"),
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{
        chat::{BillingReport, PaidPlan, billing::Bill},
        money::ObjectId,
    };

    fn subscriber(digit: &str) -> Subscriber {
        let mut subscriber = Subscriber::new(SubscriberId::parse(digit.repeat(64)).unwrap());
        let id = |text: &str| ObjectId::parse(text).unwrap();
        let until = Timestamp::from_seconds(100);
        let bill = Bill { until, subscription: id("sub_1"), plan: PaidPlan::Pro, amount: 1000 };
        subscriber.billing_mut().record_report(&BillingReport::InvoicePaid { id: id("in_1"), bill, at: until });
        subscriber
    }

    #[test]
    fn a_subscriber_is_found_by_the_digits_that_are_theirs_alone() {
        let both = || vec![subscriber("a"), subscriber("b")];
        assert_eq!(one(both(), "aaaa").unwrap().id().prefix(), "aaaaaaaaaaaa");
        assert!(one(both(), "c").is_err() && one(both(), "").is_err());
        assert!(one(vec![subscriber("a"), subscriber("a")], "a").is_err());
    }

    #[test]
    fn the_list_says_what_they_may_do() {
        let (one, now) = (subscriber("a"), Timestamp::from_seconds(50));
        let shown = show(&one, now);
        assert_eq!((&shown["plan"], &shown["paid_until"]), (&json!("pro"), &json!("1970-01-01T00:01:40.000Z")));
        assert_eq!(row(&one, Timestamp::from_seconds(100))["plan"], "free");
        assert!(table(&[row(&one, now)], 100).contains("ends"));
        assert!(text(&shown).contains("1 invoices paid"));
    }
}
