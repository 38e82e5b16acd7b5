//! Removes sign-in mails from the mailbox after their links have expired. Each has the customer's address, and after an
//! erasure nothing in our stores leads to it.

use domain::{
    chat::expired_sign_in_mails,
    due::{self, Report},
    ports::{Clock, MailError, StoredMails},
};
use std::time::Duration;

/// The time limit of one run. The next run handles the rest.
const SHARE: Duration = Duration::from_secs(20);

/// Removes our mails only: an answer to one is an inquiry, which a person reads.
///
/// # Errors
/// [`MailError`] if they cannot be listed.
pub(crate) async fn remove(mails: &dyn StoredMails, clock: &dyn Clock) -> Result<Report, MailError> {
    let found = mails.named(&expired_sign_in_mails(clock.now())).await?;
    let remove = |id: String| async move {
        let removed = mails.remove(&id).await;
        removed.inspect_err(|error| tracing::error!(error = runtime::telemetry::chain(error), "a sign-in mail stays"))
    };
    Ok(due::run(clock, SHARE, found, remove).await)
}
