//! The alerts of the function.

use domain::{Alert, Timestamp, alert::Severity};

/// An alert with its own subject, so that deduplication never drops one in favour of another.
pub(crate) fn alert(severity: Severity, now: Timestamp, subject: &str, detail: &str) -> Alert {
    Alert::about("ORACLE-AUDIT", severity, now, "DIGEST", subject, detail)
}
