//! Removes the data of one sale.

use super::{MailError, StorageError};
use crate::{SessionId, erasure::Store};
use async_trait::async_trait;

/// The stores that erasure empties, except for the mailbox.
#[async_trait]
pub trait SaleData: Send + Sync {
    /// The number of a sale's objects in a store.
    async fn kept(&self, store: Store, session: &SessionId) -> Result<u64, StorageError>;
    /// Deletes them permanently, including earlier versions. Returns their number.
    async fn remove(&self, store: Store, session: &SessionId) -> Result<u64, StorageError>;
}

/// The messages of a sale in the mailbox, as far as they were listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaleMails {
    /// Their ids, in the order in which they are to be removed.
    pub ids: Vec<String>,
    /// Whether the mailbox has more: list again once these are removed.
    pub more: bool,
}

/// The mails in the mailbox that carry a name: of a sale, a Bridge or an hour of sign-in links.
#[async_trait]
pub trait StoredMails: Send + Sync {
    /// The ids of a sale's drafts and sent mails, of those `known` messages that still exist, and of the messages in
    /// the conversations of both. Messages that are found only by their conversation come first: remove them in this
    /// order, because after a failure only the others lead to them. If a conversation is too long to be listed whole, the
    /// others are left out.
    async fn of_sale(&self, session: &SessionId, known: &[String]) -> Result<SaleMails, MailError>;
    /// The ids of the drafts and sent mails with this name, without other messages in their conversations.
    async fn named(&self, name: &SessionId) -> Result<Vec<String>, MailError>;
    /// Deletes a message permanently. A missing message counts as deleted.
    async fn remove(&self, id: &str) -> Result<(), MailError>;

    /// Deletes the first `most` of a sale's mails, in order. Returns their number; `None` if there are more.
    async fn remove_of_sale(
        &self,
        session: &SessionId,
        known: &[String],
        most: usize,
    ) -> Result<Option<usize>, MailError> {
        let SaleMails { ids, more } = self.of_sale(session, known).await?;
        for id in ids.iter().take(most) {
            self.remove(id).await?;
        }
        Ok((!more && ids.len() <= most).then_some(ids.len()))
    }
}
