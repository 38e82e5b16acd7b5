//! Deduplicates alerts: repetitions of one alert are sent once (Cache Alert, invariant 6, failure mode 6).

use crate::{Alert, Timestamp, alert::Severity};
use std::time::Duration;

/// The recent alerts.
#[derive(Clone, Debug)]
pub struct Suppression {
    window: Duration,
    sent: Vec<Sent>,
}

/// An alert that was sent, with the number of similar ones that were held back.
#[derive(Clone, Debug)]
struct Sent {
    tag: String,
    operation: String,
    subject: String,
    severity: Severity,
    detail: String,
    at: Timestamp,
    suppressed: u32,
}

/// The decision about an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Send it.
    Send,
    /// Log it only: this many were held back since the last one that was sent, including this one.
    Suppress(u32),
}

impl Suppression {
    /// Starts without alerts. With a `window` of zero no alert is ever suppressed.
    #[must_use]
    pub const fn new(window: Duration) -> Self {
        Self { window, sent: Vec::new() }
    }

    /// Decides about an alert, and remembers it. An alert is held back when one of the same tag, operation and subject
    /// was sent within the window before it and was at least as severe. A critical alert is held back only if the detail
    /// is the same too: each problem of a sale that needs an operator is sent. Lines without an operation are always
    /// sent.
    pub fn decide(&mut self, alert: &Alert, now: Timestamp) -> Decision {
        self.sent.retain(|sent| now < sent.at.plus(self.window) && sent.at <= now);
        let Some(parts) = alert.parts() else { return Decision::Send };
        let covered = |sent: &Sent| {
            (sent.tag.as_str(), sent.operation.as_str(), sent.subject.as_str())
                == (parts.tag, parts.operation, parts.subject)
                && sent.severity >= parts.severity
                && (parts.severity < Severity::Critical || sent.detail == parts.detail)
        };
        if let Some(sent) = self.sent.iter_mut().find(|sent| covered(sent)) {
            sent.suppressed += 1;
            return Decision::Suppress(sent.suppressed);
        }
        self.sent.push(Sent {
            tag: parts.tag.to_owned(),
            operation: parts.operation.to_owned(),
            subject: parts.subject.to_owned(),
            severity: parts.severity,
            detail: parts.detail.to_owned(),
            at: now,
            suppressed: 0,
        });
        Decision::Send
    }

    /// Forgets an alert that could not be sent: the next one like it is tried again.
    pub fn forget(&mut self, alert: &Alert) {
        let Some(parts) = alert.parts() else { return };
        self.sent.retain(|sent| {
            (sent.tag.as_str(), sent.operation.as_str(), sent.subject.as_str(), sent.severity)
                != (parts.tag, parts.operation, parts.subject, parts.severity)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SessionId;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn alert(severity: Severity, operation: &str, session: &str, detail: &str) -> Alert {
        Alert::cache(severity, at(0), operation, &SessionId::parse(session).unwrap(), detail)
    }

    #[test]
    fn a_storm_within_a_minute_is_one_alert() {
        let mut suppression = Suppression::new(Duration::from_secs(60));
        let read = alert(Severity::Error, "CACHE_READ", "cs_live_abcdefgh", "no answer in time");
        assert_eq!(suppression.decide(&read, at(0)), Decision::Send);
        assert_eq!(suppression.decide(&read, at(1)), Decision::Suppress(1));
        assert_eq!(suppression.decide(&read, at(59)), Decision::Suppress(2));
        assert_eq!(suppression.decide(&read, at(60)), Decision::Send, "the window starts with what was sent");
        assert_eq!(suppression.decide(&read, at(61)), Decision::Suppress(1));
    }

    #[test]
    fn another_operation_session_or_tag_is_another_alert() {
        let mut suppression = Suppression::new(Duration::from_secs(60));
        let session = SessionId::parse("cs_live_abcdefgh").unwrap();
        for other in [
            alert(Severity::Error, "CACHE_READ", "cs_live_abcdefgh", "x"),
            alert(Severity::Error, "CACHE_WRITE", "cs_live_abcdefgh", "x"),
            alert(Severity::Error, "CACHE_READ", "cs_live_abcdzzzz", "x"),
            Alert::event("ORACLE-RESULT", Severity::Error, at(0), "CACHE_READ", &session, "x"),
        ] {
            assert_eq!(suppression.decide(&other, at(1)), Decision::Send, "{}", other.line);
        }
    }

    #[test]
    fn a_more_severe_or_another_critical_alert_is_sent() {
        let mut suppression = Suppression::new(Duration::from_secs(60));
        let mut decide =
            |severity, detail| suppression.decide(&alert(severity, "CACHE_READ", "cs_live_abcdefgh", detail), at(1));
        assert_eq!(decide(Severity::Warn, "a"), Decision::Send);
        assert_eq!(decide(Severity::Error, "a"), Decision::Send);
        assert_eq!(decide(Severity::Critical, "a"), Decision::Send);
        assert_eq!(decide(Severity::Critical, "b"), Decision::Send);
        assert_eq!(decide(Severity::Critical, "a"), Decision::Suppress(1));
        assert_eq!(decide(Severity::Error, "c"), Decision::Suppress(1), "the error was announced already");
    }

    #[test]
    fn what_reached_nobody_is_tried_again() {
        let mut suppression = Suppression::new(Duration::from_secs(60));
        let read = alert(Severity::Error, "CACHE_READ", "cs_live_abcdefgh", "x");
        assert_eq!(suppression.decide(&read, at(0)), Decision::Send);
        suppression.forget(&read);
        assert_eq!(suppression.decide(&read, at(1)), Decision::Send);
        assert_eq!(suppression.decide(&read, at(2)), Decision::Suppress(1));
    }

    #[test]
    fn lines_without_an_operation_are_always_sent_and_a_clock_that_goes_back_hides_nothing() {
        let mut suppression = Suppression::new(Duration::from_secs(60));
        let other = Alert { channel: crate::Channel::Critical, line: "[SILENT-DROP] session=cs_live_1".to_owned() };
        let read = alert(Severity::Error, "CACHE_READ", "cs_live_abcdefgh", "x");
        for now in [100, 100, 40] {
            assert_eq!(suppression.decide(&other, at(now)), Decision::Send);
        }
        assert_eq!(suppression.decide(&read, at(100)), Decision::Send);
        assert_eq!(suppression.decide(&read, at(40)), Decision::Send);
    }
}
