//! A storm: many alerts of one tag and operation about different sales. The first few are sent; further ones are logged
//! and counted, and the deadlines function sends one summary of them every five minutes.
//!
//! Only errors are withheld. A critical alert asks an operator to act on its own subject, and a warning, such as one
//! about a customer's mail, may be the only sign of it.

use domain::{
    Alert, Timestamp,
    alert::{AlertLine, Severity},
};
use std::time::Duration;

/// The window, from its first alert on.
pub(crate) const WINDOW: Duration = Duration::from_secs(300);

/// The alerts of a window that are sent.
const SENT: u64 = 3;

/// The row of one tag and operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Storm {
    /// The alerts within the window.
    pub(crate) counted: u64,
    /// When the window ends.
    pub(crate) ends: Timestamp,
    /// The withheld alerts that no summary has reported yet.
    pub(crate) withheld: u64,
    /// When the first of them was withheld.
    pub(crate) since: Timestamp,
}

impl Storm {
    /// The row of the first alert.
    pub(crate) fn begun(now: Timestamp) -> Self {
        Self { counted: 1, ends: now.plus(WINDOW), withheld: 0, since: now }
    }

    /// The row with another alert. One that comes after the window is the first of the next window. A row that ends
    /// later than any row that could be written now comes from a wrong clock and has ended.
    pub(crate) fn with_another(self, now: Timestamp) -> Self {
        if now >= self.ends || self.ends > now.plus(WINDOW) {
            return Self { withheld: self.withheld, since: self.since, ..Self::begun(now) };
        }
        let one_more = Self { counted: self.counted + 1, ..self };
        match one_more.is_withheld() {
            true if self.withheld == 0 => Self { withheld: 1, since: now, ..one_more },
            true => Self { withheld: self.withheld + 1, ..one_more },
            false => one_more,
        }
    }

    /// Whether the latest alert is withheld.
    pub(crate) const fn is_withheld(self) -> bool {
        self.counted > SENT
    }

    /// The row after a summary of `reported` withheld alerts.
    pub(crate) const fn reported(self, reported: u64) -> Self {
        Self { withheld: self.withheld.saturating_sub(reported), ..self }
    }

    /// The summary; `None` if no alert is withheld.
    pub(crate) fn summary(self, kind: &str, now: Timestamp) -> Option<Alert> {
        let since = self.since.to_string();
        let minute = since.get(11..16).unwrap_or(&since);
        let detail = format!("{} more of {kind} since {minute} UTC; oracle list", self.withheld);
        (self.withheld > 0).then(|| Alert::about("ORACLE-STORM", Severity::Error, now, "SUMMARY", "-", &detail))
    }
}

/// The kind of an alert that may be withheld: one about one of many subjects.
pub(crate) fn kind(alert: &Alert) -> Option<String> {
    let AlertLine { tag, severity, operation, subject, .. } = alert.parts()?;
    (severity == Severity::Error && subject != "-").then(|| format!("{tag} {operation}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::SessionId;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    #[test]
    fn the_first_three_are_sent_and_the_others_are_counted() {
        let mut row = Storm::begun(at(0));
        let mut withheld = vec![row.is_withheld()];
        for second in 1..30 {
            row = row.with_another(at(second));
            withheld.push(row.is_withheld());
        }
        assert_eq!(withheld.iter().filter(|withheld| !**withheld).count(), 3);
        assert_eq!((row.withheld, row.since), (27, at(3)));
        let summary = row.summary("[ORACLE-VERDICT] GENERATION", at(300)).unwrap();
        assert!(
            summary
                .line
                .ends_with("| SUMMARY | - | 27 more of [ORACLE-VERDICT] GENERATION since 00:00 UTC; oracle list"),
            "{}",
            summary.line
        );
        assert_eq!(kind(&summary), None, "a summary is never withheld");
    }

    #[test]
    fn the_next_window_sends_again_and_loses_no_count() {
        let full = Storm { counted: 5, withheld: 2, ..Storm::begun(at(0)) };
        let next = full.with_another(at(300));
        assert_eq!((next.counted, next.is_withheld(), next.withheld, next.since), (1, false, 2, at(0)));
        assert_eq!(next.reported(2).summary("x", at(301)), None);
        assert_eq!(next.reported(1).withheld, 1, "one came while the summary was sent");
    }

    #[test]
    fn a_clock_that_was_wrong_withholds_nothing() {
        let wrong = Storm { counted: 9, ..Storm::begun(at(9_999)) };
        assert!(!wrong.with_another(at(100)).is_withheld());
    }

    #[test]
    fn critical_alerts_warnings_and_alerts_about_a_service_are_never_withheld() {
        let session = SessionId::parse("cs_live_abcdefgh").unwrap();
        let of = |severity| kind(&Alert::event("T", severity, at(0), "OP", &session, "x"));
        assert_eq!(of(Severity::Error).as_deref(), Some("[T] OP"));
        assert_eq!((of(Severity::Warn), of(Severity::Critical)), (None, None));
        assert_eq!(kind(&Alert::about("T", Severity::Error, at(0), "OP", "-", "x")), None);
    }
}
