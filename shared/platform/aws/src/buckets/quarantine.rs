//! The quarantine.

use super::bucket::Bucket;
use crate::{Connection, attempts::Step};
use async_trait::async_trait;
use domain::{
    SessionId, Timestamp,
    ports::{Quarantine, StorageError},
};

/// Held payloads.
#[derive(Debug)]
pub struct S3Quarantine(Bucket);

impl S3Quarantine {
    /// The quarantine in this bucket.
    #[must_use]
    pub const fn new(connection: Connection, bucket: String) -> Self {
        Self(Bucket::new(connection, bucket))
    }
}

#[async_trait]
impl Quarantine for S3Quarantine {
    async fn hold(&self, session: &SessionId, held_at: Timestamp, payload: &str) -> Result<(), StorageError> {
        // A second hold of one sale in the same millisecond can only be a repetition of the first.
        let key = format!("held/{}/{}.json", session.as_str(), held_at.as_millis());
        let step = Step { name: "quarantine write", operation: "QUARANTINE_WRITE", subject: session.reference() };
        self.0.put_new(step, &key, payload).await.map(drop)
    }

    async fn held(&self, session: &SessionId) -> Result<Vec<String>, StorageError> {
        let step = Step { name: "quarantine read", operation: "QUARANTINE_READ", subject: session.reference() };
        self.0.texts(step, &format!("held/{}/", session.as_str())).await
    }
}
