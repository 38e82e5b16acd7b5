//! The stack's queues, buckets and table, as an operator sees them.

mod functions;
mod objects;
mod queues;
mod table;

use aws_credential_types::Credentials;
use aws_smithy_http_client::{
    Builder,
    tls::{Provider, rustls_provider::CryptoMode},
};
use serde_json::Value;
use tests::Stack;

/// The AWS clients for one stack.
pub(crate) struct Aws {
    dynamodb: aws_sdk_dynamodb::Client,
    pub(crate) s3: aws_sdk_s3::Client,
    sns: aws_sdk_sns::Client,
    sqs: aws_sdk_sqs::Client,
    outputs: Value,
    endpoint: String,
    region: String,
    stack: String,
}

/// Applies the same settings to every service's own configuration type.
macro_rules! client {
    ($stack:expr, $sdk:ident $(, $more:ident($value:expr))?) => {{
        let text = |field: &str| $stack.description[field].as_str().expect("the stack's description").to_owned();
        let http = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
        let config = $sdk::Config::builder()
            .behavior_version($sdk::config::BehaviorVersion::latest())
            .region($sdk::config::Region::new(text("region")))
            // The emulator's account keys, which the deployment uses as well.
            .credentials_provider(Credentials::new("test", "test", None, None, "emulator"))
            .http_client(http)
            .endpoint_url(text("aws_endpoint"))
            $(.$more($value))?
            .build();
        $sdk::Client::from_conf(config)
    }};
}

impl Aws {
    pub(crate) fn of(stack: &Stack) -> Self {
        Self {
            dynamodb: client!(stack, aws_sdk_dynamodb),
            s3: client!(stack, aws_sdk_s3, force_path_style(true)),
            sns: client!(stack, aws_sdk_sns),
            sqs: client!(stack, aws_sdk_sqs),
            outputs: stack.description["outputs"].clone(),
            endpoint: stack.description["aws_endpoint"].as_str().expect("an endpoint").to_owned(),
            region: stack.description["region"].as_str().expect("a region").to_owned(),
            stack: stack.description["stack"].as_str().expect("a name").to_owned(),
        }
    }

    /// An output of the deployment.
    pub(crate) fn output(&self, name: &str) -> &str {
        self.outputs[name].as_str().unwrap_or_else(|| panic!("the stack has no output {name}"))
    }
}
