//! Checks the stores: the erased memories after every step, and everything once the faults have ended.

use super::Checker;
use crate::chat::{
    people::{DISCLOSURE, word},
    promises::{Checked, Promise},
};
use domain::{
    audit_trail::Audited,
    chat::{BillingReport, FREE_EXCHANGES, SubscriberId},
};
use memory::{
    Digest, Handle,
    log::{self, Record},
};
use serde_json::Value;
use std::collections::BTreeMap;
use testkit::{World, world::State};

impl Checker {
    /// Checks that erasures end by the schedule alone: no request has arrived since the faults ended.
    pub(in crate::chat) fn erasures_ended(&self, world: &World) -> Checked {
        let state = world.state();
        let open = state.accounts.values().filter(|(account, _)| account.is_erasing()).count();
        Promise::Erased.require(open == 0, || format!("{open} erasures do not end by themselves"))
    }

    /// Checks the stores after the faults have ended and every person has called again.
    pub(in crate::chat) fn at_rest(&self, world: &World) -> Checked {
        let state = world.state();
        // Before the log, which has records of a Bridge whose save was lost.
        self.threads.at_rest(&state)?;
        // Before the checks below, which count the log's records.
        let damage = state.log_damage();
        Promise::Recorded.require(damage.is_empty(), || format!("the log is damaged: {damage:?}"))?;
        let records: Vec<Value> = state.log.values().filter_map(|line| serde_json::from_str(line).ok()).collect();
        for (person, subscriber) in self.subscribers.iter().enumerate() {
            let Some((account, _)) = state.accounts.get(subscriber) else { continue };
            let own = |status: &'static str| {
                let own = records.iter().filter(|record| record["session_id"] == account.stream());
                own.filter(move |record| record["event"] == "chat" && record["status"] == status)
            };
            let mut answered = BTreeMap::<u64, u32>::new();
            for record in own("ANSWERED") {
                *answered.entry(number(&record["details"]["exchange"])).or_default() += 1;
            }
            let twice = answered.iter().any(|(exchange, times)| *times > 1 && !self.wished.contains(exchange));
            Promise::Recorded.require(!twice, || format!("person {person} has two records of one reply"))?;
            let free = own("ANSWERED").filter(|record| record["details"]["plan"] == "free").count();
            let used = FREE_EXCHANGES - account.free_left();
            Promise::ThreeFree
                .require(free <= FREE_EXCHANGES as usize, || format!("person {person} got {free} free"))?;
            let text = || format!("person {person}: {used} are counted, {free} were answered");
            Promise::NotForNothing.require(free == used as usize, text)?;
            for exchange in self.left[person].replies.keys() {
                Promise::Recorded.require(answered.contains_key(exchange), || format!("{exchange} has no record"))?;
            }
            for exchange in answered.keys().filter(|exchange| !self.wished.contains(*exchange)) {
                let has_reply = self.left[person].replies.contains_key(exchange);
                let text = || format!("exchange {exchange} is counted, and nobody can read its reply");
                Promise::NotForNothing.require(has_reply, text)?;
            }
            Promise::Erased.require(!account.is_erasing(), || format!("an erasure of person {person} has no end"))?;
            let waiting = account.trail().outbox().len();
            Promise::Recorded.require(waiting == 0, || format!("{waiting} records of person {person} wait"))?;
            let unlogged = account.unlogged().count();
            Promise::NotForNothing.require(unlogged == 0, || format!("the memory lacks {unlogged} replies"))?;
            Self::generations(&state, account.memory().as_str())?;
        }
        for (exchange, tasks) in &self.evaluated {
            let is_its_own =
                |details: &Value| number(&details["exchange"]) == *exchange && details["authority"].is_object();
            let recorded = records.iter().filter(|record| is_its_own(&record["details"])).count();
            let text = || format!("exchange {exchange} has {} evaluations and {recorded} records of one", tasks.len());
            Promise::Recorded.require(recorded >= tasks.len(), text)?;
        }
        for (subscriber, (known, _)) in &state.subscribers {
            let waiting = known.trail().outbox().len();
            Promise::Recorded.require(waiting == 0, || format!("{waiting} records of {subscriber:?} wait"))?;
        }
        for (_, subscriber, report) in &state.billing {
            Self::reported(&state, subscriber, report)?;
        }
        let unknown = self.listed.difference(&self.known).next();
        Promise::PaidAccess
            .require(unknown.is_none(), || format!("a comparison did not find the paid invoice {unknown:?}"))?;
        self.alerted.at_rest(&state)?;
        self.sealed(&state)
    }

    /// Checks that a report of a subscription is stored, or a later one.
    pub(in crate::chat) fn reported(state: &State, subscriber: &SubscriberId, report: &BillingReport) -> Checked {
        let BillingReport::Subscription { id, state: reported } = report else { return Ok(()) };
        let known = state.subscribers.get(subscriber).map(|(known, _)| known.billing().subscriptions());
        let stored = known.and_then(|known| known.get(id));
        let is_latest = stored.is_some_and(|stored| stored.status.has_ended() || stored.at >= reported.at);
        Promise::Latest.require(is_latest, || format!("{stored:?} is stored after {reported:?}"))
    }

    /// Checks after every step that no earlier memory of a person has a key.
    pub(in crate::chat) fn keys(state: &State) -> Checked {
        for current in state.accounts.values().map(|(account, _)| account.memory()) {
            let Some((name, number)) = split(&current) else { continue };
            let is_earlier = |key: &&String| split(key).is_some_and(|(of, earlier)| of == name && earlier < number);
            let kept = state.memory_keys.keys().find(is_earlier);
            Promise::Erased.require(kept.is_none(), || format!("the key of an erased memory is stored: {kept:?}"))?;
        }
        Ok(())
    }

    /// Checks that each earlier memory of a person ends with its erasure.
    fn generations(state: &State, current: &str) -> Checked {
        let Some((name, number)) = split(current) else { return Ok(()) };
        for earlier in 0..number {
            let name = format!("{name}-{earlier}");
            let stored = state.memory_logs.get(&name).map_or(&[][..], Vec::as_slice);
            let records: Vec<Record> = stored
                .iter()
                .map(|record| Record {
                    seq: record.seq,
                    prev: Digest::from_bytes(record.prev),
                    hash: Digest::from_bytes(record.hash),
                    body: record.body.clone(),
                })
                .collect();
            let is_whole = Handle::parse(&name).is_ok_and(|campaign| log::verify(&campaign, &records).is_ok());
            let text = || format!("the log of memory {earlier} does not end with its erasure");
            Promise::Erased.require(is_whole && log::erasure_of(&records).is_some(), text)?;
        }
        Ok(())
    }

    fn sealed(&self, state: &State) -> Checked {
        let bodies: Vec<_> =
            state.memory_logs.values().flatten().map(|record| String::from_utf8_lossy(&record.body)).collect();
        let bridges: Vec<_> = state.bridges.values().map(|(bridge, _)| bridge).collect();
        let accounts: Vec<_> = state.accounts.values().map(|(account, _)| account).collect();
        let stored = format!(
            "{} {} {:?} {:?} {:?} {:?} {:?} {bodies:?}",
            serde_json::to_string(&accounts).unwrap_or_default(),
            serde_json::to_string(&bridges).unwrap_or_default(),
            state.beginnings.values(),
            state.logins,
            state.chat_sessions,
            state.log,
            state.alerts,
        );
        let words = self.owners.keys().find(|exchange| stored.contains(&word(**exchange)));
        Promise::Sealed.require(words.is_none(), || format!("a store has the words of exchange {words:?}"))?;
        Promise::Sealed.require(!stored.contains(DISCLOSURE), || "a store has the words of a disclosure".to_owned())?;
        Promise::Sealed.require(!stored.contains("gmail"), || "a store has an address".to_owned())
    }
}

/// A memory's name without its number, and its number.
fn split(memory: &str) -> Option<(&str, u32)> {
    let (name, number) = memory.rsplit_once('-')?;
    Some((name, number.parse().ok()?))
}

/// The number of an exchange's id.
fn number(found: &Value) -> u64 {
    let last = found.as_str().and_then(|text| text.rsplit('-').next());
    last.and_then(|digits| digits.parse().ok()).unwrap_or(u64::MAX)
}
