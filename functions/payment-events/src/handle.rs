//! One message of the payments queue.

use crate::apply::{Changed, Ports, apply};
use domain::message::Message;
use runtime::{Handled, queue::Delivery, telemetry};

/// Handles one message. A change that cannot be applied stays in the queue.
pub async fn handle(ports: Ports<'_>, delivery: Delivery) -> Handled {
    let Message::PaymentChanged { payment, report, received_at, .. } = delivery.message else {
        tracing::error!("the payments queue has a message that is not a change of a payment");
        return Handled::Later;
    };
    match apply(ports, &Changed { payment, report, received_at }).await {
        Ok(()) => Handled::Done,
        Err(error) => {
            tracing::error!(error = telemetry::chain(&error), "change of a payment kept for later");
            Handled::Later
        }
    }
}
