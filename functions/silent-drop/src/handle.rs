//! Handles one message of the notices queue: calls [`announce`] with the current audit key.

use crate::announce::{self, Notice, announce};
use audit::{AuditKeys, Journal};
use domain::{
    message::Message,
    ports::{Payments, Queue, SecretSource},
};
use runtime::{Error, Handled, queue::Delivery, telemetry};

/// The ports that the function uses.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub payments: &'a dyn Payments,
    pub mails: &'a dyn Queue,
    pub audit_keys: &'a dyn SecretSource,
}

/// Handles one message. A notice that fails stays in the queue.
pub async fn handle(ports: Ports<'_>, delivery: Delivery) -> Handled {
    let Message::Notice { session_id, received_at, .. } = delivery.message else {
        tracing::error!("the notices queue has a message that is not a notice");
        return Handled::Later;
    };
    let notice = Notice { session_id, received_at };
    announce_with_key(ports, &notice).await.unwrap_or_else(|error| {
        let error = telemetry::chain(error.as_ref());
        tracing::error!(session = notice.session_id.prefix(), error, "[SILENT-DROP] notice kept for later");
        Handled::Later
    })
}

async fn announce_with_key(ports: Ports<'_>, notice: &Notice) -> Result<Handled, Error> {
    let audit_key = AuditKeys::parse(&ports.audit_keys.document().await?)?.current()?;
    let Ports { journal, payments, mails, .. } = ports;
    Ok(announce(announce::Ports { journal, payments, mails, audit_key: &audit_key }, notice).await?)
}
