//! Publishes the records and alerts that were saved and could not be published: of accounts, where they would wait until the
//! customer comes back, and of the gate of deployments, where they would wait for the next deployment.

use audit::{ChatJournal, FunctionJournal};
use domain::{
    chat::SubscriberId,
    due::{self, Report},
    ports::StorageError,
};
use std::time::Duration;

/// The time limit of one run. The next run handles the rest.
const SHARE: Duration = Duration::from_secs(20);

/// Publishes for the gate and for at most one page of accounts. A log that still fails alerts operators itself.
///
/// # Errors
/// [`StorageError`] if the accounts cannot be listed.
pub(crate) async fn publish(journal: ChatJournal<'_>, gate: FunctionJournal<'_>) -> Result<Report, StorageError> {
    let until = journal.clock.now().plus(SHARE);
    let of_gate = gate.flush().await.inspect_err(|error| {
        tracing::error!(error = runtime::telemetry::chain(error), "the gate's records are not published");
    });
    let listed = journal.store.unpublished().await?;
    let flush = |id: SubscriberId| async move {
        if let Some(account) = journal.store.load(&id).await? {
            journal.flush(account).await;
        }
        Ok::<(), StorageError>(())
    };
    let mut report = due::run(journal.clock, until.since(journal.clock.now()), listed, flush).await;
    report.failed += usize::from(of_gate.is_err());
    Ok(report)
}
