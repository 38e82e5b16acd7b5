//! The stores of the chat: accounts, sign-in links and sessions.

use super::{SaveError, StorageError, Store, Versioned};
use crate::{
    Timestamp,
    chat::{Account, ChatSession, ExchangeId, Login, SubscriberId},
};
use async_trait::async_trait;

/// Accounts by their subscribers.
#[async_trait]
pub trait ChatAccounts: Store<Account> {
    /// At most one page of the accounts whose erasure is due by then, the longest due first. The list may lag behind.
    async fn erasures_due(&self, until: Timestamp) -> Result<Vec<SubscriberId>, StorageError>;
    /// At most one page of the accounts with records or alerts that are not published, or with an evaluation that no record
    /// has and whose claim has ended by then, and without an erasure. The list may lag behind.
    async fn unpublished(&self, until: Timestamp) -> Result<Vec<SubscriberId>, StorageError>;
}

/// Links and sessions by the digests of their secrets, and the counters against abuse.
#[async_trait]
pub trait SignIns: Send + Sync {
    /// The link.
    async fn login(&self, digest: &str) -> Result<Option<Versioned<Login>>, StorageError>;
    /// Saves it if the stored version is `expected`; 0 means that nothing is stored yet.
    async fn save_login(&self, digest: &str, login: &Login, expected: u64) -> Result<(), SaveError>;
    /// The session.
    async fn session(&self, digest: &str) -> Result<Option<ChatSession>, StorageError>;
    /// Begins a session.
    async fn begin_session(&self, digest: &str, session: &ChatSession) -> Result<(), StorageError>;
    /// Ends a session. Repeating is safe.
    async fn end_session(&self, digest: &str) -> Result<(), StorageError>;
    /// Ends all sessions of a subscriber, or all but `except`. Returns how many were listed, which may include some that
    /// had ended before. Repeating is safe.
    async fn end_sessions(&self, who: &SubscriberId, except: Option<&str>) -> Result<usize, StorageError>;
    /// Adds one to the counter `name`, unless it has reached `most`. The counter expires after `until`.
    async fn take(&self, name: &str, most: u32, until: Timestamp) -> Result<bool, StorageError>;
}

/// The sealed beginnings of replies that are being made. A beginning serves only the page that waits for the reply, so
/// it may be lost.
#[async_trait]
pub trait ReplyBeginnings: Send + Sync {
    /// Stores the beginning of an exchange's reply in place of the earlier one. It expires after `until`.
    async fn put(
        &self,
        who: &SubscriberId,
        exchange: &ExchangeId,
        sealed: &str,
        until: Timestamp,
    ) -> Result<(), StorageError>;
    /// The latest beginning.
    async fn find(&self, who: &SubscriberId, exchange: &ExchangeId) -> Result<Option<String>, StorageError>;
}
