//! Handles one message of the payments queue.

use crate::apply::{Changed, Ports, apply};
use domain::message::Message;
use runtime::{Handled, queue::Delivery, telemetry};
use subscription::Reported;

/// Handles one message. A change that cannot be applied stays in the queue.
pub async fn handle(ports: Ports<'_>, delivery: Delivery) -> Handled {
    let applied = match delivery.message {
        Message::PaymentChanged { payment, report, reported_by, received_at, .. } => {
            apply(ports, &Changed { payment, report, reported_by, received_at }).await
        }
        Message::SubscriptionChanged { subscriber, report, reported_by, received_at, .. } => {
            let reported = Reported { subscriber, report, reported_by, received_at };
            subscription::record_report(ports.subscribers, &reported).await.map(drop)
        }
        _ => {
            tracing::error!("the payments queue has a message that is not a change of a payment");
            return Handled::Later;
        }
    };
    match applied {
        Ok(()) => Handled::Done,
        Err(error) => {
            tracing::error!(error = telemetry::chain(&error), "change of a payment kept for later");
            Handled::Later
        }
    }
}
