//! Builds the clients of the two mail functions.

use crate::{Ports, Settings};
use aws::{S3Archive, S3Quarantine, SecretDocument, SqsQueue};
use backend::{Backend, BackendError, JournalStores, QueueName, SecretName, SendingMailbox};
use runtime::System;

/// The clients that one process delivers mail with.
pub struct Clients {
    stores: JournalStores,
    archive: S3Archive,
    quarantine: S3Quarantine,
    payments: stripe::LazyClient,
    mailbox: SendingMailbox,
    audit_keys: SecretDocument,
    retries: SqsQueue,
    settings: Settings,
}

impl Clients {
    /// Builds the clients, and reads the settings.
    ///
    /// # Errors
    /// [`BackendError`] names the variable that is missing or malformed.
    pub fn new(backend: &Backend) -> Result<Self, BackendError> {
        let stores = backend.journal()?;
        Ok(Self {
            archive: backend.archive()?,
            quarantine: backend.quarantine()?,
            payments: backend.stripe()?,
            mailbox: backend.sending(backend.mailbox_storing_tokens(stores.alerts.clone())?)?,
            audit_keys: backend.secret(SecretName::Audit)?,
            retries: backend.queue(QueueName::MailRetries)?,
            settings: Settings::from_environment(backend.environment(), backend.site()?)?,
            stores,
        })
    }

    /// The ports of the handlers.
    #[must_use]
    pub const fn ports(&self) -> Ports<'_> {
        Ports {
            journal: self.stores.journal(),
            archive: &self.archive,
            quarantine: &self.quarantine,
            dead_letters: &self.archive,
            payments: &self.payments,
            mailbox: &self.mailbox,
            audit_keys: &self.audit_keys,
            retries: &self.retries,
            breakers: &self.stores.sales,
            meter: &System,
        }
    }

    /// The settings of the handlers.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }
}
