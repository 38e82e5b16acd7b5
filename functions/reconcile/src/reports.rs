//! Queues what Stripe lists of refunds, disputes and subscriptions, in case their events were lost.

use crate::{
    ports::Ports,
    progress::{Pass, Position, Progress},
};
use domain::{
    ErrorCode, StepError, Timestamp,
    message::{Message, ReportedBy},
    money::ObjectId,
    ports::ReportsSince,
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

/// What a run has queued.
#[derive(Clone, Copy, Default)]
pub(crate) struct Queued {
    /// Reports of refunds and disputes.
    pub(crate) payments: usize,
    /// Reports of subscriptions and invoices.
    pub(crate) billing: usize,
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

/// Queues the reports of a pass from its position on: first those about payments, and then those about subscriptions and
/// invoices. Ends when all are queued, or with the first page after `until`. Saves the position from time to time.
///
/// # Errors
/// [`StepError`]: a list could not be read, a report not be queued, or the position not be saved.
pub(crate) async fn queue_reports(
    ports: Ports<'_>,
    progress: &mut Progress,
    pass: &mut Pass,
    until: Option<Timestamp>,
    queued: &mut Queued,
) -> Result<(), StepError> {
    let mut may_be_refused = true;
    loop {
        let now = ports.journal.clock.now();
        if pass.reports.are_read() || until.is_some_and(|until| until <= now) {
            return Ok(());
        }
        let is_of_payments = pass.reports.payments != Position::End;
        let list = if is_of_payments { &mut pass.reports.payments } else { &mut pass.reports.billing };
        let next = if is_of_payments {
            queue_payments(ports, pass.since, now, list.page(), queued).await
        } else {
            queue_billing(ports, pass.since, now, list.page(), queued).await
        };
        *list = match next {
            // As with the position in the list of sessions.
            Err(error) if may_be_refused && list.page().is_some() && error.code() == ErrorCode::PaymentRefused => {
                tracing::warn!("Stripe refuses the position of the reports that were cut off: they begin anew");
                Position::Start
            }
            next => Position::after(next?),
        };
        may_be_refused = false;
        progress.advance(ports.notebook, pass, now).await?;
    }
}

/// Queues a page of Stripe's refunds and disputes like events, at least those that were created since then. A report that
/// is known already changes nothing. Returns the next page.
async fn queue_payments(
    ports: Ports<'_>,
    since: Timestamp,
    now: Timestamp,
    from: Option<&str>,
    queued: &mut Queued,
) -> Result<Option<String>, StepError> {
    let page = ports.ledger.reports_since(reports_since(since, now), now, from).await?;
    queued.count_unreadable(&page.unreadable);
    for (payment, report) in page.reports {
        ports.payments.send(&Message::payment_listed(payment, report, now)).await?;
        queued.payments += 1;
    }
    Ok(page.next)
}

/// Queues a page of Stripe's data about subscriptions, and at least of the paid invoices that were created since then, like
/// events. Returns the next page.
async fn queue_billing(
    ports: Ports<'_>,
    since: Timestamp,
    now: Timestamp,
    from: Option<&str>,
    queued: &mut Queued,
) -> Result<Option<String>, StepError> {
    let since = since.min(before(now, INVOICES_ARE_PAID));
    let page = ports.subscriptions.billing_since(since, now, from).await?;
    queued.count_unreadable(&page.unreadable);
    for (subscriber, report) in page.reports {
        let message = Message::subscription_changed(subscriber, report, ReportedBy::Reconciliation, now);
        ports.payments.send(&message).await?;
        queued.billing += 1;
    }
    Ok(page.next)
}

/// The moment so long before another.
pub(crate) fn before(now: Timestamp, time: Duration) -> Timestamp {
    let millis = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_sub(millis))
}
