//! The period of a report.

use domain::Timestamp;

/// The time from `since` on and before `until`. Without `since` it begins with the first record; without `until` it
/// ends with the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Period {
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl Period {
    /// The period from `since` on and before `until`.
    #[must_use]
    pub const fn new(since: Option<Timestamp>, until: Option<Timestamp>) -> Self {
        Self { since, until }
    }

    /// A month (UTC) in the form 2026-11.
    #[must_use]
    pub fn month(text: &str) -> Option<Self> {
        let (year, month) = text.split_once('-')?;
        let (year, month): (u32, u32) = (year.parse().ok()?, month.parse().ok()?);
        let (next_year, next) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        let first = |year: u32, month: u32| Timestamp::parse(&format!("{year:04}-{month:02}-01T00:00:00Z"));
        Some(Self { since: Some(first(year, month)?), until: Some(first(next_year, next)?) })
    }

    /// Its first moment.
    #[must_use]
    pub const fn since(&self) -> Option<Timestamp> {
        self.since
    }

    /// The first moment after it.
    #[must_use]
    pub const fn until(&self) -> Option<Timestamp> {
        self.until
    }

    /// Whether it contains the time of a record.
    #[must_use]
    pub fn holds(&self, timestamp: &str) -> bool {
        if self.since.is_none() && self.until.is_none() {
            return true;
        }
        Timestamp::parse(timestamp)
            .is_some_and(|at| self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at < until))
    }

    /// Whether a stream that was opened on this day (UTC) and last written at this moment may have a record in the
    /// period: no record is older than the day or newer than the last write.
    #[must_use]
    pub fn may_hold(&self, opened: &str, written: Timestamp) -> bool {
        self.since.is_none_or(|since| written >= since)
            && self.until.is_none_or(|until| opened <= until.to_date().as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_ends_where_the_next_one_begins() {
        let november = Period::month("2026-11").unwrap();
        for (timestamp, held) in [
            ("2026-10-31T23:59:59.999Z", false),
            ("2026-11-01T00:00:00.000Z", true),
            ("2026-11-30T23:59:59.999Z", true),
            ("2026-12-01T00:00:00.000Z", false),
            ("nonsense", false),
        ] {
            assert_eq!(november.holds(timestamp), held, "{timestamp}");
        }
        assert_eq!(Period::month("2026-12").unwrap().until(), Timestamp::parse("2027-01-01T00:00:00Z"));
        for text in ["2026", "2026-13", "2026-00", "x-11"] {
            assert_eq!(Period::month(text), None, "{text}");
        }
        assert!(Period::default().holds("nonsense"), "what is not limited leaves nothing out");
    }

    #[test]
    fn a_stream_of_another_month_is_not_read() {
        let november = Period::month("2026-11").unwrap();
        let written = |text: &str| Timestamp::parse(text).unwrap();
        assert!(november.may_hold("2026-06-01", written("2026-11-22T10:00:00Z")), "a refund of an old sale");
        assert!(!november.may_hold("2026-06-01", written("2026-10-31T10:00:00Z")));
        assert!(!november.may_hold("2026-12-02", written("2026-12-02T10:00:00Z")));
        assert!(Period::default().may_hold("2026-12-02", written("2026-12-02T10:00:00Z")));
    }
}
