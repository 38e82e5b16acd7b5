//! The archive of first verdicts.

use super::bucket::Bucket;
use crate::{Connection, attempts::Step, storage};
use async_trait::async_trait;
use domain::{
    CachedVerdict, SessionId,
    alert::Severity,
    ports::{StorageError, VerdictArchive},
};

/// The archive's bucket: first verdicts, dead letters and the indexes of corpora.
#[derive(Debug)]
pub struct S3Archive(pub(crate) Bucket);

impl S3Archive {
    /// The archive in this bucket.
    #[must_use]
    pub const fn new(connection: Connection, bucket: String) -> Self {
        Self(Bucket::new(connection, bucket))
    }

    fn key(session: &SessionId) -> String {
        format!("verdicts/{}.json", session.as_str())
    }
}

#[async_trait]
impl VerdictArchive for S3Archive {
    async fn keep(&self, session: &SessionId, verdict: &CachedVerdict) -> Result<(), StorageError> {
        let body = serde_json::to_string(verdict).map_err(|error| storage("archive write", error))?;
        let step = Step { name: "archive write", operation: "ARCHIVE_WRITE", subject: session.reference() };
        self.0.put_new(step, &Self::key(session), &body).await.map(drop)
    }

    /// An archived verdict that cannot be read counts as missing, so that the customer is served by other means. It
    /// stays in place: an archived object is never replaced.
    async fn find(&self, session: &SessionId) -> Result<Option<CachedVerdict>, StorageError> {
        let step = Step { name: "archive read", operation: "ARCHIVE_READ", subject: session.reference() };
        let Some(body) = self.0.get(step, &Self::key(session)).await? else { return Ok(None) };
        let verdict = serde_json::from_slice(&body).ok();
        if verdict.is_none() {
            self.0
                .connection
                .raise_alert(step, Severity::Critical, "corrupt archived verdict: it counts as none")
                .await;
        }
        Ok(verdict)
    }

    async fn listed(&self, after: Option<&SessionId>, most: usize) -> Result<Vec<SessionId>, StorageError> {
        let step = Step { name: "archive list", operation: "ARCHIVE_READ", subject: "-" };
        let session = |key: &str| SessionId::parse(key.strip_prefix("verdicts/")?.strip_suffix(".json")?).ok();
        let mut after = after.map(Self::key).unwrap_or_default();
        loop {
            let page = self.0.page(step, "verdicts/", &after).await?;
            let sessions: Vec<SessionId> = page.iter().filter_map(|object| session(&object.key)).take(most).collect();
            // A page of other objects alone is not the archive's end.
            match page.last() {
                Some(last) if sessions.is_empty() => after.clone_from(&last.key),
                _ => return Ok(sessions),
            }
        }
    }
}
