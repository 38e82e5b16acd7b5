//! The settings of the models' circuits, read from a function's environment at start.

use domain::breaker::{BreakerPolicy, Reopen};
use runtime::{ConfigurationError, Environment};
use std::time::Duration;

/// Reads when a model's circuit opens and for how long; a variable that is not set has the spec's default.
///
/// # Errors
/// [`ConfigurationError`] names the variable that is out of range.
pub fn breaker_policy(environment: &Environment) -> Result<BreakerPolicy, ConfigurationError> {
    let millis = |name, default, most| environment.bounded(name, default, 1u64, most).map(Duration::from_millis);
    Ok(BreakerPolicy {
        failures: environment.bounded("GEMINI_CIRCUIT_OPEN_THRESHOLD", 5, 1, 1000)?,
        slow_successes: environment.bounded("GEMINI_SLOW_OPEN_THRESHOLD", 10, 1, 1000)?,
        slow: millis("GEMINI_SLOW_MS", 40_000, 55_000)?,
        open: millis("GEMINI_OPEN_DURATION_MS", 60_000, 3_600_000)?,
        reopen: Reopen::STANDARD,
    })
}
