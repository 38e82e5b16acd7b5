//! A rotating field of a stored secret: the refresh token that the login service replaces at every use (Email
//! Retry, INV-07).

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

/// What came of storing a new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// It is stored.
    Stored,
    /// Somebody else stored another one in between, which stands: a losing writer never overwrites a newer value.
    Overtaken,
}

/// The label that a version bears until it becomes the current one: one without a label may be removed.
const PENDING: &str = "ORACLE_PENDING";

/// The label of the version that everybody reads. Moving it names the version it is taken from, so it moves only if
/// nobody moved it in between.
const CURRENT: &str = "AWSCURRENT";

const STEP: Step<'_> = Step { name: "secret write", operation: "SECRET_WRITE", subject: "-" };

impl SecretDocument {
    /// Replaces one field of the document, leaving the others as they are, provided that the stored document is
    /// still the one that was read last.
    ///
    /// # Errors
    /// [`StorageError`] when the document could not be read or written; the old value then still stands.
    pub async fn rotate_field(&self, field: &str, value: &Secret) -> Result<Rotation, StorageError> {
        let current = self.document().await?;
        let no_version = || storage(STEP.name, std::io::Error::other("the secret has no version"));
        let replaced = self.version().ok_or_else(no_version)?.id;
        let mut document: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(current.expose()).map_err(|error| storage("secret read", error))?;
        document.insert(field.to_owned(), value.expose().into());
        let text = serde_json::Value::Object(document).to_string();
        let put = || async {
            let put = self.client().put_secret_value().secret_id(self.id()).secret_string(&text);
            Ok(put.version_stages(PENDING).send().await?.version_id)
        };
        let written = self.connection().call(STEP, put).await?.ok_or_else(no_version)?;
        let moved = || async {
            let label = self.client().update_secret_version_stage().secret_id(self.id()).version_stage(CURRENT);
            match label.move_to_version_id(&written).remove_from_version_id(&replaced).send().await {
                Ok(_) => Ok(true),
                Err(error) if is_elsewhere(&error) => Ok(false),
                Err(error) => Err(Failure::from(error)),
            }
        };
        let moved = self.connection().call(STEP, moved).await?;
        // A move whose reply got lost finds the label where it has put it.
        let stored = self.fetch().await?;
        self.kept.replace(&stored).await;
        let is_ours = moved || self.version().is_some_and(|version| version.id == written);
        Ok(if is_ours { Rotation::Stored } else { Rotation::Overtaken })
    }
}

/// The label is on another version than the one it was to be taken from.
fn is_elsewhere<R>(error: &SdkError<MoveError, R>) -> bool {
    error.as_service_error().is_some_and(MoveError::is_invalid_parameter_exception)
}
