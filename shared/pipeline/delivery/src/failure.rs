//! What a failed attempt leads to: plain data in, the sale's next state out.

use audit::{Body, Record};
use domain::{
    Alert, Sale, Timestamp,
    alert::Severity,
    mail::{Letter, Mail, MailSchedule, Progress},
    ports::MailError,
};
use serde_json::{Value, json};
use std::time::Duration;

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// A short code: a status, `-1` for a broken connection, or a word.
    pub(crate) code: String,
    /// A sentence for the log and for operators.
    pub(crate) detail: String,
    /// Whether a later attempt may succeed (Email Retry, INV-05).
    pub(crate) retriable: bool,
    /// How long the mailbox asked us to wait.
    pub(crate) asked: Option<Duration>,
    /// Whether the mail may have gone already: what is given up then is no dead letter.
    pub(crate) may_have_gone: bool,
}

impl Failure {
    pub(crate) fn of(error: &MailError) -> Self {
        Self {
            code: error.code(),
            detail: error.to_string(),
            retriable: error.is_retriable(),
            asked: match error {
                MailError::Throttled(wait) => Some(*wait),
                _ => None,
            },
            may_have_gone: false,
        }
    }

    /// The draft is gone and not among the sent items, which may lag behind.
    pub(crate) fn lost_track() -> Self {
        Self {
            code: "unknown".to_owned(),
            detail: "the draft is gone and not (yet) among the sent items".to_owned(),
            retriable: true,
            asked: None,
            may_have_gone: true,
        }
    }

    /// The same mail must be the same bytes (VER-07), and is not any more.
    pub(crate) fn changed() -> Self {
        Self {
            code: "changed".to_owned(),
            detail: "the mail no longer renders to the bytes of its first attempt".to_owned(),
            retriable: false,
            asked: None,
            may_have_gone: false,
        }
    }
}

/// What becomes of a mail after a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Try again at once, under the same claim.
    AtOnce,
    /// Try again when it is due.
    At(Timestamp),
    /// Given up.
    Dead,
    /// Given up, and nobody knows whether it went.
    Unknown,
}

/// Judges a failure that is already counted in `progress`.
pub(crate) fn judge(failure: &Failure, progress: &Progress, schedule: &MailSchedule, now: Timestamp) -> Next {
    let wait = if failure.retriable { schedule.wait_after(progress.failures.len(), failure.asked) } else { None };
    match wait {
        Some(wait) if wait.is_zero() => Next::AtOnce,
        Some(wait) => Next::At(now.plus(wait)),
        None if failure.may_have_gone => Next::Unknown,
        None => Next::Dead,
    }
}

/// The alert of a failure, if it is worth one: an attempt that is made again at once is not.
pub(crate) fn alert(sale: &Sale, letter: Letter, failure: &Failure, next: &Next, now: Timestamp) -> Option<Alert> {
    let event = |severity, detail: &str| {
        Some(Alert::event("ORACLE-EMAIL", severity, now, "EMAIL_SEND", &sale.session_id, detail))
    };
    match next {
        Next::AtOnce => None,
        Next::At(due) => {
            event(Severity::Error, &format!("{} mail: {}; again at {due}", letter.as_str(), failure.detail))
        }
        Next::Unknown => {
            event(Severity::Critical, &format!("{}: a human decides, nobody sends it again", failure.detail))
        }
        Next::Dead => {
            let attempts = attempts(sale, letter);
            let tag = sale.email_tag.as_deref();
            Some(Alert::dead_letter(&sale.session_id, tag, sale.tier, attempts, &failure.code))
        }
    }
}

/// How many attempts followed the first one (Email Retry counts those).
fn attempts(sale: &Sale, letter: Letter) -> usize {
    progress(sale, letter).map_or(0, |progress| progress.failures.len().saturating_sub(1))
}

fn progress(sale: &Sale, letter: Letter) -> Option<&Progress> {
    match sale.letter(letter) {
        Mail::Sending { progress, .. } | Mail::Retrying { progress, .. } | Mail::Dead { progress, .. } => {
            Some(progress)
        }
        _ => None,
    }
}

/// What is kept of a dead letter (Email Retry, output 3): no address, no question, no verdict.
pub(crate) fn dead_letter(sale: &Sale, letter: Letter) -> Option<(Timestamp, Value)> {
    let Mail::Dead { at, progress } = sale.letter(letter) else { return None };
    let document = json!({
        "session_id": sale.session_id,
        "letter": letter,
        "status": "DEAD",
        "tier": sale.tier,
        "customer": sale.email_tag,
        "verdict_hash": sale.verdict_hash,
        "attempt_count": attempts(sale, letter),
        "errors": progress.failures,
        "last_error_code": progress.failures.last(),
        "died_at": at.to_iso(),
    });
    Some((*at, document))
}

/// The audit record of a step of the retry (Email Retry, INV-09: every transition is a line of its own).
pub(crate) fn with_progress(record: Record, letter: Letter, progress: &Progress, next: Option<&Next>) -> Record {
    if !matches!(record.body, Body::Pipeline { .. }) {
        return record;
    }
    let (status, next_attempt_at) = match next {
        None => ("DELIVERED", None),
        Some(Next::AtOnce) => ("RETRYING", None),
        Some(Next::At(due)) => ("RETRYING", Some(due.to_iso())),
        Some(Next::Dead) => ("DEAD", None),
        Some(Next::Unknown) => ("UNKNOWN", None),
    };
    record.with_details(json!({
        "letter": letter,
        "retry_status": status,
        "failures": progress.failures,
        "next_attempt_at": next_attempt_at,
        "body_hash": progress.body_hash,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(failures: usize, error: &MailError) -> Next {
        let progress = Progress { failures: vec!["x".to_owned(); failures], ..Progress::default() };
        judge(&Failure::of(error), &progress, &MailSchedule::standard(), Timestamp::from_seconds(0))
    }

    /// Email Retry, INV-02 and VER-03.
    #[test]
    fn the_fifth_failure_is_the_last() {
        let error = MailError::Unavailable(503);
        let at = |seconds| Next::At(Timestamp::from_seconds(seconds));
        let nexts: Vec<_> = (1..=5).map(|failures| after(failures, &error)).collect();
        assert_eq!(nexts, [Next::AtOnce, at(300), at(1800), at(7200), Next::Dead]);
    }

    /// Email Retry, INV-05 and VER-04.
    #[test]
    fn a_refusal_is_final_at_once() {
        for error in [MailError::Rejected, MailError::Forbidden(403), MailError::ConsentRefused] {
            assert_eq!(after(1, &error), Next::Dead);
        }
    }

    /// Email Retry, VER-05.
    #[test]
    fn a_throttled_mail_is_never_tried_again_at_once() {
        let throttled = MailError::Throttled(Duration::from_secs(120));
        assert_eq!(after(1, &throttled), Next::At(Timestamp::from_seconds(120)));
    }

    #[test]
    fn a_mail_that_may_have_gone_is_no_dead_letter() {
        let progress = Progress { failures: vec!["x".to_owned(); 5], ..Progress::default() };
        let next = judge(&Failure::lost_track(), &progress, &MailSchedule::standard(), Timestamp::from_seconds(0));
        assert_eq!(next, Next::Unknown);
    }
}
