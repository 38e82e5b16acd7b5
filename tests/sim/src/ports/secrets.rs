//! The secrets.

use async_trait::async_trait;
use domain::{
    RenewableSecret, Secret,
    ports::{SecretSource, StorageError},
};
use std::sync::OnceLock;
use testkit::{World, world::StoredSecret};

/// A secret that is fetched at its first use and then kept, as a function's process does.
pub(crate) struct KeptSecret<'w> {
    stored: StoredSecret<'w>,
    kept: OnceLock<Secret>,
}

impl<'w> KeptSecret<'w> {
    pub(crate) fn new(world: &'w World, document: &str) -> Self {
        Self { stored: world.secret(document), kept: OnceLock::new() }
    }
}

#[async_trait]
impl SecretSource for KeptSecret<'_> {
    async fn document(&self) -> Result<Secret, StorageError> {
        if let Some(kept) = self.kept.get() {
            return Ok(kept.clone());
        }
        let document = self.stored.document().await?;
        Ok(self.kept.get_or_init(|| document).clone())
    }
}

impl RenewableSecret for KeptSecret<'_> {}
