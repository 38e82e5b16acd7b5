//! Computes the wait before the next attempt: data in, a duration out.

use std::time::Duration;

/// Exponential backoff with full jitter (Gemini Timeout, invariant 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The number of attempts, including the first (Gemini Timeout, invariant 2: 3, a hard limit).
    pub attempts: u32,
    /// The longest wait after the first attempt; it doubles with every further attempt.
    pub base: Duration,
    /// The longest wait.
    pub cap: Duration,
}

impl Backoff {
    /// The wait after attempt `attempt` (from 1) failed, or `None` when there is no further attempt.
    /// `jitter` is drawn from 0.0 to 1.0 by the caller: `base × 2^(attempt−1)`, capped, times jitter.
    #[must_use]
    pub fn wait_after(&self, attempt: u32, jitter: f64) -> Option<Duration> {
        if attempt >= self.attempts {
            return None;
        }
        let factor = 2u32.saturating_pow(attempt.saturating_sub(1));
        Some(self.base.saturating_mul(factor).min(self.cap).mul_f64(jitter.clamp(0.0, 1.0)))
    }
}

/// How long a message is hidden after its work failed, by the number of its receives: doubling, up to 45 seconds, so
/// that its sale is delivered within a minute after an outage of ten minutes ends.
const REDELIVERY: Backoff = Backoff { attempts: u32::MAX, base: Duration::from_secs(2), cap: Duration::from_secs(45) };

/// After this many receives (a quarter of an hour) the message is hidden for longer, so that during a lasting failure
/// it stays in its queue for hours (the queues' `maxReceiveCount`).
const REDELIVERY_STAYS: (u32, Duration) = (30, Duration::from_secs(60));

/// After this many deliveries with failures, which take about ten minutes, an operator should look at the message. SQS
/// itself no longer reports the age of a message that was received three times.
pub const KEEPS_FAILING: u32 = 20;

/// How long a message stays hidden after its work failed at delivery number `receives`. `jitter`, a random number from
/// 0.0 to 1.0, decides the second half of the wait: messages that failed together are spread, and none comes back
/// immediately.
#[must_use]
pub fn redelivery_wait(receives: u32, jitter: f64) -> Duration {
    let (stays, cap) = REDELIVERY_STAYS;
    let longest =
        if receives > stays { cap } else { REDELIVERY.wait_after(receives.max(1), 1.0).unwrap_or(REDELIVERY.cap) };
    longest.mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEMINI: Backoff = Backoff { attempts: 3, base: Duration::from_secs(1), cap: Duration::from_secs(8) };

    #[test]
    fn waits_double_up_to_the_cap_and_end() {
        assert_eq!(GEMINI.wait_after(1, 1.0), Some(Duration::from_secs(1)));
        assert_eq!(GEMINI.wait_after(2, 1.0), Some(Duration::from_secs(2)));
        assert_eq!(GEMINI.wait_after(2, 0.0), Some(Duration::ZERO));
        assert_eq!(GEMINI.wait_after(3, 1.0), None);
        let long = Backoff { attempts: 100, ..GEMINI };
        assert_eq!(long.wait_after(60, 1.0), Some(Duration::from_secs(8)));
        assert_eq!(long.wait_after(60, 7.0), Some(Duration::from_secs(8)));
    }

    #[test]
    fn a_message_is_hidden_longer_the_oftener_it_came_and_never_longer_than_a_minute() {
        let waits: Vec<_> =
            [0, 1, 2, 5, 6, 30, 31, 300].map(|receives| redelivery_wait(receives, 1.0).as_secs()).into();
        assert_eq!(waits, [2, 2, 4, 32, 45, 45, 60, 60]);
        assert_eq!(redelivery_wait(31, 0.0), Duration::from_secs(30));
    }
}
