//! The mailbox's credentials, stored in two secrets: the application's, which operators write, and the refresh token,
//! which functions replace. Replacing either leaves the other as it is, so a change of the application cannot restore an
//! older token.

use async_trait::async_trait;
use domain::{
    RenewableSecret, Secret,
    ports::{SecretSource, StorageError},
};
use serde::{Deserialize, de::DeserializeOwned};
use std::sync::Arc;

/// Where the credentials are stored.
#[derive(Clone)]
pub struct Credentials {
    /// A document with `tenant_id`, `client_id` and, for a confidential client, `client_secret`.
    pub application: Arc<dyn RenewableSecret>,
    /// A document with `refresh_token`; empty where an administrator has consented for the application.
    pub token: Arc<dyn RenewableSecret>,
}

/// Why the documents cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unusable {
    #[error("the mailbox's secret has no tenant_id or client_id")]
    Application,
    #[error("the mailbox has no refresh token, and its application no client secret")]
    Token,
}

#[derive(Deserialize)]
struct Application {
    tenant_id: String,
    client_id: String,
    #[serde(default)]
    client_secret: Option<Secret>,
    /// Written here by stacks deployed before the token had a secret of its own. It is used until that secret has a
    /// token, which the first function that rotates it stores there.
    #[serde(default)]
    refresh_token: Option<Secret>,
}

#[derive(Default, Deserialize)]
struct Token {
    #[serde(default)]
    refresh_token: Option<Secret>,
}

/// The contents of both documents.
pub(crate) struct Access {
    pub(crate) tenant: String,
    pub(crate) client_id: String,
    pub(crate) consent: Consent,
}

/// The giver of the consent.
pub(crate) enum Consent {
    /// A person, for their mailbox.
    Person { refresh_token: Secret, client_secret: Option<Secret> },
    /// An administrator, for the application.
    Administrator { client_secret: Secret },
}

impl Access {
    /// Reads what [`Credentials::document`] returns.
    pub(crate) fn parse(documents: &Secret) -> Result<Self, Unusable> {
        let [application, token] = split(documents);
        let application: Application = read(&application).ok_or(Unusable::Application)?;
        let token: Token = read(&token).unwrap_or_default();
        let filled = |secret: Option<Secret>| secret.filter(|secret| !secret.expose().is_empty());
        let refresh_token = filled(token.refresh_token).or_else(|| filled(application.refresh_token));
        let consent = match (refresh_token, filled(application.client_secret)) {
            (Some(refresh_token), client_secret) => Consent::Person { refresh_token, client_secret },
            (None, Some(client_secret)) => Consent::Administrator { client_secret },
            (None, None) => return Err(Unusable::Token),
        };
        Ok(Self { tenant: application.tenant_id, client_id: application.client_id, consent })
    }
}

fn read<T: DeserializeOwned>(document: &Secret) -> Option<T> {
    serde_json::from_str(document.expose()).ok()
}

fn join(application: &Secret, token: &Secret) -> Secret {
    Secret::new(serde_json::json!([application.expose(), token.expose()]).to_string())
}

fn split(documents: &Secret) -> [Secret; 2] {
    read::<[Secret; 2]>(documents).unwrap_or_else(|| [Secret::new(""), Secret::new("")])
}

#[async_trait]
impl SecretSource for Credentials {
    async fn document(&self) -> Result<Secret, StorageError> {
        Ok(join(&self.application.document().await?, &self.token.document().await?))
    }
}

#[async_trait]
impl RenewableSecret for Credentials {
    async fn renewed(&self, refused: &Secret) -> Result<Option<Secret>, StorageError> {
        let [application, token] = split(refused);
        let newer = (self.application.renewed(&application).await?, self.token.renewed(&token).await?);
        Ok(match newer {
            (None, None) => None,
            (newer_application, newer_token) => {
                Some(join(&newer_application.unwrap_or(application), &newer_token.unwrap_or(token)))
            }
        })
    }
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
