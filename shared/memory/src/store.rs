//! Loads logs from a store and verifies them, appends under contention, and erases subjects.

use crate::{
    event::{Event, Payload, SubjectErased},
    handle::{Handle, InvalidHandle},
    log::{self, AppendError, Appended, BootError, EventLog, Record, Seal},
    state::Refusal,
};
use domain::{
    ErrorCode,
    ports::{MemoryAppend, MemoryLogs, MemoryRecord, StorageError, SubjectKeys},
};
use lens::Digest;

/// The most attempts of an append when other writers append in between.
const ATTEMPTS: u32 = 20;

/// The reason why a stored log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store failed, possibly after the write. A retry with the same key is safe.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The log differs from what was written.
    #[error(transparent)]
    Boot(#[from] BootError),
    /// The log's records do not end at the head, which the store keeps separately.
    #[error("the log was cut short: it ends at record {found}, and its head is record {head}")]
    CutShort {
        /// The last record.
        found: u64,
        /// The head's number.
        head: u64,
    },
    /// The store has records of the log and no head, so nothing tells whether the last records are missing.
    #[error("the log was cut short: it has {found} records and no head")]
    NoHead {
        /// The number of records.
        found: u64,
    },
    /// The event is not appended.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// A name in an event is not a handle.
    #[error(transparent)]
    Name(#[from] InvalidHandle),
    /// Other writers were faster in every attempt.
    #[error("others kept appending to the log; the event was not written")]
    Contention,
}

impl StoreError {
    /// Its code in the errors of the steps that use a memory.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Storage(_) => ErrorCode::Storage,
            Self::Contention => ErrorCode::Contended,
            Self::Append(AppendError::Refused(Refusal::Erased)) => ErrorCode::Erased,
            Self::Boot(_) | Self::CutShort { .. } | Self::NoHead { .. } | Self::Append(_) | Self::Name(_) => {
                ErrorCode::Memory
            }
        }
    }
}

/// Loads a log: checks every record, the chain, and the head, which the store keeps separately.
///
/// # Errors
/// [`StoreError`]
pub async fn load(
    logs: &dyn MemoryLogs,
    log_id: &str,
    campaign_id: &Handle,
    seal: &dyn Seal,
) -> Result<EventLog, StoreError> {
    let records = complete(logs, log_id).await?;
    Ok(EventLog::boot(campaign_id.clone(), records, seal)?)
}

/// The records of a log, without opening them, compared with the head that the store keeps. Their chain is not checked.
/// A log that does not fit its head is read again: it may have begun between the two reads, or the query may have met
/// the transaction that moved the head.
///
/// # Errors
/// [`StoreError::Storage`]; [`StoreError::CutShort`]; [`StoreError::NoHead`]
pub async fn complete(logs: &dyn MemoryLogs, log_id: &str) -> Result<Vec<Record>, StoreError> {
    match read_to_head(logs, log_id).await {
        Err(StoreError::CutShort { .. } | StoreError::NoHead { .. }) => read_to_head(logs, log_id).await,
        read => read,
    }
}

async fn read_to_head(logs: &dyn MemoryLogs, log_id: &str) -> Result<Vec<Record>, StoreError> {
    // Reads the head first, because other writers may append records while the pages are read.
    let head = logs.head(log_id).await?;
    let records = records(logs, log_id, head.map(|(head, _)| head)).await?;
    let found = records.len() as u64;
    let Some((head, hash)) = head else {
        return if records.is_empty() { Ok(records) } else { Err(StoreError::NoHead { found }) };
    };
    let at_head = usize::try_from(head).ok().and_then(|head| records.get(head.checked_sub(1)?));
    if at_head.is_none_or(|record| *record.hash.as_bytes() != hash) {
        return Err(StoreError::CutShort { found, head });
    }
    Ok(records)
}

/// The records of a log, without opening them: at least those up to `head`. Without a `head` it is all records, which
/// takes a further read that finds none.
///
/// # Errors
/// [`StorageError`]
pub async fn records(logs: &dyn MemoryLogs, log_id: &str, head: Option<u64>) -> Result<Vec<Record>, StorageError> {
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
        if head.is_some_and(|head| records.last().is_some_and(|last| last.seq >= head)) {
            return Ok(records);
        }
    }
}

fn stored(record: &Record) -> MemoryRecord {
    let (prev, hash) = (*record.prev.as_bytes(), *record.hash.as_bytes());
    MemoryRecord { seq: record.seq, prev, hash, body: record.body.clone() }
}

/// Appends an event to a loaded log and to its store. If another writer was faster, reads the log again and checks the
/// event again, which may refuse it. With a key, a retry after a lost reply appends nothing.
///
/// # Errors
/// As [`append_all`].
pub async fn append(
    logs: &dyn MemoryLogs,
    log_id: &str,
    log: &mut EventLog,
    event: Event,
    seal: &dyn Seal,
) -> Result<Appended, StoreError> {
    let appended = append_all(logs, log_id, log, &|_| Ok(vec![event.clone()]), seal).await?;
    Ok(appended.unwrap_or(Appended::AlreadyThere(log.state().events())))
}

/// Appends the events that a log needs to a loaded log and to its store, in one write: all or none. If another writer was
/// faster, reads the log again and derives the events again. Returns the result of the last event.
///
/// # Errors
/// [`StoreError`]; the loaded log may then have records that the store lacks, so the caller must load it again.
pub async fn append_all(
    logs: &dyn MemoryLogs,
    log_id: &str,
    log: &mut EventLog,
    events: &(dyn Fn(&EventLog) -> Result<Vec<Event>, InvalidHandle> + Sync),
    seal: &dyn Seal,
) -> Result<Option<Appended>, StoreError> {
    for _ in 0..ATTEMPTS {
        let known = log.records().len();
        let mut appended = None;
        for event in events(log)? {
            appended = Some(log.append(event, seal)?);
        }
        let records: Vec<MemoryRecord> = log.records().iter().skip(known).map(stored).collect();
        if records.is_empty() {
            return Ok(appended);
        }
        match logs.append(log_id, &records).await? {
            MemoryAppend::Written | MemoryAppend::AlreadyThere => return Ok(appended),
            MemoryAppend::Taken => *log = load(logs, log_id, log.campaign_id(), seal).await?,
        }
    }
    Err(StoreError::Contention)
}

/// Erases a subject: appends the erasure as the log's last event, then destroys the key. Without the key, everything
/// sealed under it is unreadable: events, facts, and sealed copies of compactions and caches. A retry completes an
/// erasure that a crash interrupted.
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

/// Erases a subject as [`erase`] does, without the subject's key: no record is opened, so that the key service need not
/// answer. Doing it again finishes what a crash left.
///
/// # Errors
/// [`StoreError`]
pub async fn shred(
    logs: &dyn MemoryLogs,
    keys: &dyn SubjectKeys,
    log_id: &str,
    event: &Event,
) -> Result<(), StoreError> {
    let Payload::SubjectErased(SubjectErased { subject, .. }) = &event.payload else {
        return Err(AppendError::NotAnErasure.into());
    };
    for _ in 0..ATTEMPTS {
        let records = complete(logs, log_id).await?;
        log::verify(&event.campaign_id, &records)?;
        if log::erasure_of(&records).is_none() {
            let record = log::erasure_record(&records, event)?;
            if logs.append(log_id, &[stored(&record)]).await? == MemoryAppend::Taken {
                continue;
            }
        }
        return Ok(keys.destroy(subject.as_str()).await?);
    }
    Err(StoreError::Contention)
}
