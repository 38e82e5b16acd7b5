//! Handles one event: of CodeDeploy, or of the schedule.

use crate::hook;
use async_trait::async_trait;
use domain::{
    deployment::Execution,
    ports::{Deployments, Pause},
};
use runtime::{Error, telemetry};
use serde_json::Value;
use smoke::{Ending, Trigger};

/// The smoke test of the deployed stack.
#[async_trait]
pub trait SmokeTest: Send + Sync {
    /// Runs it once, and reports.
    async fn run(&self, trigger: Trigger) -> Result<Ending, Error>;
}

/// The ports that the function uses.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub deployments: &'a dyn Deployments,
    pub test: &'a dyn SmokeTest,
    pub pause: &'a dyn Pause,
}

/// Runs the smoke test, and reports the result to a deployment that waits for it.
///
/// # Errors
/// When the test could not be set up, or the deployment could not be answered.
pub async fn handle(ports: Ports<'_>, event: &Value) -> Result<(), Error> {
    match Execution::of(event) {
        Some(execution) => {
            let test = ports.test.run(Trigger::Deploy);
            let run = async { test.await.map_err(|error| telemetry::chain(error.as_ref())) };
            hook::answer(ports.deployments, ports.pause, &execution, run).await?;
        }
        None => drop(ports.test.run(Trigger::Cron).await?),
    }
    Ok(())
}
