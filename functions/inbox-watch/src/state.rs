//! The function's saved state and every decision on it: plain functions over plain data.
//!
//! A message is claimed here before anything is done about it, and each step is saved before the next one begins. The
//! first save wins: of two overlapping runs, one finds that the other has claimed the message.
//!
//! The file has more than 300 lines because every decision is a method of the one saved state, whose private fields the
//! decisions keep consistent.

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

/// The most entries in the seen list (Inbox Watch, invariant 3).
pub(crate) const MOST_SEEN: usize = 500;

/// The most undated messages that are remembered.
const MOST_UNDATED: usize = 500;

/// The most messages in work in one run; others wait for the next run. The mailbox accepts 30 mails a minute, and
/// customers' verdicts come first.
pub(crate) const MAX_IN_WORK: usize = 20;

/// With more messages than this waiting for a later run, operators are alerted: the last one waits for ten minutes.
const MOST_WAITING: usize = 5 * MAX_IN_WORK;

/// A sender gets one acknowledgement in this time (Inbox Watch, G1).
pub(crate) const COOLDOWN: Duration = Duration::from_secs(24 * 3600);

/// The most senders that are acknowledged in that time. A table's item holds 400 KB, and a normal day has far fewer
/// senders.
const MOST_ANSWERED: usize = 2_000;

/// The most answers to a sender's disclosures in that time, so that two machines that answer each other come to an end.
const MOST_HELPED: usize = 5;

/// The most senders whose disclosures are answered in that time: the table's item has room for no more.
const MOST_DISCLOSING: usize = 300;

/// A message may be listed this much later than it was received, in milliseconds.
const MAX_LISTING_DELAY_MS: i64 = 600_000;

/// The number of attempts at a message, after which it is tried without the step that may be to blame, or abandoned.
pub(crate) const MOST_FAILURES: u32 = 5;

/// Identifies a message: the time when the mailbox received it, and its id there (Inbox Watch, G2 and G6).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Key {
    pub(crate) received_at: ReceivedAt,
    /// [`digest`] of the id.
    pub(crate) message: String,
}

/// Replaces a message's id in the log and in the seen list.
pub(crate) fn digest(id: &str) -> String {
    message_digest(id)
}

/// The run that holds the lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Run {
    id: String,
    /// The end of its lease.
    until: Timestamp,
    /// Whether the run before it crashed. Then this one saves each message before it handles it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    follows_dead: bool,
    /// The last message that this run or the crashed one before it began, until its failure is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    begun: Option<String>,
}

/// A message that is in work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MessageInWork {
    /// The mailbox's id of the message.
    pub(crate) id: String,
    /// Whether operators were alerted to it.
    #[serde(rename = "told")]
    pub(crate) alerted: bool,
    /// Whether the search for its sale has been abandoned, because it failed too often.
    #[serde(default)]
    pub(crate) unlinked: bool,
    /// Whether it may disclose self-harm, and this is recorded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    disclosed: bool,
    /// Whether that record is of its subject alone, because its text could not be read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    by_subject: bool,
    /// Whether only the announcement is missing, which failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) answered: bool,
    /// Its acknowledgement, once the right to send one is claimed.
    pub(crate) answer: Option<Answer>,
    /// The number of failures since its last successful step.
    pub(crate) failures: u32,
}

/// An acknowledgement that is in work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// The keyed hash of the sender's address.
    pub(crate) sender: String,
    /// The kind of answer. State saved by an earlier version does not have it.
    #[serde(default)]
    pub(crate) kind: Kind,
    /// When the sender was answered before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Timestamp>,
    /// When it was claimed, as `answered` and `helped` have it; `None` in state saved by an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claimed_at: Option<Timestamp>,
    /// The draft to send; only a recorded draft is ever sent.
    pub(crate) draft: Option<Draft>,
}

/// The function's saved state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct InboxState {
    /// The time of the first run; `None` before it.
    pub(crate) seeded_at: Option<Timestamp>,
    /// Whether `seen` also covers messages that staff had read. State saved by an earlier version does not.
    by_time: bool,
    run: Option<Run>,
    /// The messages that were taken into work, ascending.
    pub(crate) seen: Vec<Key>,
    /// The latest entry that was dropped from `seen`: every message up to it counts as seen. Nothing here marks a
    /// message as read, so what is dropped would otherwise be new again.
    pub(crate) floor: Option<Key>,
    /// Digests of messages without a time (Inbox Watch, FM-5).
    undated: BTreeSet<String>,
    pub(crate) at_hand: Vec<MessageInWork>,
    /// When each sender was last answered, by the keyed hash of the address.
    pub(crate) answered: BTreeMap<String, Timestamp>,
    /// When each sender's disclosures were answered, by the keyed hash of the address.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    helped: BTreeMap<String, Vec<Timestamp>>,
    /// The mailbox asked us not to call before this time.
    wait_until: Option<Timestamp>,
    /// The code of the current failure, once operators were alerted to it.
    pub(crate) trouble: Option<String>,
    /// Whether operators were alerted to messages that wait, and some still do.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_backlog: bool,
}

/// The reply to a run that asks for the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// There is no saved state: the messages in the inbox count as seen.
    Seed,
    /// The run may work.
    Go,
    /// Another run holds the lease (Inbox Watch, FM-8).
    Busy,
    /// The mailbox asked us to wait (Inbox Watch, G4).
    Waiting,
}

/// What a message is answered with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// The usual acknowledgement: one for a sender in 24 hours.
    #[default]
    Acknowledgement,
    /// The answer to a follow-up. The sale limits these.
    Followup,
    /// Sources of help after a disclosure of self-harm: one for each message, at most [`MOST_HELPED`] for a sender in 24
    /// hours.
    Help,
}

/// Whether a sender may be acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claimed {
    /// Yes, and no acknowledgement follows for 24 hours.
    Granted,
    /// No: the sender has had all answers of this kind for 24 hours.
    Cooldown,
    /// No: too many senders were acknowledged within the last 24 hours.
    Full,
}

/// The consequence of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// The next run tries again.
    Again,
    /// Operators have not been alerted to the message yet, and that comes first.
    NotAlerted,
    /// The search for its sale ends.
    Unlinked,
    /// The message is abandoned.
    TooOften,
}

/// Which part of a disclosure is not recorded yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewDisclosure {
    /// All of it.
    Message,
    /// Its text: its subject alone is recorded.
    Text,
    /// Nothing.
    Nothing,
}

/// How an acknowledgement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// As intended: sent, or not to be sent.
    Well,
    /// Certainly not sent: it does not count for the sender's next message.
    NotSent,
    /// The message is no longer in the inbox.
    Gone,
}

impl InboxState {
    /// Takes the lease until `now + lease`.
    pub(crate) fn begin(&mut self, id: &str, now: Timestamp, lease: Duration) -> Begun {
        if self.run.as_ref().is_some_and(|run| run.until > now) {
            return Begun::Busy;
        }
        if self.wait_until.is_some_and(|until| until > now) {
            return Begun::Waiting;
        }
        // Every other decision relies on the order of the seen list, and the stored list may be unsorted.
        self.trim();
        self.count_by_time();
        self.wait_until = None;
        // A run that ends clears itself.
        let dead = self.run.take();
        let follows_dead = dead.is_some();
        let begun = dead.and_then(|dead| dead.begun);
        self.run = Some(Run { id: id.to_owned(), until: now.plus(lease), follows_dead, begun });
        if self.seeded_at.is_some() { Begun::Go } else { Begun::Seed }
    }

    /// Migrates the state of a version that distinguished messages by being unread. Messages that staff had read by
    /// then are not new: every message up to the last one taken into work, or else up to the first run, counts as seen.
    fn count_by_time(&mut self) {
        let Some(seeded_at) = self.seeded_at.filter(|_| !self.by_time) else { return };
        self.by_time = true;
        let last = self.seen.last().cloned().or_else(|| start_of_second(seeded_at));
        self.floor = self.floor.take().max(last);
    }

    /// Whether this run still holds the lease: after its lease has expired, another run may hold it.
    pub(crate) fn is_run(&self, id: &str) -> bool {
        self.run.as_ref().is_some_and(|run| run.id == id)
    }

    /// Whether the previous run died. A message may have killed it, so this run saves which message it begins.
    pub(crate) fn follows_dead_run(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.follows_dead)
    }

    /// The message with which the run before this one died, at the start of a run.
    pub(crate) fn fatal_message(&self) -> Option<&str> {
        self.run.as_ref()?.begun.as_deref()
    }

    /// Records the message that the run begins.
    pub(crate) fn begin_message(&mut self, id: &str) {
        if let Some(run) = &mut self.run {
            run.begun = Some(id.to_owned());
        }
    }

    /// The ids of the messages in work, those with the fewest failures first: a message that fails, or kills the
    /// process, delays no other.
    pub(crate) fn in_order(&self) -> Vec<String> {
        let mut ordered: Vec<&MessageInWork> = self.at_hand.iter().collect();
        ordered.sort_by_key(|at_hand| at_hand.failures);
        ordered.into_iter().map(|at_hand| at_hand.id.clone()).collect()
    }

    /// Ends the run.
    pub(crate) fn end(&mut self, now: Timestamp, wait: Option<Duration>) {
        self.run = None;
        self.wait_until = wait.map(|wait| now.plus(wait));
        self.forget(now);
    }

    /// Removes the answers that limit nothing any more.
    fn forget(&mut self, now: Timestamp) {
        let is_recent = |at: &Timestamp| at.plus(COOLDOWN) > now;
        self.answered.retain(|_, at| is_recent(at));
        self.helped.retain(|_, helped| {
            helped.retain(is_recent);
            !helped.is_empty()
        });
    }

    /// Marks the messages, newest first, as seen without acting on them (Inbox Watch, invariant 2). An older message
    /// that is moved into the inbox later counts as seen too; one that is still on its way is new.
    pub(crate) fn seed(&mut self, unread: &Arrivals, now: Timestamp) {
        self.seeded_at = Some(now);
        self.by_time = true;
        for arrival in &unread.messages {
            self.remember(arrival);
        }
        self.trim();
        let earliest = Timestamp::from_millis(now.as_millis().saturating_sub(MAX_LISTING_DELAY_MS));
        self.floor = self.floor.take().max(start_of_second(earliest));
        if unread.more {
            // Older messages exist and were not listed.
            self.floor = self.floor.take().max(self.seen.first().cloned());
        }
    }

    /// The time from which messages are listed.
    pub(crate) fn since(&self) -> ReceivedAt {
        self.floor.as_ref().map_or_else(ReceivedAt::earliest, |floor| floor.received_at.clone())
    }

    /// Takes new messages into work, oldest first, as far as there is room. Returns their number.
    pub(crate) fn take(&mut self, unread: &Arrivals) -> usize {
        if !unread.more {
            // A message that is no longer in the inbox does not return.
            let listed: BTreeSet<String> = unread.messages.iter().map(|arrival| digest(&arrival.id)).collect();
            self.undated.retain(|message| listed.contains(message));
        }
        let mut arrivals: Vec<&Arrival> = unread.messages.iter().filter(|arrival| !self.is_seen(arrival)).collect();
        // Sorted like the seen list: an entry that is dropped from it first was taken into work first.
        arrivals.sort_by_cached_key(|arrival| (arrival.received_at.clone(), digest(&arrival.id)));
        arrivals.dedup();
        arrivals.truncate(MAX_IN_WORK.saturating_sub(self.at_hand.len()));
        for arrival in &arrivals {
            self.remember(arrival);
            self.at_hand.push(MessageInWork {
                id: arrival.id.clone(),
                alerted: false,
                unlinked: false,
                disclosed: false,
                by_subject: false,
                answered: false,
                answer: None,
                failures: 0,
            });
        }
        self.trim();
        arrivals.len()
    }

    /// Counts the messages that wait for a later run. If operators must learn of a change, returns whether a backlog has
    /// begun, as opposed to ended.
    pub(crate) fn update_backlog(&mut self, unread: &Arrivals) -> Option<bool> {
        let waiting = unread.messages.iter().filter(|arrival| !self.is_seen(arrival)).count();
        let has_backlog = if self.has_backlog { waiting > 0 } else { waiting > MOST_WAITING };
        (std::mem::replace(&mut self.has_backlog, has_backlog) != has_backlog).then_some(has_backlog)
    }

    fn is_seen(&self, arrival: &Arrival) -> bool {
        match key(arrival) {
            Some(key) => {
                self.floor.as_ref().is_some_and(|floor| key <= *floor) || self.seen.binary_search(&key).is_ok()
            }
            // Without room to remember it, the message waits: late is better than once every two minutes.
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

    /// Keeps the newest entries (Inbox Watch, V7).
    fn trim(&mut self) {
        self.seen.sort();
        self.seen.dedup();
        let excess = self.seen.len().saturating_sub(MOST_SEEN);
        let dropped = self.seen.drain(..excess).next_back();
        self.floor = self.floor.take().max(dropped);
    }

    /// The message with this id, if it is in work.
    pub(crate) fn find(&self, id: &str) -> Option<&MessageInWork> {
        self.at_hand.iter().find(|at_hand| at_hand.id == id)
    }

    fn find_mut(&mut self, id: &str) -> Option<&mut MessageInWork> {
        self.at_hand.iter_mut().find(|at_hand| at_hand.id == id)
    }

    /// Records that operators were alerted to a message. That ends the work on one that is answered.
    pub(crate) fn record_alert(&mut self, id: &str) {
        self.at_hand.retain(|at_hand| at_hand.id != id || !at_hand.answered);
        if let Some(at_hand) = self.find_mut(id) {
            // The message has progressed, so the count of failures restarts.
            (at_hand.alerted, at_hand.failures) = (true, 0);
        }
    }

    /// Records that a message may disclose self-harm, by its subject alone or also by its text. Returns which part is
    /// new.
    pub(crate) fn record_disclosure(&mut self, id: &str, by_subject: bool) -> NewDisclosure {
        let Some(at_hand) = self.find_mut(id) else { return NewDisclosure::Nothing };
        if !std::mem::replace(&mut at_hand.disclosed, true) {
            at_hand.by_subject = by_subject;
            NewDisclosure::Message
        } else if at_hand.by_subject && !by_subject {
            at_hand.by_subject = false;
            NewDisclosure::Text
        } else {
            NewDisclosure::Nothing
        }
    }

    /// Whether a message whose text cannot be read may be handled without it: once its acknowledgement is claimed, and
    /// otherwise at the last attempt. There it has to be announced, because failures before that were not the text's
    /// alone, unless its subject discloses self-harm. Sources of help are selected by the text; at the last attempt
    /// such a subject selects them instead.
    pub(crate) fn may_lack_text(&self, id: &str, subject_discloses: bool) -> bool {
        self.find(id).is_some_and(|at_hand| {
            let is_last = at_hand.failures + 1 >= MOST_FAILURES;
            let is_given_up = at_hand.unlinked || ((at_hand.alerted || subject_discloses) && is_last);
            match at_hand.answer.as_ref().map(|answer| answer.kind) {
                Some(Kind::Help) => subject_discloses && is_given_up,
                Some(Kind::Acknowledgement | Kind::Followup) => true,
                None => is_given_up,
            }
        })
    }

    /// Claims the right to answer a sender. Only an acknowledgement waits until the one before it is a day old.
    pub(crate) fn claim_answer(&mut self, id: &str, sender: &str, kind: Kind, now: Timestamp) -> Claimed {
        if self.find(id).is_some_and(|at_hand| at_hand.answer.is_some()) {
            // An earlier run claimed it and crashed.
            return Claimed::Granted;
        }
        self.forget(now);
        match kind {
            Kind::Acknowledgement if self.answered.contains_key(sender) => return Claimed::Cooldown,
            Kind::Acknowledgement if self.answered.len() >= MOST_ANSWERED => return Claimed::Full,
            Kind::Acknowledgement | Kind::Followup => {}
            Kind::Help if self.helped.get(sender).is_some_and(|helped| helped.len() >= MOST_HELPED) => {
                return Claimed::Cooldown;
            }
            Kind::Help if !self.helped.contains_key(sender) && self.helped.len() >= MOST_DISCLOSING => {
                return Claimed::Full;
            }
            Kind::Help => self.helped.entry(sender.to_owned()).or_default().push(now),
        }
        let before = self.answered.insert(sender.to_owned(), now);
        if let Some(at_hand) = self.find_mut(id) {
            let (sender, claimed_at) = (sender.to_owned(), Some(now));
            at_hand.answer = Some(Answer { sender, kind, before, claimed_at, draft: None });
        }
        Claimed::Granted
    }

    /// Records the draft of an acknowledgement, unless one is recorded already. Returns whether this draft may be sent.
    pub(crate) fn drafted(&mut self, id: &str, draft: &Draft) -> bool {
        let answer = self.find_mut(id).and_then(|at_hand| at_hand.answer.as_mut());
        answer.is_some_and(|answer| *answer.draft.get_or_insert_with(|| draft.clone()) == *draft)
    }

    /// Counts a failure, a death of its run only once, and returns its consequence. After [`MOST_FAILURES`] the message
    /// is tried as often again without the step that may be to blame, and then it is abandoned. A claimed answer still
    /// needs these steps until its draft is recorded.
    pub(crate) fn failed(&mut self, id: &str) -> Failed {
        // A run that dies before it begins a message says nothing against the one that was begun before it.
        if let Some(run) = self.run.as_mut().filter(|run| run.begun.as_deref() == Some(id)) {
            run.begun = None;
        }
        let Some(at_hand) = self.find_mut(id) else { return Failed::Again };
        at_hand.failures += 1;
        if at_hand.failures < MOST_FAILURES {
            Failed::Again
        } else if !at_hand.alerted {
            Failed::NotAlerted
        } else if !at_hand.unlinked && at_hand.answer.as_ref().is_none_or(|answer| answer.draft.is_none()) {
            (at_hand.unlinked, at_hand.failures) = (true, 0);
            Failed::Unlinked
        } else {
            Failed::TooOften
        }
    }

    /// Removes a message from the work, unless its announcement is still missing (Inbox Watch, invariant 6). Returns the
    /// sender's keyed hash if an acknowledgement was begun.
    pub(crate) fn finish(&mut self, id: &str, ended: Ended) -> Option<String> {
        let place = self.at_hand.iter().position(|at_hand| at_hand.id == id)?;
        let at_hand = &mut self.at_hand[place];
        let answer = at_hand.answer.take();
        if at_hand.alerted || ended == Ended::Gone {
            self.at_hand.remove(place);
        } else {
            at_hand.answered = true;
        }
        let answer = answer?;
        // Only a recorded draft is ever sent.
        if ended == Ended::NotSent || answer.draft.is_none() {
            self.undo_claim(&answer);
        }
        Some(answer.sender)
    }

    /// Undoes the claim of an answer that is not sent. The claim of a later answer to the same sender stays.
    fn undo_claim(&mut self, answer: &Answer) {
        let Answer { sender, kind, before, claimed_at, draft: _ } = answer;
        let latest = self.answered.get(sender).copied();
        // An answer of an earlier version counts as the latest one to its sender.
        let Some(claimed_at) = claimed_at.or(latest) else { return };
        if latest == Some(claimed_at) {
            match before {
                Some(before) => drop(self.answered.insert(sender.clone(), *before)),
                None => drop(self.answered.remove(sender)),
            }
        }
        // The later answer may be undone too.
        let in_work = self.at_hand.iter_mut().filter_map(|at_hand| at_hand.answer.as_mut());
        for later in in_work.filter(|it| it.sender == *sender && it.before == Some(claimed_at)) {
            later.before = *before;
        }
        if *kind == Kind::Help
            && let Some(helped) = self.helped.get_mut(sender)
        {
            helped.retain(|at| *at != claimed_at);
        }
    }
}

/// A key before those of all messages of this second.
fn start_of_second(at: Timestamp) -> Option<Key> {
    let received_at = ReceivedAt::parse(format!("{}Z", at.to_iso().get(..19)?)).ok()?;
    Some(Key { received_at, message: String::new() })
}

fn key(arrival: &Arrival) -> Option<Key> {
    Some(Key { received_at: arrival.received_at.clone()?, message: digest(&arrival.id) })
}

#[cfg(test)]
mod tests;
