//! An AWS account, accessed with the credentials of a named profile, or else of the usual chain: environment, profiles of
//! the shared files, web identity, container, instance. Only this command line does so; functions get their keys from
//! Lambda.

use super::{
    caller::{Identifies, NoAnswer},
    signed_call::SignedCalls,
};
use aws_config::{
    BehaviorVersion, Region, SdkConfig, profile::ProfileFileCredentialsProvider, provider_config::ProviderConfig,
};
use aws_sdk_cloudformation::{
    config::{Credentials, ProvideCredentials, SharedCredentialsProvider},
    types::Stack,
};
use domain::Timestamp;

/// The reason why an account cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AccountError {
    #[error("no region: give --region, set AWS_REGION, or name one in the profile {0:?}, if there is such a profile")]
    Region(String),
    #[error(
        "no credentials: set AWS_PROFILE or give --profile, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; for a \
         profile of IAM Identity Center: eval \"$(aws configure export-credentials --profile NAME --format env)\", and \
         then no --profile"
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
    /// Finds the region and the credentials where the AWS CLI finds them. Loads them once per command: a command takes
    /// minutes, and credentials last longer.
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
        let region = config.region().ok_or_else(|| AccountError::Region(profile))?.clone();
        let missing = |source| AccountError::NoCredentials(source);
        let provider = match &wanted.profile {
            Some(profile) if wanted.emulator.is_none() => of_profile(profile, &region),
            _ => config.credentials_provider().ok_or_else(|| missing("there is no provider".into()))?,
        };
        let credentials = provider.provide_credentials().await.map_err(|error| missing(error.into()))?;
        let config =
            config.into_builder().credentials_provider(SharedCredentialsProvider::new(credentials.clone())).build();
        Ok(Self { config, credentials, region: region.to_string() })
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

    pub(crate) async fn outputs(&self, name: &str) -> Result<Vec<(String, String)>, AccountError> {
        let outputs = self.described(name).await?.outputs.unwrap_or_default().into_iter();
        Ok(outputs.filter_map(|output| Some((output.output_key?, output.output_value?))).collect())
    }

    /// When the last deployment of a stack began; `None` if CloudFormation does not say.
    pub(crate) async fn deployed_at(&self, name: &str) -> Result<Option<Timestamp>, AccountError> {
        Ok(deployed_at(&self.described(name).await?))
    }

    async fn described(&self, name: &str) -> Result<Stack, AccountError> {
        let client = aws_sdk_cloudformation::Client::new(&self.config);
        let no_stack = |source| AccountError::Stack { name: name.to_owned(), region: self.region.clone(), source };
        let described = client.describe_stacks().stack_name(name).send().await;
        let stacks = described.map_err(|error| no_stack(error.into()))?.stacks.unwrap_or_default();
        stacks.into_iter().next().ok_or_else(|| no_stack("the answer names no stack".into()))
    }

    /// Signed calls of services without a client here.
    pub(crate) fn signed_calls(&self) -> SignedCalls<'_> {
        SignedCalls { config: &self.config, credentials: &self.credentials, region: &self.region }
    }

    pub(crate) fn cloudwatch(&self) -> aws_sdk_cloudwatch::Client {
        aws_sdk_cloudwatch::Client::new(&self.config)
    }
}

/// When the last update of a stack began, or its creation.
fn deployed_at(stack: &Stack) -> Option<Timestamp> {
    let began = stack.last_updated_time.or(stack.creation_time)?;
    Some(Timestamp::from_seconds(began.secs()))
}

/// The credentials of one profile. The usual chain would take the environment's keys before those of a profile that the
/// operator names.
fn of_profile(name: &str, region: &Region) -> SharedCredentialsProvider {
    let settings = ProviderConfig::default().with_http_client(aws::https()).with_region(Some(region.clone()));
    SharedCredentialsProvider::new(
        ProfileFileCredentialsProvider::builder().configure(&settings).profile_name(name).build(),
    )
}

impl Identifies for Account {
    async fn caller_arn(&self) -> Result<String, NoAnswer> {
        let answer = aws_sdk_sts::Client::new(&self.config).get_caller_identity().send().await?;
        answer.arn.ok_or_else(|| "STS answers without an ARN".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::wait;
    use aws_sdk_cloudformation::primitives::DateTime;
    use std::{env, fs, process::Command};

    /// Set in the process that the test starts of itself, because a test must not change its own environment.
    const STARTED: &str = "ORACLE_TEST_OF_CREDENTIALS";

    fn key(profile: Option<&str>) -> Option<String> {
        let region = Some("us-east-1".to_owned());
        let wanted = Wanted { profile: profile.map(str::to_owned), region, emulator: None };
        let account = wait(async { Ok(Account::find(&wanted).await) }).unwrap().unwrap();
        account.variable("AWS_ACCESS_KEY_ID")
    }

    #[test]
    fn a_stack_was_deployed_when_its_last_update_began() {
        let created = Stack::builder().creation_time(DateTime::from_secs(7));
        assert_eq!(deployed_at(&created.clone().build()), Some(Timestamp::from_seconds(7)));
        let updated = created.last_updated_time(DateTime::from_secs(9)).build();
        assert_eq!(deployed_at(&updated), Some(Timestamp::from_seconds(9)));
        assert_eq!(deployed_at(&Stack::builder().build()), None);
    }

    #[test]
    fn a_named_profile_precedes_the_keys_of_the_environment() {
        if env::var_os(STARTED).is_some() {
            assert_eq!(key(Some("ops")).as_deref(), Some("of-the-profile"));
            assert_eq!(key(None).as_deref(), Some("of-the-environment"));
            return;
        }
        let file = env::temp_dir().join(format!("oracle-credentials-{}", std::process::id()));
        fs::write(&file, "[ops]\naws_access_key_id = of-the-profile\naws_secret_access_key = x\n").unwrap();
        let mut test = Command::new(env::current_exe().unwrap());
        test.args(["--exact", "stack::account::tests::a_named_profile_precedes_the_keys_of_the_environment"]);
        test.env(STARTED, "1").env("AWS_SHARED_CREDENTIALS_FILE", &file).env("AWS_CONFIG_FILE", "/dev/null");
        test.env("AWS_ACCESS_KEY_ID", "of-the-environment").env("AWS_SECRET_ACCESS_KEY", "x");
        let output = test.env_remove("AWS_PROFILE").env_remove("AWS_SESSION_TOKEN").output().unwrap();
        fs::remove_file(&file).unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }
}
