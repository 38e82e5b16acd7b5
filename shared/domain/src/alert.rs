//! Alerts to operators, in the line formats of the specs. They contain no address and no question, and name a sale by
//! the reference of 8 characters by which `oracle show` finds it (infra/decisions/alerts-and-dashboard.md; Cache Alert,
//! invariant 4).

use crate::{Gate, SessionId, Tier, Timestamp, customer_text};
use serde::{Deserialize, Serialize};

/// The topics of an alert (Cache Alert, severity levels: all alerts go to the crew, critical ones to another topic
/// too).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// The ops topic only: for information.
    Ops,
    /// Both topics: an operator has to act, or no longer has to.
    Critical,
}

/// One line for operators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alert {
    /// The topic.
    pub channel: Channel,
    /// The line, without a line break.
    pub line: String,
}

crate::enum_with_words! {
    /// The severity (Cache Alert, severity levels), in ascending order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Severity {
        /// Recovered by itself.
        Warn = "WARN",
        /// Failed; the customer is served by other means, or later.
        Error = "ERROR",
        /// An operator has to act.
        Critical = "CRITICAL",
    }
    const fn word;
    const ALL;
}

impl Severity {
    fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.word() == word)
    }

    /// Its rank among the severities, from 0.
    #[must_use]
    pub const fn rank(self) -> u8 {
        match self {
            Self::Warn => 0,
            Self::Error => 1,
            Self::Critical => 2,
        }
    }

    /// The severity of a rank.
    #[must_use]
    pub fn of_rank(rank: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.rank() == rank)
    }

    const fn channel(self) -> Channel {
        match self {
            Self::Warn | Self::Error => Channel::Ops,
            Self::Critical => Channel::Critical,
        }
    }
}

/// The most characters of a subject: those of a follow-up's reference.
const MAX_SUBJECT: usize = 17;

/// A subject as a line shows it.
fn shown(subject: &str) -> String {
    let subject: String = subject.chars().filter(|c| !c.is_control() && *c != '|').collect();
    match SessionId::parse(subject.as_str()) {
        Ok(session) => session.reference().to_owned(),
        Err(_) => subject.chars().take(MAX_SUBJECT).collect(),
    }
}

impl Alert {
    /// `[TAG] SEVERITY | time | OPERATION | reference | detail`: the form of Cache Alert's outputs, with the reference of
    /// the sale in place of its session's prefix.
    #[must_use]
    pub fn event(
        tag: &str,
        severity: Severity,
        now: Timestamp,
        operation: &str,
        session: &SessionId,
        detail: &str,
    ) -> Self {
        Self::line(tag, severity, now, operation, session.reference(), detail)
    }

    /// The same for another subject than one sale, or for a sale of which only the reference is known; `-` means no
    /// subject. Of a whole session id it shows the reference.
    #[must_use]
    pub fn about(tag: &str, severity: Severity, now: Timestamp, operation: &str, subject: &str, detail: &str) -> Self {
        Self::line(tag, severity, now, operation, &shown(subject), detail)
    }

    fn line(tag: &str, severity: Severity, now: Timestamp, operation: &str, subject: &str, detail: &str) -> Self {
        let detail: String = customer_text::one_line(detail).chars().take(500).collect();
        let line = format!("[{tag}] {} | {now} | {operation} | {subject} | {detail}", severity.word());
        Self { channel: severity.channel(), line }
    }

    /// Reports that a critical alert's problem has ended: a WARN for the operators who were alerted. Its subject
    /// differs from the problem's, so that deduplication of the problem's alert does not drop it, and is not cut any
    /// shorter, so that it differs from the end of another problem.
    #[must_use]
    pub fn all_clear(tag: &str, now: Timestamp, operation: &str, subject: &str, detail: &str) -> Self {
        let alert = Self::line(tag, Severity::Warn, now, operation, &format!("ok:{}", shown(subject)), detail);
        Self { channel: Channel::Critical, ..alert }
    }

    /// The parts of its line; `None` for a line of another form (Silent Drop's).
    #[must_use]
    pub fn parts(&self) -> Option<AlertLine<'_>> {
        let mut parts = self.line.splitn(5, " | ");
        let (head, _time) = (parts.next()?, parts.next()?);
        let (operation, subject, detail) = (parts.next()?, parts.next()?, parts.next()?);
        let (tag, severity) = head.split_once(' ')?;
        Some(AlertLine { tag, severity: Severity::of_word(severity)?, operation, subject, detail })
    }

    /// The cache failed (Cache Alert, alert payload).
    #[must_use]
    pub fn cache(severity: Severity, now: Timestamp, operation: &str, session: &SessionId, detail: &str) -> Self {
        Self::event("ORACLE-CACHE-ALERT", severity, now, operation, session, detail)
    }

    /// The content filter holds a delivery (content filter, invariant 4).
    #[must_use]
    pub fn quarantine(now: Timestamp, gate: Gate, session: &SessionId, terms: usize) -> Self {
        let detail = format!("verdict held for review: {terms} blocked term(s) at gate {gate}");
        Self::event("ORACLE-QUARANTINE", Severity::Critical, now, "CONTENT_FILTER", session, &detail)
    }

    /// The line for a log or a topic. A whole session id opens its verdict, so a detail that quotes one, as a store's
    /// error may, shows its reference.
    #[must_use]
    pub fn redacted(&self) -> String {
        let short = |word: &str| {
            let at = word.find("cs_").unwrap_or(word.len());
            let (before, id) = word.split_at(at);
            let length = id.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-')).unwrap_or(id.len());
            let (id, after) = id.split_at(length);
            match SessionId::parse(id) {
                Ok(session) => format!("{before}{}{after}", session.reference()),
                Err(_) => word.to_owned(),
            }
        };
        self.line.split(' ').map(short).collect::<Vec<String>>().join(" ")
    }

    /// A mail became a dead letter (Email Retry, output 4). The address appears as its keyed hash, as in the log.
    #[must_use]
    pub fn dead_letter(
        session: &SessionId,
        email_tag: Option<&str>,
        tier: Option<Tier>,
        attempts: usize,
        last_error: &str,
    ) -> Self {
        let line = format!(
            "[ALERT][oracle-email-retry] DEAD LETTER: session_id={} customer={} tier={} attempts={attempts} last_error={last_error}",
            session.reference(),
            email_tag.unwrap_or("NULL"),
            tier.map_or("NULL", Tier::key),
        );
        Self { channel: Channel::Critical, line }
    }

    /// A paid session could not be processed (Silent Drop, output 2). Always critical, and always with the amount.
    #[must_use]
    pub fn silent_drop(session: &SessionId, drop: &SilentDrop<'_>, now: Timestamp) -> Self {
        let tier = customer_text::defused_line(&drop.tier.replace('"', ""), 40);
        let amount = match (drop.amount_total, drop.currency) {
            (Some(amount), Some(currency)) => format!("{amount}_{}", currency.to_uppercase()),
            (Some(amount), None) => amount.to_string(),
            (None, _) => "UNKNOWN".to_owned(),
        };
        let line = format!(
            "[SILENT-DROP] session={} tier=\"{tier}\" query_len={} email={} amount={amount} {now}",
            session.reference(),
            drop.query_characters,
            drop.email_tag.unwrap_or("NULL"),
        );
        Self { channel: Channel::Critical, line }
    }
}

/// The parts of an alert's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlertLine<'a> {
    /// The tag of the sender, with its brackets.
    pub tag: &'a str,
    /// The severity.
    pub severity: Severity,
    /// The operation.
    pub operation: &'a str,
    /// The reference of the sale, with `-followup` for a follow-up; or another subject, or `-`.
    pub subject: &'a str,
    /// The detail.
    pub detail: &'a str,
}

/// The facts in the silent-drop line.
#[derive(Clone, Copy, Debug)]
pub struct SilentDrop<'a> {
    /// The tier as received, which may be invalid.
    pub tier: &'a str,
    /// The number of characters of the question that were received.
    pub query_characters: usize,
    /// The keyed hash of the address, if there is one.
    pub email_tag: Option<&'a str>,
    /// The amount charged, in cents (Silent Drop, invariant 7).
    pub amount_total: Option<i64>,
    /// Its currency.
    pub currency: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_form_of_the_spec() {
        let session = SessionId::parse("cs_live_abcdefghijklmnop").unwrap();
        let now = Timestamp::from_millis(1_776_349_387_412);
        let alert = Alert::cache(Severity::Error, now, "CACHE_WRITE", &session, "refused\nat 3rd retry");
        assert_eq!(
            alert.line,
            "[ORACLE-CACHE-ALERT] ERROR | 2026-04-16T14:23:07.412Z | CACHE_WRITE | ijklmnop | refused at 3rd retry"
        );
        assert_eq!(alert.channel, Channel::Ops);
        let parts = alert.parts().unwrap();
        assert_eq!((parts.tag, parts.severity), ("[ORACLE-CACHE-ALERT]", Severity::Error));
        assert_eq!((parts.operation, parts.subject), ("CACHE_WRITE", "ijklmnop"));
        let followup = Alert::cache(Severity::Error, now, "CACHE_WRITE", &session.followup(), "refused");
        assert_eq!(followup.parts().unwrap().subject, "ijklmnop-followup");
        let alert = Alert::dead_letter(&session, None, None, 4, "503");
        assert!(alert.line.contains("session_id=ijklmnop customer=NULL"), "{}", alert.line);
        let slipped =
            Alert { channel: Channel::Ops, line: "about session_id=cs_live_abcdefghijklmnop, and more".to_owned() };
        assert_eq!(slipped.redacted(), "about session_id=ijklmnop, and more");
        let slipped = Alert { channel: Channel::Ops, line: format!("about {}", session.followup().as_str()) };
        assert_eq!(slipped.redacted(), "about ijklmnop-followup");
        let drop = SilentDrop {
            tier: "",
            query_characters: 0,
            email_tag: None,
            amount_total: Some(100),
            currency: Some("cad"),
        };
        assert_eq!(
            Alert::silent_drop(&session, &drop, now).line,
            "[SILENT-DROP] session=ijklmnop tier=\"\" query_len=0 email=NULL amount=100_CAD 2026-04-16T14:23:07.412Z"
        );
        assert_eq!(Alert::silent_drop(&session, &drop, now).parts(), None);
    }

    #[test]
    fn the_end_of_a_critical_problem_reaches_those_who_were_woken() {
        let alert = Alert::all_clear("T", Timestamp::from_millis(0), "OP", "service", "works again");
        assert_eq!(alert.line, "[T] WARN | 1970-01-01T00:00:00.000Z | OP | ok:service | works again");
        assert_eq!(alert.channel, Channel::Critical);
        for subject in ["Stripe key for checkout", "Stripe key for refunds", "cs_live_abcdefghijklmnop"] {
            let now = Timestamp::from_millis(0);
            let problem = Alert::about("T", Severity::Critical, now, "OP", subject, "x");
            let end = Alert::all_clear("T", now, "OP", subject, "x");
            assert_eq!(end.parts().unwrap().subject, format!("ok:{}", problem.parts().unwrap().subject));
        }
    }

    #[test]
    fn a_subject_is_cut_and_a_session_shows_its_reference() {
        let now = Timestamp::from_millis(0);
        let alert = Alert::about("T", Severity::Critical, now, "OP", "cs_live_|abcd\nefghijkl", "a | b");
        assert_eq!(alert.line, "[T] CRITICAL | 1970-01-01T00:00:00.000Z | OP | efghijkl | a | b");
        assert_eq!(alert.parts().unwrap().detail, "a | b");
        for (subject, shown) in [
            ("cs_live_abcdefghijklmnop-followup", "ijklmnop-followup"),
            ("ijklmnop-followup", "ijklmnop-followup"),
            ("a-function-with-a-long-name", "a-function-with-a"),
        ] {
            let alert = Alert::about("T", Severity::Warn, now, "OP", subject, "x");
            assert_eq!(alert.parts().unwrap().subject, shown);
        }
    }

    #[test]
    fn severities_have_ranks_in_their_order() {
        let all = [Severity::Warn, Severity::Error, Severity::Critical];
        assert_eq!(all.map(Severity::rank), [0, 1, 2]);
        assert_eq!([0, 1, 2, 3].map(Severity::of_rank), [Some(all[0]), Some(all[1]), Some(all[2]), None]);
    }
}
