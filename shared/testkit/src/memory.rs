//! The memory's stores in memory. They are separate from a [`World`](crate::World): they fail by number, not by a plan.

use async_trait::async_trait;
use domain::ports::{MemoryAppend, MemoryLogs, MemoryRecord, StorageError, SubjectKey, SubjectKeys};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Records per page.
const PAGE: usize = 7;

#[derive(Default)]
struct Stored {
    logs: BTreeMap<String, Vec<MemoryRecord>>,
    heads: BTreeMap<String, (u64, [u8; 32])>,
    /// The logs whose next read of the head finds none.
    not_begun: BTreeSet<String>,
    /// How many reads that reach a log's newest record still miss it.
    hidden: BTreeMap<String, u32>,
    /// `None`: the key is destroyed.
    keys: BTreeMap<String, Option<SubjectKey>>,
    made: u8,
    calls: u64,
    lost_before: BTreeSet<u64>,
    lost_after: BTreeSet<u64>,
}

/// Logs and keys in memory.
#[derive(Default)]
pub struct MemoryStores(Mutex<Stored>);

impl MemoryStores {
    fn stored(&self) -> MutexGuard<'_, Stored> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The n-th write from now, counted from 1, fails: before its effect, or after it, so that only the reply is lost.
    pub fn fail_write(&self, n: u64, after: bool) {
        let mut stored = self.stored();
        let number = stored.calls + n;
        if after {
            stored.lost_after.insert(number)
        } else {
            stored.lost_before.insert(number)
        };
    }

    /// Truncates a log without the store's knowledge.
    pub fn cut(&self, log: &str, to: usize) {
        if let Some(records) = self.stored().logs.get_mut(log) {
            records.truncate(to);
        }
    }

    /// The next read of a log's head finds none, as if the log began just after it.
    pub fn begin_after_head(&self, log: &str) {
        self.stored().not_begun.insert(log.to_owned());
    }

    /// The next reads that reach a log's newest record miss it, as queries beside its transaction may.
    pub fn hide_newest(&self, log: &str, reads: u32) {
        self.stored().hidden.insert(log.to_owned(), reads);
    }

    /// Loses the head of a log.
    pub fn lose_head(&self, log: &str) {
        self.stored().heads.remove(log);
    }

    fn write<T>(&self, work: impl FnOnce(&mut Stored) -> T) -> Result<T, StorageError> {
        let lost = || StorageError { operation: "memory write", source: "planned".into() };
        let mut stored = self.stored();
        stored.calls += 1;
        let number = stored.calls;
        if stored.lost_before.remove(&number) {
            return Err(lost());
        }
        let done = work(&mut stored);
        if stored.lost_after.remove(&number) { Err(lost()) } else { Ok(done) }
    }
}

/// Appends records to a log of the memory with this head, as [`MemoryLogs::append`] says.
pub(crate) fn append(
    known: &mut Vec<MemoryRecord>,
    head: Option<(u64, [u8; 32])>,
    records: &[MemoryRecord],
) -> MemoryAppend {
    let Some(first) = records.first() else { return MemoryAppend::AlreadyThere };
    let at = usize::try_from(first.seq).unwrap_or(usize::MAX).saturating_sub(1);
    if let Some(found) = known.get(at..).filter(|found| !found.is_empty()) {
        return if found.starts_with(records) { MemoryAppend::AlreadyThere } else { MemoryAppend::Taken };
    }
    let follows = head.map_or(first.seq == 1, |(seq, hash)| seq + 1 == first.seq && hash == first.prev);
    if !follows {
        return MemoryAppend::Taken;
    }
    known.extend_from_slice(records);
    MemoryAppend::Written
}

#[async_trait]
impl MemoryLogs for MemoryStores {
    async fn append(&self, log: &str, records: &[MemoryRecord]) -> Result<MemoryAppend, StorageError> {
        self.write(|stored| {
            let head = stored.heads.get(log).copied();
            let known = stored.logs.entry(log.to_owned()).or_default();
            let outcome = append(known, head, records);
            if let Some(last) = records.last().filter(|_| outcome == MemoryAppend::Written) {
                stored.heads.insert(log.to_owned(), (last.seq, last.hash));
            }
            outcome
        })
    }

    async fn read(&self, log: &str, after: u64) -> Result<Vec<MemoryRecord>, StorageError> {
        let mut stored = self.stored();
        let records = stored.logs.get(log).map_or(&[][..], Vec::as_slice);
        let mut page: Vec<_> = records.iter().filter(|record| record.seq > after).take(PAGE).cloned().collect();
        let reaches_newest = page.last().is_some_and(|last| last.seq == records.len() as u64);
        if let Some(left) = stored.hidden.get_mut(log).filter(|left| reaches_newest && **left > 0) {
            *left -= 1;
            page.pop();
        }
        Ok(page)
    }

    async fn head(&self, log: &str) -> Result<Option<(u64, [u8; 32])>, StorageError> {
        let mut stored = self.stored();
        if stored.not_begun.remove(log) {
            return Ok(None);
        }
        Ok(stored.heads.get(log).copied())
    }
}

#[async_trait]
impl SubjectKeys for MemoryStores {
    async fn find(&self, subject: &str) -> Result<Option<SubjectKey>, StorageError> {
        Ok(self.stored().keys.get(subject).cloned().flatten())
    }

    async fn find_or_create(&self, subject: &str) -> Result<SubjectKey, StorageError> {
        self.write(|stored| {
            stored.made += 1;
            let made = SubjectKey([stored.made; 32]);
            stored.keys.entry(subject.to_owned()).or_insert(Some(made)).clone()
        })?
        .ok_or_else(|| StorageError { operation: "memory write", source: "the key is destroyed".into() })
    }

    async fn destroy(&self, subject: &str) -> Result<(), StorageError> {
        self.write(|stored| {
            stored.keys.insert(subject.to_owned(), None);
        })
    }
}
