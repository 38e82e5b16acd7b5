//! Reads the log from the hourly copies beside its digests: one object an hour instead of one for each record.

use std::{
    fs::File,
    io::{self, Write},
    os::unix::fs::FileExt,
    sync::Arc,
};

use async_trait::async_trait;
use audit_verify::{
    copies,
    signed_digest::{Document, document_key},
};
use domain::{
    Timestamp,
    ports::{AuditObjects, DigestStore, ListedObject, StorageError},
};
use tokio::task::JoinSet;

use crate::command_error::CommandError;

/// The number of copies that are fetched in parallel.
const AT_ONCE: u64 = 16;

const PAGE: usize = 10_000;

/// The log as of its last digest.
pub(crate) struct CopiedLog {
    /// All records, ordered by key.
    records: Vec<Record>,
    /// The bytes of those that the copies hold, in a file without a name, which goes with the process.
    lines: File,
    /// The log itself, for the others.
    log: Arc<dyn AuditObjects>,
    /// When the last digest was made; `None` without digests.
    until: Option<String>,
}

struct Record {
    key: String,
    digested_at: Timestamp,
    /// The offset and the length of its line in the file; `None` if no copy holds it.
    line: Option<(u64, usize)>,
}

impl CopiedLog {
    /// Fetches all copies. Calls `progress` with the number of digests and of records so far.
    pub(crate) async fn fetch(
        digests: &Arc<dyn DigestStore>,
        log: Arc<dyn AuditObjects>,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<Self, CommandError> {
        let unwritable = |error| CommandError::failed("the temporary file cannot be written", error);
        let mut lines = unnamed_file().map_err(unwritable)?;
        let (mut records, mut until, mut end) = (Vec::new(), None, 0);
        let mut first = 1;
        loop {
            let mut running = JoinSet::new();
            for sequence in first..first + AT_ONCE {
                let digests = digests.clone();
                running.spawn(async move { (sequence, stored(digests.as_ref(), sequence).await) });
            }
            let mut found = running.join_all().await;
            found.sort_by_key(|(sequence, _)| *sequence);
            for (sequence, stored) in found {
                let Some((document, copy)) = stored.map_err(CommandError::unreadable_log)? else {
                    records.sort_by(|one: &Record, other| one.key.cmp(&other.key));
                    // A record that two digests name is the same record.
                    records.dedup_by(|one, other| one.key == other.key);
                    return Ok(Self { records, lines, log, until });
                };
                let document = Document::parse(&document)
                    .map_err(|error| CommandError::failed(&format!("digest {sequence} cannot be read"), error))?;
                let digested_at = Timestamp::parse(&document.made_at).unwrap_or(Timestamp::from_millis(i64::MAX));
                let (held, others) = copies::records(&document, &copy);
                let mut kept = Vec::with_capacity(copy.len());
                for (key, line) in held {
                    let offset = end + kept.len() as u64;
                    records.push(Record { key: key.to_owned(), digested_at, line: Some((offset, line.len())) });
                    kept.extend_from_slice(line);
                }
                lines.write_all(&kept).map_err(unwritable)?;
                end += kept.len() as u64;
                records.extend(others.iter().map(|key| Record { key: (*key).to_owned(), digested_at, line: None }));
                progress(sequence, records.len() as u64);
                until = Some(document.made_at);
            }
            first += AT_ONCE;
        }
    }

    /// When the last digest was made: records that no digest had then are missing. `None` if there is no digest.
    pub(crate) fn until(&self) -> Option<&str> {
        self.until.as_deref()
    }

    fn find(&self, key: &str) -> Option<&Record> {
        let place = self.records.binary_search_by(|record| record.key.as_str().cmp(key)).ok()?;
        self.records.get(place)
    }
}

/// A digest and the copy of its records, which is empty if there is none.
async fn stored(digests: &dyn DigestStore, sequence: u64) -> Result<Option<(Vec<u8>, Vec<u8>)>, StorageError> {
    let Some(bytes) = digests.find(&document_key(sequence)).await? else { return Ok(None) };
    let copy = match Document::parse(&bytes) {
        Ok(document) if !document.entries.is_empty() => digests.find(&copies::copy_key(&document)).await?,
        _ => None,
    };
    Ok(Some((bytes, copy.unwrap_or_default())))
}

fn unnamed_file() -> io::Result<File> {
    let nanos = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let path = std::env::temp_dir().join(format!("oracle-log-{}-{nanos}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

#[async_trait]
impl AuditObjects for CopiedLog {
    async fn keys(&self, prefix: &str, after: &str) -> Result<Vec<ListedObject>, StorageError> {
        let from = self.records.partition_point(|record| record.key.as_str() <= after || record.key.as_str() < prefix);
        let page = self.records.iter().skip(from).take_while(|record| record.key.starts_with(prefix)).take(PAGE);
        // When the original was written is not known; it was before the digest was made.
        let listed = |record: &Record| ListedObject { key: record.key.clone(), written_at: record.digested_at };
        Ok(page.map(listed).collect())
    }

    async fn object(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        match self.find(key).map(|record| record.line) {
            None => Ok(None),
            Some(None) => self.log.object(key).await,
            Some(Some((offset, length))) => {
                let mut line = vec![0; length];
                let read = self.lines.read_exact_at(&mut line, offset);
                read.map_err(|error| StorageError { operation: "copied record read", source: Box::new(error) })?;
                Ok(Some(line))
            }
        }
    }
}

#[cfg(test)]
mod tests;
