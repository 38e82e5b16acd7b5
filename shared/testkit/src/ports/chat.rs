//! The chat's accounts, sign-ins, and the memory's stores, in a [`World`].

use super::storage;
use crate::world::World;
use async_trait::async_trait;
use domain::{
    Timestamp,
    audit_trail::Audited,
    chat::{Account, ChatSession, ExchangeId, Login, SubscriberId},
    ports::{
        ChatAccounts, MemoryAppend, MemoryLogs, MemoryRecord, ReplyBeginnings, SaveError, SignIns, StorageError,
        SubjectKey, SubjectKeys, Versioned,
    },
};

/// Records per page: few, so that tests read several pages.
const PAGE: usize = 3;

#[async_trait]
impl ChatAccounts for World {
    async fn erasures_due(&self, until: Timestamp) -> Result<Vec<SubscriberId>, StorageError> {
        let read = self.boundary("accounts.erasures_due", |state| {
            let due = |account: &Account| account.erasure().map(|erasure| (erasure.due(), account.id().clone()));
            let mut due: Vec<_> = state.accounts.values().filter_map(|(account, _)| due(account)).collect();
            due.retain(|(due, _)| *due <= until);
            due.sort();
            due.into_iter().take(PAGE).map(|(_, id)| id).collect()
        });
        read.await.map_err(|_| storage("accounts.erasures_due"))
    }

    async fn unpublished(&self) -> Result<Vec<SubscriberId>, StorageError> {
        let read = self.boundary("accounts.unpublished", |state| {
            let is_listed = |account: &Account| !account.is_erasing() && !account.trail().is_published();
            let listed = state.accounts.values().filter(|(account, _)| is_listed(account));
            listed.take(PAGE).map(|(account, _)| account.id().clone()).collect()
        });
        read.await.map_err(|_| storage("accounts.unpublished"))
    }
}

#[async_trait]
impl ReplyBeginnings for World {
    async fn put(
        &self,
        who: &SubscriberId,
        exchange: &ExchangeId,
        sealed: &str,
        _until: Timestamp,
    ) -> Result<(), StorageError> {
        let write = self.boundary("beginnings.put", |state| {
            state.beginnings.insert((who.clone(), exchange.clone()), sealed.to_owned());
        });
        write.await.map_err(|_| storage("beginnings.put"))
    }

    async fn find(&self, who: &SubscriberId, exchange: &ExchangeId) -> Result<Option<String>, StorageError> {
        let read =
            self.boundary("beginnings.find", |state| state.beginnings.get(&(who.clone(), exchange.clone())).cloned());
        read.await.map_err(|_| storage("beginnings.find"))
    }
}

#[async_trait]
impl SignIns for World {
    async fn login(&self, digest: &str) -> Result<Option<Versioned<Login>>, StorageError> {
        let read = self.boundary("sign_ins.login", |state| {
            state.logins.get(digest).map(|(value, version)| Versioned { value: value.clone(), version: *version })
        });
        read.await.map_err(|_| storage("sign_ins.login"))
    }

    async fn save_login(&self, digest: &str, login: &Login, expected: u64) -> Result<(), SaveError> {
        let write = self.boundary("sign_ins.save_login", |state| {
            if state.logins.get(digest).map_or(0, |(_, version)| *version) != expected {
                return Err(SaveError::Conflict);
            }
            state.logins.insert(digest.to_owned(), (login.clone(), expected + 1));
            Ok(())
        });
        write.await.unwrap_or_else(|_| Err(storage("sign_ins.save_login").into()))
    }

    async fn session(&self, digest: &str) -> Result<Option<ChatSession>, StorageError> {
        let read = self.boundary("sign_ins.session", |state| state.chat_sessions.get(digest).cloned());
        read.await.map_err(|_| storage("sign_ins.session"))
    }

    async fn begin_session(&self, digest: &str, session: &ChatSession) -> Result<(), StorageError> {
        let write = self.boundary("sign_ins.begin_session", |state| {
            state.chat_sessions.insert(digest.to_owned(), session.clone());
        });
        write.await.map_err(|_| storage("sign_ins.begin_session"))
    }

    async fn end_session(&self, digest: &str) -> Result<(), StorageError> {
        let write = self.boundary("sign_ins.end_session", |state| {
            state.chat_sessions.remove(digest);
        });
        write.await.map_err(|_| storage("sign_ins.end_session"))
    }

    async fn take(&self, name: &str, most: u32, _until: Timestamp) -> Result<bool, StorageError> {
        let write = self.boundary("sign_ins.take", |state| {
            let taken = state.allowances.entry(name.to_owned()).or_default();
            let is_left = *taken < most;
            *taken += u32::from(is_left);
            is_left
        });
        write.await.map_err(|_| storage("sign_ins.take"))
    }
}

#[async_trait]
impl MemoryLogs for World {
    async fn append(&self, log: &str, records: &[MemoryRecord]) -> Result<MemoryAppend, StorageError> {
        let write = self.boundary("memory.append", |state| {
            let known = state.memory_logs.entry(log.to_owned()).or_default();
            let head = known.last().map(|last| (last.seq, last.hash));
            crate::memory::append(known, head, records)
        });
        write.await.map_err(|_| storage("memory.append"))
    }

    async fn read(&self, log: &str, after: u64) -> Result<Vec<MemoryRecord>, StorageError> {
        let read = self.boundary("memory.read", |state| {
            let records = state.memory_logs.get(log).map_or(&[][..], Vec::as_slice);
            records.iter().filter(|record| record.seq > after).take(PAGE).cloned().collect()
        });
        read.await.map_err(|_| storage("memory.read"))
    }

    async fn head(&self, log: &str) -> Result<Option<(u64, [u8; 32])>, StorageError> {
        let read = self.boundary("memory.head", |state| {
            state.memory_logs.get(log).and_then(|records| records.last()).map(|last| (last.seq, last.hash))
        });
        read.await.map_err(|_| storage("memory.head"))
    }
}

#[async_trait]
impl SubjectKeys for World {
    async fn find(&self, subject: &str) -> Result<Option<SubjectKey>, StorageError> {
        let read = self.boundary("memory.find_key", |state| state.memory_keys.get(subject).cloned());
        read.await.map_err(|_| storage("memory.find_key"))
    }

    async fn find_or_create(&self, subject: &str) -> Result<SubjectKey, StorageError> {
        let write = self.boundary("memory.make_key", |state| {
            state.memory_keys_made += 1;
            let mut made = [0; 32];
            made[..4].copy_from_slice(&state.memory_keys_made.to_be_bytes());
            let is_destroyed = state.memory_keys_destroyed.contains(subject);
            (!is_destroyed).then(|| state.memory_keys.entry(subject.to_owned()).or_insert(SubjectKey(made)).clone())
        });
        write.await.ok().flatten().ok_or_else(|| storage("memory.make_key"))
    }

    async fn destroy(&self, subject: &str) -> Result<(), StorageError> {
        let write = self.boundary("memory.destroy_key", |state| {
            state.memory_keys.remove(subject);
            state.memory_keys_destroyed.insert(subject.to_owned());
        });
        write.await.map_err(|_| storage("memory.destroy_key"))
    }
}
