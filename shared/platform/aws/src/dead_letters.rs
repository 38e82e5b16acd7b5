//! Dead-lettered mails: one object each under `dead-letters/`, beside the archive of verdicts.

use crate::{S3Archive, attempts::Step};
use async_trait::async_trait;
use domain::{
    SessionId, Timestamp,
    mail::Letter,
    ports::{DeadLetters, StorageError},
};

#[async_trait]
impl DeadLetters for S3Archive {
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
