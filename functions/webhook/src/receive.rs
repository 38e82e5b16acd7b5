//! Verifies one event, parses it, and queues its message.

use domain::{
    CheckoutSession, Metric, PaymentStatus, RenewableSecret, Secret, Timestamp,
    message::{Message, OrderedBy, ReportedBy},
    ports::{Clock, Meter, Queue, StorageError},
    smoke,
};
use runtime::{
    http::{Reply, Request},
    telemetry,
};
use serde::Deserialize;
use serde_json::json;
use stripe::{
    SmokeSecret,
    event::EventKind,
    signature::{self, SignatureError},
};

/// The largest body that is read.
const MAX_BODY_BYTES: usize = 256 * 1024;

/// The ports that the webhook uses.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub signing_secrets: &'a dyn RenewableSecret,
    /// The smoke test's own secret; empty if no smoke test is set up.
    pub smoke_secret: &'a dyn RenewableSecret,
    pub orders: &'a dyn Queue,
    pub notices: &'a dyn Queue,
    pub payments: &'a dyn Queue,
    pub meter: &'a dyn Meter,
    pub clock: &'a dyn Clock,
}

/// The stored form of the signing secrets: a list, so that one can be rotated while the other still signs.
#[derive(Deserialize)]
struct SigningSecrets {
    #[serde(default)]
    signing_secrets: Vec<Secret>,
}

/// Handles one request.
pub async fn handle(ports: Ports<'_>, request: Request) -> Reply {
    receive(ports, request.header("stripe-signature"), request.body()).await
}

/// Receives one event. A body whose signature is invalid is not parsed (Product Tiers, invariant 2).
async fn receive(ports: Ports<'_>, signature_header: Option<&str>, body: &[u8]) -> Reply {
    let received_at = ports.clock.now();
    if body.len() > MAX_BODY_BYTES {
        return Reply::error(413, "too_large", "The event is larger than 256 KiB.");
    }
    let Some(document) = read_or_log(ports.signing_secrets.document().await) else { return not_configured() };
    let secrets = signing_secrets(&document);
    if secrets.is_empty() {
        return not_configured();
    }
    let Some(header) = signature_header else {
        return Reply::error(400, "signature_missing", "The Stripe-Signature header is missing.");
    };
    if let Err(error) = signature::verify(header, body, &secrets, received_at) {
        if error == SignatureError::Mismatch && is_smoke_tests(ports, header, body, received_at).await {
            return receive_smoke_test(ports, body, received_at).await;
        }
        // The secret may have been rotated since the process read it.
        let is_mismatch = error == SignatureError::Mismatch;
        let renewed =
            if is_mismatch { read_or_log(ports.signing_secrets.renewed(&document).await).flatten() } else { None };
        let secrets = renewed.map(|document| signing_secrets(&document)).unwrap_or_default();
        if signature::verify(header, body, &secrets, received_at).is_err() {
            tracing::warn!(%error, "signature refused");
            // Anyone can send nonsense. But a well-formed signature that fits no secret may mean that every further
            // sale is refused.
            if is_mismatch {
                ports.meter.record(&[Metric::SignatureRefused.once()], received_at);
            }
            return Reply::error(400, "signature_invalid", "The signature does not match the body.");
        }
    }
    match stripe::event::parse(body) {
        Err(error) => {
            tracing::error!(error = %telemetry::chain(&error), "a signed event could not be read");
            ports.meter.record(&[Metric::EventUnreadable.once()], received_at);
            Reply::error(400, "event_malformed", "The body is not a Stripe event.")
        }
        Ok(event) => {
            let is_of_session =
                matches!(event.kind, EventKind::SessionCompleted(_) | EventKind::AsyncPaymentSucceeded(_));
            if let Some(created) = event.created.filter(|_| is_of_session) {
                ports.meter.record(&[Metric::EventDelay.of(received_at.millis_since(created))], received_at);
            }
            let Effect { metric, message } = effect_of(event.kind, received_at);
            if let Some(metric) = metric {
                ports.meter.record(&[metric.once()], received_at);
            }
            match message {
                Some(message) => pass_on(ports, &message, received_at).await,
                None => received(),
            }
        }
    }
}

/// Whether the smoke test signed this event with its own secret.
async fn is_smoke_tests(ports: Ports<'_>, header: &str, body: &[u8], now: Timestamp) -> bool {
    let signed = |document: &Secret| {
        let secret = SmokeSecret::parse(document).map(|smoke| smoke.signing_secret);
        secret.is_ok_and(|secret| signature::verify(header, body, &[secret], now).is_ok())
    };
    let Some(document) = read_or_log(ports.smoke_secret.document().await) else { return false };
    // The secret may have been rotated since the process read it; it is read at most once a minute.
    signed(&document)
        || read_or_log(ports.smoke_secret.renewed(&document).await).flatten().is_some_and(|it| signed(&it))
}

/// An event that the smoke test signed can do one thing only: order the smoke test's own session, whose verdict depends
/// on what Stripe's test mode says about it. Everything else with that signature is refused.
async fn receive_smoke_test(ports: Ports<'_>, body: &[u8], received_at: Timestamp) -> Reply {
    match smoke_order(body, received_at) {
        Some(order) => pass_on(ports, &order, received_at).await,
        None => {
            tracing::error!("an event with the smoke test's signature that is not the smoke test's: refused");
            Reply::error(400, "signature_invalid", "The signature does not match the body.")
        }
    }
}

fn smoke_order(body: &[u8], received_at: Timestamp) -> Option<Message> {
    let EventKind::SessionCompleted(session) = stripe::event::parse(body).ok()?.kind else { return None };
    let (mark, set) = smoke::MARK;
    let marked = session.metadata.get(mark).is_some_and(|value| value == set);
    let same = session.submission().ok() == smoke::submission().ok();
    let is_its_order = session.id.is_test_mode() && marked && same && session.is_paid();
    is_its_order.then_some(Message::order(session.id, received_at, OrderedBy::SmokeTest))
}

/// The signing secrets of a document; empty if it is not such a document.
fn signing_secrets(document: &Secret) -> Vec<Secret> {
    let stored: Result<SigningSecrets, _> = serde_json::from_str(document.expose());
    let secrets = stored.map(|stored| stored.signing_secrets).unwrap_or_default();
    secrets.into_iter().filter(|secret| !secret.expose().trim().is_empty()).collect()
}

/// The value that was read; logs an error.
fn read_or_log<T>(read: Result<T, StorageError>) -> Option<T> {
    let log = |error: &StorageError| {
        tracing::error!(error = %telemetry::chain(error), "the signing secrets could not be read");
    };
    read.inspect_err(log).ok()
}

fn not_configured() -> Reply {
    Reply::error(503, "not_configured", "No signing secret is configured.")
}

/// The effect of an event beside its acknowledgement.
#[derive(Debug, Default, PartialEq, Eq)]
struct Effect {
    /// Counts an event that should not happen; it has an alarm.
    metric: Option<Metric>,
    /// Goes to a queue.
    message: Option<Message>,
}

impl Effect {
    fn passing(message: Message) -> Self {
        Self { metric: None, message: Some(message) }
    }
}

/// The effect of an event. Messages name the session, never the event: `completed` and `async_payment_succeeded` are
/// two events of one sale, and either may come first, twice or alone.
fn effect_of(event: EventKind, received_at: Timestamp) -> Effect {
    let session: CheckoutSession = match event {
        EventKind::SessionCompleted(session) | EventKind::AsyncPaymentSucceeded(session) => session,
        EventKind::PaymentReported { payment, report } => {
            return Effect::passing(Message::payment_changed(payment, report, received_at));
        }
        EventKind::BillingReported { subscriber, report } => {
            let message = Message::subscription_changed(subscriber, report, ReportedBy::Event, received_at);
            return Effect::passing(message);
        }
        EventKind::ForeignSubscription => {
            // It was made by hand or by another party's checkout: its payer gets nothing from us.
            tracing::error!("a subscription or an invoice that our checkout did not make");
            return Effect { metric: Some(Metric::EventUnreadable), message: None };
        }
        EventKind::AsyncPaymentFailed | EventKind::SessionExpired | EventKind::Other(_) => {
            return Effect::default();
        }
    };
    let order = |session_id| Message::order(session_id, received_at, OrderedBy::Webhook);
    match session.payment_status {
        PaymentStatus::Paid => {}
        PaymentStatus::Unpaid => return Effect::default(),
        PaymentStatus::NoPaymentRequired => {
            // The session is not paid, so nothing is owed. But completing a session without paying should not be
            // possible, so its order ends on the list of humans.
            tracing::error!(session = session.id.prefix(), "a session was completed without any payment");
            return Effect { metric: Some(Metric::CompletedWithoutPayment), message: Some(order(session.id)) };
        }
    }
    Effect::passing(match session.submission() {
        Ok(_) => order(session.id),
        Err(unusable) => {
            tracing::error!(session = session.id.prefix(), %unusable, "[SILENT-DROP] paid but unusable");
            Message::notice(session.id, received_at)
        }
    })
}

async fn pass_on(ports: Ports<'_>, message: &Message, received_at: Timestamp) -> Reply {
    let queue = match message {
        Message::Notice { .. } => ports.notices,
        Message::PaymentChanged { .. } | Message::SubscriptionChanged { .. } => ports.payments,
        Message::Order { .. } | Message::Mail { .. } | Message::MailRetry { .. } => ports.orders,
    };
    let session = message.session_id().map_or("-", domain::SessionId::prefix);
    match queue.send(message).await {
        Ok(()) => {
            tracing::info!(session, "passed on");
            received()
        }
        Err(error) => {
            let error = telemetry::chain(&error);
            tracing::error!(session, error, "not passed on: Stripe keeps the event");
            ports.meter.record(&[Metric::EventNotQueued.once()], received_at);
            Reply::error(503, "queue_unavailable", "The event could not be accepted; please deliver it again.")
        }
    }
}

fn received() -> Reply {
    Reply::json(200, &json!({ "received": true }))
}

#[cfg(test)]
mod tests;
