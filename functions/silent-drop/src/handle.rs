//! Handles one message of the notices queue: calls [`announce`].

use crate::announce::{Notice, Ports, announce};
use domain::message::Message;
use runtime::{Handled, queue::Delivery, telemetry};

/// Handles one message. A notice that fails stays in the queue.
pub async fn handle(ports: Ports<'_>, delivery: Delivery) -> Handled {
    let Message::Notice { session_id, received_at, .. } = delivery.message else {
        tracing::error!("the notices queue has a message that is not a notice");
        return Handled::Later;
    };
    let notice = Notice { session_id, received_at };
    announce(ports, &notice).await.unwrap_or_else(|error| {
        let error = telemetry::chain(&error);
        tracing::error!(session = notice.session_id.prefix(), error, "[SILENT-DROP] notice kept for later");
        Handled::Later
    })
}
