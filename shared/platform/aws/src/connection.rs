//! The access to AWS: region, endpoint, credentials, time-outs and retries.
//!
//! No client needs a feature of this crate: link-time optimisation keeps only those that a function calls.

use crate::now;
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
use domain::{
    metric::{self, Measurement},
    ports::{AlertSummaries, Alerts},
};
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

/// Builds the same settings for each service's own configuration type. The SDK makes one attempt; [`crate::attempts`]
/// makes the others, with the spec's fixed intervals, and raises alerts.
macro_rules! client_config {
    ($connection:expr, $sdk:ident) => {{
        let timeout = $connection.retry_policy.timeout;
        let timeouts = TimeoutConfig::builder().connect_timeout(timeout).operation_attempt_timeout(timeout).build();
        let retries = RetryConfig::disabled();
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

/// Why the settings cannot be used. The message names the variable and never shows its value.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum InvalidSetting {
    /// A variable that every Lambda environment has is missing.
    #[error("environment variable {0} is not set")]
    Missing(&'static str),
    /// A number is malformed, or out of its range.
    #[error("environment variable {name} is not a number from {least} to {most}")]
    Number {
        /// The variable.
        name: &'static str,
        /// The least value.
        least: u64,
        /// The greatest value.
        most: u64,
    },
}

/// A table that does not reply must not delay an alert.
pub(crate) const ALERT_ROW_MS: u64 = 400;

/// A topic that does not reply must not delay the function that alerts.
pub(crate) const PUBLISHING_MS: u64 = 800;

/// The time-out and retries of a store's calls (Cache Alert, inputs 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The time-out of one attempt, from the connection to the last byte (`CACHE_CONNECT_TIMEOUT_MS`, 100 to 10,000,
    /// 2000 when unset).
    pub timeout: Duration,
    /// Attempts after the first (`CACHE_RETRY_COUNT`, 0 to 10, 3 when unset).
    pub retries: u32,
    /// The wait before each of them (`CACHE_RETRY_DELAY_MS`, 0 to 5,000, 500 when unset).
    pub delay: Duration,
}

impl RetryPolicy {
    fn from_environment(lookup: &impl Fn(&'static str) -> Option<String>) -> Result<Self, InvalidSetting> {
        let retries = number(lookup, "CACHE_RETRY_COUNT", 3, 0, 10)?;
        Ok(Self {
            timeout: Duration::from_millis(number(lookup, "CACHE_CONNECT_TIMEOUT_MS", 2000, 100, 10_000)?),
            retries: u32::try_from(retries).unwrap_or(u32::MAX),
            delay: Duration::from_millis(number(lookup, "CACHE_RETRY_DELAY_MS", 500, 0, 5_000)?),
        })
    }
}

fn number(
    lookup: &impl Fn(&'static str) -> Option<String>,
    name: &'static str,
    default: u64,
    least: u64,
    most: u64,
) -> Result<u64, InvalidSetting> {
    let Some(text) = lookup(name).filter(|text| !text.trim().is_empty()) else { return Ok(default) };
    let value = text.trim().parse().ok().filter(|value| (least..=most).contains(value));
    value.ok_or(InvalidSetting::Number { name, least, most })
}

/// The settings of one process. Cheap to clone; no connection is opened before the first call.
#[derive(Clone, Debug)]
pub struct Connection {
    region: String,
    endpoint: Option<String>,
    credentials: SharedCredentialsProvider,
    http: Arc<OnceLock<SharedHttpClient>>,
    pub(crate) retry_policy: RetryPolicy,
    /// The time in which equal alerts are sent once (Cache Alert, invariant 6: `ALERT_SUPPRESSION_S`, 0 to 3,600, 60
    /// when unset).
    pub(crate) suppression: Duration,
    /// The time limit for recording in the table that an alert was sent (`ALERT_TABLE_TIMEOUT_MS`, 100 to 60,000,
    /// [`ALERT_ROW_MS`] when unset).
    pub(crate) alert_row_timeout: Duration,
    /// The time limit of one attempt at a topic (`ALERT_TOPIC_TIMEOUT_MS`, 100 to 60,000, [`PUBLISHING_MS`] when
    /// unset).
    pub(crate) publishing: Duration,
    /// The table in which all processes record their alerts (`TABLE_NAME`); without one each process knows only its
    /// own.
    pub(crate) shared_table: Option<String>,
    /// Whether standard output is a function's log, from which CloudWatch extracts metrics.
    pub(crate) is_function: bool,
    /// Prints lines with measurements: to standard output, except in tests.
    pub(crate) meter: fn(&str),
    /// The namespace of this stack's metrics (`METRICS_NAMESPACE`).
    namespace: String,
    /// The topics for a store's failures: set once, by the first [`crate::SnsAlerts`] made with this connection.
    pub(crate) alert_topics: Arc<OnceLock<Arc<dyn StoreAlerts>>>,
}

/// Alerts on the failures of a connection's stores.
pub(crate) trait StoreAlerts: Alerts + AlertSummaries + std::fmt::Debug {}

/// The keys of the execution role. The environment holds them for the life of the process, so the AWS configuration
/// crate with its chain of providers would be useless weight.
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
    /// Reads the variables that Lambda sets in every environment, and those of [`RetryPolicy`], with `lookup`.
    ///
    /// # Errors
    /// [`InvalidSetting`] names the first that is missing or malformed.
    pub fn from_environment(lookup: impl Fn(&'static str) -> Option<String>) -> Result<Self, InvalidSetting> {
        let required = |name| lookup(name).ok_or(InvalidSetting::Missing(name));
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
            retry_policy: RetryPolicy::from_environment(&lookup)?,
            suppression: Duration::from_secs(number(&lookup, "ALERT_SUPPRESSION_S", 60, 0, 3_600)?),
            alert_row_timeout: Duration::from_millis(number(
                &lookup,
                "ALERT_TABLE_TIMEOUT_MS",
                ALERT_ROW_MS,
                100,
                60_000,
            )?),
            publishing: Duration::from_millis(number(&lookup, "ALERT_TOPIC_TIMEOUT_MS", PUBLISHING_MS, 100, 60_000)?),
            shared_table: lookup("TABLE_NAME").filter(|name| !name.trim().is_empty()),
            is_function: lookup("AWS_LAMBDA_FUNCTION_NAME").is_some(),
            meter: print_line,
            namespace: lookup("METRICS_NAMESPACE").unwrap_or_else(|| metric::NAMESPACE.to_owned()),
            alert_topics: Arc::default(),
        })
    }

    /// The same connection with other time-outs and retries, without alerts on failures: for the alerts themselves, and
    /// for callers that alert in another way.
    #[must_use]
    pub fn without_alerts(&self, retry_policy: RetryPolicy) -> Self {
        Self { retry_policy, alert_topics: Arc::default(), ..self.clone() }
    }

    /// The same connection, without alerts on failures: for callers that alert in another way.
    #[must_use]
    pub fn silent(&self) -> Self {
        self.without_alerts(self.retry_policy)
    }

    /// The same connection to another endpoint.
    pub(crate) fn at(&self, endpoint: Option<String>) -> Self {
        Self { endpoint, ..self.clone() }
    }

    /// Prints measurements for CloudWatch if this is a function; elsewhere standard output is for people.
    pub(crate) fn measure(&self, measurements: &[Measurement]) {
        if self.is_function && !measurements.is_empty() {
            (self.meter)(&metric::line(&self.namespace, measurements, now()));
        }
    }

    /// One connection pool for all services of the process.
    fn http(&self) -> SharedHttpClient {
        self.http.get_or_init(https).clone()
    }

    pub(crate) fn sqs(&self) -> aws_sdk_sqs::Client {
        aws_sdk_sqs::Client::from_conf(client_config!(self, aws_sdk_sqs).build())
    }

    pub(crate) fn ses(&self) -> aws_sdk_sesv2::Client {
        aws_sdk_sesv2::Client::from_conf(client_config!(self, aws_sdk_sesv2).build())
    }

    pub(crate) fn sns(&self) -> aws_sdk_sns::Client {
        aws_sdk_sns::Client::from_conf(client_config!(self, aws_sdk_sns).build())
    }

    pub(crate) fn secrets(&self) -> aws_sdk_secretsmanager::Client {
        aws_sdk_secretsmanager::Client::from_conf(client_config!(self, aws_sdk_secretsmanager).build())
    }

    pub(crate) fn kms(&self) -> aws_sdk_kms::Client {
        aws_sdk_kms::Client::from_conf(client_config!(self, aws_sdk_kms).build())
    }

    pub(crate) fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        aws_sdk_dynamodb::Client::from_conf(client_config!(self, aws_sdk_dynamodb).build())
    }

    pub(crate) fn cloudformation(&self) -> aws_sdk_cloudformation::Client {
        aws_sdk_cloudformation::Client::from_conf(client_config!(self, aws_sdk_cloudformation).build())
    }

    pub(crate) fn cloudwatch(&self) -> aws_sdk_cloudwatch::Client {
        aws_sdk_cloudwatch::Client::from_conf(client_config!(self, aws_sdk_cloudwatch).build())
    }

    pub(crate) fn codedeploy(&self) -> aws_sdk_codedeploy::Client {
        aws_sdk_codedeploy::Client::from_conf(client_config!(self, aws_sdk_codedeploy).build())
    }

    pub(crate) fn s3(&self) -> aws_sdk_s3::Client {
        // A bucket behind a configured endpoint has no host name of its own.
        let path_style = self.endpoint.is_some();
        aws_sdk_s3::Client::from_conf(client_config!(self, aws_sdk_s3).force_path_style(path_style).build())
    }
}

#[allow(clippy::print_stdout)] // CloudWatch reads metrics from a line of their own.
fn print_line(line: &str) {
    println!("{line}");
}

/// How long a connection stays open without a request. The services close theirs after 20 seconds or more (S3 after about
/// 20); hyper's own limit is 90 seconds.
const IDLE: Duration = Duration::from_secs(15);

/// The HTTPS client of all services, for callers with an AWS client of their own.
#[must_use]
pub fn https() -> SharedHttpClient {
    Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).pool_idle_timeout(IDLE).build_https()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(settings: &[(&'static str, &'static str)]) -> Result<Connection, InvalidSetting> {
        let lambda = [("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b"), ("AWS_REGION", "us-east-1")];
        let table: Vec<_> = settings.iter().chain(&lambda).copied().collect();
        Connection::from_environment(|name| {
            table.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn unset_figures_are_the_specs() {
        let connection = from(&[("CACHE_RETRY_COUNT", " ")]).unwrap();
        let RetryPolicy { timeout, retries, delay } = connection.retry_policy;
        assert_eq!((timeout.as_millis(), retries, delay.as_millis()), (2000, 3, 500));
        assert_eq!(connection.suppression.as_secs(), 60);
    }

    #[test]
    fn a_figure_out_of_range_stops_the_start_and_is_not_shown() {
        assert_eq!(from(&[("CACHE_RETRY_COUNT", "0")]).unwrap().retry_policy.retries, 0);
        for (name, value) in [
            ("CACHE_RETRY_COUNT", "11"),
            ("CACHE_RETRY_COUNT", "-1"),
            ("CACHE_CONNECT_TIMEOUT_MS", "99"),
            ("CACHE_CONNECT_TIMEOUT_MS", "2s"),
            ("CACHE_RETRY_DELAY_MS", "5001"),
            ("ALERT_SUPPRESSION_S", "1e3"),
            ("ALERT_TOPIC_TIMEOUT_MS", "0.8"),
        ] {
            let error = from(&[(name, value)]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("environment variable {name} is not a number from ")), "{error}");
            assert!(!error.contains(value), "{error}");
        }
        assert_eq!(
            Connection::from_environment(|_| None).unwrap_err().to_string(),
            "environment variable AWS_ACCESS_KEY_ID is not set"
        );
    }
}
