//! The consequences of a failed attempt beside the sale's next state: an alert, a dead letter.

use domain::{
    Alert, Sale, Timestamp,
    alert::Severity,
    mail::{CHANGED, Failure, Letter, Mail, Next},
    ports::MailError,
    sending::MOVED_WITHIN,
};
use serde_json::{Value, json};

/// The draft no longer exists and is not in the sent-items folder, which may lag behind.
pub(crate) fn lost_track() -> Failure {
    Failure {
        code: "unknown".to_owned(),
        detail: "the draft is gone and not (yet) among the sent items".to_owned(),
        retriable: true,
        asked: None,
        may_have_gone: true,
        needs_consent: false,
    }
}

/// The mailbox did not confirm that it sends a draft. After a lost reply the mail may have gone: it is neither retried at
/// once nor early, and does not become a dead letter (infra/decisions/mail-drafts.md). Where the draft could not be looked
/// at, `may_have_gone` tells whether the mail may have gone before.
pub(crate) fn not_confirmed(error: &MailError, may_have_gone: bool) -> Failure {
    match error {
        MailError::OutcomeUnknown(_) => Failure { asked: Some(MOVED_WITHIN), ..unchecked(error) },
        error if may_have_gone => unchecked(error),
        error => Failure::from(error),
    }
}

/// The mail may have gone, and the mailbox did not say whether it has. An error that is otherwise final is retried on the
/// schedule: it is not about this mail.
pub(crate) fn unchecked(error: &MailError) -> Failure {
    Failure { retriable: true, may_have_gone: true, ..Failure::from(error) }
}

/// The mail no longer renders to the bytes of its first attempt, which it must (Email Retry, VER-07).
pub(crate) fn changed() -> Failure {
    Failure {
        code: CHANGED.to_owned(),
        detail: "the mail no longer renders to the bytes of its first attempt".to_owned(),
        retriable: false,
        asked: None,
        may_have_gone: false,
        needs_consent: false,
    }
}

/// The alert of a failure; `None` when the next attempt follows immediately.
pub(crate) fn alert(sale: &Sale, letter: Letter, failure: &Failure, next: Next, now: Timestamp) -> Option<Alert> {
    let event = |severity, detail: &str| {
        Some(Alert::event("ORACLE-EMAIL", severity, now, "EMAIL_SEND", sale.session_id(), detail))
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
            let tag = sale.email_tag();
            let alert = Alert::dead_letter(sale.session_id(), tag, sale.tier(), attempts, &failure.code);
            // Email Retry, FM-03: this line alone says what ends the failures.
            let cause = if failure.needs_consent { format!(": {}", failure.detail) } else { String::new() };
            Some(Alert { line: format!("{}{cause}", alert.line), ..alert })
        }
    }
}

/// The number of attempts after the first one (which is what Email Retry counts).
fn attempts(sale: &Sale, letter: Letter) -> usize {
    sale.letter(letter).progress().map_or(0, |progress| progress.failures.len().saturating_sub(1))
}

/// The document that is stored for a dead letter (Email Retry, output 3): no address, no question, no verdict.
pub(crate) fn dead_letter(sale: &Sale, letter: Letter) -> Option<(Timestamp, Value)> {
    let Mail::Dead { at, progress } = sale.letter(letter) else { return None };
    let document = json!({
        "session_id": sale.session_id(),
        "letter": letter,
        "status": "DEAD",
        "tier": sale.tier(),
        "customer": sale.email_tag(),
        "verdict_hash": sale.verdict_hash(),
        "attempt_count": attempts(sale, letter),
        "errors": progress.failures,
        "last_error_code": progress.failures.last(),
        "died_at": at.to_iso(),
    });
    Some((*at, document))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::mail::MailSchedule;
    use std::time::Duration;

    fn after(failures: usize, error: &MailError) -> Next {
        MailSchedule::standard().next(&Failure::from(error), failures, Timestamp::from_seconds(0))
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
        let throttled = MailError::Throttled { status: 429, wait: Duration::from_secs(120) };
        assert_eq!(after(1, &throttled), Next::At(Timestamp::from_seconds(120)));
    }

    /// The mailbox may show a draft for minutes after it has accepted it.
    #[test]
    fn a_mail_whose_sending_lost_its_reply_is_not_tried_again_at_once() {
        let lost = not_confirmed(&MailError::OutcomeUnknown("reset".into()), false);
        let at = |seconds| Next::At(Timestamp::from_seconds(seconds));
        let next = |failures| MailSchedule::standard().next(&lost, failures, Timestamp::from_seconds(0));
        assert_eq!([1, 2, 3, 4, 5].map(next), [at(300), at(300), at(1800), at(7200), Next::Unknown]);
    }

    /// Without a look at the draft, what is known of it stays.
    #[test]
    fn a_mail_that_may_have_gone_is_tried_to_the_end_of_its_schedule_and_is_no_dead_letter() {
        for error in [MailError::Unavailable(503), MailError::Forbidden(403)] {
            assert_eq!(not_confirmed(&error, false), Failure::from(&error));
            for failure in [not_confirmed(&error, true), unchecked(&error)] {
                let next = |failures| MailSchedule::standard().next(&failure, failures, Timestamp::from_seconds(0));
                assert_eq!([2, 5].map(next), [Next::At(Timestamp::from_seconds(300)), Next::Unknown], "{failure:?}");
            }
        }
    }

    #[test]
    fn a_mail_that_may_have_gone_is_no_dead_letter() {
        let next = MailSchedule::standard().next(&lost_track(), 5, Timestamp::from_seconds(0));
        assert_eq!(next, Next::Unknown);
    }
}
