//! What is known of a stack before it is asked: read from the file that `cargo xtask up` writes, or from the AWS CLI's
//! description.

use std::collections::BTreeMap;

use runtime::Environment;
use serde::Deserialize;

use crate::{account::Account, stack_error::StackError};

/// One stack.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Stack {
    pub(super) name: String,
    pub(super) region: Option<String>,
    /// The URL of a local stack's emulator.
    pub(super) endpoint: Option<String>,
    /// The URL of the sandbox's Stripe, if a local stack uses it.
    pub(super) stripe: Option<String>,
    /// The URLs of the sandbox's mailbox and login service, if a local stack uses them.
    pub(super) graph: Option<(String, String)>,
    /// The URL of the sandbox's Gemini, if a local stack uses it.
    pub(super) gemini: Option<String>,
    pub(super) outputs: BTreeMap<String, String>,
}

/// The parts of target/local/stack.json that operators need.
#[derive(Deserialize)]
struct LocalFile {
    stack: String,
    region: String,
    aws_endpoint: String,
    sandbox: String,
    #[serde(default)]
    real_vendors: Vec<String>,
    outputs: BTreeMap<String, String>,
}

/// The output of `aws cloudformation describe-stacks --stack-name NAME`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Described {
    stacks: [DescribedStack; 1],
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DescribedStack {
    stack_name: String,
    stack_id: String,
    outputs: Vec<DescribedOutput>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DescribedOutput {
    output_key: String,
    output_value: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum File {
    Local(LocalFile),
    Described(Described),
}

impl Stack {
    pub(super) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        Ok(match serde_json::from_str(text)? {
            File::Local(file) => {
                let look_alike = |name: &str| !file.real_vendors.iter().any(|vendor| vendor == name);
                Self {
                    name: file.stack,
                    region: Some(file.region),
                    endpoint: Some(file.aws_endpoint),
                    stripe: look_alike("stripe").then(|| format!("{}/stripe", file.sandbox)),
                    graph: look_alike("graph")
                        .then(|| (format!("{}/graph", file.sandbox), format!("{}/login", file.sandbox))),
                    gemini: look_alike("gemini").then(|| format!("{}/gemini", file.sandbox)),
                    outputs: file.outputs,
                }
            }
            File::Described(Described { stacks: [stack] }) => Self {
                name: stack.stack_name,
                // arn:aws:cloudformation:REGION:ACCOUNT:stack/NAME/ID
                region: stack.stack_id.split(':').nth(3).map(str::to_owned),
                endpoint: None,
                stripe: None,
                graph: None,
                gemini: None,
                outputs: stack.outputs.into_iter().map(|output| (output.output_key, output.output_value)).collect(),
            },
        })
    }

    pub(super) fn output(&self, name: &'static str) -> Result<String, StackError> {
        self.outputs.get(name).cloned().ok_or(StackError::NoOutput(name))
    }

    /// The value for a variable of a function's environment: from the account, from the stack's outputs for the table
    /// of alerts, and otherwise from this process's environment.
    pub(super) fn variable(&self, name: &'static str, account: &Account, environment: &Environment) -> Option<String> {
        match name {
            "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" | "AWS_SESSION_TOKEN" | "AWS_REGION" | "AWS_ENDPOINT_URL" => {
                account.variable(name)
            }
            "TABLE_NAME" => self.outputs.get("TableName").cloned(),
            "AWS_LAMBDA_FUNCTION_NAME" => None,
            // A command reads hundreds of objects at once, maybe over a slow line, and no customer waits for it.
            "CACHE_CONNECT_TIMEOUT_MS" => Some(environment.optional(name).unwrap_or_else(|| "10000".to_owned())),
            _ => environment.optional(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Wanted;

    const LOCAL: &str = r#"{"site":"http://127.0.0.1:8080","sandbox":"http://127.0.0.1:8090",
        "aws_endpoint":"http://127.0.0.1:4566","stack":"oracle-local","region":"us-east-1",
        "stripe_webhook_secret":"whsec_x","real_vendors":[],"outputs":{"TableName":"t"}}"#;

    fn account(wanted: Wanted) -> Account {
        crate::command::wait(async { Ok(Account::find(&wanted).await) }).unwrap().unwrap()
    }

    #[test]
    fn a_local_stack_is_reached_with_the_emulators_own_keys() {
        let stack = Stack::parse(LOCAL).unwrap();
        let account = account(Wanted { region: stack.region.clone(), emulator: stack.endpoint.clone(), profile: None });
        let environment = Environment::of(&[("AWS_ACCESS_KEY_ID", "real"), ("AWS_SESSION_TOKEN", "real")]);
        let variable = |name| stack.variable(name, &account, &environment);
        assert_eq!(variable("AWS_ENDPOINT_URL").as_deref(), Some("http://127.0.0.1:4566"));
        assert_eq!(variable("AWS_ACCESS_KEY_ID").as_deref(), Some("test"));
        assert_eq!((variable("AWS_SESSION_TOKEN"), variable("AWS_REGION").as_deref()), (None, Some("us-east-1")));
        assert_eq!(variable("TABLE_NAME").as_deref(), Some("t"));
        assert_eq!(variable("CACHE_CONNECT_TIMEOUT_MS").as_deref(), Some("10000"));
        let chosen = Environment::of(&[("CACHE_CONNECT_TIMEOUT_MS", "500")]);
        assert_eq!(stack.variable("CACHE_CONNECT_TIMEOUT_MS", &account, &chosen).as_deref(), Some("500"));
        assert_eq!(stack.stripe.as_deref(), Some("http://127.0.0.1:8090/stripe"));
        assert_eq!(stack.output("TableName").unwrap(), "t");
        assert_eq!(stack.output("AuditBucket").unwrap_err().to_string(), "the stack has no output AuditBucket");
        let real = Stack::parse(&LOCAL.replace("[]", r#"["stripe"]"#)).unwrap();
        assert_eq!(real.stripe, None);
        assert_eq!(real.graph.as_ref().map(|(graph, _)| graph.as_str()), Some("http://127.0.0.1:8090/graph"));
    }

    #[test]
    fn a_deployed_stack_is_described_by_the_aws_cli() {
        let text = r#"{"Stacks":[{"StackId":"arn:aws:cloudformation:ca-central-1:1:stack/oracle/x","StackName":"oracle",
            "Outputs":[{"OutputKey":"TableName","OutputValue":"t","Description":"d"}]}]}"#;
        let stack = Stack::parse(text).unwrap();
        assert_eq!(stack.region.as_deref(), Some("ca-central-1"));
        assert_eq!((stack.endpoint.as_deref(), stack.name.as_str()), (None, "oracle"));
        assert_eq!(stack.output("TableName").unwrap(), "t");
        assert!(Stack::parse("{}").is_err());
    }
}
