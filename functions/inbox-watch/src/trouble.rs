//! The alerts of a run: plain functions.

use crate::{error::WatchError, memory::Memory};
use domain::{Alert, Timestamp, alert::Severity};

/// The severity and the code of a run's error.
pub(crate) fn trouble(error: &WatchError) -> (Severity, String) {
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
        | WatchError::Broke(_) => (Severity::Error, "store".to_owned()),
    }
}

/// The alert about a changed error; `None` if operators have been alerted to it already.
pub(crate) fn changed(memory: &Memory, trouble: Option<&(Severity, String)>, now: Timestamp) -> Option<Alert> {
    match (&memory.trouble, trouble) {
        (None, None) => None,
        (Some(before), Some((_, code))) if before == code => None,
        (_, Some((severity, code))) => {
            let detail = format!("the inbox cannot be watched ({code}): replies and inquiries wait");
            Some(alert(*severity, now, "INBOX_READ", "-", &detail))
        }
        (Some(_), None) => Some(alert(Severity::Warn, now, "INBOX_READ", "-", "the inbox is watched again")),
    }
}

/// An alert of this function. Of a message it names at most the digest.
pub(crate) fn alert(severity: Severity, now: Timestamp, operation: &str, subject: &str, detail: &str) -> Alert {
    Alert::about("ORACLE-INBOX", severity, now, operation, subject, detail)
}
