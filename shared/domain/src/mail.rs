//! The customer's mails: the letters that a sale can send, the state of each mail, and its retries.

use crate::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

crate::enum_with_words! {
    /// The letters that a sale can send. Each is sent at most once.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Letter {
        /// The verdict.
        #[default]
        Verdict = "verdict",
        /// The notice that the submission did not arrive (Silent Drop, output 1).
        SilentDrop = "silent_drop",
        /// The notice that a regenerated verdict may differ from the mailed one (Regen Consistency, tertiary output).
        Divergence = "divergence",
        /// The notice of an automatic refund, or the sources of help after a possible disclosure of self-harm.
        Refund = "refund",
    }
    /// Its name in logs and lists.
    pub const fn as_str;
    /// Every letter.
    pub const ALL;
}

/// A mail draft in the mailbox. Only a recorded draft is ever sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// The mailbox's id of the draft; it becomes invalid when the draft is sent.
    pub id: String,
    /// The RFC 5322 message id, which survives sending.
    pub internet_message_id: String,
}

/// The results of the attempts so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The errors of the attempts, as short codes, oldest first.
    pub failures: Vec<String>,
    /// The draft to send, once it exists.
    pub draft: Option<Draft>,
    /// SHA-256 of the rendered mail: every attempt must produce the same bytes (Email Retry, VER-07).
    pub body_hash: Option<String>,
    /// When the last attempt failed, or until when the next one has to wait at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<Timestamp>,
    /// The time of the next scheduled attempt, once an early one has been made before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early: Option<Timestamp>,
    /// Whether the mail may have gone in the last attempt, or in an earlier one after which its draft could not be
    /// looked at. An attempt whose worker left a recorded draft without a result is one in which it may have gone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_have_gone: bool,
}

impl Progress {
    /// Whether an attempt before the scheduled time is allowed: at most one for each scheduled one, and never before
    /// the time until which the last failure has to wait.
    #[must_use]
    pub fn may_go_early(&self, now: Timestamp) -> bool {
        self.early.is_none() && self.failed_at.is_none_or(|failed_at| failed_at <= now)
    }
}

/// The state of a mail.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Mail {
    /// It has not been ordered yet.
    #[default]
    NotOrdered,
    /// The e-mail queue has the order.
    Ordered,
    /// One invocation has claimed it.
    Sending {
        /// The queue message of that invocation.
        owner: String,
        /// The end of the lease.
        lease_until: Timestamp,
        /// The results of earlier attempts.
        progress: Progress,
    },
    /// An attempt failed; the next one is due (Email Retry, INV-02).
    Retrying {
        /// When it is due.
        due: Timestamp,
        /// The results of earlier attempts.
        progress: Progress,
    },
    /// The mailbox accepted it.
    Sent {
        /// When.
        at: Timestamp,
    },
    /// The session has no address (Email Retry FM-06): the verdict is on the page only.
    NoAddress,
    /// Gate 2 holds it; a human decides.
    Held,
    /// A dead letter; an operator decides.
    Dead {
        /// When.
        at: Timestamp,
        /// The results of the attempts.
        progress: Progress,
    },
    /// It may or may not have been sent; a human decides, and it is not sent again.
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

    /// The results of its attempts, in the states that store them.
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

    pub(crate) const fn progress_mut(&mut self) -> Option<&mut Progress> {
        match self {
            Self::Sending { progress, .. } | Self::Retrying { progress, .. } | Self::Dead { progress, .. } => {
                Some(progress)
            }
            _ => None,
        }
    }

    /// Whether it has not been ordered.
    #[must_use]
    pub const fn is_not_ordered(&self) -> bool {
        matches!(self, Self::NotOrdered)
    }

    /// Whether a worker still has to send it.
    #[must_use]
    pub const fn is_pending(&self) -> bool {
        matches!(self, Self::Ordered | Self::Sending { .. } | Self::Retrying { .. })
    }
}

/// The code of the failure of a mail that no longer renders to the bytes of its first attempt. A redrive may render it
/// anew.
pub const CHANGED: &str = "changed";

/// Why an attempt at a mail failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// A short code: a status, `-1` for a broken connection, or a word.
    pub code: String,
    /// A sentence for the log and for operators.
    pub detail: String,
    /// Whether a later attempt may succeed (Email Retry, INV-05).
    pub retriable: bool,
    /// How long the next attempt has to wait at least: the mailbox asked us to, or may still be sending the mail.
    pub asked: Option<Duration>,
    /// Whether the mail may have gone already: then it does not become a dead letter.
    pub may_have_gone: bool,
    /// Whether a human must consent to the use of the mailbox again (Email Retry, FM-03).
    pub needs_consent: bool,
}

impl Failure {
    /// Whether the mailbox itself failed: it was unreachable, throttled or broken. A failure of another kind shows that
    /// it answers.
    #[must_use]
    pub const fn is_outage(&self) -> bool {
        self.retriable && !self.may_have_gone
    }
}

/// The consequence of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It is tried again at once, under the same claim.
    AtOnce,
    /// It is tried again at this time.
    At(Timestamp),
    /// It becomes a dead letter.
    Dead,
    /// It is not retried, and its delivery is unknown.
    Unknown,
}

/// The outcome that an operator found for a mail of unknown outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailOutcome {
    /// It was sent: it is in the sent-items folder, or the customer has it.
    Sent,
    /// It was not sent: it may be sent again.
    NotSent,
}

/// The retry schedule of a mail (Email Retry, INV-02).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailSchedule {
    /// The wait after the first failure, after the second, and so on. After the last retry the mail is dead.
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

/// A queue hides a waiting message for at most twelve hours, including the time at work.
const MAX_WAIT_SECONDS: u64 = 11 * 3600;

/// The message waits in its queue between the attempts, which moves it to the dead letters after 300 receives.
const MAX_WAITS: usize = 6;

impl MailSchedule {
    /// The spec's schedule: at once, after 5 minutes, 30 minutes and 2 hours.
    #[must_use]
    pub fn standard() -> Self {
        Self { waits: [0, 300, 1800, 7200].map(Duration::from_secs).into() }
    }

    /// One more attempt after a minute (Regen Consistency, failure mode 4).
    #[must_use]
    pub fn once_more() -> Self {
        Self { waits: vec![Duration::from_secs(60)] }
    }

    /// One more attempt immediately, for the smoke test, which has a minute only.
    #[must_use]
    pub fn at_once() -> Self {
        Self { waits: vec![Duration::ZERO] }
    }

    /// Parses seconds separated by commas, such as `0,300,1800,7200`.
    ///
    /// # Errors
    /// [`InvalidSchedule`].
    pub fn parse(text: &str) -> Result<Self, InvalidSchedule> {
        let wait = |part: &str| part.trim().parse().ok().filter(|seconds| *seconds <= MAX_WAIT_SECONDS);
        let waits: Option<Vec<Duration>> = text.split(',').map(|part| wait(part).map(Duration::from_secs)).collect();
        let waits = waits.ok_or(InvalidSchedule::Wait)?;
        if waits.len() > MAX_WAITS { Err(InvalidSchedule::Length) } else { Ok(Self { waits }) }
    }

    /// The wait after failure number `failures` (from 1), at least as long as the mailbox asked for; `None` when the
    /// mail becomes a dead letter.
    #[must_use]
    pub fn wait_after(&self, failures: usize, asked: Option<Duration>) -> Option<Duration> {
        let wait = self.waits.get(failures.checked_sub(1)?)?;
        Some((*wait).max(asked.unwrap_or_default()))
    }

    /// The consequence of failure number `failures` (from 1).
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

    #[test]
    fn the_longest_schedule_is_accepted() {
        assert!(MailSchedule::parse("0,1,2,3,4,39600").is_ok());
    }

    #[test]
    fn a_mail_that_may_have_gone_is_not_dead_when_its_attempts_end() {
        let failure = |retriable, may_have_gone| Failure {
            code: "503".into(),
            detail: String::new(),
            retriable,
            asked: None,
            may_have_gone,
            needs_consent: false,
        };
        let next =
            |failure: &Failure, failures| MailSchedule::standard().next(failure, failures, Timestamp::from_seconds(0));
        assert_eq!(next(&failure(true, false), 1), Next::AtOnce);
        assert_eq!(next(&failure(true, false), 2), Next::At(Timestamp::from_seconds(300)));
        assert_eq!(next(&failure(true, false), 5), Next::Dead);
        assert_eq!(next(&failure(false, false), 1), Next::Dead);
        assert_eq!(next(&failure(false, true), 1), Next::Unknown);
        let outages = [(true, false), (true, true), (false, false), (false, true)];
        assert_eq!(outages.map(|(retriable, gone)| failure(retriable, gone).is_outage()), [true, false, false, false]);
    }
}
