//! Makes the draft of a mail and records it: only the recorded draft is ever sent.

use crate::Ports;
use audit::Change;
use domain::{
    StepError, Timestamp,
    chat::{Bridge, BridgeRefused},
    mail::Draft,
    ports::{MailError, Mailbox, OutgoingMail, Versioned},
};

/// Makes a draft and records it with `record`. If the record is refused, because another process has recorded a draft or
/// the mail is no longer wanted, the new draft is removed.
pub(crate) async fn record<E: From<StepError>>(
    ports: Ports<'_>,
    mailbox: &dyn Mailbox,
    bridge: Versioned<Bridge>,
    mail: &OutgoingMail,
    not_made: impl FnOnce(MailError) -> E,
    record: impl Fn(&mut Bridge, &Draft, Timestamp) -> Result<(), BridgeRefused> + Send + Sync,
) -> Result<(Versioned<Bridge>, Result<Draft, BridgeRefused>), E> {
    let made = mailbox.create_draft(mail).await.map_err(not_made)?;
    let decide = |bridge: &mut Bridge, now| match record(bridge, &made, now) {
        Ok(()) => Change::save(Ok(())),
        Err(refused) => Change::nothing(Err(refused)),
    };
    let committed = ports.journal.commit(bridge, decide).await.map_err(StepError::from)?;
    let (bridge, recorded) = committed.settle().await;
    if recorded.is_err()
        && let Err(error) = mailbox.discard_draft(&made).await
    {
        tracing::warn!(%error, "a draft that is not sent stays in the mailbox");
    }
    Ok((bridge, recorded.map(|()| made)))
}
