//! The settings of asking the model and of the models' circuits, read from a function's environment at start.

use crate::asking::Policy;
use domain::{
    backoff::Backoff,
    breaker::{BreakerPolicy, Caller, Reopen},
};
use runtime::{ConfigurationError, Environment};
use std::time::Duration;

/// The shortest time for which a circuit opens, in milliseconds: longer than every time limit that drops a call (the
/// chat's 21 seconds are the longest), so that a call that was admitted before its circuit opened ends before the
/// half-open one begins ([`crate::Tracked::record_dropped_call`]).
const LEAST_OPEN_MS: u64 = 30_000;

/// Reads when a model's circuit opens and for how long; a variable that is not set has the spec's default.
///
/// # Errors
/// [`ConfigurationError`] names the variable that is out of range.
pub fn breaker_policy(environment: &Environment) -> Result<BreakerPolicy, ConfigurationError> {
    let millis =
        |name, default, least: u64, most| environment.bounded(name, default, least, most).map(Duration::from_millis);
    Ok(BreakerPolicy {
        failures: environment.bounded("GEMINI_CIRCUIT_OPEN_THRESHOLD", 5, 1, 1000)?,
        slow_successes: environment.bounded("GEMINI_SLOW_OPEN_THRESHOLD", 10, 1, 1000)?,
        slow: millis("GEMINI_SLOW_MS", 40_000, 1, 55_000)?,
        open: millis("GEMINI_OPEN_DURATION_MS", 60_000, LEAST_OPEN_MS, 3_600_000)?,
        reopen: Reopen::STANDARD,
    })
}

impl Policy {
    /// The policy of a caller that asks these models, best first. Nothing limits the time of both replies.
    ///
    /// # Errors
    /// As [`breaker_policy`].
    pub fn from_environment<'a>(
        environment: &Environment,
        models: impl Iterator<Item = &'a str>,
        caller: Caller,
        backoff: Backoff,
    ) -> Result<Self, ConfigurationError> {
        let models = models.map(str::to_owned).collect();
        Ok(Self { models, backoff, caller, breaker: breaker_policy(environment)?, longest: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circuit_opens_for_longer_than_any_dropped_call_lasted() {
        let open = |table: &'static [_]| breaker_policy(&Environment::of(table)).map(|policy| policy.open);
        assert_eq!(open(&[("GEMINI_OPEN_DURATION_MS", "30000")]).unwrap(), Duration::from_secs(30));
        let error = open(&[("GEMINI_OPEN_DURATION_MS", "29999")]).unwrap_err().to_string();
        assert!(error.contains("GEMINI_OPEN_DURATION_MS"), "{error}");
    }
}
