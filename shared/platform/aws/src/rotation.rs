//! Rotates a field of a stored secret: the refresh token that the login service replaces at every use (Email Retry,
//! INV-07).

use crate::{
    SecretDocument,
    attempts::{Failure, Step},
    storage,
};
use aws_sdk_secretsmanager::{
    error::SdkError, operation::update_secret_version_stage::UpdateSecretVersionStageError as MoveError,
};
use domain::{
    Secret,
    ports::{SecretSource, StorageError},
};

/// The result of storing a new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// It is stored.
    Stored,
    /// Another process stored another value in between, which stays: a losing writer never overwrites a newer value.
    Overtaken,
}

/// The label of a version until it becomes the current one: a version without a label may be removed.
const PENDING: &str = "ORACLE_PENDING";

/// The label of the version that all readers get. Moving it names the version that it is moved from, so it moves only
/// if no other process has moved it in between.
const CURRENT: &str = "AWSCURRENT";

const STEP: Step<'_> = Step { name: "secret write", operation: "SECRET_WRITE", subject: "-" };

impl SecretDocument {
    /// Replaces one field of the document and keeps the others, provided that the stored document is still the one that
    /// was read last, or that there is still none.
    ///
    /// # Errors
    /// [`StorageError`] when the document could not be read or written; then the old value is still stored.
    pub async fn rotate_field(&self, field: &str, value: &Secret) -> Result<Rotation, StorageError> {
        let current = self.document().await?;
        let no_version = || storage(STEP.name, std::io::Error::other("the secret has no version"));
        let replaced = self.version().map(|version| version.id);
        // Without serde's error, which quotes a token that was written in place of the object: it would be in an alert.
        let no_object =
            |_: serde_json::Error| storage("secret read", std::io::Error::other("the secret is not a JSON object"));
        let mut document: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(current.expose()).map_err(no_object)?;
        document.insert(field.to_owned(), value.expose().into());
        let text = serde_json::Value::Object(document).to_string();
        let put = || async {
            let put = self.client().put_secret_value().secret_id(self.id()).secret_string(&text);
            Ok(put.version_stages(PENDING).send().await?.version_id)
        };
        let written = self.connection().call(STEP, put).await?.ok_or_else(no_version)?;
        let moved = || async {
            let label = self.client().update_secret_version_stage().secret_id(self.id()).version_stage(CURRENT);
            let label = label.set_remove_from_version_id(replaced.clone());
            match label.move_to_version_id(&written).send().await {
                Ok(_) => Ok(true),
                Err(error) if is_elsewhere(&error) => Ok(false),
                Err(error) => Err(Failure::from(error)),
            }
        };
        let moved = self.connection().call(STEP, moved).await?;
        // If the reply to the move was lost, the label is already where the move put it. A secret's first version has the
        // label from the start.
        let stored = self.fetch().await?;
        self.kept.replace(&stored).await;
        let is_ours = moved || self.version().is_some_and(|version| version.id == written);
        Ok(if is_ours { Rotation::Stored } else { Rotation::Overtaken })
    }
}

/// Whether the label is on another version than expected.
fn is_elsewhere<R>(error: &SdkError<MoveError, R>) -> bool {
    error.as_service_error().is_some_and(MoveError::is_invalid_parameter_exception)
}
