//! `oracle subscriptions`: shows the chat's subscribers and Stripe's reports about them.

use clap::{Args, Subcommand};
use domain::{
    Timestamp,
    chat::{Subscriber, SubscriberId},
    ports::{Clock, StorageError, Subscribers},
};
use runtime::System;
use serde_json::{Value, json};

use crate::{
    command::{CommandError, Ended, Target, wait},
    stack::Deployed,
    terminal::output::{self, minute},
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
        after_help = "Example:\n  oracle subscriptions show 3f2a9c1b77d0\n\nExit code 1: no subscriber's id begins with these digits, or several do."
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
            let nothing = if *all {
                "there are no subscribers\n"
            } else {
                "no subscriber has access; --all lists those whose access has ended\n"
            };
            output::print_list(target.json, &rows, nothing, || table(&rows, output::width()))
        }
        SubscriptionsCommand::Show(ShowArguments { subscriber, target }) => {
            let deployed = target.open()?;
            let one = wait(find(&deployed.stores.sales, subscriber))?;
            let shown = show(&one, System.now());
            output::print_answer(target.json, &shown, || text(&shown))
        }
    }
}

fn unreadable(error: StorageError) -> CommandError {
    CommandError::failed("the subscribers cannot be read", error)
}

async fn found(deployed: &Deployed, from: Timestamp) -> Result<Vec<Subscriber>, CommandError> {
    let store: &dyn Subscribers = &deployed.stores.sales;
    let ids: Vec<SubscriberId> = store.ending_after(from).await.map_err(unreadable)?;
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        found.extend(store.load(&id).await.map_err(unreadable)?.map(|it| it.value));
    }
    Ok(found)
}

/// The subscriber whose id begins with these digits. A whole id is looked up without the list, which lags behind.
async fn find(store: &dyn Subscribers, digits: &str) -> Result<Subscriber, CommandError> {
    let id = match SubscriberId::parse(digits) {
        Ok(id) => id,
        Err(_) => one(store.ending_after(Timestamp::from_millis(0)).await.map_err(unreadable)?, digits)?,
    };
    let found = store.load(&id).await.map_err(unreadable)?;
    found.map(|it| it.value).ok_or_else(|| CommandError::Refused(format!("there is no subscriber {digits}")))
}

fn one(subscribers: Vec<SubscriberId>, digits: &str) -> Result<SubscriberId, CommandError> {
    let mut named: Vec<_> = subscribers.into_iter().filter(|id| id.as_str().starts_with(digits)).collect();
    match (named.pop(), named.is_empty()) {
        (Some(one), true) if !digits.is_empty() => Ok(one),
        (None, _) => Err(CommandError::Refused(format!("there is no subscriber {digits}"))),
        _ => Err(CommandError::Refused(format!("several ids begin with {digits}: give more digits"))),
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
        "going_on": billing.going_on().count(),
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
fn remark(row: &Value) -> String {
    let going_on = row["going_on"].as_u64().unwrap_or_default();
    match (row["payment_failed"] == true, going_on) {
        (_, 2..) => format!("{going_on} subscriptions go on: cancel all but one at Stripe"),
        (true, _) => "its payment failed".to_owned(),
        (_, 1) => "goes on".to_owned(),
        _ => "ends".to_owned(),
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
        below: remark(row),
    };
    output::table(&["SUBSCRIBER", "PLAN", "PAID UNTIL (UTC)", "INVOICES"], rows.iter().map(line), width)
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
        chat::{
            BillingReport, PaidPlan,
            billing::{Bill, SubscriptionState, SubscriptionStatus},
        },
        money::ObjectId,
    };
    use testkit::{Fault, Plan, World, run as live};

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
        let world = World::default();
        for (digit, last) in [("a", "b"), ("a", "c"), ("b", "b")] {
            let id = SubscriberId::parse(format!("{}{last}", digit.repeat(63))).unwrap();
            world.state().subscribers.insert(id.clone(), (Subscriber::new(id), 1));
        }
        let found = |digits: &str| live(find(&world, digits)).unwrap().map(|it| it.id().as_str().to_owned());
        let second = format!("{}c", "a".repeat(63));
        assert_eq!(found("bbbb").unwrap(), "b".repeat(64));
        assert!(found("aaaa").unwrap_err().to_string().contains("several ids begin with aaaa"));
        assert!(found("c").is_err() && found("").is_err() && found(&"c".repeat(64)).is_err());
        world.plan(Plan::none().whenever("subscribers.ending_after", Fault::Fail));
        assert_eq!(found(&second).unwrap(), second, "a whole id needs no list");
    }

    #[test]
    fn the_list_says_what_they_may_do() {
        let (one, now) = (subscriber("a"), Timestamp::from_seconds(50));
        let shown = show(&one, now);
        assert_eq!((&shown["plan"], &shown["paid_until"]), (&json!("pro"), &json!("1970-01-01T00:01:40.000Z")));
        assert_eq!(row(&one, Timestamp::from_seconds(100))["plan"], "free");
        assert!(table(&[row(&one, now)], 100).contains("ends"));
        let mut two = one;
        for (name, remark) in [("sub_1", "goes on"), ("sub_2", "2 subscriptions go on")] {
            let (customer, plan) = (ObjectId::parse("cus_1").unwrap(), PaidPlan::Pro);
            let state =
                SubscriptionState { customer, plan, status: SubscriptionStatus::Active, ends_at: None, at: now };
            let report = BillingReport::Subscription { id: ObjectId::parse(name).unwrap(), state };
            two.billing_mut().record_report(&report);
            assert!(table(&[row(&two, now)], 100).contains(remark), "{name}");
        }
        assert!(text(&shown).contains("1 invoices paid"));
    }
}
