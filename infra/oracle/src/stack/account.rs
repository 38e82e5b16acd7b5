//! An AWS account, accessed with the usual chain of credentials: environment, profiles of the shared files, web
//! identity, container, instance. Only this command line uses the chain; functions get their keys from Lambda.

use super::{
    caller::{Identifies, NoAnswer},
    signed_call::SignedCalls,
};
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_cloudformation::config::{Credentials, ProvideCredentials, SharedCredentialsProvider};

/// The reason why an account cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AccountError {
    #[error("no region: give --region, set AWS_REGION, or name one in the profile {0:?}, if there is such a profile")]
    Region(String),
    #[error(
        "no credentials: set AWS_PROFILE or give --profile, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; for a \
         profile of IAM Identity Center: eval \"$(aws configure export-credentials --format env)\""
    )]
    NoCredentials(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("CloudFormation does not describe a stack {name:?} in {region}")]
    Stack { name: String, region: String, source: Box<dyn std::error::Error + Send + Sync> },
}

/// The requested account and region.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) profile: Option<String>,
    pub(crate) region: Option<String>,
    /// The URL of an emulator, which gets test keys and never real ones.
    pub(crate) emulator: Option<String>,
}

/// The region, endpoint and credentials that were found.
pub(crate) struct Account {
    config: SdkConfig,
    credentials: Credentials,
    region: String,
}

impl Account {
    /// Finds the region and the credentials in the usual places and in the usual order. Loads them once per command: a
    /// command takes minutes, and credentials last longer.
    pub(crate) async fn find(wanted: &Wanted) -> Result<Self, AccountError> {
        let mut loader = aws_config::defaults(BehaviorVersion::latest()).http_client(aws::https());
        if let Some(profile) = &wanted.profile {
            loader = loader.profile_name(profile);
        }
        if let Some(region) = &wanted.region {
            loader = loader.region(Region::new(region.clone()));
        }
        if let Some(endpoint) = &wanted.emulator {
            let keys = Credentials::new("test", "test", None, None, "emulator");
            loader = loader.endpoint_url(endpoint).credentials_provider(keys);
        }
        let config = loader.load().await;
        let profile = wanted.profile.clone().unwrap_or_else(|| "default".to_owned());
        let region = config.region().ok_or_else(|| AccountError::Region(profile))?.to_string();
        let missing = |source| AccountError::NoCredentials(source);
        let provider = config.credentials_provider().ok_or_else(|| missing("there is no provider".into()))?;
        let credentials = provider.provide_credentials().await.map_err(|error| missing(error.into()))?;
        let config =
            config.into_builder().credentials_provider(SharedCredentialsProvider::new(credentials.clone())).build();
        Ok(Self { config, credentials, region })
    }

    /// The account's value for a variable that Lambda sets in a function's environment.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        match name {
            "AWS_ACCESS_KEY_ID" => Some(self.credentials.access_key_id().to_owned()),
            "AWS_SECRET_ACCESS_KEY" => Some(self.credentials.secret_access_key().to_owned()),
            "AWS_SESSION_TOKEN" => self.credentials.session_token().map(str::to_owned),
            "AWS_REGION" => Some(self.region.clone()),
            "AWS_ENDPOINT_URL" => self.config.endpoint_url().map(str::to_owned),
            _ => None,
        }
    }

    /// The outputs of a stack, by its name.
    pub(crate) async fn outputs(&self, name: &str) -> Result<Vec<(String, String)>, AccountError> {
        let client = aws_sdk_cloudformation::Client::new(&self.config);
        let no_stack = |source| AccountError::Stack { name: name.to_owned(), region: self.region.clone(), source };
        let described = client.describe_stacks().stack_name(name).send().await;
        let stacks = described.map_err(|error| no_stack(error.into()))?.stacks.unwrap_or_default();
        let stack = stacks.into_iter().next().ok_or_else(|| no_stack("the answer names no stack".into()))?;
        let outputs = stack.outputs.unwrap_or_default().into_iter();
        Ok(outputs.filter_map(|output| Some((output.output_key?, output.output_value?))).collect())
    }

    /// Signed calls of services without a client here.
    pub(crate) fn signed_calls(&self) -> SignedCalls<'_> {
        SignedCalls { config: &self.config, credentials: &self.credentials, region: &self.region }
    }

    /// The client of CloudWatch, for alarms and metrics.
    pub(crate) fn cloudwatch(&self) -> aws_sdk_cloudwatch::Client {
        aws_sdk_cloudwatch::Client::new(&self.config)
    }
}

impl Identifies for Account {
    async fn caller_arn(&self) -> Result<String, NoAnswer> {
        let answer = aws_sdk_sts::Client::new(&self.config).get_caller_identity().send().await?;
        answer.arn.ok_or_else(|| "STS answers without an ARN".into())
    }
}
