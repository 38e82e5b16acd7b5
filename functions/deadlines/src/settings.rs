//! The settings of a run, read from the environment at start.

use runtime::{ConfigurationError, Environment};
use std::time::Duration;

/// The settings of a run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Whether a verdict that the content filter has held for 24 h without a decision is refunded (content filter,
    /// GAP-J).
    pub refund_held: bool,
    /// The most sales of one kind that a run handles.
    pub most: usize,
    /// The most time for one kind: if Stripe hangs, refunds that wait for it must not delay lost orders.
    pub share: Duration,
    /// The time for the sales of all kinds.
    pub budget: Duration,
}

/// The most sales of one kind that one run handles; the rest waits for the next run.
const MOST: usize = 200;

/// The most time for one kind.
const SHARE: Duration = Duration::from_secs(20);

/// The time for the sales of all kinds. With the shares of settlements, memories, unpublished records, letters and sign-in
/// mails, and the last call of each, a run ends before the function's time-out, whatever hangs: Lambda would stop it in the
/// middle of a kind, and the kinds after that one would never have a turn.
const BUDGET: Duration = Duration::from_secs(60);

impl Settings {
    /// The time for one kind when this much of the budget is left: at most half of it, so that every kind has a turn.
    pub(crate) fn share_of(self, left: Duration) -> Duration {
        self.share.min(left / 2)
    }

    /// Reads and validates the settings.
    ///
    /// # Errors
    /// [`ConfigurationError`] when `QUARANTINE_AUTO_REFUND` is missing or neither `on` nor `off`.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigurationError> {
        let refund_held = switch(&environment.required("QUARANTINE_AUTO_REFUND")?)?;
        Ok(Self { refund_held, most: MOST, share: SHARE, budget: BUDGET })
    }
}

/// Reads the switch of the refund by policy. A mistyped value stops the start, so that it never decides about money.
fn switch(text: &str) -> Result<bool, ConfigurationError> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(ConfigurationError::Malformed { name: "QUARANTINE_AUTO_REFUND", expected: "on or off".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_switch_is_on_or_off_and_nothing_else() {
        assert_eq!((switch("on"), switch("off")), (Ok(true), Ok(false)));
        for text in ["", "On", "true", "1", "off "] {
            assert!(switch(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn each_kind_leaves_half_of_the_time_for_the_others() {
        let settings = Settings { refund_held: true, most: MOST, share: SHARE, budget: BUDGET };
        let share = |left| settings.share_of(Duration::from_secs(left)).as_secs();
        assert_eq!([60, 40, 30, 2, 0].map(share), [20, 20, 15, 1, 0]);
    }
}
