//! The customer's mails: what a sale can send, how far each mail has come, and when a failed one is tried again.

use crate::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What a sale can send. Each letter is sent at most once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Letter {
    /// The verdict.
    #[default]
    Verdict,
    /// That the submission did not arrive (Silent Drop, output 1).
    SilentDrop,
    /// That a regenerated verdict may differ from the mailed one (Regen Consistency, tertiary output).
    Divergence,
    /// That the money went back by itself.
    Refund,
}

impl Letter {
    /// Every letter.
    pub const ALL: [Self; 4] = [Self::Verdict, Self::SilentDrop, Self::Divergence, Self::Refund];

    /// Its name in logs and lists.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verdict => "verdict",
            Self::SilentDrop => "silent_drop",
            Self::Divergence => "divergence",
            Self::Refund => "refund",
        }
    }
}

/// A mail draft that the mailbox holds. Only a recorded draft is ever sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// The mailbox's id of the draft; it is gone once the draft is sent.
    pub id: String,
    /// The RFC 5322 message id, which survives sending.
    pub internet_message_id: String,
}

/// What the attempts so far have left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Why each attempt failed, as short codes, oldest first.
    pub failures: Vec<String>,
    /// The draft to send, once it exists.
    pub draft: Option<Draft>,
    /// SHA-256 of the rendered mail: every attempt must produce the same bytes (Email Retry, VER-07).
    pub body_hash: Option<String>,
}

/// How far a mail has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Mail {
    /// Nobody asked for it yet.
    #[default]
    NotOrdered,
    /// The e-mail queue has the order.
    Ordered,
    /// One invocation works on it.
    Sending {
        /// The queue message it works for.
        owner: String,
        /// Until when it has the right to.
        lease_until: Timestamp,
        /// What went before.
        progress: Progress,
    },
    /// An attempt failed; the next one is due (Email Retry, INV-02).
    Retrying {
        /// When.
        due: Timestamp,
        /// What went before.
        progress: Progress,
    },
    /// The mailbox accepted it.
    Sent {
        /// When.
        at: Timestamp,
    },
    /// The session has no address (Email Retry FM-06): the page is the only delivery.
    NoAddress,
    /// Gate 2 held it; a human decides.
    Held,
    /// A dead letter; an operator decides.
    Dead {
        /// When.
        at: Timestamp,
        /// What went before.
        progress: Progress,
    },
    /// It may or may not have been sent; a human decides, nobody sends it again.
    Unknown {
        /// When that was found.
        at: Timestamp,
    },
}

impl Mail {
    /// Its name in errors and in the table of [`crate::sale`].
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NotOrdered => "not ordered",
            Self::Ordered => "ordered",
            Self::Sending { .. } => "sending",
            Self::Retrying { .. } => "retrying",
            Self::Sent { .. } => "sent",
            Self::NoAddress => "without an address",
            Self::Held => "held",
            Self::Dead { .. } => "dead",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// What its attempts have left behind, where that is kept.
    #[must_use]
    pub const fn progress(&self) -> Option<&Progress> {
        match self {
            Self::Sending { progress, .. } | Self::Retrying { progress, .. } | Self::Dead { progress, .. } => {
                Some(progress)
            }
            Self::NotOrdered
            | Self::Ordered
            | Self::Sent { .. }
            | Self::NoAddress
            | Self::Held
            | Self::Unknown { .. } => None,
        }
    }

    /// Whether nobody asked for it.
    #[must_use]
    pub const fn is_not_ordered(&self) -> bool {
        matches!(self, Self::NotOrdered)
    }

    /// Whether it still has to be sent by somebody other than a human.
    #[must_use]
    pub const fn is_pending(&self) -> bool {
        matches!(self, Self::Ordered | Self::Sending { .. } | Self::Retrying { .. })
    }
}

/// Why an attempt at a mail failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// A short code: a status, `-1` for a broken connection, or a word.
    pub code: String,
    /// A sentence for the log and for operators.
    pub detail: String,
    /// Whether a later attempt may succeed (Email Retry, INV-05).
    pub retriable: bool,
    /// How long the mailbox asked us to wait.
    pub asked: Option<Duration>,
    /// Whether the mail may have gone already: then it does not become a dead letter.
    pub may_have_gone: bool,
}

/// What becomes of a mail after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It is tried again at once, under the same claim.
    AtOnce,
    /// It is tried again when it is due.
    At(Timestamp),
    /// It is a dead letter.
    Dead,
    /// It is not retried, and its delivery is unknown.
    Unknown,
}

/// What an operator found out about a mail of unknown outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It went: it is among the sent items, or the customer has it.
    Sent,
    /// It did not: it may be sent again.
    NotSent,
}

/// When a failed mail is tried again (Email Retry, INV-02).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailSchedule {
    /// The wait after the first failure, after the second, and so on. When they are used up the mail is dead.
    waits: Vec<Duration>,
}

/// Why a schedule is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSchedule {
    /// It has no wait, or too many.
    #[error("a schedule has 1 to {MAX_WAITS} waits")]
    Length,
    /// A wait is not a number of seconds up to eleven hours.
    #[error("a wait is a whole number of seconds from 0 to {MAX_WAIT_SECONDS}")]
    Wait,
}

/// A waiting message is hidden at most twelve hours by its queue, its time at work included.
const MAX_WAIT_SECONDS: u64 = 11 * 3600;

/// One attempt is one delivery of the message, and its queue gives it up after ten.
const MAX_WAITS: usize = 6;

impl MailSchedule {
    /// The spec's: at once, after 5 minutes, 30 minutes and 2 hours.
    #[must_use]
    pub fn standard() -> Self {
        Self { waits: [0, 300, 1800, 7200].map(Duration::from_secs).into() }
    }

    /// One more attempt after a minute (Regen Consistency, failure mode 4).
    #[must_use]
    pub fn once_more() -> Self {
        Self { waits: vec![Duration::from_secs(60)] }
    }

    /// One more attempt at once: for the smoke test, whose minute is over soon.
    #[must_use]
    pub fn at_once() -> Self {
        Self { waits: vec![Duration::ZERO] }
    }

    /// Reads seconds separated by commas, such as `0,300,1800,7200`.
    ///
    /// # Errors
    /// [`InvalidSchedule`].
    pub fn parse(text: &str) -> Result<Self, InvalidSchedule> {
        let wait = |part: &str| part.trim().parse().ok().filter(|seconds| *seconds <= MAX_WAIT_SECONDS);
        let waits: Option<Vec<Duration>> = text.split(',').map(|part| wait(part).map(Duration::from_secs)).collect();
        let waits = waits.ok_or(InvalidSchedule::Wait)?;
        if waits.len() > MAX_WAITS { Err(InvalidSchedule::Length) } else { Ok(Self { waits }) }
    }

    /// How many attempts follow the first one.
    #[must_use]
    pub fn retries(&self) -> usize {
        self.waits.len()
    }

    /// The wait after failure number `failures` (from 1), at least what the mailbox asked for; nothing when the
    /// mail is to become a dead letter.
    #[must_use]
    pub fn wait_after(&self, failures: usize, asked: Option<Duration>) -> Option<Duration> {
        let wait = self.waits.get(failures.checked_sub(1)?)?;
        Some((*wait).max(asked.unwrap_or_default()))
    }

    /// What follows failure number `failures` (from 1).
    #[must_use]
    pub fn next(&self, failure: &Failure, failures: usize, now: Timestamp) -> Next {
        let wait = if failure.retriable { self.wait_after(failures, failure.asked) } else { None };
        match wait {
            Some(wait) if wait.is_zero() => Next::AtOnce,
            Some(wait) => Next::At(now.plus(wait)),
            None if failure.may_have_gone => Next::Unknown,
            None => Next::Dead,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedule_is_that_of_the_spec() {
        let schedule = MailSchedule::standard();
        assert_eq!(MailSchedule::parse("0, 300,1800,7200"), Ok(schedule.clone()));
        let waits: Vec<_> = (0..6).map(|n| schedule.wait_after(n, None).map(|wait| wait.as_secs())).collect();
        assert_eq!(waits, [None, Some(0), Some(300), Some(1800), Some(7200), None]);
    }

    #[test]
    fn a_throttled_mail_waits_at_least_as_long_as_it_was_asked_to() {
        let schedule = MailSchedule::standard();
        let asked = Some(Duration::from_secs(120));
        assert_eq!(schedule.wait_after(1, asked), asked);
        assert_eq!(schedule.wait_after(2, asked), Some(Duration::from_secs(300)));
        assert_eq!(schedule.wait_after(5, asked), None);
    }

    #[test]
    fn schedules_that_the_queue_cannot_keep_are_refused() {
        assert_eq!(MailSchedule::parse(""), Err(InvalidSchedule::Wait));
        assert_eq!(MailSchedule::parse("1,-1"), Err(InvalidSchedule::Wait));
        assert_eq!(MailSchedule::parse("39601"), Err(InvalidSchedule::Wait));
        assert_eq!(MailSchedule::parse("1,2,3,4,5,6,7"), Err(InvalidSchedule::Length));
    }
}
