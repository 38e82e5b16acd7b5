//! Logs in a store: read and verified, appended to under contention, erased.

use crate::{
    event::{Event, Payload, SubjectErased},
    handle::Handle,
    log::{AppendError, Appended, BootError, EventLog, Record, Seal},
};
use domain::ports::{MemoryAppend, MemoryLogs, MemoryRecord, StorageError, SubjectKeys};
use lens::Digest;

/// How often an append is decided again because others appended in between.
const ATTEMPTS: u32 = 20;

/// Why a stored log could not be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store failed; whether it wrote is unknown. Doing it again with the same key is safe.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The log is not what was written.
    #[error(transparent)]
    Boot(#[from] BootError),
    /// The log's records do not end with the head that the store keeps apart.
    #[error("the log was cut short: it ends at record {found}, and its head is record {head}")]
    CutShort {
        /// The last record.
        found: u64,
        /// The head's number.
        head: u64,
    },
    /// The event may not follow.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// Others kept appending.
    #[error("others kept appending to the log; the event was not written")]
    Contention,
}

/// Reads a log: every record, the chain, and the head that the store keeps apart.
///
/// # Errors
/// [`StoreError`]
pub async fn load(
    logs: &dyn MemoryLogs,
    log_id: &str,
    campaign_id: &Handle,
    seal: &dyn Seal,
) -> Result<EventLog, StoreError> {
    // The head first: records that are appended while the pages are read come after it.
    let head = logs.head(log_id).await?;
    let records = records(logs, log_id).await?;
    if let Some((head, hash)) = head {
        let found = records.len() as u64;
        let at_head = usize::try_from(head).ok().and_then(|head| records.get(head.checked_sub(1)?));
        if at_head.is_none_or(|record| *record.hash.as_bytes() != hash) {
            return Err(StoreError::CutShort { found, head });
        }
    }
    Ok(EventLog::boot(campaign_id.clone(), records, seal)?)
}

/// All records of a log, unopened.
///
/// # Errors
/// [`StorageError`]
pub async fn records(logs: &dyn MemoryLogs, log_id: &str) -> Result<Vec<Record>, StorageError> {
    let mut records: Vec<Record> = Vec::new();
    loop {
        let page = logs.read(log_id, records.last().map_or(0, |record| record.seq)).await?;
        if page.is_empty() {
            return Ok(records);
        }
        records.extend(page.into_iter().map(|MemoryRecord { seq, prev, hash, body }| Record {
            seq,
            prev: Digest::from_bytes(prev),
            hash: Digest::from_bytes(hash),
            body,
        }));
    }
}

/// Appends an event to a loaded log and to its store. Where another writer was faster, the log is read again and the
/// event is decided again: it may be refused then. With a key, a retry after a lost reply appends nothing.
///
/// # Errors
/// [`StoreError`]; after [`StoreError::Storage`] the loaded log may have a record that the store has not, and must be
/// read again.
pub async fn append(
    logs: &dyn MemoryLogs,
    log_id: &str,
    log: &mut EventLog,
    event: Event,
    seal: &dyn Seal,
) -> Result<Appended, StoreError> {
    for _ in 0..ATTEMPTS {
        let appended = log.append(event.clone(), seal)?;
        let Appended::Written(_) = appended else { return Ok(appended) };
        let Some(record) = log.records().last() else { return Ok(appended) };
        let record = MemoryRecord {
            seq: record.seq,
            prev: *record.prev.as_bytes(),
            hash: *record.hash.as_bytes(),
            body: record.body.clone(),
        };
        match logs.append(log_id, &record).await? {
            MemoryAppend::Written | MemoryAppend::AlreadyThere => return Ok(appended),
            MemoryAppend::Taken => *log = load(logs, log_id, log.campaign_id(), seal).await?,
        }
    }
    Err(StoreError::Contention)
}

/// Erases a subject: the erasure is the log's last event, then the key is destroyed, which shreds everything that was
/// sealed under it: events, facts, and what anyone kept sealed of compactions and caches. Doing it again finishes what
/// a crash left.
///
/// # Errors
/// [`StoreError`]
pub async fn erase(
    logs: &dyn MemoryLogs,
    keys: &dyn SubjectKeys,
    log_id: &str,
    log: &mut EventLog,
    event: Event,
    seal: &dyn Seal,
) -> Result<(), StoreError> {
    let Payload::SubjectErased(SubjectErased { subject, .. }) = &event.payload else {
        return Err(AppendError::NotAnErasure.into());
    };
    let subject = subject.clone();
    if !log.state().is_erased() {
        append(logs, log_id, log, event, seal).await?;
    }
    Ok(keys.destroy(subject.as_str()).await?)
}
