//! The alerts of a run: plain functions.

use crate::{
    error::WatchError,
    state::{Claimed, InboxState, Kind, digest},
};
use domain::{Alert, Timestamp, alert::Severity, ports::MailError};

/// The severity and the code of a run's error.
pub(crate) fn severity_and_code(error: &WatchError) -> (Severity, String) {
    match error {
        WatchError::Mailbox(error) => {
            let severity = if error.is_retriable() { Severity::Error } else { Severity::Critical };
            (severity, error.code())
        }
        WatchError::Storage(_)
        | WatchError::Followup(_)
        | WatchError::Commit(_)
        | WatchError::Bridge(_)
        | WatchError::Overtaken
        | WatchError::Interrupted(_) => (Severity::Error, "store".to_owned()),
    }
}

/// The alert about a changed error; `None` if operators have been alerted to it already.
pub(crate) fn alert_on_change(
    state: &InboxState,
    trouble: Option<&(Severity, String)>,
    now: Timestamp,
) -> Option<Alert> {
    match (&state.trouble, trouble) {
        (None, None) => None,
        (Some(before), Some((_, code))) if before == code => None,
        (_, Some((severity, code))) => {
            let detail = format!("the inbox cannot be watched ({code}): replies and inquiries wait");
            Some(alert(*severity, now, "INBOX_READ", "-", &detail))
        }
        (Some(_), None) => Some(alert(Severity::Warn, now, "INBOX_READ", "-", "the inbox is watched again")),
    }
}

/// The alert about messages that wait for a later run, once a backlog has begun or ended.
pub(crate) fn alert_backlog(has_begun: bool, now: Timestamp) -> Alert {
    let (severity, detail) = match has_begun {
        true => (Severity::Critical, "the inbox has more messages than a run handles: replies and disclosures wait"),
        false => (Severity::Warn, "no message waits for a later run any more"),
    };
    alert(severity, now, "INBOX_BACKLOG", "-", detail)
}

/// The alert about a message that gets no answer because of a limit; `None` if that is as intended.
pub(crate) fn alert_unanswered(kind: Kind, claimed: Claimed, id: &str, now: Timestamp) -> Option<Alert> {
    let (severity, subject, detail) = match (kind, claimed) {
        (_, Claimed::Granted) | (Kind::Acknowledgement | Kind::Followup, Claimed::Cooldown) => return None,
        (Kind::Help, _) => {
            let detail = "a message may disclose self-harm, and too many today: no sources of help are sent, answer it";
            (Severity::Critical, digest(id), detail)
        }
        (_, Claimed::Full) => (Severity::Error, "-".to_owned(), "too many senders today: no acknowledgement"),
    };
    Some(alert(severity, now, "AUTORESPONSE", &subject, detail))
}

/// The alert about an answer that was not sent and is not tried again (Inbox Watch, FM-4 and G5).
pub(crate) fn alert_not_sent(kind: Kind, error: &MailError, id: &str, now: Timestamp) -> Alert {
    let (severity, what) = match kind {
        Kind::Help => (Severity::Critical, "sources of help were not sent to somebody who may disclose self-harm"),
        Kind::Acknowledgement | Kind::Followup => (Severity::Error, "an acknowledgement was not sent"),
    };
    let detail = format!("{what} ({}): it is not tried again", error.code());
    alert(severity, now, "AUTORESPONSE", &digest(id), &detail)
}

/// An alert of this function. Of a message it names at most the digest.
pub(crate) fn alert(severity: Severity, now: Timestamp, operation: &str, subject: &str, detail: &str) -> Alert {
    Alert::about("ORACLE-INBOX", severity, now, operation, subject, detail)
}
