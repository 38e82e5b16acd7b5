//! How far the log is compared again with what its digests said of it: some of it every hour, and again from the first
//! digest when the last one was reached. Plain data; `audit-digest` does the reading.

use crate::stream::stream_of;
use domain::{SessionId, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// So many bad records are remembered by their keys.
const MOST_KNOWN: usize = 100;

/// What is remembered of the comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Recheck {
    /// The digest that comes next; 0 where a new round begins.
    pub next: u64,
    /// When this round began.
    pub begun_at: Option<Timestamp>,
    /// Whether this round met with anything bad.
    pub is_bad: bool,
    /// When the last round began in which everything was as its digest says, to the end.
    pub sound_at: Option<Timestamp>,
    /// Keys that are not as their digests say and that operators were alerted to.
    pub known: BTreeSet<String>,
}

/// What a part of the log turned out to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Keys, or digests, that are not as they were signed.
    pub bad: BTreeSet<String>,
    /// Keys that are.
    pub good: BTreeSet<String>,
}

/// What operators are to hear.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Bad, and new to them.
    pub bad: Vec<String>,
    /// As they were signed, and reported as bad before.
    pub good_again: Vec<String>,
}

impl Recheck {
    /// Where to go on: a new round where the last one has ended.
    #[must_use]
    pub fn from(&self, head: u64, now: Timestamp) -> Self {
        if self.next == 0 || self.next > head {
            // Also what was compared an hour ago: a log that fits into one run is compared whole by each.
            return Self { next: 1, begun_at: Some(now), is_bad: false, ..self.clone() };
        }
        self.clone()
    }

    /// Takes in what was compared, up to before `next`, of digests up to `head`.
    pub fn take_in(&mut self, compared: &Compared, next: u64, head: u64) -> Changes {
        let mut changes = Changes::default();
        for key in &compared.bad {
            self.is_bad = true;
            if !self.known.contains(key) {
                changes.bad.push(key.clone());
                if self.known.len() < MOST_KNOWN {
                    self.known.insert(key.clone());
                }
            }
        }
        // A key that two digests name is bad where either says so.
        for key in compared.good.difference(&compared.bad) {
            if self.known.remove(key) {
                changes.good_again.push(key.clone());
            }
        }
        let is_end = next > head;
        self.next = if is_end { 0 } else { next };
        if is_end && !self.is_bad {
            self.sound_at = self.begun_at;
        }
        changes
    }
}

/// A record's name for people. A sale's has its reference: the whole session id opens the verdict's page.
#[must_use]
pub fn name_of(key: &str) -> String {
    let (stream, number) = (stream_of(key), key.rsplit('/').next().unwrap_or_default());
    let number = number.trim_end_matches(".json").trim_start_matches('0');
    let mut parts = stream.splitn(3, '/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(day), Some("session"), Some(session)) => {
            let reference = SessionId::parse(session).map_or_else(|_| "-".to_owned(), |id| id.reference().to_owned());
            format!("{day} sale {reference} record {number}")
        }
        (Some(day), Some(_), Some(subject)) => format!("{day} {subject} record {number}"),
        _ => key.chars().take(40).collect(),
    }
}

/// Some names, and how many more there are.
#[must_use]
pub fn names<'a>(keys: impl IntoIterator<Item = &'a String>) -> String {
    let all: Vec<String> = keys.into_iter().map(|key| name_of(key)).collect();
    let more = all.len().saturating_sub(5);
    let some = all.into_iter().take(5).collect::<Vec<_>>().join(", ");
    if more == 0 { some } else { format!("{some} and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(keys: &[&str]) -> BTreeSet<String> {
        keys.iter().map(|key| (*key).to_owned()).collect()
    }

    #[test]
    fn a_round_is_sound_only_where_nothing_in_it_was_bad() {
        let (now, later) = (Timestamp::from_seconds(1), Timestamp::from_seconds(2));
        let mut check = Recheck::default().from(2, now);
        assert_eq!((check.next, check.begun_at), (1, Some(now)));
        assert_eq!(check.take_in(&Compared { good: set(&["a"]), ..Compared::default() }, 2, 2), Changes::default());
        assert_eq!((check.sound_at, check.from(2, later).begun_at), (None, Some(now)), "the round goes on");
        let bad = Compared { bad: set(&["b"]), good: set(&["a"]) };
        assert_eq!(check.take_in(&bad, 3, 2).bad, ["b"]);
        assert_eq!(check.sound_at, None);
        let mut check = check.from(2, later);
        assert_eq!((check.next, check.begun_at, check.is_bad), (1, Some(later), false));
        assert_eq!(check.take_in(&bad, 2, 2).bad, [""; 0], "operators know");
        let mut check = check.from(2, later);
        let good = Compared { good: set(&["a", "b"]), ..Compared::default() };
        assert_eq!(check.take_in(&good, 3, 2).good_again, ["b"], "the original was put back");
        let mut check = check.from(2, later);
        check.take_in(&good, 3, 2);
        assert_eq!((check.sound_at, check.known.len()), (Some(later), 0));
    }

    #[test]
    fn a_record_is_named_without_its_whole_session() {
        assert_eq!(name_of("2026-11-22/session/cs_live_a1B2c3D4e5F6/000003.json"), "2026-11-22 sale c3D4e5F6 record 3");
        assert_eq!(name_of("2026-11-22/function/reconcile/000010.json"), "2026-11-22 reconcile record 10");
        let many: Vec<String> = (1..8).map(|n| format!("2026-11-22/function/x/{n:06}.json")).collect();
        assert!(names(&many).ends_with(" and 2 more"));
    }
}
