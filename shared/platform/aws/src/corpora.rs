//! The indexes of corpora: one object each, under its version, beside the archive of verdicts.

use crate::{S3Archive, attempts::Step, storage};
use async_trait::async_trait;
use domain::{
    Timestamp,
    ports::{Corpora, StorageError},
    toll::CorpusVersion,
};

const PREFIX: &str = "corpora/";

fn key(version: &CorpusVersion) -> String {
    format!("{PREFIX}{}.json", version.as_str())
}

#[async_trait]
impl Corpora for S3Archive {
    async fn read(&self, version: &CorpusVersion) -> Result<Option<Vec<u8>>, StorageError> {
        let step = Step { name: "corpus read", operation: "CORPUS_READ", subject: "-" };
        self.0.get(step, &key(version)).await
    }

    async fn keep(&self, version: &CorpusVersion, bytes: &[u8]) -> Result<(), StorageError> {
        let step = Step { name: "corpus write", operation: "CORPUS_WRITE", subject: "-" };
        let text = std::str::from_utf8(bytes).map_err(|error| storage(step.name, error))?;
        self.0.put_new(step, &key(version), text).await.map(drop)
    }

    async fn listed(&self) -> Result<Vec<(CorpusVersion, Timestamp)>, StorageError> {
        let step = Step { name: "corpus list", operation: "CORPUS_READ", subject: "-" };
        let (mut listed, mut after) = (Vec::new(), String::new());
        loop {
            let page = self.0.page(step, PREFIX, &after).await?;
            let Some(last) = page.last() else { return Ok(listed) };
            after.clone_from(&last.key);
            let version = |key: &str| CorpusVersion::parse(key.strip_prefix(PREFIX)?.strip_suffix(".json")?).ok();
            listed.extend(page.iter().filter_map(|object| Some((version(&object.key)?, object.written_at))));
        }
    }
}
