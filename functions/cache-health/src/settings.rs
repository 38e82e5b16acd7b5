//! The thresholds of the checks (Cache Health, inputs 4), validated at start.

use runtime::{Environment, configuration::ConfigurationError};
use std::time::Duration;

const MEBIBYTE: u64 = 1024 * 1024;

/// Thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The time from one check to the next (`CACHE_HEALTH_CHECK_INTERVAL_S`, 30 to 3600 s; Cache Health, invariant 1).
    pub interval: Duration,
    /// Entries older than this may be removed (`CACHE_STALENESS_THRESHOLD_DAYS`).
    pub staleness_days: u32,
    /// With more bytes the cache counts as failed and is cleaned up at once (`CACHE_BYTES_BUDGET_MB`, in bytes here).
    pub budget_bytes: u64,
    /// With more entries the cache counts as degraded (`CACHE_ENTRY_COUNT_WARN`).
    pub count_warn: u64,
    /// With more entries the cache counts as failed (`CACHE_ENTRY_COUNT_CRITICAL`).
    pub count_critical: u64,
    /// This many consecutive failed probes are critical (`CACHE_CONSECUTIVE_FAIL_CRITICAL`).
    pub failures_critical: u32,
}

impl Settings {
    /// Reads the settings. A variable that is not set has the spec's default, except for the age: 30 days instead of 7
    /// (Cache Health, HEALTH-GAP-06).
    ///
    /// # Errors
    /// [`ConfigurationError`] names the variable that is out of range.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigurationError> {
        let count_warn = environment.bounded("CACHE_ENTRY_COUNT_WARN", 10_000, 1, 1_000_000_000)?;
        Ok(Self {
            interval: Duration::from_secs(environment.bounded("CACHE_HEALTH_CHECK_INTERVAL_S", 60, 30, 3600)?),
            staleness_days: environment.bounded("CACHE_STALENESS_THRESHOLD_DAYS", 30, 1, 3650)?,
            budget_bytes: MEBIBYTE * environment.bounded("CACHE_BYTES_BUDGET_MB", 1024, 1, 1_048_576)?,
            count_warn,
            // A critical threshold below the warn threshold would call a cache failed that is not even degraded.
            count_critical: environment.bounded("CACHE_ENTRY_COUNT_CRITICAL", 50_000, count_warn, 1_000_000_000)?,
            failures_critical: environment.bounded("CACHE_CONSECUTIVE_FAIL_CRITICAL", 2, 1, 100)?,
        })
    }

    /// Entries older than this may be removed.
    pub(crate) fn staleness(&self) -> Duration {
        Duration::from_secs(u64::from(self.staleness_days) * 24 * 3600)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unset_variables_have_defaults_and_values_out_of_range_are_named() {
        let defaults = Settings::from_environment(&Environment::of(&[])).unwrap();
        assert_eq!((defaults.interval, defaults.staleness_days), (Duration::from_secs(60), 30));
        assert_eq!((defaults.count_warn, defaults.count_critical, defaults.failures_critical), (10_000, 50_000, 2));
        let refused = [
            ("CACHE_HEALTH_CHECK_INTERVAL_S", "29"),
            ("CACHE_HEALTH_CHECK_INTERVAL_S", "3601"),
            ("CACHE_HEALTH_CHECK_INTERVAL_S", "a minute"),
            ("CACHE_STALENESS_THRESHOLD_DAYS", "0"),
            ("CACHE_BYTES_BUDGET_MB", "-1"),
            ("CACHE_ENTRY_COUNT_CRITICAL", "9999"),
            ("CACHE_CONSECUTIVE_FAIL_CRITICAL", "0"),
        ];
        for (name, value) in refused {
            let environment = Environment::of(Box::leak(Box::new([(name, value)])));
            let error = Settings::from_environment(&environment).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
        for least_and_most in ["30", "3600"] {
            let table = Box::leak(Box::new([("CACHE_HEALTH_CHECK_INTERVAL_S", least_and_most)]));
            assert!(Settings::from_environment(&Environment::of(table)).is_ok());
        }
    }
}
