//! A counted question.

use crate::Timestamp;
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

/// How long an id stays known as unknown, and for how long questions are counted together.
pub(super) const WINDOW: Duration = Duration::from_secs(60);

/// How much is counted within a window at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For one group.
    pub of_group: u32,
    /// For all groups.
    pub in_all: u32,
    /// The count of a question about a known id that strangers can have at no cost.
    pub free: u32,
}

impl Limits {
    /// Of one group this many unknown ids (up to 10 million), three times as many questions at once, or thirty times as many
    /// known ids that cost nothing; of all ten times as many.
    #[must_use]
    pub const fn of_unknown_ids(count: u32) -> Self {
        let of_group = count * CountedQuestion::UNKNOWN;
        Self { of_group, in_all: 10 * of_group, free: 1 }
    }
}

/// One question, in the window and for the group in which it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedQuestion {
    /// The kind of id and the minute.
    pub window: String,
    /// The group of the client's network. With one of 256 groups, no address is stored; another minute groups anew.
    pub group: u8,
    /// When the count can be deleted: late enough for a process whose clock is late.
    pub until: Timestamp,
    /// The limits of its window.
    pub limits: Limits,
}

impl CountedQuestion {
    /// The count of a question without an answer.
    pub const OPEN: u32 = 10;
    /// The count of an unknown id.
    pub const UNKNOWN: u32 = 30;

    pub(super) fn new(kind: &str, limits: Limits, network: Option<&str>, now: Timestamp) -> Self {
        let minute = now.as_seconds() / 60;
        // All processes run the same build, so they compute the same group.
        let mut hasher = DefaultHasher::new();
        (minute, network).hash(&mut hasher);
        let [group, ..] = hasher.finish().to_be_bytes();
        Self { window: format!("{kind}/{minute}"), group, until: now.plus(WINDOW).plus(WINDOW), limits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_window_is_a_minute_whose_counts_outlive_it_and_whose_groups_are_its_own() {
        let at = |seconds| {
            CountedQuestion::new(
                "sale",
                Limits::of_unknown_ids(3),
                Some("203.0.113.0/24"),
                Timestamp::from_seconds(seconds),
            )
        };
        assert_eq!((at(119).window.as_str(), at(120).window.as_str()), ("sale/1", "sale/2"));
        assert_eq!(at(119).until, Timestamp::from_seconds(119 + 120));
        assert_eq!(at(60).group, at(119).group);
        let groups: BTreeSet<u8> = (0..100).map(|minute| at(60 * minute).group).collect();
        assert!(groups.len() > 50, "another minute groups anew");
        let group = |network: &str| {
            CountedQuestion::new("sale", Limits::of_unknown_ids(3), Some(network), Timestamp::from_seconds(60)).group
        };
        let groups: BTreeSet<u8> = (0..100).map(|network| group(&format!("203.0.{network}.0/24"))).collect();
        assert!(groups.len() > 50);
    }
}
