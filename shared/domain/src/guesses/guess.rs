//! A counted question.

use crate::Timestamp;
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

/// How long an id stays known as unknown, and for how long questions are counted together.
pub(super) const WINDOW: Duration = Duration::from_secs(60);

/// One question, in the window and for the group in which it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guess {
    /// The kind of id and the minute.
    pub window: String,
    /// The group of the client's network. With one of 256 groups, no address is stored; another minute groups anew.
    pub group: u8,
    /// When the count can be deleted: late enough for a process whose clock is late.
    pub until: Timestamp,
}

impl Guess {
    /// The count of a question without an answer.
    pub const OPEN: u32 = 1;
    /// The count of an unknown id.
    pub const UNKNOWN: u32 = 3;
    /// The limit of one group within a window: three unknown ids, or nine questions at once.
    pub const MOST_OF_GROUP: u32 = 3 * Self::UNKNOWN;
    /// The limit of all groups within a window: thirty unknown ids, or ninety questions at once.
    pub const MOST: u32 = 30 * Self::UNKNOWN;

    pub(super) fn new(kind: &str, network: Option<&str>, now: Timestamp) -> Self {
        let minute = now.as_seconds() / 60;
        // All processes run the same build, so they compute the same group.
        let mut hasher = DefaultHasher::new();
        (minute, network).hash(&mut hasher);
        let [group, ..] = hasher.finish().to_be_bytes();
        Self { window: format!("{kind}/{minute}"), group, until: now.plus(WINDOW).plus(WINDOW) }
    }
}
