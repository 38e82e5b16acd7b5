//! CodeDeploy's pre-traffic hook: a deployment waits until it is answered, and is answered whatever happens.

use async_trait::async_trait;
use domain::ports::{Pause, StorageError};
use runtime::{Broke, within};
use serde_json::Value;
use smoke::Ending;
use std::{future::Future, time::Duration};

/// A run has a minute; a deployment is answered at the latest this long after it asked, and the function may run for
/// another half minute to do so.
const ANSWER_WITHIN: Duration = Duration::from_secs(80);

/// Which question of which deployment is to be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The deployment.
    pub deployment: String,
    /// The execution of its hook.
    pub hook: String,
}

/// What a deployment hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It goes on.
    Succeeded,
    /// It is rolled back.
    Failed,
}

/// Who deploys.
#[async_trait]
pub trait Deployments: Send + Sync {
    /// Answers a hook's execution.
    async fn answer(&self, execution: &Execution, status: Status) -> Result<(), StorageError>;
}

/// What an event of CodeDeploy's asks to be answered; nothing for any other event.
pub(crate) fn execution(event: &Value) -> Option<Execution> {
    let text = |name: &str| event[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    Some(Execution { deployment: text("DeploymentId")?, hook: text("LifecycleEventHookExecutionId")? })
}

/// Runs the test and answers the deployment: `Succeeded` only if every stage passed, `Failed` also where the run
/// breaks or does not end (invariant 8).
///
/// # Errors
/// [`StorageError`] when the answer did not arrive: the invocation fails and Lambda repeats it.
pub(crate) async fn answer(
    deployments: &dyn Deployments,
    pause: &dyn Pause,
    execution: &Execution,
    run: impl Future<Output = Result<Ending, String>>,
) -> Result<Status, StorageError> {
    let outcome: Result<Result<Ending, String>, Broke> = within(pause, ANSWER_WITHIN, run).await;
    let status = match outcome {
        Ok(Ok(Ending::Passed)) => Status::Succeeded,
        Ok(Ok(Ending::Failed | Ending::Misconfigured)) => Status::Failed,
        Ok(Err(error)) => {
            tracing::error!(error, "the smoke test could not run");
            Status::Failed
        }
        Err(error) => {
            tracing::error!(%error, "the smoke test did not come to its end");
            Status::Failed
        }
    };
    tracing::info!(?status, "the deployment is answered");
    deployments.answer(execution, status).await?;
    Ok(status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Mutex;
    use testkit::{World, run};

    #[derive(Default)]
    struct Answers(Mutex<Vec<(Execution, Status)>>);

    #[async_trait]
    impl Deployments for Answers {
        async fn answer(&self, execution: &Execution, status: Status) -> Result<(), StorageError> {
            self.0.lock().unwrap().push((execution.clone(), status));
            Ok(())
        }
    }

    fn answered(test: impl Future<Output = Result<Ending, String>>) -> Status {
        let (world, answers) = (World::default(), Answers::default());
        let execution = execution(&json!({ "DeploymentId": "d-1", "LifecycleEventHookExecutionId": "e-1" })).unwrap();
        let status = run(answer(&answers, &world, &execution, test)).unwrap().unwrap();
        assert_eq!(*answers.0.lock().unwrap(), [(execution, status)], "answered once");
        status
    }

    #[test]
    fn a_deployment_goes_on_only_after_ten_passes() {
        assert_eq!(answered(async { Ok(Ending::Passed) }), Status::Succeeded);
        assert_eq!(answered(async { Ok(Ending::Failed) }), Status::Failed);
        assert_eq!(answered(async { Ok(Ending::Misconfigured) }), Status::Failed);
    }

    #[test]
    fn it_is_answered_also_where_the_run_cannot_start_breaks_or_hangs() {
        assert_eq!(answered(async { Err("environment variable SITE_URL is not set".to_owned()) }), Status::Failed);
        assert_eq!(answered(async { panic!("planned") }), Status::Failed);
        assert_eq!(answered(std::future::pending()), Status::Failed);
    }

    #[test]
    fn only_a_whole_question_is_a_hook() {
        for event in [json!({}), json!({ "DeploymentId": "d-1" }), json!({ "source": "aws.events", "DeploymentId": 1 })]
        {
            assert_eq!(execution(&event), None);
        }
    }
}
