//! The progress of comparing the log with its digests again: some objects every hour, restarting with the first digest
//! after the last one. Plain data; `audit-digest` does the reading.

use crate::stream::stream_of;
use domain::{SessionId, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The most bad records that are remembered by key. The function's whole state is one item of the table, which holds
/// 400 KB; 100 keys have 10 KB.
const MOST_KNOWN: usize = 100;

/// The saved state of the comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Recheck {
    /// The next digest; 0 when a new round begins.
    pub next: u64,
    /// When this round began.
    pub begun_at: Option<Timestamp>,
    /// Whether this round has found a bad object, or one that could not be read.
    pub is_bad: bool,
    /// The start of the last complete round in which every object matched its digest.
    pub sound_at: Option<Timestamp>,
    /// Keys that do not match their digests, and that operators were alerted to; the first ones, if there are many.
    pub known: BTreeSet<String>,
}

/// The result of comparing a part of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Keys of objects, or of digests, that do not match what was signed.
    pub bad: BTreeSet<String>,
    /// Keys that match.
    pub good: BTreeSet<String>,
    /// Keys that could not be read. Nothing is known of them, so the round is not sound.
    pub unread: BTreeSet<String>,
}

/// The changes to alert operators to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Bad keys that operators do not know of.
    pub bad: Vec<String>,
    /// Keys that match again after they were reported as bad.
    pub good_again: Vec<String>,
}

impl Recheck {
    /// Where to continue: a new round if the last one has ended.
    #[must_use]
    pub fn from(&self, head: u64, now: Timestamp) -> Self {
        if self.next == 0 || self.next > head {
            // This includes objects that were compared an hour ago: a log that fits into one run is compared whole in
            // each run.
            return Self { next: 1, begun_at: Some(now), is_bad: false, ..self.clone() };
        }
        self.clone()
    }

    /// Remembers keys that operators are alerted to, as long as there is room. The others are announced again whenever
    /// they are compared.
    pub fn remember<'a>(&mut self, keys: impl IntoIterator<Item = &'a String>) {
        for key in keys {
            if self.known.len() < MOST_KNOWN {
                self.known.insert(key.clone());
            }
        }
    }

    /// Adds the result of comparing the digests before `next`; `head` is the number of the last digest.
    pub fn take_in(&mut self, compared: &Compared, next: u64, head: u64) -> Changes {
        let mut changes = Changes::default();
        self.is_bad |= !compared.unread.is_empty();
        for key in &compared.bad {
            self.is_bad = true;
            if !self.known.contains(key) {
                changes.bad.push(key.clone());
                self.remember([key]);
            }
        }
        // A key in two digests is bad if it does not match either.
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

/// A readable name for a record. A sale's record is named by the sale's reference, because the whole session id opens
/// the verdict's page.
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

/// The first five names, and how many more there are.
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
        let bad = Compared { bad: set(&["b"]), good: set(&["a"]), ..Compared::default() };
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
        let mut check = check.from(2, Timestamp::from_seconds(3));
        let unread = Compared { unread: set(&["c"]), ..good };
        assert_eq!((check.take_in(&unread, 3, 2), check.sound_at), (Changes::default(), Some(later)), "nobody saw it");
    }

    #[test]
    fn a_record_is_named_without_its_whole_session() {
        assert_eq!(name_of("2026-11-22/session/cs_live_a1B2c3D4e5F6/000003.json"), "2026-11-22 sale c3D4e5F6 record 3");
        assert_eq!(name_of("2026-11-22/function/reconcile/000010.json"), "2026-11-22 reconcile record 10");
        let many: Vec<String> = (1..8).map(|n| format!("2026-11-22/function/x/{n:06}.json")).collect();
        assert!(names(&many).ends_with(" and 2 more"));
    }
}
