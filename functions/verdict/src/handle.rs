//! Handles one message of the orders queue: fulfils its order with the current audit key.

use crate::fulfil::{Order, Ports, Settings, Worker};
use audit::{AuditKeys, Journal};
use domain::{StepError, message::Message};
use runtime::{Handled, queue::Delivery, telemetry};

/// Handles one message. An order that fails stays in the queue.
pub async fn handle(ports: Ports<'_>, settings: &Settings, delivery: Delivery) -> Handled {
    let Message::Order { session_id, received_at, ordered_by, .. } = delivery.message else {
        tracing::error!("the orders queue has a message that is not an order");
        return Handled::Later;
    };
    let order = Order { session_id, received_at, ordered_by, message_id: delivery.message_id };
    match fulfil_with_key(ports, settings, &order).await {
        Ok(handled) => {
            tracing::info!(session = order.session_id.prefix(), ?handled, "order");
            handled
        }
        Err(error) => {
            let error = telemetry::chain(&error);
            tracing::error!(session = order.session_id.prefix(), error, "order kept for later");
            Handled::Later
        }
    }
}

async fn fulfil_with_key(ports: Ports<'_>, settings: &Settings, order: &Order) -> Result<Handled, StepError> {
    let audit_key = AuditKeys::current_of(ports.audit_keys).await?;
    let Journal { alerts, clock, .. } = ports.journal;
    let Ports { model, breakers, randomness, pause, meter, .. } = ports;
    let generate = generation::Ports { model, breakers, alerts, clock, randomness, pause, meter };
    Worker { ports, generate, audit_key: &audit_key, settings, order }.fulfil().await
}
