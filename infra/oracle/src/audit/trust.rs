//! The trusted public keys for the digests' signatures.

use std::{path::PathBuf, sync::Arc};

use clap::Args;

use super::{
    digest_reader::{Announced, Digests},
    public_key::PublicKey,
};
use crate::{
    command_error::{CommandError, OrFailed},
    stack::Deployed,
};

/// The public keys whose signatures count.
#[derive(Args)]
pub(crate) struct Trust {
    /// A public key on P-256 (PEM or DER) to check signatures with, instead of the one that the key service names;
    /// may be given more than once, for keys that were in use before.
    #[arg(long = "public-key", value_name = "FILE")]
    keys: Vec<PathBuf>,
}

impl Trust {
    /// The stack's digests; `None` if the stack has none.
    pub(crate) async fn digests(
        &self,
        deployed: &Deployed,
        announced: Vec<Announced>,
    ) -> Result<Option<Digests>, CommandError> {
        let Some(parts) = deployed.digests()? else { return Ok(None) };
        let mut keys = Vec::new();
        for file in &self.keys {
            let failed = |what| format!("{} {what}", file.display());
            let bytes = std::fs::read(file).map_err(|error| CommandError::failed(&failed("cannot be read"), error))?;
            let key = PublicKey::parse(&bytes);
            keys.push(key.map_err(|error| CommandError::failed(&failed("is not a public key"), error))?);
        }
        if keys.is_empty() {
            let bytes = parts.key.public_key().await.or_failed("KMS did not return the public key")?;
            let key = PublicKey::parse(&bytes);
            keys.push(key.or_failed("KMS did not return a valid public key")?);
        }
        let (store, notes) = (Arc::new(parts.store), deployed.notes());
        Ok(Some(Digests { store, notes, bucket: parts.log_bucket, keys, announced }))
    }
}
