//! Where the stack is: the file that `cargo xtask up` writes, or what the AWS CLI prints of a deployed one.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use audit::Journal;
use aws::{Connection, DynamoSales, InvalidSetting, S3AuditLog, S3Quarantine, SecretDocument, SnsAlerts, SqsQueue};
use runtime::{Environment, System};
use serde::Deserialize;

use crate::log_reader;

/// Why a stack cannot be reached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StackError {
    #[error("{} cannot be read; name the stack's file with --stack, or start one with `cargo xtask up`", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} is neither a stack.json nor the output of `aws cloudformation describe-stacks`", path.display())]
    Form { path: PathBuf, source: serde_json::Error },
    #[error("the stack has no output {0}")]
    NoOutput(&'static str),
    #[error(transparent)]
    Setting(#[from] InvalidSetting),
    #[error(transparent)]
    Configuration(#[from] runtime::ConfigurationError),
}

/// One stack.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stack {
    name: String,
    region: Option<String>,
    /// The emulator, of a local stack.
    endpoint: Option<String>,
    /// Stripe's look-alike, of a local stack that uses it.
    stripe: Option<String>,
    outputs: BTreeMap<String, String>,
}

/// target/local/stack.json, as far as operators need it.
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

/// What `aws cloudformation describe-stacks --stack-name NAME` prints.
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
    fn parse(text: &str) -> Result<Self, serde_json::Error> {
        Ok(match serde_json::from_str(text)? {
            File::Local(file) => {
                let look_alike = !file.real_vendors.iter().any(|vendor| vendor == "stripe");
                Self {
                    name: file.stack,
                    region: Some(file.region),
                    endpoint: Some(file.aws_endpoint),
                    stripe: look_alike.then(|| format!("{}/stripe", file.sandbox)),
                    outputs: file.outputs,
                }
            }
            File::Described(Described { stacks: [stack] }) => Self {
                name: stack.stack_name,
                // arn:aws:cloudformation:REGION:ACCOUNT:stack/NAME/ID
                region: stack.stack_id.split(':').nth(3).map(str::to_owned),
                endpoint: None,
                stripe: None,
                outputs: stack.outputs.into_iter().map(|output| (output.output_key, output.output_value)).collect(),
            },
        })
    }

    fn output(&self, name: &'static str) -> Result<String, StackError> {
        self.outputs.get(name).cloned().ok_or(StackError::NoOutput(name))
    }

    /// What stands for a variable of the environment. The emulator takes its own keys and nobody's real ones.
    fn variable(&self, name: &'static str, environment: &Environment) -> Option<String> {
        let local = self.endpoint.is_some();
        match name {
            "AWS_ENDPOINT_URL" if local => self.endpoint.clone(),
            "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" if local => Some("test".to_owned()),
            "AWS_SESSION_TOKEN" if local => None,
            "AWS_REGION" if self.region.is_some() => self.region.clone(),
            _ => environment.optional(name),
        }
    }
}

/// A stack's stores, log and topics.
pub(crate) struct Deployed {
    stack: Stack,
    connection: Connection,
    environment: Environment,
    pub(crate) sales: DynamoSales,
    pub(crate) log: S3AuditLog,
    alerts: SnsAlerts,
}

impl Deployed {
    /// Reads the stack's file. Nothing is called yet.
    pub(crate) fn open(path: &Path) -> Result<Self, StackError> {
        let read = |source| StackError::Read { path: path.to_owned(), source };
        let text = std::fs::read_to_string(path).map_err(read)?;
        let stack = Stack::parse(&text).map_err(|source| StackError::Form { path: path.to_owned(), source })?;
        let environment = Environment::of_process();
        let connection = Connection::from_environment(|name| stack.variable(name, &environment))?;
        Ok(Self {
            sales: DynamoSales::new(connection.clone(), stack.output("TableName")?, Arc::new(System)),
            log: S3AuditLog::new(connection.clone(), stack.output("AuditBucket")?),
            alerts: SnsAlerts::new(connection.clone(), stack.output("OpsTopicArn")?, stack.output("CriticalTopicArn")?),
            connection,
            environment,
            stack,
        })
    }

    pub(crate) fn journal(&self) -> Journal<'_> {
        Journal { store: &self.sales, log: &self.log, alerts: &self.alerts, clock: &System }
    }

    pub(crate) fn lists(&self) -> operations::list::Ports<'_> {
        operations::list::Ports { open: &self.sales, store: &self.sales }
    }

    /// What is read to look through the whole log.
    pub(crate) fn log_ports(self) -> log_reader::Ports {
        let sales = Arc::new(self.sales);
        log_reader::Ports { objects: Arc::new(self.log), store: sales.clone(), all: sales }
    }

    /// A queue, by the output that holds its URL.
    pub(crate) fn queue(&self, output: &'static str) -> Result<SqsQueue, StackError> {
        Ok(SqsQueue::new(self.connection.clone(), self.stack.output(output)?))
    }

    pub(crate) fn quarantine(&self) -> Result<S3Quarantine, StackError> {
        Ok(S3Quarantine::new(self.connection.clone(), self.stack.output("QuarantineBucket")?))
    }

    /// Where the key of the model is that the stack's functions use.
    pub(crate) fn model_key(&self) -> SecretDocument {
        SecretDocument::new(self.connection.clone(), format!("{}/gemini", self.stack.name))
    }

    /// Stripe, with the key that the stack's functions use.
    pub(crate) fn payments(&self) -> Result<stripe::LazyClient, StackError> {
        let secret = SecretDocument::new(self.connection.clone(), format!("{}/stripe", self.stack.name));
        let base = match &self.stack.stripe {
            Some(url) => url.clone(),
            None => self.environment.base_url("STRIPE_BASE_URL", stripe::BASE_URL)?,
        };
        let system = Arc::new(System);
        // Only a new session needs the site's address, and operators create none.
        let site = self.stack.output("ApiUrl")?;
        Ok(stripe::LazyClient::new(base, site, Arc::new(secret), system.clone(), system))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: &str = r#"{"site":"http://127.0.0.1:8080","sandbox":"http://127.0.0.1:8090",
        "aws_endpoint":"http://127.0.0.1:4566","stack":"oracle-local","region":"us-east-1",
        "stripe_webhook_secret":"whsec_x","real_vendors":[],"outputs":{"TableName":"t"}}"#;

    #[test]
    fn a_local_stack_is_reached_with_the_emulators_own_keys() {
        let stack = Stack::parse(LOCAL).unwrap();
        let environment = Environment::of(&[("AWS_ACCESS_KEY_ID", "real"), ("AWS_SESSION_TOKEN", "real")]);
        let variable = |name| stack.variable(name, &environment);
        assert_eq!(variable("AWS_ENDPOINT_URL").as_deref(), Some("http://127.0.0.1:4566"));
        assert_eq!(variable("AWS_ACCESS_KEY_ID").as_deref(), Some("test"));
        assert_eq!((variable("AWS_SESSION_TOKEN"), variable("AWS_REGION").as_deref()), (None, Some("us-east-1")));
        assert_eq!(stack.stripe.as_deref(), Some("http://127.0.0.1:8090/stripe"));
        assert_eq!(stack.output("TableName").unwrap(), "t");
        assert_eq!(stack.output("AuditBucket").unwrap_err().to_string(), "the stack has no output AuditBucket");
        let real = Stack::parse(&LOCAL.replace("[]", r#"["stripe"]"#)).unwrap();
        assert_eq!(real.stripe, None);
    }

    #[test]
    fn a_deployed_stack_is_reached_with_the_usual_environment() {
        let text = r#"{"Stacks":[{"StackId":"arn:aws:cloudformation:ca-central-1:1:stack/oracle/x","StackName":"oracle",
            "Outputs":[{"OutputKey":"TableName","OutputValue":"t","Description":"d"}]}]}"#;
        let stack = Stack::parse(text).unwrap();
        let environment = Environment::of(&[("AWS_ACCESS_KEY_ID", "mine")]);
        assert_eq!(stack.variable("AWS_ACCESS_KEY_ID", &environment).as_deref(), Some("mine"));
        assert_eq!(stack.variable("AWS_REGION", &environment).as_deref(), Some("ca-central-1"));
        assert_eq!((stack.variable("AWS_ENDPOINT_URL", &environment), stack.name.as_str()), (None, "oracle"));
        assert_eq!(stack.output("TableName").unwrap(), "t");
        assert!(Stack::parse("{}").is_err());
    }
}
