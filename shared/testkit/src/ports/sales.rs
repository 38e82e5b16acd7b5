//! The stores of sales, in a [`World`].

use super::{page, replace, versioned};
use crate::world::{State, World};
use async_trait::async_trait;
use domain::{
    CachedVerdict, Sale, SessionId, Submission, Timestamp,
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
        self.stored("store.load", |state| versioned(state.sales.get(session))).await
    }

    async fn load_with_verdict(
        &self,
        session: &SessionId,
    ) -> Result<(Option<Versioned<Sale>>, CacheEntry), StorageError> {
        self.stored("store.load_with_verdict", |state| {
            let sale = versioned(state.sales.get(session));
            let entry = match state.cache.get(session) {
                Some(_) if state.corrupt_cache || state.corrupt_entries.contains(session) => CacheEntry::Corrupt,
                Some(verdict) => CacheEntry::Hit(Box::new(verdict.clone())),
                None if state.removed_entries.contains(session) => CacheEntry::Removed,
                None => CacheEntry::Miss,
            };
            (sale, entry)
        })
        .await
    }

    async fn save(&self, sale: &Sale, expected: u64, verdict: Option<&CachedVerdict>) -> Result<u64, SaveError> {
        self.saved("store.save", |state| {
            let version = replace(&mut state.sales, sale.session_id().clone(), sale.clone(), expected)?;
            if let Some(verdict) = verdict {
                state.cache_verdict(sale.session_id(), verdict, sale.changed_at());
                state.corrupt_cache = false;
                state.corrupt_entries.remove(sale.session_id());
            }
            Ok(version)
        })
        .await
    }

    async fn open_followup(&self, sale: &Sale, text: &Submission, first_version: u64) -> Result<(), SaveError> {
        self.saved("store.open_followup", |state| {
            let first = state.sales.get(&sale.session_id().paid_session()).map_or(0, |(_, version)| *version);
            if first != first_version || state.sales.contains_key(sale.session_id()) {
                return Err(SaveError::Conflict);
            }
            state.sales.insert(sale.session_id().clone(), (sale.clone(), 1));
            state.submissions.insert(sale.session_id().clone(), text.clone());
            Ok(())
        })
        .await
    }
}

#[async_trait]
impl Breakers for World {
    async fn load(&self, model: &str) -> Result<Versioned<Breaker>, StorageError> {
        self.stored("breaker.load", |state| {
            let (value, version) = state.breakers.get(model).cloned().unwrap_or_default();
            Versioned { value, version }
        })
        .await
    }

    async fn save(&self, model: &str, breaker: &Breaker, expected: u64) -> Result<(), SaveError> {
        let put = |state: &mut State| replace(&mut state.breakers, model.to_owned(), breaker.clone(), expected);
        self.saved("breaker.save", put).await.map(|_version| ())
    }
}

/// The most bytes of one item in the table, less a margin for its names and keys.
const MOST_BYTES_OF_AN_ITEM: usize = 400 * 1024 - 512;

#[async_trait]
impl Notes for World {
    async fn load(&self, name: &str) -> Result<Versioned<Option<String>>, StorageError> {
        self.stored("notes.load", |state| match state.notes.get(name) {
            Some((document, version)) => Versioned { value: Some(document.clone()), version: *version },
            None => Versioned { value: None, version: 0 },
        })
        .await
    }

    async fn save(&self, name: &str, document: &str, expected: u64) -> Result<u64, SaveError> {
        self.saved("notes.save", |state| {
            let is_current = state.notes.get(name).map_or(0, |(_, version)| *version) == expected;
            if is_current && document.len() > MOST_BYTES_OF_AN_ITEM {
                return Err(StorageError { operation: "notes.save", source: "the item is too large".into() }.into());
            }
            replace(&mut state.notes, name.to_owned(), document.to_owned(), expected)
        })
        .await
    }
}

#[async_trait]
impl VerdictArchive for World {
    async fn keep(&self, session: &SessionId, verdict: &CachedVerdict) -> Result<(), StorageError> {
        self.stored("archive.keep", |state| {
            state.archive.entry(session.clone()).or_insert_with(|| verdict.clone());
        })
        .await
    }

    async fn find(&self, session: &SessionId) -> Result<Option<CachedVerdict>, StorageError> {
        self.stored("archive.find", |state| state.archive.get(session).cloned()).await
    }

    async fn listed(&self, after: Option<&SessionId>, most: usize) -> Result<Vec<SessionId>, StorageError> {
        self.stored("archive.listed", |state| {
            let later = |session: &&SessionId| after.is_none_or(|after| *session > after);
            state.archive.keys().filter(later).take(most).cloned().collect()
        })
        .await
    }
}

#[async_trait]
impl AllSales for World {
    async fn all(&self, from: Option<&str>) -> Result<SalesPage, StorageError> {
        self.stored("store.all", |state| {
            let all: Vec<_> = state.sales.values().map(|(sale, _)| sale.clone()).collect();
            let (sales, next) = page(&all, from);
            SalesPage { sales, next }
        })
        .await
    }
}

#[async_trait]
impl AllStreams for World {
    async fn streams(&self, from: Option<&str>) -> Result<StreamsPage, StorageError> {
        self.stored("store.streams", |state| {
            let accounts = state.accounts.values().filter_map(|(it, _)| StoredStream::of(it));
            let bridges = state.bridges.values().filter_map(|(it, _)| StoredStream::of(it));
            let subscribers = state.subscribers.values().filter_map(|(it, _)| StoredStream::of(it));
            let purchases = state.purchases.values().filter_map(|(it, _)| StoredStream::of(it));
            let notes = state.notes.iter().filter_map(|(name, (document, _))| StoredStream::of_note(name, document));
            let all: Vec<_> = accounts.chain(bridges).chain(subscribers).chain(purchases).chain(notes).collect();
            let (streams, next) = page(&all, from);
            StreamsPage { streams, next }
        })
        .await
    }
}

#[async_trait]
impl OpenSales for World {
    async fn open(&self, work: Work, until: Option<Timestamp>, from: Option<&str>) -> Result<Listed, StorageError> {
        self.stored("store.open", |state| {
            let mut found: Vec<_> =
                state.sales.values().filter_map(|(sale, _)| Some((sale.open_work()?, sale))).collect();
            found.retain(|(open, _)| open.work == work && until.is_none_or(|until| open.due <= until));
            found.sort_by_key(|(open, sale)| (open.due, sale.session_id().clone()));
            let found: Vec<_> = found.into_iter().map(|(_, sale)| sale.session_id().clone()).collect();
            let (sessions, next) = page(&found, from);
            Listed { sessions, next }
        })
        .await
    }
}

#[async_trait]
impl Submissions for World {
    async fn keep(&self, session: &SessionId, submission: &Submission) -> Result<(), StorageError> {
        self.stored("submissions.keep", |state| {
            state.submissions.insert(session.clone(), submission.clone());
        })
        .await
    }

    async fn find(&self, session: &SessionId) -> Result<Option<Submission>, StorageError> {
        self.stored("submissions.find", |state| state.submissions.get(session).cloned()).await
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
        self.stored("dead_letters.keep", |state| {
            state.dead_letters.entry(key).or_insert_with(|| document.to_owned());
        })
        .await
    }
}
