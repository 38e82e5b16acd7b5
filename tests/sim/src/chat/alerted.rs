//! Checks that operators are alerted about everything that waits for them: about what the audit log has a record of, and
//! about what only the rows show.

use super::promises::{Checked, Promise};
use domain::{Alert, chat::SubscriberId};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use testkit::world::State;

/// What the rows showed after some step: the operation of the alert, and the person.
#[derive(Debug, Default)]
pub(super) struct Alerted(BTreeSet<(&'static str, SubscriberId)>);

impl Alerted {
    /// Notes what the rows show.
    pub(super) fn step(&mut self, state: &State) {
        let doubled = state.subscribers.values().filter(|(known, _)| known.billing().going_on().count() > 1);
        self.0.extend(doubled.map(|(known, _)| ("TWO_SUBSCRIPTIONS", known.id().clone())));
    }

    /// Checks that each was alerted, after everything has been published.
    pub(super) fn at_rest(&self, state: &State) -> Checked {
        let mut due: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let records: Vec<Value> = state.log.values().filter_map(|line| serde_json::from_str(line).ok()).collect();
        for record in &records {
            if let (Some(operation), Some(who)) = (operation_of(record), person_of(record)) {
                *due.entry((operation, who)).or_default() += 1;
            }
        }
        for (operation, who) in &self.0 {
            due.entry((*operation, who.prefix())).or_insert(1);
        }
        for ((operation, who), times) in due {
            let alerts = raised(state).filter(|alert| is_about(alert, operation, who)).count();
            Promise::Alerted
                .require(alerts >= times, || format!("{operation} of {who}: {times} happened, {alerts} alerted"))?;
        }
        Ok(())
    }
}

/// Every alert. An alert that no topic accepts is in the function's log.
pub(super) fn raised(state: &State) -> impl Iterator<Item = &Alert> {
    state.alerts.iter().chain(&state.held_back_alerts).chain(&state.logged_alerts)
}

fn is_about(alert: &Alert, operation: &str, who: &str) -> bool {
    alert.parts().is_some_and(|parts| (parts.operation, parts.subject) == (operation, who))
}

/// The operation of the alert that comes with a record, if one does.
fn operation_of(record: &Value) -> Option<&'static str> {
    match (record["event"].as_str()?, record["details"]["step"].as_str(), record["change"].as_str()) {
        ("bridge", Some("accepted"), _) => Some("BRIDGE_ACCEPTED"),
        ("bridge", Some("message_posted"), _) => Some("BRIDGE_MESSAGE"),
        ("bridge", Some("letter_abandoned"), _) => Some("BRIDGE_LETTER"),
        ("subscription", _, Some("money_gone")) => Some("MONEY_GONE"),
        ("subscription", _, Some("money_back")) => Some("MONEY_BACK"),
        _ => None,
    }
}

/// The person of a record, as alerts name them: its stream's name ends with their id.
fn person_of(record: &Value) -> Option<&str> {
    record["session_id"].as_str()?.rsplit('_').next()?.get(..12)
}
