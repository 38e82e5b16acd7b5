//! Dead-lettered mails: one object each, beside the archive of verdicts.

use crate::{Connection, attempts::Step, buckets::Bucket};
use async_trait::async_trait;
use domain::{
    SessionId, Timestamp,
    mail::Letter,
    ports::{DeadLetters, StorageError},
};

/// Dead letters.
#[derive(Debug)]
pub struct S3DeadLetters(Bucket);

impl S3DeadLetters {
    /// Dead letters in this bucket, under `dead-letters/`.
    #[must_use]
    pub const fn new(connection: Connection, bucket: String) -> Self {
        Self(Bucket::new(connection, bucket))
    }
}

#[async_trait]
impl DeadLetters for S3DeadLetters {
    async fn keep(
        &self,
        session: &SessionId,
        letter: Letter,
        died_at: Timestamp,
        document: &str,
    ) -> Result<(), StorageError> {
        // A redriven letter may become a dead letter again, at another time.
        let key = format!("dead-letters/{}/{}-{}.json", session.as_str(), letter.as_str(), died_at.as_millis());
        let step = Step { name: "dead letter write", operation: "DEAD_LETTER_WRITE", subject: session.reference() };
        self.0.put_new(step, &key, document).await.map(drop)
    }
}
