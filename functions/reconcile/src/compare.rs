//! One comparison: every session that Stripe says is paid, and what became of it here.

use audit::{Change, Context, Journal};
use domain::{
    Alert, CheckoutSession, Sale, StepError, Timestamp,
    alert::Severity,
    mail::Mail,
    message::{Message, OrderedBy, ToldBy, VERSION},
    ports::{Ledger, Meter, Queue, SubscriptionLedger, Versioned},
    sale::{Charge, Fulfilment, NotPaid},
    tier::CURRENCY,
};
use std::time::Duration;

/// What the function needs from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub ledger: &'a dyn Ledger,
    pub subscriptions: &'a dyn SubscriptionLedger,
    pub orders: &'a dyn Queue,
    pub notices: &'a dyn Queue,
    pub payments: &'a dyn Queue,
    pub meter: &'a dyn Meter,
}

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Paid sessions.
    pub paid: usize,
    /// Paid, and unknown here: alerted, and ordered.
    pub missing: usize,
    /// Known here, and neither delivered nor on a list: alerted, and ordered.
    pub astray: usize,
    /// On a list, and due for so long that nobody can be looking at the list.
    pub overdue: usize,
    /// Paid with another amount than the tier's price: recorded now.
    pub amounts: usize,
    /// Refunds and disputes that were reported again, in case their events were lost.
    pub reports: usize,
    /// Subscriptions and paid invoices that were reported again, likewise.
    pub billing: usize,
    /// Not compared: something failed.
    pub failed: usize,
}

/// A comparison that left sales out: the function's alarm shows it.
#[derive(Debug, thiserror::Error)]
#[error("{0} sales could not be compared")]
pub struct Incomplete(usize);

impl Report {
    /// Whether every sale was compared.
    ///
    /// # Errors
    /// [`Incomplete`].
    pub const fn complete(self) -> Result<(), Incomplete> {
        if self.failed == 0 { Ok(()) } else { Err(Incomplete(self.failed)) }
    }
}

/// A younger session may be on its way from Stripe to us at this moment; tomorrow's comparison sees it again.
const SETTLING: Duration = Duration::from_secs(15 * 60);

/// The deadlines function runs every few minutes. What is due for longer was looked at by nobody.
const OVERDUE_AFTER: Duration = Duration::from_secs(2 * 3600);

/// How a paid session stands with us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It has ended well, is worked on, or waits for a human who knows.
    InOrder,
    /// Nobody here knows of it.
    Missing,
    /// It is known, and will neither end nor come to anybody's attention by itself.
    Astray,
    /// It is on a list that nobody looks at.
    Overdue,
}

/// Compares the paid sessions that were created within `look_back` with the sales.
///
/// # Errors
/// [`StepError`]: Stripe's list could not be read to its end. A sale that could not be compared only
/// counts as failed.
pub(crate) async fn run(ports: Ports<'_>, look_back: Duration) -> Result<Report, StepError> {
    let now = ports.journal.clock.now();
    let millis = i64::try_from(look_back.as_millis()).unwrap_or(i64::MAX);
    let since = Timestamp::from_millis(now.as_millis().saturating_sub(millis));
    let (mut report, mut from) = (Report::default(), None);
    loop {
        let page = ports.ledger.completed_since(since, from.as_deref()).await?;
        for session in &page.sessions {
            report.paid += 1;
            if let Err(error) = compare(ports, session, now, &mut report).await {
                report.failed += 1;
                let (code, error) = (error.code().as_str(), runtime::telemetry::chain(&error));
                tracing::error!(session = session.id.prefix(), code, error, "not compared");
            }
        }
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    report.reports = tell_again(ports, since, now).await?;
    report.billing = tell_billing_again(ports, since, now).await?;
    Ok(report)
}

/// How far back a comparison has to reach: at least this far, and as far as the slowest payment method that is
/// switched on. Where Stripe does not tell, as far as any method.
pub(crate) async fn reach(ledger: &dyn Ledger, least: Duration) -> Duration {
    let slowest = ledger.slowest_method().await.unwrap_or_else(|error| {
        tracing::error!(error = runtime::telemetry::chain(&error), "the payment methods cannot be read");
        SLOWEST
    });
    slowest.max(least)
}

/// Stripe's slowest method, and a day for the session.
const SLOWEST: Duration = Duration::from_secs(31 * 24 * 3600);

/// Sends Stripe's refunds and disputes the way of its events. What is known already changes nothing.
async fn tell_again(ports: Ports<'_>, since: Timestamp, now: Timestamp) -> Result<usize, StepError> {
    let (mut sent, mut from) = (0, None);
    loop {
        let page = ports.ledger.reports_since(since, now, from.as_deref()).await?;
        for (payment, report) in page.reports {
            let message = Message::PaymentChanged { v: VERSION, payment, report, received_at: now };
            ports.payments.send(&message).await?;
            sent += 1;
        }
        from = page.next;
        if from.is_none() {
            return Ok(sent);
        }
    }
}

/// Sends what Stripe has of subscriptions the way of its events.
async fn tell_billing_again(ports: Ports<'_>, since: Timestamp, now: Timestamp) -> Result<usize, StepError> {
    let (mut told, mut from) = (0, None);
    loop {
        let page = ports.subscriptions.billing_since(since, now, from.as_deref()).await?;
        for (subscriber, report) in page.reports {
            let (v, told_by, received_at) = (VERSION, ToldBy::Reconciliation, now);
            let message = Message::SubscriptionChanged { v, subscriber, report, told_by, received_at };
            ports.payments.send(&message).await?;
            told += 1;
        }
        from = page.next;
        if from.is_none() {
            return Ok(told);
        }
    }
}

async fn compare(
    ports: Ports<'_>,
    session: &CheckoutSession,
    now: Timestamp,
    report: &mut Report,
) -> Result<(), StepError> {
    let sale = ports.journal.store.load(&session.id).await?;
    match standing(session, sale.as_ref().map(|sale| &sale.value), now) {
        Standing::InOrder => {}
        Standing::Missing => {
            report.missing += 1;
            put_back(ports, session, now, "paid, and unknown here: ordered now").await?;
        }
        Standing::Astray => {
            report.astray += 1;
            put_back(ports, session, now, "paid, neither delivered nor on any list: ordered again").await?;
        }
        Standing::Overdue => {
            report.overdue += 1;
            // One alert a run: they have one cause.
            if report.overdue == 1 {
                alert(ports, session, Severity::Critical, now, "due for hours: does the deadlines function run?").await;
            }
        }
    }
    match sale {
        Some(sale) => note_amount(ports, session, sale, report).await,
        // Once there is a sale to record it with.
        None => Ok(()),
    }
}

fn standing(session: &CheckoutSession, sale: Option<&Sale>, now: Timestamp) -> Standing {
    let Some(sale) = sale else {
        let settling = session.created.is_some_and(|created| created.plus(SETTLING) > now);
        return if settling { Standing::InOrder } else { Standing::Missing };
    };
    match sale.open_work() {
        // Stripe's event of the payment was lost.
        _ if sale.not_paid().is_some() && sale.is_covered_by(session) && sale.is_money_kept() => Standing::Astray,
        Some(open) if open.due.plus(OVERDUE_AFTER) <= now => Standing::Overdue,
        Some(_) => Standing::InOrder,
        None if has_ended(sale) => Standing::InOrder,
        None => Standing::Astray,
    }
}

/// Whether the customer has the verdict, was forgotten as asked, or the money is elsewhere.
fn has_ended(sale: &Sale) -> bool {
    let delivered = matches!(sale.fulfilment(), Fulfilment::Ready { .. })
        && matches!(sale.mail(), Mail::Sent { .. } | Mail::NoAddress);
    let never_paid = sale.not_paid() == Some(NotPaid::Over);
    delivered || never_paid || sale.is_erased() || !sale.is_money_kept()
}

/// Tells operators, and puts the session where its webhook would have put it.
async fn put_back(ports: Ports<'_>, session: &CheckoutSession, now: Timestamp, why: &str) -> Result<(), StepError> {
    alert(ports, session, Severity::Critical, now, why).await;
    let (session_id, received_at) = (session.id.clone(), now);
    match session.submission() {
        Err(_) if session.is_paid() => {
            ports.notices.send(&Message::Notice { v: VERSION, session_id, received_at }).await?;
        }
        // Also what was completed without a payment, whatever it says: its order ends before a human.
        _ => {
            let ordered_by = OrderedBy::Reconciliation;
            ports.orders.send(&Message::Order { v: VERSION, session_id, received_at, ordered_by }).await?;
        }
    }
    Ok(())
}

async fn alert(ports: Ports<'_>, session: &CheckoutSession, severity: Severity, now: Timestamp, detail: &str) {
    let alert = Alert::event("ORACLE-RECONCILE", severity, now, "PAID_SESSIONS", &session.id, detail);
    ports.journal.alerts.raise(alert).await;
}

/// The tier's price, where another amount or another currency was paid (Product Tiers, invariant 1).
fn other_price(session: &CheckoutSession) -> Option<u32> {
    let price = session.submission().ok()?.tier.price_cents();
    let same = session.amount_total == Some(i64::from(price)) && session.currency.as_deref() == Some(CURRENCY);
    (!same).then_some(price)
}

/// Records and tells once that another amount than the tier's price was paid. A promotion code is the usual reason.
async fn note_amount(
    ports: Ports<'_>,
    session: &CheckoutSession,
    sale: Versioned<Sale>,
    report: &mut Report,
) -> Result<(), StepError> {
    let Some(price) = other_price(session).filter(|_| !sale.value.is_amount_noted()) else { return Ok(()) };
    let paid = session.amount_total.map_or_else(|| "unknown".to_owned(), |amount| amount.to_string());
    let detail = format!(
        "paid {paid} {}, the price is {price} {CURRENCY}: a promotion code, or a wrong price?",
        session.currency.as_deref().unwrap_or("?")
    );
    let note = |sale: &mut Sale, now| {
        let Ok(event) = sale.amount_noted(Charge::of(session), price) else { return Change::nothing(false) };
        let alert = Alert::event("ORACLE-RECONCILE", Severity::Warn, now, "AMOUNT", &session.id, &detail);
        Change::of(&event, &Context::at(now), true).alerting(alert)
    };
    let (_, is_new) = ports.journal.commit(sale, note).await?.settle().await;
    report.amounts += usize::from(is_new);
    Ok(())
}

#[cfg(test)]
mod tests;
