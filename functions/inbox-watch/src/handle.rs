//! One scheduled run: calls [`run::run`] with the audit keys, and records the metric that its alarm watches.

use crate::{
    run,
    watch::{Keys, Ports, Report, Settings},
};
use audit::AuditKeys;
use domain::{EmailAddress, Metric};
use runtime::{ConfigurationError, Environment, Error, telemetry};
use std::time::Duration;

/// The lease of one run: longer than the function's time-out (100 s), and shorter than the two minutes to the next run.
const LEASE: Duration = Duration::from_secs(110);

/// A run begins no message after this time.
const BUDGET: Duration = Duration::from_secs(50);

/// The most time for one message, so that a message begun last still ends before the time-out, and is counted.
const LIMIT: Duration = Duration::from_secs(40);

impl Settings {
    /// Reads and validates the settings.
    ///
    /// # Errors
    /// [`ConfigurationError`] when `GRAPH_SENDER` is missing or not an address.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigurationError> {
        environment.address("GRAPH_SENDER").map(Self::of)
    }

    /// The settings of a mailbox with this address.
    #[must_use]
    pub const fn of(own: EmailAddress) -> Self {
        Self { own, lease: LEASE, budget: BUDGET, limit: LIMIT }
    }
}

/// Checks the inbox once. No error makes the invocation fail (Inbox Watch, invariant 1). Instead the metric is missing,
/// and its alarm fires when no run has completed for ten minutes.
pub async fn handle(ports: Ports<'_>, settings: &Settings, request_id: &str) {
    match run(ports, settings, request_id).await {
        Ok(Report { looked, new, finished, failed }) => {
            tracing::info!(looked, new, finished, failed, "inbox watched");
            if looked {
                ports.meter.record(&[Metric::InboxWatched.once()], ports.journal.clock.now());
            }
        }
        Err(error) => {
            tracing::error!(error = telemetry::chain(error.as_ref()), "the inbox was not watched to the end");
        }
    }
}

async fn run(ports: Ports<'_>, settings: &Settings, request_id: &str) -> Result<Report, Error> {
    let keys = AuditKeys::parse(&ports.audit_keys.document().await?)?;
    let keys = Keys { current: &keys.current()?, all: &keys };
    // Boxed: the compiler cannot lay out futures that are nested this deep.
    Ok(Box::pin(run::run(ports, keys, settings, request_id)).await?)
}
