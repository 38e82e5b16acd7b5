//! One event: verified, read, passed on.

use domain::{
    CheckoutSession, PaymentStatus, Secret, Timestamp,
    message::{self, Message, OrderedBy},
    ports::{Clock, Queue, SecretSource},
};
use runtime::{http::Reply, telemetry};
use serde::Deserialize;
use serde_json::json;
use stripe::{event::EventKind, signature};

/// The largest body that is read.
pub const MAX_BODY_BYTES: usize = 256 * 1024;

/// What the webhook needs from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub signing_secrets: &'a dyn SecretSource,
    pub orders: &'a dyn Queue,
    pub notices: &'a dyn Queue,
    pub clock: &'a dyn Clock,
}

/// The stored form of the signing secrets: a list, so that one can be rolled while the other still signs.
#[derive(Deserialize)]
struct SigningSecrets {
    #[serde(default)]
    signing_secrets: Vec<Secret>,
}

/// Receives one event. Nothing is read of a body whose signature does not hold (Product Tiers, invariant 2).
pub async fn receive(ports: Ports<'_>, signature_header: Option<&str>, body: &[u8]) -> Reply {
    let received_at = ports.clock.now();
    if body.len() > MAX_BODY_BYTES {
        return Reply::error(413, "too_large", "The event is larger than 256 KiB.");
    }
    let secrets = match signing_secrets(ports.signing_secrets).await {
        Some(secrets) => secrets,
        None => return Reply::error(503, "not_configured", "No signing secret is configured."),
    };
    let Some(header) = signature_header else {
        return Reply::error(400, "signature_missing", "The Stripe-Signature header is missing.");
    };
    if let Err(error) = signature::verify(header, body, &secrets, received_at) {
        tracing::warn!(%error, "signature refused");
        return Reply::error(400, "signature_invalid", "The signature does not match the body.");
    }
    match stripe::event::parse(body) {
        Err(error) => {
            tracing::error!(error = %telemetry::chain(&error), "a signed event could not be read");
            Reply::error(400, "event_malformed", "The body is not a Stripe event.")
        }
        Ok(event) => match message_for(event.kind, received_at) {
            None => received(),
            Some(message) => pass_on(ports, &message).await,
        },
    }
}

/// The signing secrets, if there are any.
async fn signing_secrets(source: &dyn SecretSource) -> Option<Vec<Secret>> {
    let document = match source.document().await {
        Ok(document) => document,
        Err(error) => {
            tracing::error!(error = %telemetry::chain(&error), "the signing secrets could not be read");
            return None;
        }
    };
    let stored: SigningSecrets = serde_json::from_str(document.expose()).ok()?;
    let secrets: Vec<Secret> =
        stored.signing_secrets.into_iter().filter(|secret| !secret.expose().trim().is_empty()).collect();
    (!secrets.is_empty()).then_some(secrets)
}

/// What an event asks for, if anything. A sale is named by its session, never by the event: `completed` and
/// `async_payment_succeeded` are two events of one sale, and either may come first, twice or alone.
fn message_for(event: EventKind, received_at: Timestamp) -> Option<Message> {
    let session: CheckoutSession = match event {
        EventKind::AsyncPaymentSucceeded(_) if domain::planted("late-payment-ignored") => return None,
        EventKind::SessionCompleted(session) | EventKind::AsyncPaymentSucceeded(session) => session,
        EventKind::AsyncPaymentFailed | EventKind::SessionExpired | EventKind::Other(_) => return None,
    };
    match session.payment_status {
        PaymentStatus::Paid => {}
        PaymentStatus::Unpaid if domain::planted("unpaid-session-ordered") => {}
        PaymentStatus::Unpaid => return None,
        PaymentStatus::NoPaymentRequired => {
            // Nobody paid, so nothing is owed; but nobody should be able to complete a session for nothing.
            tracing::error!(session = session.id.prefix(), "a session was completed without any payment");
            return None;
        }
    }
    Some(match session.submission() {
        Ok(_) => {
            Message::Order { v: message::VERSION, session_id: session.id, received_at, ordered_by: OrderedBy::Webhook }
        }
        Err(_) if domain::planted("unusable-session-dropped") => return None,
        Err(unusable) => {
            tracing::error!(session = session.id.prefix(), %unusable, "[SILENT-DROP] paid but unusable");
            Message::Notice { v: message::VERSION, session_id: session.id, received_at }
        }
    })
}

async fn pass_on(ports: Ports<'_>, message: &Message) -> Reply {
    let queue = match message {
        Message::Notice { .. } if domain::planted("notice-into-wrong-queue") => ports.orders,
        Message::Notice { .. } => ports.notices,
        Message::Order { .. } | Message::Mail { .. } => ports.orders,
    };
    match queue.send(message).await {
        Ok(()) => {
            tracing::info!(session = message.session_id().prefix(), "passed on");
            received()
        }
        Err(_) if domain::planted("event-taken-without-queue") => received(),
        Err(error) => {
            let error = telemetry::chain(&error);
            tracing::error!(session = message.session_id().prefix(), error, "not passed on: Stripe keeps the event");
            Reply::error(503, "queue_unavailable", "The event could not be accepted; please deliver it again.")
        }
    }
}

fn received() -> Reply {
    Reply::json(200, &json!({ "received": true }))
}

#[cfg(test)]
mod tests;
