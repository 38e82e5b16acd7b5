//! The streams of the chat: those of accounts, subscribers and Bridges.

use crate::{
    stream::{LoadsById, Stream, StreamStore},
    stream_journal::StreamJournal,
};
use domain::{
    chat::{Account, Bridge, Subscriber},
    ports::{Bridges, ChatAccounts, Subscribers},
};

/// The journal of chat accounts.
pub type ChatJournal<'a> = StreamJournal<'a, dyn ChatAccounts + 'a>;

/// The journal of subscribers.
pub type SubscriberJournal<'a> = StreamJournal<'a, dyn Subscribers + 'a>;

/// The journal of Bridges.
pub type BridgeJournal<'a> = StreamJournal<'a, dyn Bridges + 'a>;

impl Stream for Account {}

impl StreamStore for dyn ChatAccounts + '_ {
    type State = Account;
}

impl LoadsById for dyn ChatAccounts + '_ {}

impl Stream for Subscriber {}

impl StreamStore for dyn Subscribers + '_ {
    type State = Subscriber;
}

impl LoadsById for dyn Subscribers + '_ {}

impl Stream for Bridge {}

impl StreamStore for dyn Bridges + '_ {
    type State = Bridge;
}

impl LoadsById for dyn Bridges + '_ {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Change, ChatStatus, Record};
    use domain::{Timestamp, audit_trail::Audited, chat::SubscriberId};
    use serde_json::{Value, json};
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
