//! Time as plain data: milliseconds since the Unix epoch, UTC.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A moment, in milliseconds since 1970-01-01T00:00:00Z. Written as `2026-04-16T14:23:07.412Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From milliseconds since the Unix epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// From seconds since the Unix epoch, as vendors write them.
    #[must_use]
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Parses a moment in the form of RFC 3339, rounded to milliseconds: `2026-04-16T14:23:07Z`. `None` for any other
    /// text, such as a day that does not exist.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let moment: jiff::Timestamp = text.parse().ok()?;
        Some(Self(moment.as_millisecond()))
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since the Unix epoch.
    #[must_use]
    pub const fn as_seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// The moment `duration` later.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The time from `earlier` to this moment; zero when a clock was set back.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.millis_since(earlier))
    }

    /// The milliseconds from `earlier` to this moment; zero when a clock was set back.
    #[must_use]
    pub fn millis_since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }

    /// ISO 8601, UTC, milliseconds: `2026-04-16T14:23:07.412Z`.
    #[must_use]
    pub fn to_iso(self) -> String {
        self.format("%Y-%m-%dT%H:%M:%S%.3fZ")
    }

    /// The day in UTC: `2026-04-16`.
    #[must_use]
    pub fn to_date(self) -> String {
        self.format("%Y-%m-%d")
    }

    fn format(self, pattern: &str) -> String {
        let moment = jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        moment.strftime(pattern).to_string()
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_iso())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_as_the_audit_trail_writes_it() {
        let moment = Timestamp::from_millis(1_776_349_387_412);
        assert_eq!(moment.to_iso(), "2026-04-16T14:23:07.412Z");
        assert_eq!(moment.to_date(), "2026-04-16");
        assert_eq!(Timestamp::from_seconds(1_776_349_387).to_iso(), "2026-04-16T14:23:07.000Z");
    }

    #[test]
    fn a_moment_is_read_as_it_is_written_and_only_if_there_is_such_a_moment() {
        for moment in [0, 1_776_349_387_412, -1] {
            let moment = Timestamp::from_millis(moment);
            assert_eq!(Timestamp::parse(&moment.to_iso()), Some(moment));
        }
        assert_eq!(Timestamp::parse("2026-04-16T16:23:07+02:00"), Timestamp::parse("2026-04-16T14:23:07Z"));
        for text in ["", "2026-04-16", "9999-99-99T99:99:99Z", "2026-02-30T00:00:00Z", "2026-04-16T14:23:07"] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_clock_that_goes_back_gives_no_negative_latency() {
        assert_eq!(Timestamp::from_millis(5).millis_since(Timestamp::from_millis(9)), 0);
    }
}
