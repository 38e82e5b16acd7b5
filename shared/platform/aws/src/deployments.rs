//! CodeDeploy: sends a hook's answer to the deployment that waits for it.

use crate::{Connection, attempts::Step};
use async_trait::async_trait;
use aws_sdk_codedeploy::types::LifecycleEventStatus;
use domain::{
    deployment::{Answer, Execution},
    ports::{Deployments, StorageError},
};

/// CodeDeploy.
#[derive(Debug)]
pub struct CodeDeploy(Connection);

impl CodeDeploy {
    /// Through this connection.
    #[must_use]
    pub const fn new(connection: Connection) -> Self {
        Self(connection)
    }
}

#[async_trait]
impl Deployments for CodeDeploy {
    async fn answer(&self, execution: &Execution, answer: Answer) -> Result<(), StorageError> {
        let client = self.0.codedeploy();
        let status = match answer {
            Answer::Succeeded => LifecycleEventStatus::Succeeded,
            Answer::Failed => LifecycleEventStatus::Failed,
        };
        let put = || async {
            let put = client.put_lifecycle_event_hook_execution_status().deployment_id(&execution.deployment);
            put.lifecycle_event_hook_execution_id(&execution.hook).status(status.clone()).send().await?;
            Ok(())
        };
        let step = Step { name: "deployment answer", operation: "DEPLOYMENT", subject: "-" };
        self.0.call(step, put).await
    }
}
