//! The row of an alert that all processes share: repetitions of one alert in several processes are sent once (Cache
//! Alert, invariant 6).
//!
//! Each process first checks its own memory ([`domain::suppression`]), then the shared row. The process that writes the
//! row first sends the alert, and then records in the row that it was sent. A process that finds the row without that
//! record waits a moment for it and then sends the alert anyway: the first process may have crashed before it sent
//! anything, and one alert too many is better than one too few.

use domain::{Alert, Timestamp, alert::Severity};
use std::time::Duration;

/// How long other processes wait for the one that is sending an alert.
pub(crate) const UNDER_WAY: Duration = Duration::from_secs(5);

/// The shared row of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Announcement {
    /// The severity that was sent, or is being sent.
    pub(crate) severity: Severity,
    /// Whether a topic has accepted it.
    pub(crate) sent: bool,
    /// When the row expires.
    pub(crate) ends: Timestamp,
}

/// The state of an alert by its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendState {
    /// Not sent: send it.
    Open,
    /// Another process is sending it.
    UnderWay,
    /// Sent within the window: log it only.
    Sent,
}

impl Announcement {
    /// The row of a process that begins to send an alert.
    #[must_use]
    pub(crate) fn begun(severity: Severity, now: Timestamp) -> Self {
        Self { severity, sent: false, ends: now.plus(UNDER_WAY) }
    }

    /// The row of an alert that a topic has accepted.
    #[must_use]
    pub(crate) fn sent(severity: Severity, now: Timestamp, window: Duration) -> Self {
        Self { severity, sent: true, ends: now.plus(window) }
    }

    /// Whether an alert of this severity has to be sent. A row that ends later than any row that could be written now
    /// comes from a wrong clock and is ignored.
    #[must_use]
    pub(crate) fn send_state(self, severity: Severity, now: Timestamp, window: Duration) -> SendState {
        let counts = now < self.ends && self.ends <= latest_end(now, window);
        match (counts && self.severity >= severity, self.sent) {
            (false, _) => SendState::Open,
            (true, false) => SendState::UnderWay,
            (true, true) => SendState::Sent,
        }
    }
}

/// The latest end that a row written now may have.
#[must_use]
pub(crate) fn latest_end(now: Timestamp, window: Duration) -> Timestamp {
    now.plus(window.max(UNDER_WAY))
}

/// The key of an alert's row; `None` for lines without an operation, which are always sent. Critical alerts have one
/// row per detail, as in [`domain::suppression`]: each problem of a sale that needs an operator is sent.
#[must_use]
pub(crate) fn key(alert: &Alert) -> Option<(String, Severity)> {
    let parts = alert.parts()?;
    let mut key = format!("{}|{}|{}", parts.tag, parts.operation, parts.subject);
    if parts.severity == Severity::Critical {
        key.push('|');
        key.push_str(parts.detail);
    }
    Some((key, parts.severity))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Channel, SessionId};

    const WINDOW: Duration = Duration::from_secs(60);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    #[test]
    fn a_sent_alert_is_suppressed_unless_the_new_one_is_more_severe() {
        let row = Announcement::sent(Severity::Error, at(100), WINDOW);
        for severity in [Severity::Warn, Severity::Error] {
            assert_eq!(row.send_state(severity, at(100), WINDOW), SendState::Sent);
            assert_eq!(row.send_state(severity, at(159), WINDOW), SendState::Sent);
            assert_eq!(row.send_state(severity, at(160), WINDOW), SendState::Open);
        }
        assert_eq!(
            row.send_state(Severity::Critical, at(101), WINDOW),
            SendState::Open,
            "never swallowed by a lesser one"
        );
    }

    #[test]
    fn what_nobody_finished_sending_is_open_again_soon() {
        let row = Announcement::begun(Severity::Critical, at(100));
        assert_eq!(row.send_state(Severity::Critical, at(104), WINDOW), SendState::UnderWay);
        assert_eq!(row.send_state(Severity::Critical, at(105), WINDOW), SendState::Open);
    }

    #[test]
    fn a_clock_that_was_wrong_hides_nothing() {
        let row = Announcement::sent(Severity::Critical, at(9_999), WINDOW);
        assert_eq!(row.send_state(Severity::Critical, at(100), WINDOW), SendState::Open);
    }

    #[test]
    fn one_row_for_an_operation_of_a_session_and_for_each_critical_detail() {
        let session = SessionId::parse("cs_live_abcdefgh").unwrap();
        let row =
            |severity, operation, detail| key(&Alert::cache(severity, at(0), operation, &session, detail)).unwrap();
        assert_eq!(row(Severity::Warn, "CACHE_READ", "a").0, "[ORACLE-CACHE-ALERT]|CACHE_READ|abcdefgh");
        assert_eq!(row(Severity::Warn, "CACHE_READ", "a").0, row(Severity::Error, "CACHE_READ", "b").0);
        assert_ne!(row(Severity::Warn, "CACHE_READ", "a").0, row(Severity::Warn, "CACHE_WRITE", "a").0);
        assert_ne!(row(Severity::Critical, "CACHE_READ", "a").0, row(Severity::Critical, "CACHE_READ", "b").0);
        assert_eq!(key(&Alert { channel: Channel::Critical, line: "[SILENT-DROP] session=x".into() }), None);
    }
}
