//! JSON documents in Secrets Manager.

use crate::Connection;
use serde::de::DeserializeOwned;
use std::sync::OnceLock;
use tokio::sync::Mutex;

/// Why a secret is not to be had. The messages name the secret, never its content.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// There is no such secret, or it has no value yet.
    #[error("secret {0} has no value")]
    NotConfigured(String),
    /// The service failed.
    #[error("secret {0} could not be read")]
    Unavailable(String, #[source] Box<dyn std::error::Error + Send + Sync>),
    /// The value is not the JSON it must be.
    #[error("secret {0} is not the expected JSON document")]
    Malformed(String),
}

/// Reads and writes secrets.
#[derive(Debug)]
pub struct Secrets {
    connection: Connection,
    client: OnceLock<aws_sdk_secretsmanager::Client>,
}

impl Secrets {
    /// Secrets over this connection.
    #[must_use]
    pub const fn new(connection: Connection) -> Self {
        Self { connection, client: OnceLock::new() }
    }

    fn client(&self) -> &aws_sdk_secretsmanager::Client {
        self.client.get_or_init(|| self.connection.secrets())
    }

    /// Reads a JSON document.
    ///
    /// # Errors
    /// [`SecretError`].
    pub async fn read<T: DeserializeOwned>(&self, id: &str) -> Result<T, SecretError> {
        let text = self.read_text(id).await?;
        serde_json::from_str(&text).map_err(|_| SecretError::Malformed(id.to_owned()))
    }

    async fn read_text(&self, id: &str) -> Result<String, SecretError> {
        match self.client().get_secret_value().secret_id(id).send().await {
            Ok(output) => output.secret_string.ok_or_else(|| SecretError::NotConfigured(id.to_owned())),
            Err(error) if error.as_service_error().is_some_and(|e| e.is_resource_not_found_exception()) => {
                Err(SecretError::NotConfigured(id.to_owned()))
            }
            Err(error) => Err(SecretError::Unavailable(id.to_owned(), Box::new(error))),
        }
    }

    /// Replaces one field of a JSON document, leaving the others as they are.
    ///
    /// # Errors
    /// [`SecretError`].
    pub async fn replace_field(&self, id: &str, field: &str, value: &str) -> Result<(), SecretError> {
        let mut document: serde_json::Map<String, serde_json::Value> = self.read(id).await?;
        document.insert(field.to_owned(), value.into());
        let text = serde_json::Value::Object(document).to_string();
        let put = self.client().put_secret_value().secret_id(id).secret_string(text).send().await;
        put.map(drop).map_err(|error| SecretError::Unavailable(id.to_owned(), Box::new(error)))
    }
}

/// A value that is fetched at its first use and kept for the life of the process; a failure is not kept.
#[derive(Debug, Default)]
pub struct Once<T> {
    value: Mutex<Option<std::sync::Arc<T>>>,
}

impl<T> Once<T> {
    /// Nothing fetched yet.
    #[must_use]
    pub fn new() -> Self {
        Self { value: Mutex::new(None) }
    }

    /// The value, fetched now if it has not been.
    ///
    /// # Errors
    /// Whatever fetching failed with.
    pub async fn get<E>(&self, fetch: impl Future<Output = Result<T, E>> + Send) -> Result<std::sync::Arc<T>, E>
    where
        T: Send + Sync,
    {
        let mut value = self.value.lock().await;
        if let Some(known) = value.as_ref() {
            return Ok(std::sync::Arc::clone(known));
        }
        let fetched = std::sync::Arc::new(fetch.await?);
        *value = Some(std::sync::Arc::clone(&fetched));
        Ok(fetched)
    }
}
