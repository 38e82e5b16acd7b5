//! Builds the clients of a function from its environment.
//!
//! A function's `main` asks the [`Backend`] for each client that it uses before it takes the first event. So a missing
//! or malformed variable stops the start with a message that names it, a client that is not requested is not linked
//! into the binary, and no client opens a connection before its first call.

mod mailbox;
mod names;
mod stores;
mod tokens;
mod toll;
mod vendors;

pub use mailbox::{SendingMailbox, SesMailbox};
pub use names::{Bucket, QueueName, SecretName, Topic};
pub use stores::JournalStores;
pub use toll::TollClients;

use aws::{Connection, InvalidSetting, RetryPolicy};
use domain::{EmailAddress, SalesPeriod, Timestamp, unknown_ids::Limits};
use gemini::InvalidModelList;
use runtime::{ConfigurationError, Environment};
use std::sync::Arc;

/// Why a client cannot be built. The message names the variable and never shows its value.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// A variable of our own is missing or malformed.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// A variable of the Lambda environment is missing, or one of the settings for AWS calls is malformed.
    #[error(transparent)]
    Connection(#[from] InvalidSetting),
    /// `GEMINI_MODEL` is not a list of models.
    #[error(transparent)]
    Models(#[from] InvalidModelList),
}

/// Builds clients from the environment of one process. Cheap to clone.
#[derive(Clone)]
pub struct Backend {
    environment: Arc<Environment>,
    connection: Connection,
}

impl Backend {
    /// Reads the environment of the process.
    ///
    /// # Errors
    /// [`BackendError`] when AWS cannot be accessed with it.
    pub fn of_process() -> Result<Self, BackendError> {
        Self::new(Environment::of_process())
    }

    /// Reads another environment.
    ///
    /// # Errors
    /// As [`Self::of_process`].
    pub fn new(environment: Environment) -> Result<Self, BackendError> {
        let connection = Connection::from_environment(|name| environment.optional(name))?;
        Ok(Self { environment: Arc::new(environment), connection })
    }

    /// The variables, for settings that are not clients.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The connection to AWS, for clients that only one function uses.
    #[must_use]
    pub const fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The same backend, whose stores raise no alert when a call fails: for callers that report failures themselves.
    #[must_use]
    pub fn silent(&self) -> Self {
        Self { connection: self.connection.silent(), ..self.clone() }
    }

    /// As [`Self::silent`], with other time-outs and retries.
    #[must_use]
    pub fn silent_with(&self, retry_policy: RetryPolicy) -> Self {
        Self { connection: self.connection.without_alerts(retry_policy), ..self.clone() }
    }

    /// The address of the site, without a trailing slash.
    ///
    /// # Errors
    /// [`BackendError`] when it is missing or not an address.
    pub fn site(&self) -> Result<String, BackendError> {
        Ok(self.environment.base_url("SITE_URL", "")?)
    }

    /// The mailbox's own address, which sends verdicts and is read by people.
    ///
    /// # Errors
    /// [`BackendError`] when it is missing or not an address.
    pub fn sender(&self) -> Result<EmailAddress, BackendError> {
        Ok(self.environment.address("GRAPH_SENDER")?)
    }

    /// The sessions that this stack sells (`SALES_FROM`, `SALES_UNTIL`; all of them when unset).
    ///
    /// # Errors
    /// [`BackendError`] when one of the times is malformed.
    pub fn sales_period(&self) -> Result<SalesPeriod, BackendError> {
        let time = |name: &'static str| match self.environment.optional(name) {
            None => Ok(None),
            Some(text) => Timestamp::parse(&text).map(Some).ok_or_else(|| ConfigurationError::Malformed {
                name,
                expected: "a time such as 2026-11-20T10:00:00Z".to_owned(),
            }),
        };
        Ok(SalesPeriod { from: time("SALES_FROM")?, until: time("SALES_UNTIL")? })
    }

    /// How many unknown ids strangers may ask about (`UNKNOWN_IDS_PER_NETWORK`, a minute; 3 when unset).
    ///
    /// # Errors
    /// [`BackendError`] when it is not a number from 1 to 1,000,000.
    pub fn unknown_id_limits(&self) -> Result<Limits, BackendError> {
        Ok(Limits::of_unknown_ids(self.environment.bounded("UNKNOWN_IDS_PER_NETWORK", 3, 1, 1_000_000)?))
    }

    fn required(&self, name: &'static str) -> Result<String, BackendError> {
        Ok(self.environment.required(name)?)
    }
}

#[cfg(test)]
mod tests;
