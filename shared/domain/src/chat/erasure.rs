//! An erasure of a memory that has begun and not ended. The call that began it usually ends it; after a crash the
//! schedule finishes it.

use crate::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The call that began the erasure has this long. It exceeds the chat function's time-out (28 s).
const FIRST: Duration = Duration::from_secs(120);

/// The longest wait between two attempts.
const LONGEST: Duration = Duration::from_secs(3600);

/// Operators are alerted after this many failed attempts, and again after each [`REPEATED`] more.
const ALERTED: u32 = 3;
const REPEATED: u32 = 24;

/// An erasure under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erasure {
    since: Timestamp,
    attempts: u32,
    due: Timestamp,
}

impl Erasure {
    /// An erasure that begins now.
    #[must_use]
    pub fn begun(now: Timestamp) -> Self {
        Self { since: now, attempts: 0, due: now.plus(FIRST) }
    }

    /// When it began.
    #[must_use]
    pub const fn since(&self) -> Timestamp {
        self.since
    }

    /// When the schedule tries to finish it.
    #[must_use]
    pub const fn due(&self) -> Timestamp {
        self.due
    }

    /// Counts the schedule's attempt before it is made, and doubles the wait for the next one. Returns the number of
    /// earlier attempts, all of which failed.
    pub fn attempt(&mut self, now: Timestamp) -> u32 {
        let failed = self.attempts;
        self.attempts += 1;
        self.due = now.plus((FIRST * 2_u32.saturating_pow(self.attempts.min(10))).min(LONGEST));
        failed
    }

    /// Whether operators are alerted after this many failed attempts.
    #[must_use]
    pub const fn is_alerted(failed: u32) -> bool {
        failed >= ALERTED && (failed - ALERTED).is_multiple_of(REPEATED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_rarer_with_time_and_alerts_rarer_still() {
        let at = Timestamp::from_seconds;
        let mut erasure = Erasure::begun(at(0));
        assert_eq!((erasure.since(), erasure.due()), (at(0), at(120)));
        let waits: Vec<_> = (0..7).map(|n| (erasure.attempt(at(n)), erasure.due().as_seconds() - n)).collect();
        assert_eq!(waits, [(0, 240), (1, 480), (2, 960), (3, 1920), (4, 3600), (5, 3600), (6, 3600)]);
        let alerted: Vec<u32> = (0..60).filter(|failed| Erasure::is_alerted(*failed)).collect();
        assert_eq!(alerted, [3, 27, 51]);
    }
}
