//! The deployments that wait for an answer: CodeDeploy's lifecycle hooks (Smoke Test, invariant 8; Brain ANVIL).

use serde_json::Value;

/// The name of the function that judges deployments, of its memory, of its stream in the audit log, and of its folder.
pub const GATE: &str = "anvil";

/// A hook's execution that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The deployment.
    pub deployment: String,
    /// The execution of its hook.
    pub hook: String,
}

impl Execution {
    /// The execution in an event of CodeDeploy; `None` for any other event.
    #[must_use]
    pub fn of(event: &Value) -> Option<Self> {
        let text = |name: &str| event[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        Some(Self { deployment: text("DeploymentId")?, hook: text("LifecycleEventHookExecutionId")? })
    }
}

/// The answer to a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It continues.
    Succeeded,
    /// It is rolled back.
    Failed,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_whole_question_is_a_hook() {
        let whole = json!({ "DeploymentId": "d-1", "LifecycleEventHookExecutionId": "e-1" });
        assert_eq!(Execution::of(&whole), Some(Execution { deployment: "d-1".to_owned(), hook: "e-1".to_owned() }));
        for event in [json!({}), json!({ "DeploymentId": "d-1" }), json!({ "source": "aws.events", "DeploymentId": 1 })]
        {
            assert_eq!(Execution::of(&event), None);
        }
    }
}
