//! Removing what is kept of one sale.

use super::{MailError, StorageError};
use crate::{SessionId, erasure::Store};
use async_trait::async_trait;

/// The stores that erasure empties, except for the mailbox.
#[async_trait]
pub trait SaleData: Send + Sync {
    /// How many objects a store keeps of a sale.
    async fn kept(&self, store: Store, session: &SessionId) -> Result<u64, StorageError>;
    /// Removes them for good, earlier versions included. Returns how many there were.
    async fn remove(&self, store: Store, session: &SessionId) -> Result<u64, StorageError>;
}

/// What the mailbox keeps of a sale.
#[async_trait]
pub trait SaleMails: Send + Sync {
    /// The ids of a sale's drafts and sent mails, of what belongs to their conversations, and of `known` messages that
    /// are still there.
    async fn of_sale(&self, session: &SessionId, known: &[String]) -> Result<Vec<String>, MailError>;
    /// Removes a message for good. One that is not there is removed.
    async fn remove(&self, id: &str) -> Result<(), MailError>;
}
