//! One comparison: every session that Stripe shows as paid, with the state of its sale.

use crate::{
    amounts::record_amount,
    ports::Ports,
    progress::{Pass, Progress},
    reports::{Queued, queue_reports},
};
use domain::{
    Alert, CheckoutSession, Sale, SalesPeriod, StepError, Timestamp,
    alert::Severity,
    due::Incomplete,
    mail::Mail,
    message::{Message, OrderedBy},
    ports::{Ledger, PaymentError},
    sale::{Fulfilment, NotPaid, SLOWEST_PAYMENT},
};
use std::time::Duration;

/// The counts of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Paid sessions.
    pub paid: usize,
    /// Paid sessions without a sale: alerted, and ordered.
    pub missing: usize,
    /// Sales that are neither delivered nor on a list of open work: alerted, and ordered.
    pub astray: usize,
    /// Sales on a list of open work that are due for so long that the list cannot be in use.
    pub overdue: usize,
    /// Sales that were paid with another amount than the tier's price and are recorded as such now.
    pub amounts: usize,
    /// Refunds and disputes that were reported again, in case their events were lost.
    pub reports: usize,
    /// Subscriptions and paid invoices that were reported again, for the same reason.
    pub billing: usize,
    /// Refunds, disputes, subscriptions and invoices of Stripe's that cannot be read; the log names them.
    pub unreadable: usize,
    /// Sales that could not be compared, because something failed.
    pub failed: usize,
}

impl Report {
    /// This report, if every sale was compared and every report read.
    ///
    /// # Errors
    /// [`Incomplete`].
    pub const fn complete(self) -> Result<Self, Incomplete<Self>> {
        Incomplete::unless_all(self, self.failed + self.unreadable)
    }
}

/// A younger session may still be in transit from Stripe to us; tomorrow's comparison sees it again.
const SETTLING: Duration = Duration::from_secs(15 * 60);

/// The deadlines function runs every few minutes. Work that is due for longer than this was not handled.
const OVERDUE_AFTER: Duration = Duration::from_secs(2 * 3600);

/// The share of a run's 15 minutes that reports may take before the sessions are compared.
const REPORTS_SHARE: Duration = Duration::from_secs(5 * 60);

/// The longest time without a complete comparison that the next one makes good.
const LONGEST_OUTAGE: Duration = Duration::from_secs(30 * 24 * 3600);

/// The state of a paid session in our records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordedState {
    /// It is completed, in work, or waits for an operator who was alerted.
    InOrder,
    /// There is no sale for it.
    Missing,
    /// The sale is neither completed nor on a list of open work, so no function or operator will find it.
    OnNoList,
    /// The sale is on a list of open work that is not being handled.
    Overdue,
}

/// Queues the reports for a share of the time, compares the paid sessions of a pass with the sales, and queues the reports
/// that are left. Goes on where the pass is. Saves the position from time to time, and at the end that the pass is over.
///
/// # Errors
/// [`StepError`]: one of Stripe's lists could not be read to its end, or a note not be saved. A sale that could not be
/// compared only counts as failed.
pub(crate) async fn run(ports: Ports<'_>, mut progress: Progress, mut pass: Pass) -> Result<Report, StepError> {
    let now = ports.journal.clock.now();
    let (mut report, mut queued) = (Report::default(), Queued::default());
    // Neither may use up the time of the other: a run may be cut off at any place. If the reports fail, the sessions are
    // compared all the same.
    let until = Some(now.plus(REPORTS_SHARE));
    let mut reported = queue_reports(ports, &mut progress, &mut pass, until, &mut queued).await;
    compare_sessions(ports, &mut progress, &mut pass, now, &mut report).await?;
    if !pass.is_bad && reported.is_ok() {
        progress.complete(ports.notebook, pass.began).await?;
    }
    if reported.is_ok() && !pass.reports.are_read() {
        progress.save(ports.notebook, &pass, ports.journal.clock.now()).await?;
        reported = queue_reports(ports, &mut progress, &mut pass, None, &mut queued).await;
    }
    progress.end(ports.notebook).await?;
    reported?;
    (report.reports, report.billing, report.unreadable) = (queued.payments, queued.billing, queued.unreadable);
    Ok(report)
}

/// Compares the paid sessions of a pass with the sales, from its position on.
async fn compare_sessions(
    ports: Ports<'_>,
    progress: &mut Progress,
    pass: &mut Pass,
    now: Timestamp,
    report: &mut Report,
) -> Result<(), StepError> {
    let mut is_stored_position = pass.from.is_some();
    loop {
        let page = ports.ledger.completed_since(pass.since, pass.from.as_deref()).await;
        let page = match page {
            // Stripe does not know the position of an earlier run, as after a change from test to live mode.
            Err(PaymentError::Refused(_) | PaymentError::NotFound) if is_stored_position => {
                tracing::warn!("Stripe refuses the position of the comparison that was cut off: it begins anew");
                *pass = Pass { reports: pass.reports.clone(), ..Pass::new(now, pass.since) };
                is_stored_position = false;
                continue;
            }
            page => page?,
        };
        is_stored_position = false;
        for session in &page.sessions {
            report.paid += 1;
            if let Err(error) = compare(ports, session, now, report).await {
                report.failed += 1;
                let (code, error) = (error.code().as_str(), runtime::telemetry::chain(&error));
                tracing::error!(session = session.id.prefix(), code, error, "the session could not be compared");
            }
        }
        pass.is_bad |= report.failed > 0;
        pass.from = page.next;
        if pass.from.is_none() {
            pass.is_compared = true;
            return Ok(());
        }
        // Also after a sale that cannot be compared: it must not keep the sales after it from their comparison.
        progress.advance(ports.notebook, pass, ports.journal.clock.now()).await?;
    }
}

/// How far back a comparison reaches: at least `least`, and to every session that can have been paid since the last
/// complete comparison, which began `outage` ago: Stripe delivers an event for three days only, so nothing else may know
/// of it. If Stripe cannot be asked for the slowest enabled payment method, as far as the slowest of all methods.
pub(crate) async fn reach(ledger: &dyn Ledger, least: Duration, outage: Duration) -> Duration {
    let slowest = ledger.slowest_method().await.unwrap_or_else(|error| {
        tracing::error!(error = runtime::telemetry::chain(&error), "the payment methods cannot be read");
        SLOWEST_PAYMENT
    });
    least.max(outage.min(LONGEST_OUTAGE) + slowest)
}

async fn compare(
    ports: Ports<'_>,
    session: &CheckoutSession,
    now: Timestamp,
    report: &mut Report,
) -> Result<(), StepError> {
    let sale = ports.journal.store.load(&session.id).await?;
    let known = sale.as_ref().map(|sale| &sale.value);
    match recorded_state(session, known, ports.sold_here, now) {
        RecordedState::InOrder => {}
        // Its refund is queued with the other reports, and makes a sale for which nothing is made.
        RecordedState::Missing if is_given_back(ports.ledger, session).await? => {}
        RecordedState::Missing => {
            report.missing += 1;
            put_back(ports, session, known, now, "paid, and unknown here: ordered now").await?;
        }
        RecordedState::OnNoList => {
            report.astray += 1;
            put_back(ports, session, known, now, "paid, neither delivered nor on any list: ordered again").await?;
        }
        RecordedState::Overdue => {
            report.overdue += 1;
            // One alert a run, because all overdue sales have one cause.
            if report.overdue == 1 {
                alert(ports, session, Severity::Critical, now, "due for hours: does the deadlines function run?").await;
            }
        }
    }
    // Without a sale, a later run records the amount.
    if let Some(sale) = sale {
        report.amounts += usize::from(record_amount(ports.journal, session, sale).await?);
    }
    Ok(())
}

fn recorded_state(
    session: &CheckoutSession,
    sale: Option<&Sale>,
    sold_here: SalesPeriod,
    now: Timestamp,
) -> RecordedState {
    let Some(sale) = sale else {
        let settling = session.created.is_some_and(|created| created.plus(SETTLING) > now);
        let is_elsewhere = !sold_here.includes(session.created);
        return if settling || is_elsewhere { RecordedState::InOrder } else { RecordedState::Missing };
    };
    match sale.open_work() {
        // Stripe's event about the payment was lost.
        _ if sale.not_paid().is_some() && sale.is_covered_by(session) && sale.is_money_kept() => {
            RecordedState::OnNoList
        }
        Some(open) if open.due.plus(OVERDUE_AFTER) <= now => RecordedState::Overdue,
        Some(_) => RecordedState::InOrder,
        None if has_ended(sale) => RecordedState::InOrder,
        None => RecordedState::OnNoList,
    }
}

/// Whether the whole payment of a session went back. Stripe still shows such a session as paid. A refund that cannot be
/// read is not counted: an order for a refunded session does less harm than a paid session without an order.
async fn is_given_back(ledger: &dyn Ledger, session: &CheckoutSession) -> Result<bool, StepError> {
    let (Some(payment), Some(charged)) = (&session.payment, session.amount_total) else { return Ok(false) };
    let refunds = ledger.refunds(payment).await?;
    for unknown in &refunds.unknown {
        tracing::error!(session = session.id.prefix(), refund = %unknown.id, "a refund of Stripe cannot be read");
    }
    let back: i64 =
        refunds.made.iter().filter(|refund| !refund.status.is_void()).filter_map(|refund| refund.amount).sum();
    Ok(charged > 0 && back >= charged)
}

/// Whether the sale needs nothing more: the customer has the verdict, the session was never paid, its question is declined
/// for good, the sale was erased, or the money is no longer ours.
fn has_ended(sale: &Sale) -> bool {
    let delivered = matches!(sale.fulfilment(), Fulfilment::Ready { .. })
        && matches!(sale.mail(), Mail::Sent { .. } | Mail::NoAddress);
    let never_paid = sale.not_paid() == Some(NotPaid::Over);
    delivered || never_paid || sale.is_declined_for_good() || sale.is_erased() || !sale.is_money_kept()
}

/// Alerts operators, and queues the session as its webhook would have done.
async fn put_back(
    ports: Ports<'_>,
    session: &CheckoutSession,
    sale: Option<&Sale>,
    now: Timestamp,
    why: &str,
) -> Result<(), StepError> {
    alert(ports, session, Severity::Critical, now, why).await;
    let session_id = session.id.clone();
    // A sale that failed because it was not paid ignores a notice; its order ends it as unusable, and announces that.
    let has_failed = sale.is_some_and(|sale| sale.not_paid().is_some());
    match session.submission() {
        Err(_) if session.is_paid() && !has_failed => {
            ports.notices.send(&Message::notice(session_id, now)).await?;
        }
        // This includes a session that was completed without a payment: its order ends with a human.
        _ => ports.orders.send(&Message::order(session_id, now, OrderedBy::Reconciliation)).await?,
    }
    Ok(())
}

async fn alert(ports: Ports<'_>, session: &CheckoutSession, severity: Severity, now: Timestamp, detail: &str) {
    let alert = Alert::event("ORACLE-RECONCILE", severity, now, "PAID_SESSIONS", &session.id, detail);
    ports.journal.alerts.raise(alert).await;
}

#[cfg(test)]
mod tests;
