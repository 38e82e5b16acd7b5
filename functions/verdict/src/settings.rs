//! The function's settings, read from its environment at start.

use crate::fulfil::Settings;
use domain::{backoff::Backoff, breaker::Caller, retry::RetryTable};
use gemini::ModelList;
use generation::Policy;
use runtime::{ConfigurationError, Environment};
use std::time::Duration;

/// The lease of one invocation on a sale. It is longer than the function's time-out (180 s), so that no second worker
/// takes over from a running one, and shorter than the queue's visibility time-out (1080 s), so that a crashed worker's
/// message finds the claim expired.
const LEASE: Duration = Duration::from_secs(200);

/// The longest wait between attempts (Gemini Timeout, invariant 3).
const BACKOFF_CAP: Duration = Duration::from_millis(8000);

impl Settings {
    /// Reads and validates the settings; a variable that is not set has the spec's default.
    ///
    /// # Errors
    /// [`ConfigurationError`] names the variable that is out of range.
    pub fn from_environment(environment: &Environment, models: &ModelList) -> Result<Self, ConfigurationError> {
        let backoff = Backoff {
            attempts: environment.bounded("GEMINI_MAX_RETRIES", 3, 1, 3)?,
            base: Duration::from_millis(environment.bounded("GEMINI_BACKOFF_BASE_MS", 1000, 1, 60_000)?),
            cap: BACKOFF_CAP,
        };
        Ok(Self {
            policy: Policy::from_environment(environment, models.names(), Caller::Orders, backoff)?,
            retries: retries(environment)?,
            lease: LEASE,
        })
    }
}

/// Reads `VERDICT_RETRY_DELAYS`; the standard table when it is not set.
fn retries(environment: &Environment) -> Result<RetryTable, ConfigurationError> {
    let Some(delays) = environment.optional("VERDICT_RETRY_DELAYS") else { return Ok(RetryTable::standard()) };
    RetryTable::parse(&delays)
        .map_err(|error| ConfigurationError::Malformed { name: "VERDICT_RETRY_DELAYS", expected: error.to_string() })
}
