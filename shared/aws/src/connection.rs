//! How to reach AWS: region, endpoint, credentials, time-outs, retries.

use aws_credential_types::{
    Credentials,
    provider::{ProvideCredentials, SharedCredentialsProvider, error::CredentialsError, future},
};
use aws_sdk_sqs::config::SharedHttpClient;
use aws_smithy_http_client::{
    Builder,
    tls::{Provider, rustls_provider::CryptoMode},
};
use aws_smithy_types::{retry::RetryConfig, timeout::TimeoutConfig};
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

/// One attempt at a store call takes no longer (Cache Alert, `CACHE_CONNECT_TIMEOUT_MS`: 2000 ms).
const ATTEMPT: Duration = Duration::from_millis(2000);

/// Attempts in all: the first and three retries (Cache Alert, `CACHE_RETRY_COUNT`: 3).
const ATTEMPTS: u32 = 4;

/// The wait between attempts starts here (Cache Alert, `CACHE_RETRY_DELAY_MS`: 500 ms).
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// The same settings on every service's own configuration type.
macro_rules! client_config {
    ($connection:expr, $sdk:ident) => {{
        let timeouts = TimeoutConfig::builder().connect_timeout(ATTEMPT).operation_attempt_timeout(ATTEMPT).build();
        let retries = RetryConfig::standard().with_max_attempts(ATTEMPTS).with_initial_backoff(RETRY_DELAY);
        let mut builder = $sdk::Config::builder()
            .behavior_version($sdk::config::BehaviorVersion::latest())
            .region($sdk::config::Region::new($connection.region.clone()))
            .credentials_provider($connection.credentials.clone())
            .http_client($connection.http())
            .retry_config(retries)
            .timeout_config(timeouts);
        builder.set_endpoint_url($connection.endpoint.clone());
        builder
    }};
}

/// A setting that the Lambda environment always has is not there.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("environment variable {0} is not set")]
pub struct MissingSetting(pub &'static str);

/// The settings of one process. Cheap to clone; nothing is opened before the first call.
#[derive(Clone, Debug)]
pub struct Connection {
    region: String,
    endpoint: Option<String>,
    credentials: SharedCredentialsProvider,
    http: Arc<OnceLock<SharedHttpClient>>,
}

/// The keys of the execution role. The environment holds them for the life of the process, so the AWS
/// configuration crate with its chain of providers would only be weight here.
#[derive(Debug)]
struct ExecutionRole(Credentials);

impl ProvideCredentials for ExecutionRole {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        if self.0.access_key_id().is_empty() {
            let missing = CredentialsError::not_loaded("AWS_ACCESS_KEY_ID is not set");
            return future::ProvideCredentials::ready(Err(missing));
        }
        future::ProvideCredentials::ready(Ok(self.0.clone()))
    }
}

impl Connection {
    /// Reads the variables that Lambda sets in every environment, through `lookup`.
    ///
    /// # Errors
    /// [`MissingSetting`] names the first that is missing.
    pub fn from_environment(lookup: impl Fn(&'static str) -> Option<String>) -> Result<Self, MissingSetting> {
        let required = |name| lookup(name).ok_or(MissingSetting(name));
        let credentials = Credentials::new(
            required("AWS_ACCESS_KEY_ID")?,
            required("AWS_SECRET_ACCESS_KEY")?,
            lookup("AWS_SESSION_TOKEN"),
            None,
            "execution role",
        );
        Ok(Self {
            region: lookup("AWS_REGION").map_or_else(|| required("AWS_DEFAULT_REGION"), Ok)?,
            endpoint: lookup("AWS_ENDPOINT_URL"),
            credentials: SharedCredentialsProvider::new(ExecutionRole(credentials)),
            http: Arc::default(),
        })
    }

    /// One pool of connections for all services of the process.
    fn http(&self) -> SharedHttpClient {
        self.http.get_or_init(|| Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https()).clone()
    }

    pub(crate) fn sqs(&self) -> aws_sdk_sqs::Client {
        aws_sdk_sqs::Client::from_conf(client_config!(self, aws_sdk_sqs).build())
    }

    pub(crate) fn sns(&self) -> aws_sdk_sns::Client {
        aws_sdk_sns::Client::from_conf(client_config!(self, aws_sdk_sns).build())
    }

    pub(crate) fn secrets(&self) -> aws_sdk_secretsmanager::Client {
        aws_sdk_secretsmanager::Client::from_conf(client_config!(self, aws_sdk_secretsmanager).build())
    }

    pub(crate) fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        aws_sdk_dynamodb::Client::from_conf(client_config!(self, aws_sdk_dynamodb).build())
    }

    pub(crate) fn s3(&self) -> aws_sdk_s3::Client {
        // A bucket behind a configured endpoint has no host name of its own.
        let path_style = self.endpoint.is_some();
        aws_sdk_s3::Client::from_conf(client_config!(self, aws_sdk_s3).force_path_style(path_style).build())
    }
}
