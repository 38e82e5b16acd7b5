//! One message of the mail queue or of the retry queue: [`deliver`] with the audit key in use, and what becomes of the
//! message.

use crate::deliver::{self, Attempt, MailOrder, Settings, deliver};
use audit::{AuditKeys, Journal};
use domain::{
    Timestamp,
    message::{self, Message},
    ports::{
        DeadLetters, MAX_QUEUE_DELAY, Mailbox, Payments, Quarantine, QueueError, RetryQueue, SecretSource,
        VerdictArchive,
    },
};
use runtime::{Error, Handled, queue::Delivery, telemetry};
use std::time::Duration;

/// What the two functions that carry mail need from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub archive: &'a dyn VerdictArchive,
    pub quarantine: &'a dyn Quarantine,
    pub dead_letters: &'a dyn DeadLetters,
    pub payments: &'a dyn Payments,
    pub mailbox: &'a dyn Mailbox,
    pub audit_keys: &'a dyn SecretSource,
    pub retries: &'a dyn RetryQueue,
}

/// Handles one message of the mail queue. A mail that failed goes to the retry queue.
pub async fn send(ports: Ports<'_>, settings: &Settings, delivery: Delivery) -> Handled {
    let Message::Mail { session_id, ordered_at, letter, .. } = delivery.message else {
        tracing::error!("the mail queue has a message that is not a mail order");
        return Handled::Later;
    };
    let order = MailOrder { session_id, letter, ordered_at, message_id: delivery.message_id };
    let session = order.session_id.prefix();
    let sent = async {
        let attempt = deliver_with_key(ports, settings, &order).await?;
        Ok::<_, Error>(pass_on(ports, attempt, &order).await?)
    };
    match sent.await {
        Ok(handled) => {
            tracing::info!(session, letter = letter.as_str(), ?handled, "mail");
            handled
        }
        Err(error) => {
            tracing::error!(session, error = telemetry::chain(error.as_ref()), "mail kept for later");
            Handled::Later
        }
    }
}

/// Sends a mail that failed to the retry queue. When that fails, the order is delivered again and finds the same.
async fn pass_on(ports: Ports<'_>, attempt: Attempt, order: &MailOrder) -> Result<Handled, QueueError> {
    let due = match attempt {
        Attempt::Ended => return Ok(Handled::Done),
        Attempt::Busy => return Ok(Handled::Later),
        Attempt::Again(due) => due,
    };
    let retry = Message::MailRetry {
        v: message::VERSION,
        session_id: order.session_id.clone(),
        ordered_at: order.ordered_at,
        letter: order.letter,
    };
    // A mail that is due later than the longest delay waits the rest of its time in the queue of email-retry.
    ports.retries.send_after(&retry, due.since(ports.journal.clock.now()).min(MAX_QUEUE_DELAY)).await?;
    Ok(Handled::Done)
}

/// Handles one message of the retry queue. A mail that is not due yet, or failed again, stays hidden until it is due.
/// The same message waits all the while, so the schedule is one hop however long it is, and Lambda's loop detection
/// (16) never sees more.
pub async fn retry(ports: Ports<'_>, settings: &Settings, delivery: Delivery) -> Handled {
    let Message::MailRetry { session_id, ordered_at, letter, .. } = delivery.message else {
        tracing::error!("the retry queue has a message that is not a retry of a mail");
        return Handled::Later;
    };
    let order = MailOrder { session_id, letter, ordered_at, message_id: delivery.message_id };
    let session = order.session_id.prefix();
    let due = match deliver_with_key(ports, settings, &order).await {
        Ok(Attempt::Ended) => return Handled::Done,
        Ok(Attempt::Busy) => return Handled::Later,
        Ok(Attempt::Again(due)) => due,
        Err(error) => {
            tracing::error!(session, error = telemetry::chain(error.as_ref()), "mail kept for later");
            return Handled::Later;
        }
    };
    let duration = hidden_for(due, ports.journal.clock.now());
    tracing::info!(session, letter = letter.as_str(), seconds = duration.as_secs(), "mail waits");
    if let Err(error) = ports.retries.hide(&delivery.receipt_handle, duration).await {
        // The message comes back after the queue's visibility time-out, is found not to be due, and is hidden then.
        tracing::error!(session, error = telemetry::chain(&error), "not hidden");
    }
    Handled::Later
}

/// In whole seconds, rounded up: a message that came back early would only be hidden once more. At least one second:
/// a message cannot be hidden for less.
fn hidden_for(due: Timestamp, now: Timestamp) -> Duration {
    let wait = due.since(now);
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    Duration::from_secs(seconds.max(1))
}

async fn deliver_with_key(ports: Ports<'_>, settings: &Settings, order: &MailOrder) -> Result<Attempt, Error> {
    let audit_key = AuditKeys::parse(&ports.audit_keys.document().await?)?.current()?;
    let Ports { journal, archive, quarantine, dead_letters, payments, mailbox, .. } = ports;
    let audit_key = &audit_key;
    let ports = deliver::Ports { journal, archive, quarantine, dead_letters, payments, mailbox, audit_key };
    // Behind a pointer: the compiler refuses to lay out futures that are nested this deep.
    Ok(Box::pin(deliver(ports, settings, order)).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_is_hidden_for_whole_seconds_until_it_is_due() {
        let hidden = |due| hidden_for(Timestamp::from_millis(due), Timestamp::from_millis(500)).as_secs();
        assert_eq!((hidden(300_500), hidden(300_501), hidden(400)), (300, 301, 1));
    }
}
