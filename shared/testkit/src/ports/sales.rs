//! The stores of sales, in a [`World`].

use super::{PAGE, storage};
use crate::world::World;
use async_trait::async_trait;
use domain::{
    CachedVerdict, Sale, SessionId, Submission, Timestamp,
    audit_trail::{AuditEntry, AuditHead},
    breaker::Breaker,
    mail::Letter,
    open_work::Work,
    ports::{
        AllSales, AllStreams, Breakers, CacheEntry, DeadLetters, Listed, Notes, OpenSales, SaleStore, SalesPage,
        SaveError, StorageError, StoredStream, StreamsPage, Submissions, VerdictArchive, Versioned,
    },
};

#[async_trait]
impl SaleStore for World {
    async fn load(&self, session: &SessionId) -> Result<Option<Versioned<Sale>>, StorageError> {
        let read = self.boundary("store.load", |state| {
            state.sales.get(session).map(|(value, version)| Versioned { value: value.clone(), version: *version })
        });
        read.await.map_err(|_| storage("store.load"))
    }

    async fn load_with_verdict(
        &self,
        session: &SessionId,
    ) -> Result<(Option<Versioned<Sale>>, CacheEntry), StorageError> {
        let read = self.boundary("store.load_with_verdict", |state| {
            let sale =
                state.sales.get(session).map(|(value, version)| Versioned { value: value.clone(), version: *version });
            let entry = match state.cache.get(session) {
                Some(_) if state.corrupt_cache || state.corrupt_entries.contains(session) => CacheEntry::Corrupt,
                Some(verdict) => CacheEntry::Hit(Box::new(verdict.clone())),
                None if state.removed_entries.contains(session) => CacheEntry::Removed,
                None => CacheEntry::Miss,
            };
            (sale, entry)
        });
        read.await.map_err(|_| storage("store.load_with_verdict"))
    }

    async fn save(&self, sale: &Sale, expected: u64, verdict: Option<&CachedVerdict>) -> Result<u64, SaveError> {
        let write = self.boundary("store.save", |state| {
            let current = state.sales.get(sale.session_id()).map_or(0, |(_, version)| *version);
            if current != expected {
                return Err(SaveError::Conflict);
            }
            state.sales.insert(sale.session_id().clone(), (sale.clone(), expected + 1));
            if let Some(verdict) = verdict {
                state.cache_verdict(sale.session_id(), verdict, sale.changed_at());
                state.corrupt_cache = false;
                state.corrupt_entries.remove(sale.session_id());
            }
            Ok(expected + 1)
        });
        write.await.unwrap_or_else(|_| Err(storage("store.save").into()))
    }

    async fn open_followup(&self, sale: &Sale, text: &Submission, first_version: u64) -> Result<(), SaveError> {
        let write = self.boundary("store.open_followup", |state| {
            let first = state.sales.get(&sale.session_id().paid_session()).map_or(0, |(_, version)| *version);
            if first != first_version || state.sales.contains_key(sale.session_id()) {
                return Err(SaveError::Conflict);
            }
            state.sales.insert(sale.session_id().clone(), (sale.clone(), 1));
            state.submissions.insert(sale.session_id().clone(), text.clone());
            Ok(())
        });
        write.await.unwrap_or_else(|_| Err(storage("store.open_followup").into()))
    }
}

#[async_trait]
impl Breakers for World {
    async fn load(&self, model: &str) -> Result<Versioned<Breaker>, StorageError> {
        let read = self.boundary("breaker.load", |state| {
            let (value, version) = state.breakers.get(model).cloned().unwrap_or_default();
            Versioned { value, version }
        });
        read.await.map_err(|_| storage("breaker.load"))
    }

    async fn save(&self, model: &str, breaker: &Breaker, expected: u64) -> Result<(), SaveError> {
        let write = self.boundary("breaker.save", |state| {
            let current = state.breakers.get(model).map_or(0, |(_, version)| *version);
            if current != expected {
                return Err(SaveError::Conflict);
            }
            state.breakers.insert(model.to_owned(), (breaker.clone(), expected + 1));
            Ok(())
        });
        write.await.unwrap_or_else(|_| Err(storage("breaker.save").into()))
    }
}

/// The most bytes of one item in the table, less a margin for its names and keys.
const MOST_BYTES_OF_AN_ITEM: usize = 400 * 1024 - 512;

#[async_trait]
impl Notes for World {
    async fn load(&self, name: &str) -> Result<Versioned<Option<String>>, StorageError> {
        let read = self.boundary("notes.load", |state| match state.notes.get(name) {
            Some((document, version)) => Versioned { value: Some(document.clone()), version: *version },
            None => Versioned { value: None, version: 0 },
        });
        read.await.map_err(|_| storage("notes.load"))
    }

    async fn save(&self, name: &str, document: &str, expected: u64) -> Result<u64, SaveError> {
        let write = self.boundary("notes.save", |state| {
            if state.notes.get(name).map_or(0, |(_, version)| *version) != expected {
                return Err(SaveError::Conflict);
            }
            if document.len() > MOST_BYTES_OF_AN_ITEM {
                return Err(StorageError { operation: "notes.save", source: "the item is too large".into() }.into());
            }
            state.notes.insert(name.to_owned(), (document.to_owned(), expected + 1));
            Ok(expected + 1)
        });
        write.await.unwrap_or_else(|_| Err(storage("notes.save").into()))
    }
}

#[async_trait]
impl VerdictArchive for World {
    async fn keep(&self, session: &SessionId, verdict: &CachedVerdict) -> Result<(), StorageError> {
        let write = self.boundary("archive.keep", |state| {
            state.archive.entry(session.clone()).or_insert_with(|| verdict.clone());
        });
        write.await.map_err(|_| storage("archive.keep"))
    }

    async fn find(&self, session: &SessionId) -> Result<Option<CachedVerdict>, StorageError> {
        let read = self.boundary("archive.find", |state| state.archive.get(session).cloned());
        read.await.map_err(|_| storage("archive.find"))
    }

    async fn listed(&self, after: Option<&SessionId>, most: usize) -> Result<Vec<SessionId>, StorageError> {
        let read = self.boundary("archive.listed", |state| {
            let later = |session: &&SessionId| after.is_none_or(|after| *session > after);
            state.archive.keys().filter(later).take(most).cloned().collect()
        });
        read.await.map_err(|_| storage("archive.listed"))
    }
}

#[async_trait]
impl AllSales for World {
    async fn all(&self, from: Option<&str>) -> Result<SalesPage, StorageError> {
        let read = self.boundary("store.all", |state| {
            let skip = from.and_then(|from| from.parse().ok()).unwrap_or(0);
            let sales: Vec<_> = state.sales.values().skip(skip).take(PAGE).map(|(sale, _)| sale.clone()).collect();
            let next = (skip + sales.len() < state.sales.len()).then(|| (skip + sales.len()).to_string());
            SalesPage { sales, next }
        });
        read.await.map_err(|_| storage("store.all"))
    }
}

#[async_trait]
impl AllStreams for World {
    async fn streams(&self, from: Option<&str>) -> Result<StreamsPage, StorageError> {
        let read = self.boundary("store.streams", |state| {
            let accounts = state.accounts.values().filter_map(|(it, _)| StoredStream::of(it));
            let bridges = state.bridges.values().filter_map(|(it, _)| StoredStream::of(it));
            let subscribers = state.subscribers.values().filter_map(|(it, _)| StoredStream::of(it));
            let purchases = state.purchases.values().filter_map(|(it, _)| StoredStream::of(it));
            let notes = state.notes.iter().filter_map(|(name, (document, _))| noted(name, document));
            let all: Vec<_> = accounts.chain(bridges).chain(subscribers).chain(purchases).chain(notes).collect();
            let skip = from.and_then(|from| from.parse().ok()).unwrap_or(0);
            let streams: Vec<_> = all.iter().skip(skip).take(PAGE).cloned().collect();
            let next = (skip + streams.len() < all.len()).then(|| (skip + streams.len()).to_string());
            StreamsPage { streams, next }
        });
        read.await.map_err(|_| storage("store.streams"))
    }
}

/// The stream of a note, if it has one.
fn noted(name: &str, document: &str) -> Option<StoredStream> {
    let mut note: serde_json::Value = serde_json::from_str(document).ok()?;
    let waiting: Vec<AuditEntry> = serde_json::from_value(note["outbox"].take()).unwrap_or_default();
    let head: AuditHead = serde_json::from_value(note["head"].take()).ok()?;
    StoredStream::at(format!("function/{name}"), &head, &waiting)
}

#[async_trait]
impl OpenSales for World {
    async fn open(&self, work: Work, until: Option<Timestamp>, from: Option<&str>) -> Result<Listed, StorageError> {
        let read = self.boundary("store.open", |state| {
            let mut found: Vec<_> =
                state.sales.values().filter_map(|(sale, _)| Some((sale.open_work()?, sale))).collect();
            found.retain(|(open, _)| open.work == work && until.is_none_or(|until| open.due <= until));
            found.sort_by_key(|(open, sale)| (open.due, sale.session_id().clone()));
            let skip = from.and_then(|from| from.parse().ok()).unwrap_or(0);
            let sessions: Vec<_> =
                found.iter().skip(skip).take(PAGE).map(|(_, sale)| sale.session_id().clone()).collect();
            let next = (skip + sessions.len() < found.len()).then(|| (skip + sessions.len()).to_string());
            Listed { sessions, next }
        });
        read.await.map_err(|_| storage("store.open"))
    }
}

#[async_trait]
impl Submissions for World {
    async fn keep(&self, session: &SessionId, submission: &Submission) -> Result<(), StorageError> {
        let write = self.boundary("submissions.keep", |state| {
            state.submissions.insert(session.clone(), submission.clone());
        });
        write.await.map_err(|_| storage("submissions.keep"))
    }

    async fn find(&self, session: &SessionId) -> Result<Option<Submission>, StorageError> {
        let read = self.boundary("submissions.find", |state| state.submissions.get(session).cloned());
        read.await.map_err(|_| storage("submissions.find"))
    }
}

#[async_trait]
impl DeadLetters for World {
    async fn keep(
        &self,
        session: &SessionId,
        letter: Letter,
        died_at: Timestamp,
        document: &str,
    ) -> Result<(), StorageError> {
        let key = format!("{}/{}-{}", session.as_str(), letter.as_str(), died_at.as_millis());
        let write = self.boundary("dead_letters.keep", |state| {
            state.dead_letters.entry(key).or_insert_with(|| document.to_owned());
        });
        write.await.map_err(|_| storage("dead_letters.keep"))
    }
}
