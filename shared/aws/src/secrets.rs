//! JSON documents in Secrets Manager.

use crate::{Connection, storage};
use async_trait::async_trait;
use domain::{
    Secret,
    ports::{SecretSource, StorageError},
};
use std::sync::OnceLock;
use tokio::sync::OnceCell;

/// One secret. Its value is fetched at the first use and kept; a failure is not.
#[derive(Debug)]
pub struct SecretDocument {
    connection: Connection,
    id: String,
    client: OnceLock<aws_sdk_secretsmanager::Client>,
    value: OnceCell<Secret>,
}

impl SecretDocument {
    /// The secret with this name or ARN.
    #[must_use]
    pub const fn new(connection: Connection, id: String) -> Self {
        Self { connection, id, client: OnceLock::new(), value: OnceCell::const_new() }
    }

    fn client(&self) -> &aws_sdk_secretsmanager::Client {
        self.client.get_or_init(|| self.connection.secrets())
    }

    async fn fetch(&self) -> Result<Secret, StorageError> {
        let read = self.client().get_secret_value().secret_id(&self.id).send().await;
        let output = read.map_err(|error| storage("secret read", error))?;
        // A secret without a value is configured by nobody: an empty document, which its reader refuses by name.
        Ok(Secret::new(output.secret_string.unwrap_or_else(|| "{}".to_owned())))
    }

    /// Replaces one field of the stored document, leaving the others as they are.
    ///
    /// # Errors
    /// [`StorageError`] when the document could not be read or written; the old value then still stands.
    pub async fn replace_field(&self, field: &str, value: &Secret) -> Result<(), StorageError> {
        let current = self.fetch().await?;
        let mut document: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(current.expose()).map_err(|error| storage("secret read", error))?;
        document.insert(field.to_owned(), value.expose().into());
        let text = serde_json::Value::Object(document).to_string();
        let put = self.client().put_secret_value().secret_id(&self.id).secret_string(text).send().await;
        put.map(drop).map_err(|error| storage("secret write", error))
    }
}

#[async_trait]
impl SecretSource for SecretDocument {
    async fn document(&self) -> Result<Secret, StorageError> {
        self.value.get_or_try_init(|| self.fetch()).await.cloned()
    }
}
