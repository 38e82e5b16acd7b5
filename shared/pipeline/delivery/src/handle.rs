//! Handles one message of the mail queue or of the retry queue: calls [`deliver`] with the current audit key, and
//! keeps, hides or deletes the message.

use crate::{
    Settings,
    circuit::Circuit,
    deliver::{self, Attempt, MailOrder, deliver},
};
use audit::{AuditKeys, Journal};
use domain::{
    Metric, StepError,
    breaker::Gauged,
    message::Message,
    ports::{
        Breakers, DeadLetters, MAX_QUEUE_DELAY, Mailbox, Meter, Payments, Quarantine, Queue, SecretSource,
        VerdictArchive,
    },
};
use runtime::{Handled, queue::Delivery, telemetry};

/// The ports of the two mail functions.
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
    pub retries: &'a dyn Queue,
    pub breakers: &'a dyn Breakers,
    pub meter: &'a dyn Meter,
}

/// Handles one message of the mail queue. A failed mail goes to the retry queue.
pub async fn send(ports: Ports<'_>, settings: &Settings, delivery: Delivery) -> Handled {
    let Message::Mail { session_id, ordered_at, letter, .. } = delivery.message else {
        tracing::error!("the mail queue has a message that is not a mail order");
        return Handled::Later;
    };
    let order = MailOrder { session_id, letter, ordered_at, message_id: delivery.message_id };
    let session = order.session_id.prefix();
    let sent = async { pass_on(ports, deliver_with_key(ports, settings, &order).await?, &order).await };
    match sent.await {
        Ok(handled) => {
            tracing::info!(session, letter = letter.as_str(), ?handled, "mail");
            handled
        }
        Err(error) => {
            tracing::error!(session, error = telemetry::chain(&error), "mail kept for later");
            Handled::Later
        }
    }
}

/// Sends a failed mail to the retry queue. If that fails, the order is delivered again and comes to the same result.
async fn pass_on(ports: Ports<'_>, attempt: Attempt, order: &MailOrder) -> Result<Handled, StepError> {
    let due = match attempt {
        Attempt::Ended => return Ok(Handled::Done),
        Attempt::Busy(until) => return Ok(Handled::At(until)),
        Attempt::Later => return Ok(Handled::Later),
        Attempt::Again(due) => due,
    };
    let retry = Message::mail_retry(order.session_id.clone(), order.ordered_at, order.letter);
    // A mail that is due after the longest queue delay waits the rest of its time in the queue of email-retry.
    ports.retries.send_after(&retry, due.since(ports.journal.clock.now()).min(MAX_QUEUE_DELAY)).await?;
    Ok(Handled::Done)
}

/// Handles one message of the retry queue. A mail that is not due yet, or failed again, stays hidden until it is due.
/// The same message waits all the time, so the schedule takes one hop however long it is, and Lambda's loop detection
/// (16 hops) never triggers.
pub async fn retry(ports: Ports<'_>, settings: &Settings, delivery: Delivery) -> Handled {
    let Message::MailRetry { session_id, ordered_at, letter, .. } = delivery.message else {
        tracing::error!("the retry queue has a message that is not a retry of a mail");
        return Handled::Later;
    };
    let order = MailOrder { session_id, letter, ordered_at, message_id: delivery.message_id };
    let session = order.session_id.prefix();
    match deliver_with_key(ports, settings, &order).await {
        Ok(Attempt::Ended) => Handled::Done,
        Ok(Attempt::Later) => Handled::Later,
        Ok(Attempt::Busy(until) | Attempt::Again(until)) => {
            tracing::info!(session, letter = letter.as_str(), until = until.to_iso(), "mail waits");
            Handled::At(until)
        }
        Err(error) => {
            tracing::error!(session, error = telemetry::chain(&error), "mail kept for later");
            Handled::Later
        }
    }
}

async fn deliver_with_key(ports: Ports<'_>, settings: &Settings, order: &MailOrder) -> Result<Attempt, StepError> {
    let audit_key = AuditKeys::current_of(ports.audit_keys).await?;
    let Ports { journal, archive, quarantine, dead_letters, payments, mailbox, .. } = ports;
    let audit_key = &audit_key;
    let breakers = Gauged {
        breakers: ports.breakers,
        metric: Metric::MailboxBreakerOpen,
        meter: ports.meter,
        clock: journal.clock,
    };
    let circuit = Circuit { breakers, mailbox };
    let ports = deliver::Ports { journal, archive, quarantine, dead_letters, payments, mailbox, audit_key, circuit };
    // Boxed: the compiler cannot lay out futures that are nested this deep.
    Box::pin(deliver(ports, settings, order)).await
}
