//! JSON documents in Secrets Manager.

use crate::{Connection, attempts::Step, storage};
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
        let step = Step { name: "secret read", operation: "SECRET_READ", subject: "-" };
        let read = || async {
            let output = self.client().get_secret_value().secret_id(&self.id).send().await?;
            // A secret without a value is configured by nobody: an empty document, which its reader refuses by name.
            Ok(Secret::new(output.secret_string.unwrap_or_else(|| "{}".to_owned())))
        };
        self.connection.call(step, read).await
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
        let step = Step { name: "secret write", operation: "SECRET_WRITE", subject: "-" };
        let put = || async {
            self.client().put_secret_value().secret_id(&self.id).secret_string(&text).send().await?;
            Ok(())
        };
        self.connection.call(step, put).await
    }
}

#[async_trait]
impl SecretSource for SecretDocument {
    async fn document(&self) -> Result<Secret, StorageError> {
        self.value.get_or_try_init(|| self.fetch()).await.cloned()
    }
}
