//! Handles one message of the orders queue: calls [`fulfil`] with the current audit key.

use crate::fulfil::{self, Order, Settings, fulfil};
use audit::{AuditKeys, Journal};
use domain::{
    Metric, StepError,
    breaker::Gauged,
    message::Message,
    ports::{
        Breakers, Meter, Model, Pause, Payments, Quarantine, Queue, Randomness, SecretSource, Submissions,
        VerdictArchive,
    },
    smoke::SmokeSessions,
};
use runtime::{Handled, queue::Delivery, telemetry};

/// The ports that the function uses.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub model: &'a dyn Model,
    pub breakers: &'a dyn Breakers,
    pub archive: &'a dyn VerdictArchive,
    pub quarantine: &'a dyn Quarantine,
    pub mails: &'a dyn Queue,
    pub notices: &'a dyn Queue,
    pub payments: &'a dyn Payments,
    pub smoke: &'a dyn SmokeSessions,
    pub submissions: &'a dyn Submissions,
    pub audit_keys: &'a dyn SecretSource,
    pub randomness: &'a dyn Randomness,
    pub pause: &'a dyn Pause,
    pub meter: &'a dyn Meter,
}

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
    let breakers = Gauged { breakers: ports.breakers, metric: Metric::BreakerOpen, meter: ports.meter, clock };
    let Ports { model, randomness, pause, .. } = ports;
    let ports = fulfil::Ports {
        journal: ports.journal,
        generate: generation::Ports { model, breakers: &breakers, alerts, clock, randomness, pause },
        archive: ports.archive,
        quarantine: ports.quarantine,
        mails: ports.mails,
        notices: ports.notices,
        payments: ports.payments,
        smoke: ports.smoke,
        submissions: ports.submissions,
        audit_key: &audit_key,
    };
    fulfil(ports, settings, order).await
}
