//! What is known of a stack before it is asked: read from the file that `cargo xtask up` writes, or from the AWS CLI's
//! description.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The sandbox's vendors: the name, the variable of the functions with its URL, and the path of the sandbox.
const VENDORS: [(&str, &str, &str); 4] = [
    ("stripe", "STRIPE_BASE_URL", "stripe"),
    ("graph", "GRAPH_BASE_URL", "graph"),
    ("graph", "LOGIN_BASE_URL", "login"),
    ("gemini", "GEMINI_BASE_URL", "gemini"),
];

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Stack {
    pub(super) name: String,
    pub(super) region: Option<String>,
    /// The URL of a local stack's emulator.
    pub(super) endpoint: Option<String>,
    /// The URLs of the sandbox's vendors that a local stack uses, by the variables of its functions.
    pub(super) vendors: BTreeMap<&'static str, String>,
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
                let is_sandbox = |vendor: &str| !file.real_vendors.iter().any(|real| real == vendor);
                let vendors = VENDORS.into_iter().filter(|(vendor, ..)| is_sandbox(vendor));
                Self {
                    name: file.stack,
                    region: Some(file.region),
                    endpoint: Some(file.aws_endpoint),
                    vendors: vendors
                        .map(|(_, variable, path)| (variable, format!("{}/{path}", file.sandbox)))
                        .collect(),
                    outputs: file.outputs,
                }
            }
            File::Described(Described { stacks: [stack] }) => Self {
                name: stack.stack_name,
                // arn:aws:cloudformation:REGION:ACCOUNT:stack/NAME/ID
                region: stack.stack_id.split(':').nth(3).map(str::to_owned),
                endpoint: None,
                vendors: BTreeMap::new(),
                outputs: stack.outputs.into_iter().map(|output| (output.output_key, output.output_value)).collect(),
            },
        })
    }

    /// The id of one of the stack's secrets, by the part of its name that follows the stack's.
    pub(super) fn secret_id(&self, name: &str) -> String {
        format!("{}/{name}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: &str = r#"{"site":"http://127.0.0.1:8080","sandbox":"http://127.0.0.1:8090",
        "aws_endpoint":"http://127.0.0.1:4566","stack":"oracle-local","region":"us-east-1",
        "stripe_webhook_secret":"whsec_x","real_vendors":[],"outputs":{"TableName":"t"}}"#;

    #[test]
    fn a_local_stack_uses_the_sandbox_but_for_real_vendors() {
        let stack = Stack::parse(LOCAL).unwrap();
        assert_eq!(stack.endpoint.as_deref(), Some("http://127.0.0.1:4566"));
        assert_eq!(stack.secret_id("stripe"), "oracle-local/stripe");
        assert_eq!(stack.outputs.get("TableName").map(String::as_str), Some("t"));
        let url = |stack: &Stack, variable| stack.vendors.get(variable).cloned();
        assert_eq!(url(&stack, "STRIPE_BASE_URL").as_deref(), Some("http://127.0.0.1:8090/stripe"));
        let real = Stack::parse(&LOCAL.replace("[]", r#"["stripe"]"#)).unwrap();
        assert_eq!(url(&real, "STRIPE_BASE_URL"), None);
        assert_eq!(url(&real, "LOGIN_BASE_URL").as_deref(), Some("http://127.0.0.1:8090/login"));
    }

    #[test]
    fn a_deployed_stack_is_described_by_the_aws_cli() {
        let text = r#"{"Stacks":[{"StackId":"arn:aws:cloudformation:ca-central-1:1:stack/oracle/x","StackName":"oracle",
            "Outputs":[{"OutputKey":"TableName","OutputValue":"t","Description":"d"}]}]}"#;
        let stack = Stack::parse(text).unwrap();
        assert_eq!(stack.region.as_deref(), Some("ca-central-1"));
        assert_eq!((stack.endpoint.as_deref(), stack.name.as_str()), (None, "oracle"));
        assert_eq!(stack.outputs.get("TableName").map(String::as_str), Some("t"));
        assert!(Stack::parse("{}").is_err());
    }
}
