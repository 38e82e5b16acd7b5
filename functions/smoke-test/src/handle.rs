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

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{deployment::Answer, ports::StorageError};
    use serde_json::json;
    use std::sync::Mutex;
    use testkit::{World, run};

    /// A test that ends in the same way whenever it runs, and the answers of deployments.
    struct Stage {
        ending: Option<Ending>,
        triggers: Mutex<Vec<Trigger>>,
        answers: Mutex<Vec<Answer>>,
    }

    #[async_trait]
    impl SmokeTest for Stage {
        async fn run(&self, trigger: Trigger) -> Result<Ending, Error> {
            self.triggers.lock().unwrap().push(trigger);
            self.ending.ok_or_else(|| "SITE_URL is not set".into())
        }
    }

    #[async_trait]
    impl Deployments for Stage {
        async fn answer(&self, _: &Execution, answer: Answer) -> Result<(), StorageError> {
            self.answers.lock().unwrap().push(answer);
            Ok(())
        }
    }

    /// How an event was handled: whether without an error, with which triggers and answers.
    fn handled(ending: Option<Ending>, event: &Value) -> (bool, Vec<Trigger>, Vec<Answer>) {
        let stage = Stage { ending, triggers: Mutex::default(), answers: Mutex::default() };
        let world = World::default();
        let ports = Ports { deployments: &stage, test: &stage, pause: &world };
        let is_ok = run(handle(ports, event)).unwrap().is_ok();
        (is_ok, stage.triggers.into_inner().unwrap(), stage.answers.into_inner().unwrap())
    }

    #[test]
    fn a_deployment_is_answered_and_the_schedule_is_not() {
        let deployment = json!({ "DeploymentId": "d-1", "LifecycleEventHookExecutionId": "e-1" });
        for (ending, answer) in
            [(Some(Ending::Passed), Answer::Succeeded), (Some(Ending::Failed), Answer::Failed), (None, Answer::Failed)]
        {
            assert_eq!(handled(ending, &deployment), (true, vec![Trigger::Deploy], vec![answer]), "{ending:?}");
        }
        let schedule = json!({ "source": "aws.scheduler" });
        assert_eq!(handled(Some(Ending::Failed), &schedule), (true, vec![Trigger::Cron], vec![]));
        assert_eq!(handled(None, &schedule), (false, vec![Trigger::Cron], vec![]));
    }
}
