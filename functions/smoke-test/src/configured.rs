//! The smoke test as the environment configures it. The configuration is read in each run, so that a mistake in it
//! fails a deployment too.

use crate::handle::SmokeTest;
use async_trait::async_trait;
use backend::Backend;
use domain::{
    Metric,
    ports::{Alerts, Clock, Meter},
};
use runtime::{Error, System, telemetry};
use smoke::{Ending, Report, Trigger, Wired};

/// Builds and runs the smoke test.
pub struct Configured {
    backend: Backend,
}

impl Configured {
    /// The smoke test of this environment. Nothing is read yet.
    #[must_use]
    pub const fn new(backend: Backend) -> Self {
        Self { backend }
    }

    /// Alerts operators to a run that cannot be set up, because no other alarm shows it.
    async fn not_begun(&self, trigger: Trigger, log: &str, error: &str) -> Result<(), Error> {
        let alerts = self.backend.alerts()?;
        let now = System.now();
        for alert in Report::not_begun(now, error).alerts(trigger, now, log) {
            alerts.raise(alert).await;
        }
        Ok(())
    }
}

#[async_trait]
impl SmokeTest for Configured {
    async fn run(&self, trigger: Trigger) -> Result<Ending, Error> {
        let log = format!("log group {}", self.backend.environment().required("LOG_GROUP")?);
        let wired = match Wired::new(&self.backend) {
            Ok(wired) => wired,
            Err(error) => {
                self.not_begun(trigger, &log, &telemetry::chain(error.as_ref())).await?;
                return Err(error);
            }
        };
        let report = wired.run(trigger, &log).await;
        let mut text = report.text(&log);
        if let Some(session) = &report.session {
            // A whole session id gives access to its verdict, so logs contain only its first twelve characters.
            text = text.replace(session.as_str(), session.prefix());
        }
        tracing::info!(report = text, passed = report.passed(), "smoke test");
        System.record(&[Metric::SmokeTested.once()], System.now());
        Ok(report.ending())
    }
}
