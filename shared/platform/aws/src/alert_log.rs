//! The line that every alert has in its function's own log.

use domain::{Alert, Channel};

/// The line in the function's own log, which nothing else has to be up for.
pub(crate) fn log(alert: &Alert) {
    let line = alert.logged();
    match alert.channel {
        Channel::Ops => tracing::warn!(alert = line, "alert"),
        Channel::Critical => tracing::error!(alert = line, "critical alert"),
    }
}
