//! Publishes the records and alerts that were saved and could not be published: of accounts, where they would wait until the
//! customer comes back, and of notebooks, where they would wait for the next request, message, command or deployment. Records
//! the evaluations of the accounts' exchanges whose process has ended.

use audit::{Change, ChatJournal, CommitError, FunctionJournal, take_interrupted_records};
use domain::{
    chat::{Account, SubscriberId},
    due::{self, Report},
    ports::StorageError,
};
use std::time::Duration;

/// The time limit of one run. The next run handles the rest.
const SHARE: Duration = Duration::from_secs(20);

/// Publishes for at most one page of accounts, and for the notebooks in the time that is left. A log that still fails alerts
/// operators itself.
///
/// # Errors
/// [`StorageError`] if the accounts cannot be listed.
pub(crate) async fn publish(
    journal: ChatJournal<'_>,
    notebooks: &[FunctionJournal<'_>],
) -> Result<Report, StorageError> {
    let until = journal.clock.now().plus(SHARE);
    let of_accounts = of_accounts(journal).await;
    let left = until.since(journal.clock.now());
    let of_notebooks = due::run(journal.clock, left, notebooks.to_vec(), of_notebook).await;
    let mut report = of_accounts?;
    // Nothing waits in most of them.
    report += Report { due: 0, ..of_notebooks };
    Ok(report)
}

async fn of_accounts(journal: ChatJournal<'_>) -> Result<Report, StorageError> {
    let listed = journal.store.unpublished(journal.clock.now()).await?;
    let publish = |id: SubscriberId| async move {
        if let Some(account) = journal.store.load(&id).await? {
            // Without an evaluation nothing is saved, and what waits is published.
            let record =
                |account: &mut Account, now| Change::recorded_if_any(take_interrupted_records(account, now), ());
            journal.commit(account, record).await?.settle().await;
        }
        Ok::<(), CommitError>(())
    };
    Ok(due::run(journal.clock, SHARE, listed, publish).await)
}

async fn of_notebook(notebook: FunctionJournal<'_>) -> Result<(), CommitError> {
    notebook.flush().await.inspect_err(|error| {
        let error = runtime::telemetry::chain(error);
        tracing::error!(notebook = notebook.function, error, "the saved records could not be published");
    })
}
