//! Finishes interrupted erasures on a schedule.

use crate::{Ports, finish};
use audit::Change;
use domain::{
    Alert, StepError, Timestamp,
    alert::Severity,
    chat::{Account, Erasure, SubscriberId},
    due::{self, Report},
    ports::{StorageError, Versioned},
};
use std::time::Duration;

/// The time limit of one run. The next run handles the rest.
const SHARE: Duration = Duration::from_secs(20);

/// Finishes the due erasures, at most one page of them. A failed erasure does not stop the others.
///
/// # Errors
/// [`StorageError`] if they cannot be listed.
pub async fn run(ports: Ports<'_>) -> Result<Report, StorageError> {
    let clock = ports.journal.clock;
    let due = ports.journal.store.erasures_due(clock.now()).await?;
    let finish = |id| async move {
        let finished = finish_due(ports, &id).await;
        finished.inspect_err(|error| tracing::error!(subscriber = id.prefix(), %error, "the erasure has not ended"))
    };
    Ok(due::run(clock, SHARE, due, finish).await)
}

/// Finishes one erasure if it is due. The list lags behind, so the account's own state decides. The attempt is counted
/// before it is made, so that attempts in which the process dies also lead to an alert.
async fn finish_due(ports: Ports<'_>, id: &SubscriberId) -> Result<(), StepError> {
    let Some(account) = ports.journal.store.load(id).await? else { return Ok(()) };
    let count = |account: &mut Account, now: Timestamp| {
        let Some(failed) = account.attempt_erasure(now) else { return Change::nothing(false) };
        let change = Change::save(true);
        match alert(account, failed, now) {
            Some(alert) => change.alerting(alert),
            None => change,
        }
    };
    let (account, is_due) = ports.journal.commit(account, count).await?.settle().await;
    if is_due {
        let _: Versioned<Account> = finish(ports, account).await?;
    }
    Ok(())
}

fn alert(account: &Account, failed: u32, now: Timestamp) -> Option<Alert> {
    let erasure = account.erasure().filter(|_| Erasure::is_alerted(failed))?;
    let (subject, since) = (account.id().prefix(), erasure.since());
    let detail = format!("the memory is not erased since {since}, after {failed} attempts: see the function's log");
    Some(Alert::about("ORACLE-CHAT", Severity::Critical, now, "ERASURE", subject, &detail))
}
