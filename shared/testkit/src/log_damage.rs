//! Verifies the whole log of a [`State`], as `oracle audit verify` verifies that of a deployment.

use crate::world::State;
use audit_verify::{
    functions::{Day, Days, verify_days},
    stream::{Finding, Object, StoredHead, function_of_stream, stream_of, verify_stream},
};
use domain::audit_trail::{Audited, stream_of_note};
use serde_json::json;
use std::collections::BTreeMap;

impl State {
    /// The first bad record of each bad stream: of sales, purchases, accounts, subscribers, Bridges and functions. A
    /// record that waits in its state counts as published, so a log that is late has no damage.
    #[must_use]
    pub fn log_damage(&self) -> Vec<Finding> {
        let mut streams = Streams { log: self.log.clone(), heads: BTreeMap::new() };
        streams.add(self.sales.values().map(|(sale, _)| sale));
        streams.add(self.purchases.values().map(|(purchase, _)| purchase));
        streams.add(self.accounts.values().map(|(account, _)| account));
        streams.add(self.subscribers.values().map(|(subscriber, _)| subscriber));
        streams.add(self.bridges.values().map(|(bridge, _)| bridge));
        let Streams { log, heads } = streams;
        // A stream of which the log has nothing is verified too.
        let mut objects: BTreeMap<&str, Vec<Object>> =
            heads.keys().map(|stream| (stream.as_str(), Vec::new())).collect();
        for (key, line) in &log {
            objects.entry(stream_of(key)).or_default().push((key.clone(), format!("{line}\n").into_bytes()));
        }
        let mut functions: BTreeMap<&str, Days> = self.notes.keys().map(|name| (name.as_str(), Days::new())).collect();
        let mut found = Vec::new();
        for (stream, objects) in objects {
            match function_of_stream(stream) {
                Some(name) => {
                    functions.entry(name).or_default().insert(stream.to_owned(), Day::Objects(objects));
                }
                None => found.extend(verify_stream(stream, &objects, heads.get(stream)).err()),
            }
        }
        for (name, days) in functions {
            let stored = self.notes.get(name).and_then(|(document, _)| StoredHead::of_note(document));
            found.extend(verify_days(name, &days, stored.as_ref(), true));
        }
        found
    }

    /// The functions' notes among these names with records that wait to be published.
    pub fn waiting_notes(&self, names: impl Iterator<Item = &'static str>) -> impl Iterator<Item = &'static str> {
        names.filter(move |name| {
            let waiting = self.notes.get(*name).and_then(|(document, _)| stream_of_note(document));
            waiting.is_some_and(|(_, waiting)| !waiting.is_empty())
        })
    }
}

/// The records and the heads of all streams but those of functions.
struct Streams {
    log: BTreeMap<String, String>,
    heads: BTreeMap<String, StoredHead>,
}

impl Streams {
    fn add<'s, S: Audited>(&mut self, states: impl Iterator<Item = &'s S>) {
        for state in states {
            let Some(head) = state.trail().head() else { continue };
            for entry in state.trail().outbox() {
                self.log.entry(entry.key.clone()).or_insert_with(|| entry.line.clone());
            }
            // Without the waiting records, which are added to the log here, so that their links are verified too.
            let stored = StoredHead::of_note(&json!({ "head": head }).to_string());
            let stream = format!("{}/session/{}", head.opened, state.stream());
            self.heads.extend(stored.map(|stored| (stream, stored)));
        }
    }
}
