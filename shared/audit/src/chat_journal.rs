//! The streams of the chat: those of accounts, subscribers and Bridges.

use crate::{
    record::{Body, Record},
    stream::{LoadsById, Stream, StreamStore},
    stream_journal::StreamJournal,
};
use domain::{
    Timestamp,
    chat::{Account, Bridge, Exchange, Subscriber},
    ports::{Bridges, ChatAccounts, Subscribers},
};
use serde_json::json;
use std::convert::Infallible;

/// The journal of chat accounts.
pub type ChatJournal<'a> = StreamJournal<'a, dyn ChatAccounts + 'a>;

/// The journal of subscribers.
pub type SubscriberJournal<'a> = StreamJournal<'a, dyn Subscribers + 'a>;

/// The journal of Bridges.
pub type BridgeJournal<'a> = StreamJournal<'a, dyn Bridges + 'a>;

impl Stream for Account {}

impl StreamStore for dyn ChatAccounts + '_ {
    type State = Account;
    type Beside = Infallible;
}

impl LoadsById for dyn ChatAccounts + '_ {}

impl Stream for Subscriber {}

impl StreamStore for dyn Subscribers + '_ {
    type State = Subscriber;
    type Beside = Infallible;
}

impl LoadsById for dyn Subscribers + '_ {}

impl Stream for Bridge {}

impl StreamStore for dyn Bridges + '_ {
    type State = Bridge;
    type Beside = Infallible;
}

impl LoadsById for dyn Bridges + '_ {}

/// Takes the evaluations of the account's claims that are over, as records: the claim's own invocation leaves none.
pub fn take_evaluation_records(
    account: &mut Account,
    now: Timestamp,
    why: &str,
    is_over: impl Fn(&Exchange) -> bool,
) -> Vec<Record> {
    let taken = account.take_evaluations(is_over).into_iter();
    let details = taken.map(|(id, evaluation)| json!({ "exchange": id, "authority": evaluation, "problem": why }));
    details.map(|details| Record::new(now, now, Body::AuthorityEvaluated { details })).collect()
}

/// Takes the evaluations of the claims whose process has ended, as records.
pub fn take_interrupted_records(account: &mut Account, now: Timestamp) -> Vec<Record> {
    take_evaluation_records(account, now, "its process ended", |exchange| !exchange.is_open(now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Change, ChatStatus};
    use domain::{audit_trail::Audited, chat::SubscriberId};
    use serde_json::Value;
    use testkit::{World, run};

    #[test]
    fn a_record_names_the_account_and_holds_no_text() {
        let now = Timestamp::from_millis(1_776_349_500_312);
        let world = World::at(now);
        let journal = ChatJournal { store: &world, log: &world, alerts: &world, clock: &world };
        let id = SubscriberId::parse("c".repeat(64)).unwrap();
        let account = run(journal.load(&id)).unwrap().unwrap();
        let declined = |_: &mut Account, now| {
            Change::recorded(vec![Record::chat(now, now, ChatStatus::Declined, json!({ "state": "BLOCKED" }))], ())
        };
        let committed = run(journal.commit(account, declined)).unwrap().unwrap();
        run(committed.settle()).unwrap();
        let state = world.state();
        let (key, line) = state.log.iter().next().unwrap();
        assert_eq!(*key, format!("2026-04-16/session/cs_chat_{}/000001.json", "c".repeat(64)));
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&line["event"], &line["status"]), (&json!("chat"), &json!("DECLINED")));
        assert_eq!(line["details"]["state"], "BLOCKED");
        assert!(state.accounts.values().all(|(account, _)| account.trail().outbox().is_empty()));
    }
}
