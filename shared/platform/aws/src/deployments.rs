//! CodeDeploy: what a hook's function answers the deployment that waits for it.

use crate::{Connection, attempts::Step};
use aws_sdk_codedeploy::types::LifecycleEventStatus;
use domain::ports::StorageError;

/// CodeDeploy.
#[derive(Debug)]
pub struct CodeDeploy(Connection);

impl CodeDeploy {
    /// Through this connection.
    #[must_use]
    pub const fn new(connection: Connection) -> Self {
        Self(connection)
    }

    /// Tells a deployment whether its hook has succeeded.
    ///
    /// # Errors
    /// [`StorageError`] when it did not take the answer.
    pub async fn answer(&self, deployment: &str, hook: &str, succeeded: bool) -> Result<(), StorageError> {
        let client = self.0.codedeploy();
        let status = if succeeded { LifecycleEventStatus::Succeeded } else { LifecycleEventStatus::Failed };
        let put = || async {
            let put = client.put_lifecycle_event_hook_execution_status().deployment_id(deployment);
            put.lifecycle_event_hook_execution_id(hook).status(status.clone()).send().await?;
            Ok(())
        };
        let step = Step { name: "deployment answer", operation: "DEPLOYMENT", subject: "-" };
        self.0.call(step, put).await
    }
}
