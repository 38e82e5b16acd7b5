//! Writes every alert to its function's own log.

use domain::{Alert, Channel};

/// Writes the alert to the function's own log, which depends on no other service.
pub(crate) fn log(alert: &Alert) {
    let line = alert.redacted();
    match alert.channel {
        Channel::Ops => tracing::warn!(alert = line, "alert"),
        Channel::Critical => tracing::error!(alert = line, "critical alert"),
    }
}
