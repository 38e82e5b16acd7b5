//! Publishes the records and alerts of accounts that a call saved and could not publish. Otherwise they would wait until the
//! customer comes back.

use audit::ChatJournal;
use domain::{
    chat::SubscriberId,
    due::{self, Report},
    ports::StorageError,
};
use std::time::Duration;

/// The time limit of one run. The next run handles the rest.
const SHARE: Duration = Duration::from_secs(20);

/// Publishes for at most one page of accounts. A log that still fails alerts operators itself.
///
/// # Errors
/// [`StorageError`] if they cannot be listed.
pub(crate) async fn publish(journal: ChatJournal<'_>) -> Result<Report, StorageError> {
    let listed = journal.store.unpublished().await?;
    let flush = |id: SubscriberId| async move {
        if let Some(account) = journal.store.load(&id).await? {
            journal.flush(account).await;
        }
        Ok::<(), StorageError>(())
    };
    Ok(due::run(journal.clock, SHARE, listed, flush).await)
}
