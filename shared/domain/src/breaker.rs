//! The circuit breaker of a model or of the mailbox: one row each, shared by every running instance of a function (Gemini
//! Timeout, invariants 5 and 7). The row survives restarts (Gemini Timeout, GAP-02C).

mod caller;
mod gauge;
mod update;

use crate::Timestamp;
pub use caller::Caller;
pub use gauge::Gauged;
use serde::{Deserialize, Serialize};
use std::time::Duration;
pub use update::update;

/// The name of the mailbox's row. [`Caller::circuit`] gives the name of a model's row.
pub const MAILBOX: &str = "mailbox";

/// When the breaker opens and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// Consecutive final failures that open it (`GEMINI_CIRCUIT_OPEN_THRESHOLD`, 5).
    pub failures: u32,
    /// Consecutive successes slower than `slow` that open it (Gemini Timeout, GAP-02B).
    pub slow_successes: u32,
    /// A success that takes longer than this is slow.
    pub slow: Duration,
    /// How long it stays open (`GEMINI_OPEN_DURATION_MS`, 60 s) before the first half-open call. If such a call has no
    /// result after three times as long, another one is admitted.
    pub open: Duration,
    /// How long it stays open after a failed half-open call: a fraction of the outage so far, within limits, so that
    /// recovery after a short outage is fast and a long outage costs few calls.
    pub reopen: Reopen,
}

/// How long a breaker stays open after a half-open call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reopen {
    /// The time since it opened first is divided by this.
    pub divisor: u32,
    /// The shortest wait.
    pub least: Duration,
    /// The longest wait.
    pub most: Duration,
}

impl Reopen {
    /// A thirtieth of the outage, from 20 s to 5 min.
    pub const STANDARD: Self = Self { divisor: 30, least: Duration::from_secs(20), most: Duration::from_secs(300) };

    fn after(&self, outage: Duration) -> Duration {
        (outage / self.divisor.max(1)).clamp(self.least, self.most)
    }
}

/// The state of one model's breaker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    /// Consecutive final failures.
    pub failures: u32,
    /// Consecutive slow successes.
    pub slow_successes: u32,
    /// When it last opened, if it is not closed.
    pub opened_at: Option<Timestamp>,
    /// When it first opened, while half-open calls keep failing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_since: Option<Timestamp>,
    /// When the half-open call was admitted.
    pub probing_since: Option<Timestamp>,
    /// When it last closed after it was open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
}

/// Whether a call may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Closed: call.
    Call,
    /// Half open, and this is the one call; the breaker must be saved before it is made.
    Probe,
    /// Open: do not call before this moment.
    Refuse(Timestamp),
}

impl Breaker {
    /// Asks to make a call. Exactly one caller gets [`Admission::Probe`], provided that the breaker is saved on
    /// condition of its version.
    pub fn admit(&mut self, now: Timestamp, policy: &BreakerPolicy) -> Admission {
        if let Some(until) = self.refuses_until(now, policy) {
            return Admission::Refuse(until);
        }
        if self.opened_at.is_none() {
            return Admission::Call;
        }
        self.probing_since = Some(now);
        Admission::Probe
    }

    /// The time until which no call is admitted; `None` when one is.
    #[must_use]
    pub fn refuses_until(&self, now: Timestamp, policy: &BreakerPolicy) -> Option<Timestamp> {
        let opened_at = self.opened_at?;
        let reopens = opened_at.plus(match self.open_since {
            Some(since) if since < opened_at => policy.reopen.after(opened_at.since(since)),
            _ => policy.open,
        });
        if reopens > now {
            return Some(reopens);
        }
        // The half-open call ends, unless its process has crashed.
        let probing = self.probing_since.filter(|since| since.plus(policy.open.saturating_mul(3)) > now);
        probing.map(|_| self.look_again(now, policy))
    }

    /// When to look again while another caller makes the half-open call. Its result comes soon: after half the time that
    /// a failed one would keep the breaker open, at most `least`, because a message can be received only so often in a
    /// long outage.
    #[must_use]
    pub fn look_again(&self, now: Timestamp, policy: &BreakerPolicy) -> Timestamp {
        let outage = self.open_since.map_or(Duration::ZERO, |since| now.since(since));
        now.plus((policy.reopen.after(outage) / 2).min(policy.reopen.least))
    }

    /// Records that a call failed with all its attempts; `is_probe` says whether it was admitted as the half-open call.
    /// While the breaker is open, the failure of any other call changes nothing: it was admitted before the breaker
    /// opened, and says nothing new about the outage. Returns true when this opened the breaker.
    pub fn failed(&mut self, is_probe: bool, now: Timestamp, policy: &BreakerPolicy) -> bool {
        let is_open = self.opened_at.is_some();
        if is_open && !(is_probe && self.probing_since.is_some()) {
            return false;
        }
        self.slow_successes = 0;
        self.failures = self.failures.saturating_add(1);
        self.probing_since = None;
        let opens = is_open || self.failures >= policy.failures;
        if opens {
            self.open_since.get_or_insert(now);
            self.opened_at = Some(now);
        }
        opens && !is_open
    }

    /// Records that a call succeeded. Returns true when this opened the breaker because calls have become slow.
    pub fn succeeded(&mut self, took: Duration, now: Timestamp, policy: &BreakerPolicy) -> bool {
        self.failures = 0;
        if self.opened_at.take().is_some() {
            self.closed_at = Some(now);
        }
        self.open_since = None;
        self.probing_since = None;
        if took < policy.slow {
            self.slow_successes = 0;
            return false;
        }
        self.slow_successes = self.slow_successes.saturating_add(1);
        if self.slow_successes < policy.slow_successes {
            return false;
        }
        self.slow_successes = 0;
        self.opened_at = Some(now);
        self.open_since = Some(now);
        true
    }

    /// Records that the service answered, even if the answer was of no use for this call (it refused the question, or
    /// the model does not exist): this is not an outage. After a half-open call the breaker closes; a closed one stays
    /// unchanged.
    pub fn answered(&mut self) {
        if self.probing_since.is_some() {
            *self = Self::default();
        }
    }

    /// Records that the half-open call was not made: the next caller makes it.
    pub fn not_asked(&mut self) {
        self.probing_since = None;
    }

    /// Whether it is closed, and the last call did not fail.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        Self { closed_at: None, ..self.clone() } == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: BreakerPolicy = BreakerPolicy {
        failures: 5,
        slow_successes: 3,
        slow: Duration::from_secs(40),
        open: Duration::from_secs(60),
        reopen: Reopen::STANDARD,
    };

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn open() -> Breaker {
        let mut breaker = Breaker::default();
        for second in 0..5 {
            assert_eq!(breaker.failed(false, at(second), &POLICY), second == 4);
        }
        breaker
    }

    #[test]
    fn it_opens_after_the_fifth_failure_in_a_row_and_not_before() {
        let mut breaker = Breaker::default();
        for second in 0..4 {
            breaker.failed(false, at(second), &POLICY);
        }
        assert_eq!(breaker.admit(at(5), &POLICY), Admission::Call);
        breaker.succeeded(Duration::from_secs(1), at(5), &POLICY);
        assert!(breaker.is_fresh(), "a success resets the count");
        breaker.failed(false, at(6), &POLICY);
        assert!(!breaker.is_fresh() && !open().is_fresh());
        assert_eq!(open().admit(at(63), &POLICY), Admission::Refuse(at(64)));
    }

    #[test]
    fn calls_that_take_as_long_as_the_limit_are_slow() {
        let opens = |took| {
            let mut breaker = Breaker::default();
            (0..3).any(|second| breaker.succeeded(took, at(second), &POLICY))
        };
        assert!(opens(POLICY.slow) && !opens(POLICY.slow - Duration::from_millis(1)));
    }

    #[test]
    fn half_open_lets_exactly_one_call_through() {
        let mut breaker = open();
        assert_eq!(breaker.admit(at(64), &POLICY), Admission::Probe);
        assert_eq!(breaker.admit(at(64), &POLICY), Admission::Refuse(at(74)));
        let mut failed = breaker.clone();
        failed.failed(true, at(70), &POLICY);
        assert_eq!(failed.admit(at(89), &POLICY), Admission::Refuse(at(90)), "open for another 20 seconds");
        assert_eq!(failed.admit(at(90), &POLICY), Admission::Probe);
        breaker.succeeded(Duration::from_secs(1), at(70), &POLICY);
        assert_eq!(breaker.admit(at(70), &POLICY), Admission::Call);
    }

    /// A call admitted before the circuit opened neither shortens the minute nor ends another caller's half-open call.
    #[test]
    fn a_late_failure_changes_nothing_while_it_is_open() {
        let mut breaker = open();
        for is_probe in [false, true] {
            assert!(!breaker.failed(is_probe, at(5), &POLICY));
            assert_eq!(breaker.refuses_until(at(6), &POLICY), Some(at(64)));
        }
        assert_eq!(breaker, open());
        assert_eq!(breaker.admit(at(64), &POLICY), Admission::Probe);
        let probed = breaker.clone();
        breaker.failed(false, at(65), &POLICY);
        assert_eq!(breaker, probed);
        breaker.failed(true, at(70), &POLICY);
        assert_eq!(breaker.refuses_until(at(70), &POLICY), Some(at(90)));
    }

    /// After a short outage calls resume 20 seconds after its end; after a long one, after a thirtieth of it, at most
    /// five minutes.
    #[test]
    fn the_longer_the_outage_the_longer_it_stays_open_after_a_failed_probe() {
        let mut breaker = open();
        for (fails_at, reopens_at) in [(64, 84), (604, 624), (3_604, 3_724), (36_004, 36_304)] {
            breaker.probing_since = Some(at(fails_at - 1));
            breaker.failed(true, at(fails_at), &POLICY);
            assert_eq!(breaker.refuses_until(at(fails_at), &POLICY), Some(at(reopens_at)));
        }
        breaker.succeeded(Duration::from_secs(1), at(40_000), &POLICY);
        assert!(breaker.is_fresh());
    }

    /// A short outage ends fast, and a long one costs a waiting message few receives.
    #[test]
    fn the_longer_the_outage_the_later_others_look_again() {
        let mut breaker = open();
        for (probed_at, looks_at) in [(64, 74), (604, 614), (904, 919), (1_204, 1_224), (36_004, 36_024)] {
            breaker.probing_since = Some(at(probed_at));
            assert_eq!(breaker.refuses_until(at(probed_at), &POLICY), Some(at(looks_at)));
        }
    }

    #[test]
    fn a_probe_whose_process_died_does_not_keep_it_open_for_ever() {
        let mut breaker = open();
        assert_eq!(breaker.admit(at(64), &POLICY), Admission::Probe);
        assert_eq!(breaker.admit(at(243), &POLICY), Admission::Refuse(at(253)));
        assert_eq!(breaker.admit(at(244), &POLICY), Admission::Probe);
    }

    #[test]
    fn a_probe_that_was_answered_or_not_made_does_not_keep_it_half_open() {
        let mut answered = open();
        answered.answered();
        assert_eq!(answered, open(), "nobody's probe: still open");
        assert_eq!(answered.admit(at(64), &POLICY), Admission::Probe);
        let mut not_asked = answered.clone();
        answered.answered();
        assert!(answered.is_fresh());
        not_asked.not_asked();
        assert_eq!(not_asked.admit(at(65), &POLICY), Admission::Probe);
    }

    #[test]
    fn slow_successes_open_it_too() {
        let mut breaker = Breaker::default();
        let slow = Duration::from_secs(41);
        assert!(!breaker.succeeded(slow, at(0), &POLICY) && !breaker.succeeded(slow, at(1), &POLICY));
        assert!(breaker.succeeded(slow, at(2), &POLICY));
        assert_eq!(breaker.admit(at(3), &POLICY), Admission::Refuse(at(62)));
    }
}
