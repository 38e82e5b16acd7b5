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
}

/// The most sales of one kind that one run handles; the rest waits for the next run.
const MOST: usize = 200;

/// The most time for one kind: all kinds together, including the last call of each, end before the function's time-out.
const SHARE: Duration = Duration::from_secs(20);

impl Settings {
    /// Reads and validates the settings.
    ///
    /// # Errors
    /// [`ConfigurationError`] when `QUARANTINE_AUTO_REFUND` is missing or neither `on` nor `off`.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigurationError> {
        let refund_held = switch(&environment.required("QUARANTINE_AUTO_REFUND")?)?;
        Ok(Self { refund_held, most: MOST, share: SHARE })
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
}
