//! What the function remembers from one run to the next, and every decision on it: plain functions over plain data.
//!
//! A message is claimed here before anything is done about it, and each step is noted before the next one is taken.
//! The first save wins: of two runs that overlap, one finds that the other has the message.

use audit::sale_events::message_digest;
use domain::{
    Timestamp,
    inbox::{Arrival, Arrivals, ReceivedAt},
    sale::Draft,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// The seen list never has more entries (Inbox Watch, invariant 3).
pub(crate) const MOST_SEEN: usize = 500;

/// At most so many undated messages are remembered.
const MOST_UNDATED: usize = 500;

/// At most so many messages are worked on in one run; others wait for the next. The mailbox takes 30 mails a minute,
/// and customers' verdicts come first.
pub(crate) const MOST_AT_HAND: usize = 20;

/// A sender gets one acknowledgement in this time (Inbox Watch, G1).
pub(crate) const COOLDOWN: Duration = Duration::from_secs(24 * 3600);

/// At most so many senders get one in that time. A table's item has 400 KB, and no honest day has as many.
const MOST_ANSWERED: usize = 2_000;

/// So often is a message tried before it is tried without the step that may be to blame, or abandoned.
pub(crate) const MOST_FAILURES: u32 = 5;

/// What tells messages apart: when the mailbox received them, and their id there (Inbox Watch, G2 and G6).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Key {
    pub(crate) received_at: ReceivedAt,
    /// [`digest`] of the id.
    pub(crate) message: String,
}

/// What stands for a message's id in the log and in the seen list.
pub(crate) fn digest(id: &str) -> String {
    message_digest(id)
}

/// The run that works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Run {
    id: String,
    /// Until when nobody else may.
    until: Timestamp,
}

/// A message that is being worked on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AtHand {
    /// The mailbox's id of it.
    pub(crate) id: String,
    /// Whether operators were alerted to it.
    #[serde(rename = "told")]
    pub(crate) alerted: bool,
    /// Whether nobody looks any more for the sale that it may belong to: that has failed too often.
    #[serde(default)]
    pub(crate) unlinked: bool,
    /// Its acknowledgement, once it is to have one.
    pub(crate) answer: Option<Answer>,
    /// How often something about it failed since it came further.
    pub(crate) failures: u32,
}

/// An acknowledgement on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// The keyed hash of the sender's address.
    pub(crate) sender: String,
    /// The draft to be sent: only a recorded one ever is.
    pub(crate) draft: Option<Draft>,
}

/// The memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Memory {
    /// When it began; nothing before the first run.
    pub(crate) seeded_at: Option<Timestamp>,
    /// Whether `seen` also covers messages that staff had read. In a memory of an earlier version it does not.
    by_time: bool,
    run: Option<Run>,
    /// Messages that were taken up, ascending.
    pub(crate) seen: Vec<Key>,
    /// The latest entry that was dropped from `seen`: every message up to it counts as seen. Nothing here marks a
    /// message as read, so what is dropped would otherwise be new again.
    pub(crate) floor: Option<Key>,
    /// Digests of messages that bear no time (FM-5).
    undated: BTreeSet<String>,
    pub(crate) at_hand: Vec<AtHand>,
    /// When each sender was acknowledged last, by keyed hash.
    pub(crate) answered: BTreeMap<String, Timestamp>,
    /// The mailbox asked to be left alone until then.
    wait_until: Option<Timestamp>,
    /// The code of what does not work, once operators were alerted.
    pub(crate) trouble: Option<String>,
}

/// The answer to a run that wants to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// There is no memory: the unread messages are to be taken as seen.
    Seed,
    /// Go ahead.
    Go,
    /// Another run is at work (FM-8).
    Busy,
    /// The mailbox asked to be left alone (G4).
    Waiting,
}

/// Whether a sender may be acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claimed {
    /// Yes, and nobody else will for 24 hours.
    Granted,
    /// The sender was, within 24 hours.
    Cooldown,
    /// Too many were, within 24 hours.
    Full,
}

/// What follows a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// The next run tries again.
    Again,
    /// Operators do not know of the message yet, and that comes before all else.
    Untold,
    /// From here on nobody looks for the sale it may belong to.
    Unlinked,
    /// It is abandoned.
    TooOften,
}

/// How an acknowledgement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// As it should: sent, or not meant to be.
    Well,
    /// It was certainly not sent: the sender's next message may be acknowledged.
    NotSent,
}

impl Memory {
    /// Takes the right to work until `now + lease`.
    pub(crate) fn begin(&mut self, id: &str, now: Timestamp, lease: Duration) -> Begun {
        if self.run.as_ref().is_some_and(|run| run.until > now) {
            return Begun::Busy;
        }
        if self.wait_until.is_some_and(|until| until > now) {
            return Begun::Waiting;
        }
        // Every other decision relies on the order, and nobody vouches for what is stored.
        self.trim();
        self.count_by_time();
        self.wait_until = None;
        self.run = Some(Run { id: id.to_owned(), until: now.plus(lease) });
        if self.seeded_at.is_some() { Begun::Go } else { Begun::Seed }
    }

    /// Messages that were read before time alone distinguished them are not new now: everything up to the last one
    /// that was taken up counts as seen, or up to the first run where there was none.
    fn count_by_time(&mut self) {
        let Some(seeded_at) = self.seeded_at.filter(|_| !self.by_time) else { return };
        self.by_time = true;
        let whole_second = format!("{}Z", seeded_at.to_iso().get(..19).unwrap_or_default());
        let first_run = || {
            let received_at = ReceivedAt::parse(whole_second).ok()?;
            Some(Key { received_at, message: String::new() })
        };
        let last = self.seen.last().cloned().or_else(first_run);
        self.floor = self.floor.take().max(last);
    }

    /// Whether this run still has the right to work: one that outlived its lease may have been followed by another.
    pub(crate) fn is_run(&self, id: &str) -> bool {
        self.run.as_ref().is_some_and(|run| run.id == id)
    }

    /// Ends the run.
    pub(crate) fn end(&mut self, now: Timestamp, wait: Option<Duration>) {
        self.run = None;
        self.wait_until = wait.map(|wait| now.plus(wait));
        self.answered.retain(|_, at| at.plus(COOLDOWN) > now);
    }

    /// Takes the messages, newest first, as seen, without doing anything about them (Inbox Watch, invariant 2).
    pub(crate) fn seed(&mut self, unread: &Arrivals, now: Timestamp) {
        self.seeded_at = Some(now);
        self.by_time = true;
        for arrival in &unread.messages {
            self.remember(arrival);
        }
        self.trim();
        if unread.more {
            // There are older ones, which were not listed.
            self.floor = self.floor.take().max(self.seen.first().cloned());
        }
    }

    /// From when on messages are to be listed.
    pub(crate) fn since(&self) -> ReceivedAt {
        self.floor.as_ref().map_or_else(ReceivedAt::earliest, |floor| floor.received_at.clone())
    }

    /// Takes up the messages that are new, oldest first, as far as there is room. Returns how many.
    pub(crate) fn take(&mut self, unread: &Arrivals) -> usize {
        if !unread.more {
            // What is not in the inbox any more does not come again.
            let listed: BTreeSet<String> = unread.messages.iter().map(|arrival| digest(&arrival.id)).collect();
            self.undated.retain(|message| listed.contains(message));
        }
        let mut arrivals: Vec<&Arrival> = unread.messages.iter().filter(|arrival| !self.is_seen(arrival)).collect();
        // In the order of the seen list: whatever is dropped from it first was taken up first.
        arrivals.sort_by_cached_key(|arrival| (arrival.received_at.clone(), digest(&arrival.id)));
        arrivals.dedup();
        arrivals.truncate(MOST_AT_HAND.saturating_sub(self.at_hand.len()));
        for arrival in &arrivals {
            self.remember(arrival);
            self.at_hand.push(AtHand {
                id: arrival.id.clone(),
                alerted: false,
                unlinked: false,
                answer: None,
                failures: 0,
            });
        }
        self.trim();
        arrivals.len()
    }

    fn is_seen(&self, arrival: &Arrival) -> bool {
        match key(arrival) {
            Some(key) => {
                self.floor.as_ref().is_some_and(|floor| key <= *floor) || self.seen.binary_search(&key).is_ok()
            }
            // Where there is no room to remember it, it waits: better late than every two minutes.
            None => self.undated.contains(&digest(&arrival.id)) || self.undated.len() >= MOST_UNDATED,
        }
    }

    fn remember(&mut self, arrival: &Arrival) {
        match key(arrival) {
            Some(key) => {
                if let Err(place) = self.seen.binary_search(&key) {
                    self.seen.insert(place, key);
                }
            }
            None => drop(self.undated.insert(digest(&arrival.id))),
        }
    }

    /// Keeps the newest entries (V7).
    fn trim(&mut self) {
        self.seen.sort();
        self.seen.dedup();
        let excess = self.seen.len().saturating_sub(MOST_SEEN);
        let dropped = self.seen.drain(..excess).next_back();
        self.floor = self.floor.take().max(dropped);
    }

    /// A message that is being worked on.
    pub(crate) fn find(&self, id: &str) -> Option<&AtHand> {
        self.at_hand.iter().find(|at_hand| at_hand.id == id)
    }

    fn find_mut(&mut self, id: &str) -> Option<&mut AtHand> {
        self.at_hand.iter_mut().find(|at_hand| at_hand.id == id)
    }

    /// Records that operators were alerted to it.
    pub(crate) fn record_alert(&mut self, id: &str) {
        if let Some(at_hand) = self.find_mut(id) {
            // It has come further: it may fail as often again.
            (at_hand.alerted, at_hand.failures) = (true, 0);
        }
    }

    /// Takes the right to acknowledge a sender. An answer to a follow-up is counted by its sale, and due whether or not
    /// its sender was acknowledged today.
    pub(crate) fn claim_answer(&mut self, id: &str, sender: &str, is_counted: bool, now: Timestamp) -> Claimed {
        if self.find(id).is_some_and(|at_hand| at_hand.answer.is_some()) {
            // A run before this one did, and died.
            return Claimed::Granted;
        }
        self.answered.retain(|_, at| at.plus(COOLDOWN) > now);
        if !is_counted && self.answered.contains_key(sender) {
            return Claimed::Cooldown;
        }
        if !is_counted && self.answered.len() >= MOST_ANSWERED {
            return Claimed::Full;
        }
        self.answered.insert(sender.to_owned(), now);
        if let Some(at_hand) = self.find_mut(id) {
            at_hand.answer = Some(Answer { sender: sender.to_owned(), draft: None });
        }
        Claimed::Granted
    }

    /// Records the draft of an acknowledgement, unless there is one already. Whether it may be sent.
    pub(crate) fn drafted(&mut self, id: &str, draft: &Draft) -> bool {
        let answer = self.find_mut(id).and_then(|at_hand| at_hand.answer.as_mut());
        answer.is_some_and(|answer| *answer.draft.get_or_insert_with(|| draft.clone()) == *draft)
    }

    /// Counts a failure, and says what follows. After [`MOST_FAILURES`] the message is tried as often again without the
    /// step that may be to blame, and then it is abandoned.
    pub(crate) fn failed(&mut self, id: &str) -> Failed {
        let Some(at_hand) = self.find_mut(id) else { return Failed::Again };
        at_hand.failures += 1;
        if at_hand.failures < MOST_FAILURES {
            Failed::Again
        } else if !at_hand.alerted {
            Failed::Untold
        } else if !at_hand.unlinked && at_hand.answer.is_none() {
            (at_hand.unlinked, at_hand.failures) = (true, 0);
            Failed::Unlinked
        } else {
            Failed::TooOften
        }
    }

    /// Nothing is left to do about a message. Returns the sender's keyed hash where an acknowledgement was begun.
    pub(crate) fn finish(&mut self, id: &str, ended: Ended) -> Option<String> {
        let place = self.at_hand.iter().position(|at_hand| at_hand.id == id)?;
        let sender = self.at_hand.remove(place).answer?.sender;
        if ended == Ended::NotSent {
            self.answered.remove(&sender);
        }
        Some(sender)
    }
}

fn key(arrival: &Arrival) -> Option<Key> {
    Some(Key { received_at: arrival.received_at.clone()?, message: digest(&arrival.id) })
}

#[cfg(test)]
mod tests;
