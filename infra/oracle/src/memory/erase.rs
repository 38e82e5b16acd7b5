//! `oracle memory erase`: begins the erasure of a customer's memory. The deadlines function ends it.

use crate::{
    command::{CommandError, Ended, OrFailed, Signed, wait},
    evidence::Observed,
    sales::erase::steps_by_hand,
    stack::Deployed,
};
use audit::{BridgeJournal, ChatJournal};
use clap::Args;
use domain::{
    EmailAddress, Operator, Secret,
    chat::{Account, SubscriberId, SubscriberKey},
    ports::{SecretSource, Versioned},
};
use serde_json::{Value, json};
use std::io::Write;

/// The step at Stripe, where a member may have a subscription. A member's mails are in the same places as a buyer's.
const AT_STRIPE: &str =
    "Stripe: a subscription goes on charging until you cancel it; then redact the customer in the dashboard";

#[derive(Args)]
pub(crate) struct EraseArguments {
    /// The customer: their email address in any spelling, or the subscriber's whole id.
    customer: String,
    #[command(flatten)]
    signed: Signed,
}

pub(crate) fn run(arguments: &EraseArguments, output: &mut impl Write) -> Result<Ended, CommandError> {
    let (deployed, operator) = arguments.signed.open_with_reason("an erasure")?;
    let id = customer(&deployed, &arguments.customer)?;
    let account = wait(found(deployed.stores.chat_journal(), deployed.stores.bridge_journal(), &id))?;
    let observed = observed(&account);
    if !arguments.signed.confirm(&deployed, &format!("Erase the memory of {}? It cannot be undone.", id.prefix()))? {
        return Ok(Ended::Nothing);
    }
    wait(observed.record(&deployed, &operator, "memory erase", json!({})))?;
    let begun = wait(begin(deployed.stores.chat_journal(), account, &operator))?;
    if arguments.signed.target.json {
        writeln!(output, "{begun}")?;
    } else {
        let sentence = match begun["began"] == true {
            true => "every text is removed; the key is destroyed within ten minutes",
            false => "an erasure is under way already",
        };
        writeln!(output, "{}: {sentence}", id.prefix())?;
        for step in steps_by_hand(Some(AT_STRIPE)) {
            writeln!(output, "by hand   {step}")?;
        }
    }
    Ok(Ended::Done)
}

/// The subscriber of an argument: an email address, or the subscriber's whole id.
pub(crate) fn customer(deployed: &Deployed, customer: &str) -> Result<SubscriberId, CommandError> {
    let key =
        || async { deployed.secret("chat").document().await.or_failed("the key of subscribers' ids cannot be read") };
    match SubscriberId::parse(customer) {
        Ok(id) => Ok(id),
        Err(_) => named(customer, &wait(key())?),
    }
}

fn named(customer: &str, document: &Secret) -> Result<SubscriberId, CommandError> {
    let address = EmailAddress::parse(customer).map_err(|_| {
        CommandError::Usage(format!("{customer} is neither an email address nor a subscriber's id of 64 digits"))
    })?;
    let key = SubscriberKey::parse(document).or_failed("the key of subscribers' ids cannot be read")?;
    Ok(SubscriberId::of(&key, &address))
}

/// The account whose memory is to be erased. A customer who accepted the Bridge's agreement and has not used the chat has a
/// Bridge and no stored account: then it is a new account, whose erasure removes the Bridge.
async fn found(
    journal: ChatJournal<'_>,
    bridges: BridgeJournal<'_>,
    id: &SubscriberId,
) -> Result<Versioned<Account>, CommandError> {
    let unreadable = |error| CommandError::failed("the account cannot be read", error);
    let account = journal.load(id).await.map_err(unreadable)?;
    if account.version == 0 && bridges.load(id).await.map_err(unreadable)?.version == 0 {
        return Err(CommandError::Refused(format!("{} has no memory and no Bridge", id.prefix())));
    }
    Ok(account)
}

/// What the erasure is bound to: the account as it is before the command proposes anything.
fn observed(account: &Versioned<Account>) -> Observed<'static> {
    let Versioned { value, version } = account;
    Observed {
        store: "accounts",
        rules: &["saved on condition of its version", "an erasure that has begun ends"],
        items: vec![json!({ "subscriber": value.id(), "version": version, "account": value })],
    }
}

async fn begin(
    journal: ChatJournal<'_>,
    account: Versioned<Account>,
    operator: &Operator,
) -> Result<Value, CommandError> {
    let id = account.value.id().clone();
    let begun = forgetting::begin(journal, account, Some(operator)).await;
    let (account, began) = begun.or_failed("the erasure may not have begun: repeat the command")?;
    let ends_after = account.value.erasure().map(|erasure| erasure.due().to_iso());
    Ok(json!({ "subscriber": id, "began": began, "ends_after": ends_after, "by_hand": steps_by_hand(Some(AT_STRIPE)) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{
        Timestamp,
        chat::{Account, Bridge, CURRENT_AGREEMENT},
    };
    use std::time::Duration;
    use testkit::{World, run as live};

    #[test]
    fn an_erasure_is_signed_and_ends_by_the_schedule() {
        let world = World::at(Timestamp::from_seconds(1_800_000_000));
        let journal = ChatJournal { store: &world, log: &world, alerts: &world, clock: &world };
        let document = Secret::new(r#"{"subscriber_key":"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"}"#);
        let id = named("Some.One+x@gmail.com", &document).unwrap();
        assert_eq!(named("someone@googlemail.com", &document).unwrap(), id);
        assert!(matches!(named("someone", &document), Err(CommandError::Usage(_))));
        let operator = Operator::parse("dana", Some("asked for by letter")).unwrap();
        let bridges = BridgeJournal { store: &world, log: &world, alerts: &world, clock: &world };
        let refused = live(found(journal, bridges, &id)).unwrap();
        assert!(matches!(refused, Err(CommandError::Refused(_))), "{refused:?}");

        let account = Account::new(id.clone());
        live(journal.store.save(&account, 0)).unwrap().unwrap();
        let account = || live(found(journal, bridges, &id)).unwrap().unwrap();
        let bind = || observed(&account()).bind().unwrap();
        let before = bind();
        let begun = live(begin(journal, account(), &operator)).unwrap().unwrap();
        assert_eq!((&begun["began"], &begun["ends_after"]), (&json!(true), &json!("2027-01-15T08:02:00.000Z")));
        assert!(begun["by_hand"][0].to_string().contains("cancel"), "{begun}");
        assert!(begun["by_hand"].to_string().contains("other messages in the mailbox"), "{begun}");
        assert_eq!(begun["by_hand"].to_string().matches("Stripe").count(), 1, "{begun}");
        assert_ne!(bind(), before, "the evidence is of the account as it was");
        assert_eq!(live(begin(journal, account(), &operator)).unwrap().unwrap()["began"], false);
        assert!(world.state().log.values().any(|line| line.contains("asked for by letter")));
        world.advance(Duration::from_secs(120));
        let ports = forgetting::Ports { journal, bridges, logs: &world, keys: &world };
        let report = live(forgetting::run(ports)).unwrap().unwrap();
        assert_eq!((report.due, report.failed), (1, 0));
        assert!(!world.state().accounts[&id].0.is_erasing());
    }
    #[test]
    fn somebody_with_a_bridge_and_no_account_can_be_erased() {
        let world = World::at(Timestamp::from_seconds(1_800_000_000));
        let journal = ChatJournal { store: &world, log: &world, alerts: &world, clock: &world };
        let bridges = BridgeJournal { store: &world, log: &world, alerts: &world, clock: &world };
        let id = SubscriberId::parse("a".repeat(64)).unwrap();
        let mut bridge = Bridge::new(id.clone());
        let memory = Account::new(id.clone()).memory();
        bridge.accept(&CURRENT_AGREEMENT, &memory, "person", Timestamp::from_seconds(0)).unwrap();
        live(bridges.store.save(&bridge, 0)).unwrap().unwrap();
        let operator = Operator::parse("dana", Some("asked for by letter")).unwrap();
        let account = live(found(journal, bridges, &id)).unwrap().unwrap();
        assert_eq!(live(begin(journal, account, &operator)).unwrap().unwrap()["began"], true);
        world.advance(Duration::from_secs(120));
        let ports = forgetting::Ports { journal, bridges, logs: &world, keys: &world };
        assert_eq!(live(forgetting::run(ports)).unwrap().unwrap().failed, 0);
        assert!(world.state().bridges[&id].0.acceptance().is_none());
    }
}
