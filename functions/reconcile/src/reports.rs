//! Queues what Stripe lists of refunds, disputes and subscriptions, in case their events were lost.

use crate::ports::Ports;
use domain::{
    StepError, Timestamp,
    message::{Message, ReportedBy},
    money::ObjectId,
    ports::{Ledger, Queue, ReportsSince, SubscriptionLedger},
};
use std::time::Duration;

/// How long after its creation a refund can still fail: Stripe names up to 30 days after it was posted.
const REFUNDS_CHANGE: Duration = Duration::from_secs(45 * 24 * 3600);

/// How long after its creation a dispute can still change: an inquiry stays open for up to 120 days, and the bank decides
/// an escalated one within about 75 days more.
const DISPUTES_CHANGE: Duration = Duration::from_secs(200 * 24 * 3600);

/// How long after its creation the payment of an invoice can still give access: it bills a month, and Stripe retries a
/// failed payment for two weeks.
const INVOICES_ARE_PAID: Duration = Duration::from_secs(45 * 24 * 3600);

/// From which creation on refunds and disputes are read. Stripe lists them by creation, so a list of the last few days
/// has neither a refund that bounces late nor an old dispute that is decided.
fn reports_since(since: Timestamp, now: Timestamp) -> ReportsSince {
    ReportsSince { refunds: since.min(before(now, REFUNDS_CHANGE)), disputes: since.min(before(now, DISPUTES_CHANGE)) }
}

/// What was queued of a list.
#[derive(Clone, Copy, Default)]
pub(crate) struct Queued {
    pub(crate) sent: usize,
    /// Objects that cannot be read: their events were refused, so nothing else shows them.
    pub(crate) unreadable: usize,
}

impl Queued {
    fn count_unreadable(&mut self, objects: &[ObjectId]) {
        for object in objects {
            tracing::error!(%object, "an object of Stripe cannot be read");
        }
        self.unreadable += objects.len();
    }
}

/// Queues the reports about payments, and those about subscriptions and invoices.
pub(crate) async fn queue_reports(
    ports: Ports<'_>,
    since: Timestamp,
    now: Timestamp,
) -> Result<(Queued, Queued), StepError> {
    let payments = queue_payments(ports.ledger, ports.payments, since, now).await?;
    let billing = queue_billing(ports.subscriptions, ports.payments, since, now).await?;
    Ok((payments, billing))
}

/// Queues Stripe's refunds and disputes like events, at least those that were created since then. A report that is known
/// already changes nothing.
async fn queue_payments(
    ledger: &dyn Ledger,
    payments: &dyn Queue,
    since: Timestamp,
    now: Timestamp,
) -> Result<Queued, StepError> {
    let since = reports_since(since, now);
    let (mut queued, mut from) = (Queued::default(), None);
    loop {
        let page = ledger.reports_since(since, now, from.as_deref()).await?;
        queued.count_unreadable(&page.unreadable);
        for (payment, report) in page.reports {
            payments.send(&Message::payment_listed(payment, report, now)).await?;
            queued.sent += 1;
        }
        from = page.next;
        if from.is_none() {
            return Ok(queued);
        }
    }
}

/// Queues Stripe's data about subscriptions, and at least the paid invoices that were created since then, like events.
async fn queue_billing(
    subscriptions: &dyn SubscriptionLedger,
    payments: &dyn Queue,
    since: Timestamp,
    now: Timestamp,
) -> Result<Queued, StepError> {
    let since = since.min(before(now, INVOICES_ARE_PAID));
    let (mut queued, mut from) = (Queued::default(), None);
    loop {
        let page = subscriptions.billing_since(since, now, from.as_deref()).await?;
        queued.count_unreadable(&page.unreadable);
        for (subscriber, report) in page.reports {
            let message = Message::subscription_changed(subscriber, report, ReportedBy::Reconciliation, now);
            payments.send(&message).await?;
            queued.sent += 1;
        }
        from = page.next;
        if from.is_none() {
            return Ok(queued);
        }
    }
}

/// The moment so long before another.
pub(crate) fn before(now: Timestamp, time: Duration) -> Timestamp {
    let millis = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_sub(millis))
}
