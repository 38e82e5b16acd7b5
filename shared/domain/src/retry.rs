//! The retries of a sale whose model call failed (infra/decisions/verdict-retry.md).

use crate::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The waits between the attempts at a verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryTable {
    /// The wait after the first failure, after the second, and so on.
    waits: Vec<Duration>,
    /// The largest part by which a wait is shortened, so that sales that failed together are spread.
    jitter: f64,
    /// The longest time that a sale waits for the model, including the time that its circuit is open.
    longest: Duration,
}

/// Why a table is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTable {
    /// A wait is not a number of seconds, or is longer than a sale waits in all.
    #[error("the waits are whole numbers of seconds from 1 to {MAX_WAIT_SECONDS}, separated by commas")]
    Wait,
    /// There are too many waits.
    #[error("a table has at most {MAX_WAITS} waits")]
    Length,
}

/// The longest time for all waits. A queue hides a waiting order for at most twelve hours, including the time at work.
const MAX_WAIT_SECONDS: u64 = 4 * 3600;

const MAX_WAITS: usize = 20;

/// The waits in seconds. The first four lead to the failures that open the circuit, even if there is only one sale;
/// from then on the circuit decides when a sale is retried.
const STANDARD: [u64; 9] = [15, 30, 60, 120, 300, 1200, 3600, 3600, 3600];

const JITTER: f64 = 0.2;

const LONGEST: Duration = Duration::from_secs(MAX_WAIT_SECONDS);

impl RetryTable {
    /// After 15 and 30 seconds, 1, 2, 5 and 20 minutes, then hourly; at most four hours in all.
    #[must_use]
    pub fn standard() -> Self {
        Self { waits: STANDARD.map(Duration::from_secs).into(), jitter: JITTER, longest: LONGEST }
    }

    /// No retry and no wait: for the smoke test, which has a minute only.
    #[must_use]
    pub const fn none() -> Self {
        Self { waits: Vec::new(), jitter: 0.0, longest: Duration::ZERO }
    }

    /// The first `count` waits, and at most `longest` in all: for tests that run every attempt.
    #[must_use]
    pub fn cut(mut self, count: usize, longest: Duration) -> Self {
        self.waits.truncate(count);
        Self { longest, ..self }
    }

    /// Parses seconds separated by commas.
    ///
    /// # Errors
    /// [`InvalidTable`].
    pub fn parse(text: &str) -> Result<Self, InvalidTable> {
        let wait = |part: &str| part.trim().parse().ok().filter(|seconds| (1..=MAX_WAIT_SECONDS).contains(seconds));
        let waits: Option<Vec<Duration>> = text.split(',').map(|part| wait(part).map(Duration::from_secs)).collect();
        let waits = waits.ok_or(InvalidTable::Wait)?;
        if waits.len() > MAX_WAITS { Err(InvalidTable::Length) } else { Ok(Self { waits, ..Self::standard() }) }
    }

    /// The wait after failure number `failures` (from 1); `fraction`, a random number from 0 to 1, shortens it by that
    /// part of the jitter. `None` after the last wait of the table.
    #[must_use]
    pub fn wait_after(&self, failures: u32, fraction: f64) -> Option<Duration> {
        let wait = self.waits.get(usize::try_from(failures).ok()?.checked_sub(1)?)?;
        Some(wait.mul_f64(1.0 - self.jitter * fraction.clamp(0.0, 1.0)))
    }

    /// When a sale that has waited since `since` has waited for the longest time.
    #[must_use]
    pub fn end(&self, since: Timestamp) -> Timestamp {
        since.plus(self.longest)
    }
}

/// Why no model may be called, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unavailable {
    /// Every circuit is open.
    CircuitOpen(Timestamp),
    /// A vendor asked for a delay.
    Delayed(Timestamp),
}

impl Unavailable {
    /// The time before which no model is called.
    #[must_use]
    pub const fn until(self) -> Timestamp {
        match self {
            Self::CircuitOpen(until) | Self::Delayed(until) => until,
        }
    }

    /// The same, with no call before the end of a vendor's delay.
    #[must_use]
    pub fn not_before(self, end: Option<Timestamp>) -> Self {
        end.filter(|end| *end > self.until()).map_or(self, Self::Delayed)
    }
}

/// A failed attempt at a verdict.
#[derive(Clone, Copy, Debug)]
pub struct FailedAttempt<'a> {
    /// The reason, for operators.
    pub reason: &'a str,
    /// When the first of the circuits lets a call through, if all are open.
    pub open_until: Option<Timestamp>,
    /// The end of the delay that a vendor asked for.
    pub not_before: Option<Timestamp>,
}

/// The wait of a sale for the model so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelWait {
    /// The start of the wait.
    pub since: Timestamp,
    /// The number of failed attempts at its verdict; the half-open call of an open circuit does not count.
    pub failures: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_waits_end_within_four_hours() {
        let table = RetryTable::standard();
        let waits: Vec<_> = (1..=9).map(|failures| table.wait_after(failures, 0.0).unwrap().as_secs()).collect();
        assert_eq!(waits, STANDARD);
        assert_eq!((table.wait_after(0, 0.0), table.wait_after(10, 0.0)), (None, None));
        assert!(Duration::from_secs(waits.iter().sum()) < LONGEST);
        assert_eq!(table.end(Timestamp::from_seconds(1)), Timestamp::from_seconds(4 * 3600 + 1));
    }

    #[test]
    fn jitter_shortens_a_wait_by_a_fifth_at_most() {
        let table = RetryTable::standard();
        assert_eq!(table.wait_after(3, 1.0), Some(Duration::from_secs(48)));
        assert_eq!(table.wait_after(3, 0.5), Some(Duration::from_secs(54)));
    }

    #[test]
    fn tables_that_a_sale_cannot_wait_for_are_refused() {
        let parsed = RetryTable::parse("60, 300").unwrap();
        assert_eq!((parsed.wait_after(2, 0.0), parsed.wait_after(3, 0.0)), (Some(Duration::from_secs(300)), None));
        assert!(RetryTable::parse("14400").is_ok(), "four hours");
        for text in ["", "0", "1,x", "14401"] {
            assert_eq!(RetryTable::parse(text), Err(InvalidTable::Wait), "{text}");
        }
        assert_eq!(RetryTable::parse(&["1"; 21].join(",")), Err(InvalidTable::Length));
    }
}
