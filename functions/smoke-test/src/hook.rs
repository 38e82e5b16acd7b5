//! CodeDeploy's pre-traffic hook: a deployment waits for an answer and gets one in every case.

use domain::{
    deployment::{Answer, Execution},
    ports::{Deployments, Pause, StorageError},
};
use runtime::{Interrupted, within};
use smoke::Ending;
use std::{future::Future, time::Duration};

/// A run takes at most a minute. The deployment is answered within this time after it asked, and the function may run
/// for another half minute to send the answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(80);

/// Runs the test and answers the deployment: `Succeeded` only if every stage passed, and `Failed` also if the run
/// panics or does not end (Smoke Test, invariant 8).
///
/// # Errors
/// [`StorageError`] when the answer did not arrive: the invocation fails and is not repeated, so that the deployment
/// waits for CodeDeploy's own limit and is then rolled back.
pub(crate) async fn answer(
    deployments: &dyn Deployments,
    pause: &dyn Pause,
    execution: &Execution,
    run: impl Future<Output = Result<Ending, String>>,
) -> Result<Answer, StorageError> {
    let outcome: Result<Result<Ending, String>, Interrupted> = within(pause, ANSWER_WITHIN, run).await;
    let answer = match outcome {
        Ok(Ok(Ending::Passed)) => Answer::Succeeded,
        Ok(Ok(Ending::Failed | Ending::Misconfigured)) => Answer::Failed,
        Ok(Err(error)) => {
            tracing::error!(error, "the smoke test could not run");
            Answer::Failed
        }
        Err(error) => {
            tracing::error!(%error, "the smoke test did not come to its end");
            Answer::Failed
        }
    };
    tracing::info!(?answer, "the deployment is answered");
    deployments.answer(execution, answer).await?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;
    use serde_json::json;
    use std::sync::Mutex;
    use testkit::{World, run};

    #[derive(Default)]
    struct Answers(Mutex<Vec<(Execution, Answer)>>);

    #[async_trait]
    impl Deployments for Answers {
        async fn answer(&self, execution: &Execution, answer: Answer) -> Result<(), StorageError> {
            self.0.lock().unwrap().push((execution.clone(), answer));
            Ok(())
        }
    }

    fn answered(test: impl Future<Output = Result<Ending, String>>) -> Answer {
        let (world, answers) = (World::default(), Answers::default());
        let execution =
            Execution::of(&json!({ "DeploymentId": "d-1", "LifecycleEventHookExecutionId": "e-1" })).unwrap();
        let answer = run(super::answer(&answers, &world, &execution, test)).unwrap().unwrap();
        assert_eq!(*answers.0.lock().unwrap(), [(execution, answer)], "answered once");
        answer
    }

    #[test]
    fn a_deployment_goes_on_only_after_ten_passes() {
        assert_eq!(answered(async { Ok(Ending::Passed) }), Answer::Succeeded);
        assert_eq!(answered(async { Ok(Ending::Failed) }), Answer::Failed);
        assert_eq!(answered(async { Ok(Ending::Misconfigured) }), Answer::Failed);
    }

    #[test]
    fn it_is_answered_also_where_the_run_cannot_start_breaks_or_hangs() {
        assert_eq!(answered(async { Err("environment variable SITE_URL is not set".to_owned()) }), Answer::Failed);
        assert_eq!(answered(async { panic!("planned") }), Answer::Failed);
        assert_eq!(answered(std::future::pending()), Answer::Failed);
    }
}
