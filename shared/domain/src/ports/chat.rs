//! The chat: accounts, and who is signed in.

use super::{SaveError, StorageError, Versioned};
use crate::{
    Timestamp,
    chat::{Account, ChatSession, Login, SubscriberId},
};
use async_trait::async_trait;

/// Accounts by their subscribers.
#[async_trait]
pub trait ChatAccounts: Send + Sync {
    /// The account, if the subscriber has asked anything.
    async fn load(&self, id: &SubscriberId) -> Result<Option<Versioned<Account>>, StorageError>;
    /// Saves it if its version is still `expected` (0: if there is none). Returns the new version.
    async fn save(&self, account: &Account, expected: u64) -> Result<u64, SaveError>;
}

/// Links and sessions by the digests of their secrets, and what is counted against abuse.
#[async_trait]
pub trait SignIns: Send + Sync {
    /// The link.
    async fn login(&self, digest: &str) -> Result<Option<Versioned<Login>>, StorageError>;
    /// Saves it if its version is still `expected` (0: if there is none).
    async fn save_login(&self, digest: &str, login: &Login, expected: u64) -> Result<(), SaveError>;
    /// The session.
    async fn session(&self, digest: &str) -> Result<Option<ChatSession>, StorageError>;
    /// Begins a session.
    async fn begin_session(&self, digest: &str, session: &ChatSession) -> Result<(), StorageError>;
    /// Ends a session. Doing it again is no error.
    async fn end_session(&self, digest: &str) -> Result<(), StorageError>;
    /// Counts one more of what `name` stands for, unless `most` were counted. Forgotten after `until`.
    async fn take(&self, name: &str, most: u32, until: Timestamp) -> Result<bool, StorageError>;
}
