//! The chat's accounts, sign-ins, and the memory's stores, in a [`World`].

use super::{replace, storage, versioned};
use crate::world::{State, World};
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
        self.stored("accounts.erasures_due", |state| {
            let due = |account: &Account| account.erasure().map(|erasure| (erasure.due(), account.id().clone()));
            let mut due: Vec<_> = state.accounts.values().filter_map(|(account, _)| due(account)).collect();
            due.retain(|(due, _)| *due <= until);
            due.sort();
            due.into_iter().take(PAGE).map(|(_, id)| id).collect()
        })
        .await
    }

    async fn unpublished(&self, until: Timestamp) -> Result<Vec<SubscriberId>, StorageError> {
        self.stored("accounts.unpublished", |state| {
            let is_due = |account: &Account| account.evaluation_due().is_some_and(|due| due <= until);
            let is_listed =
                |account: &Account| !account.is_erasing() && (!account.trail().is_published() || is_due(account));
            let listed = state.accounts.values().filter(|(account, _)| is_listed(account));
            listed.take(PAGE).map(|(account, _)| account.id().clone()).collect()
        })
        .await
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
        self.stored("beginnings.put", |state| {
            drop(state.beginnings.insert((who.clone(), exchange.clone()), sealed.to_owned()))
        })
        .await
    }

    async fn find(&self, who: &SubscriberId, exchange: &ExchangeId) -> Result<Option<String>, StorageError> {
        self.stored("beginnings.find", |state| state.beginnings.get(&(who.clone(), exchange.clone())).cloned()).await
    }
}

#[async_trait]
impl SignIns for World {
    async fn login(&self, digest: &str) -> Result<Option<Versioned<Login>>, StorageError> {
        self.stored("sign_ins.login", |state| versioned(state.logins.get(digest))).await
    }

    async fn save_login(&self, digest: &str, login: &Login, expected: u64) -> Result<(), SaveError> {
        let put = |state: &mut State| replace(&mut state.logins, digest.to_owned(), login.clone(), expected);
        self.saved("sign_ins.save_login", put).await.map(|_version| ())
    }

    async fn session(&self, digest: &str) -> Result<Option<ChatSession>, StorageError> {
        self.stored("sign_ins.session", |state| state.chat_sessions.get(digest).cloned()).await
    }

    async fn begin_session(&self, digest: &str, session: &ChatSession) -> Result<(), StorageError> {
        self.stored("sign_ins.begin_session", |state| {
            drop(state.chat_sessions.insert(digest.to_owned(), session.clone()))
        })
        .await
    }

    async fn end_session(&self, digest: &str) -> Result<(), StorageError> {
        self.stored("sign_ins.end_session", |state| drop(state.chat_sessions.remove(digest))).await
    }

    async fn end_sessions(&self, who: &SubscriberId, except: Option<&str>) -> Result<usize, StorageError> {
        self.stored("sign_ins.end_sessions", |state| {
            let before = state.chat_sessions.len();
            state.chat_sessions.retain(|digest, session| session.owner() != who || except == Some(digest.as_str()));
            before - state.chat_sessions.len()
        })
        .await
    }

    async fn take(&self, name: &str, most: u32, _until: Timestamp) -> Result<bool, StorageError> {
        self.stored("sign_ins.take", |state| {
            let taken = state.allowances.entry(name.to_owned()).or_default();
            let is_left = *taken < most;
            *taken += u32::from(is_left);
            is_left
        })
        .await
    }
}

#[async_trait]
impl MemoryLogs for World {
    async fn append(&self, log: &str, records: &[MemoryRecord]) -> Result<MemoryAppend, StorageError> {
        self.stored("memory.append", |state| {
            let known = state.memory_logs.entry(log.to_owned()).or_default();
            let head = known.last().map(|last| (last.seq, last.hash));
            crate::memory::append(known, head, records)
        })
        .await
    }

    async fn read(&self, log: &str, after: u64) -> Result<Vec<MemoryRecord>, StorageError> {
        self.stored("memory.read", |state| {
            let records = state.memory_logs.get(log).map_or(&[][..], Vec::as_slice);
            records.iter().filter(|record| record.seq > after).take(PAGE).cloned().collect()
        })
        .await
    }

    async fn head(&self, log: &str) -> Result<Option<(u64, [u8; 32])>, StorageError> {
        self.stored("memory.head", |state| {
            state.memory_logs.get(log).and_then(|records| records.last()).map(|last| (last.seq, last.hash))
        })
        .await
    }
}

#[async_trait]
impl SubjectKeys for World {
    async fn find(&self, subject: &str) -> Result<Option<SubjectKey>, StorageError> {
        self.stored("memory.find_key", |state| state.memory_keys.get(subject).cloned()).await
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
        self.stored("memory.destroy_key", |state| {
            state.memory_keys.remove(subject);
            state.memory_keys_destroyed.insert(subject.to_owned());
        })
        .await
    }
}
