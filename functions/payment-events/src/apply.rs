//! Applies one report about a payment to its sale.

use audit::{Change, Context, Journal, SubscriberJournal};
use domain::{
    Alert, CheckoutSession, Sale, SalesPeriod, StepError, Timestamp,
    alert::Severity,
    message::ReportedBy,
    money::{Money, PaymentChange, PaymentId, PaymentReport},
    ports::{Ledger, SubscriptionLedger},
    sale::{Charge, Event},
};

/// The ports that the function uses.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub ledger: &'a dyn Ledger,
    pub subscribers: SubscriberJournal<'a>,
    pub subscriptions: &'a dyn SubscriptionLedger,
    pub sold_here: SalesPeriod,
}

/// One report from Stripe, as the queue delivered it.
#[derive(Clone, Debug)]
pub(crate) struct Changed {
    /// The payment.
    pub payment: PaymentId,
    /// Stripe's report about the payment.
    pub report: PaymentReport,
    /// Its source.
    pub reported_by: ReportedBy,
    /// When the event reached us, or Stripe's list was read.
    pub received_at: Timestamp,
}

impl Changed {
    /// The report, as it is applied to this sale.
    fn report_for(&self, sale: &Sale) -> PaymentReport {
        match self.reported_by {
            ReportedBy::Event => self.report.clone(),
            ReportedBy::Reconciliation => sale.payment().as_of_reading(self.report.clone(), self.received_at),
        }
    }
}

/// Applies a report; repeated and reordered reports have the same result. A session that has no sale yet gets one here,
/// so that a later order finds that the money is gone.
///
/// # Errors
/// [`StepError`]: the queue must deliver the report again.
pub(crate) async fn apply(ports: Ports<'_>, changed: &Changed) -> Result<(), StepError> {
    let journal = ports.journal;
    let Some(session) = ports.ledger.session_of(&changed.payment).await? else {
        let Changed { payment, report, received_at, .. } = changed;
        if !subscription::record_payment(ports.subscribers, ports.subscriptions, payment, report, *received_at).await? {
            tracing::info!("a payment that no checkout of ours made");
        }
        return Ok(());
    };
    let sale = journal.load(&session.id, changed.received_at).await?;
    if sale.version == 0 && !ports.sold_here.includes(session.created) {
        tracing::info!(session = session.id.prefix(), "another stack's sale");
        return Ok(());
    }
    let committed = journal.commit(sale, |sale, now| record_payment_change(sale, &session, changed, now)).await?;
    let (_, change) = committed.settle().await;
    tracing::info!(session = session.id.prefix(), ?change, "payment reported");
    if let Some(followup) = journal.store.load(&session.id.followup()).await? {
        let record = |sale: &mut Sale, now| record_followup_change(sale, &session, changed, now);
        journal.commit(followup, record).await?.settle().await;
    }
    Ok(())
}

/// Applies a report to the follow-up that the session includes: a follow-up has no money of its own, and stops and
/// continues with the session's. Operators were alerted to the session already, and this record has no amount, so that
/// nothing counts twice.
fn record_followup_change(sale: &mut Sale, session: &CheckoutSession, changed: &Changed, now: Timestamp) -> Change<()> {
    let report = changed.report_for(sale);
    match sale.payment_reported(&changed.payment, &report, Charge::of(session), now) {
        Ok(Event::PaymentChanged { payment, change, report, confirms, .. }) => {
            let charge = Charge { amount_total: None, currency: None };
            let event = Event::PaymentChanged { payment, change, report, returned: None, charge, confirms };
            Change::of(&event, &Context::new(now, changed.received_at), ())
        }
        Ok(_) => Change::save(()),
        Err(_) => Change::nothing(()),
    }
}

/// Applies a report to the sale, and returns the change, if any.
fn record_payment_change(
    sale: &mut Sale,
    session: &CheckoutSession,
    changed: &Changed,
    now: Timestamp,
) -> Change<Option<PaymentChange>> {
    let report = changed.report_for(sale);
    let reported = sale.payment_reported(&changed.payment, &report, Charge::of(session), now);
    let (event, change) = match reported {
        Ok(event @ Event::PaymentChanged { change, .. }) => (event, change),
        Ok(_) => return Change::save(None),
        Err(_) => return Change::nothing(None),
    };
    let committed = Change::of(&event, &Context::new(now, changed.received_at), Some(change));
    match alert(session, change, sale, &report, now) {
        Some(alert) => committed.alerting(alert),
        None => committed,
    }
}

/// What operators do about a refund by hand that had to wait for the end of a dispute.
const SEND_IT: &str =
    "the dispute was won, and the refund is recorded as made by hand: send the money now, unless it was sent";

/// What operators do about a refund that came back and left the sale in this state. `oracle` gives back all that is left
/// of a payment, so it must not be named for a part. `is_whole` is whether other refunds have returned all of it.
const fn bounce(sale: &Sale, is_whole: bool) -> (Severity, &'static str) {
    match sale.money() {
        Money::RefundFailed { .. } | Money::Disputed { bounced: true, .. } => {
            (Severity::Critical, Sale::REFUND_CAME_BACK)
        }
        Money::Refunded { .. } if is_whole => {
            (Severity::Warn, "a refund came back, and others have returned all of the payment: do nothing")
        }
        // Only a refund that is recorded by hand stays when another one comes back.
        Money::Refunded { .. } => (
            Severity::Critical,
            "a refund came back, and an operator has recorded one by hand: if that money was sent, do nothing; if not, \
             send it now",
        ),
        Money::RefundAuthorised { .. } => (
            Severity::Critical,
            "a part of the payment came back: see at Stripe, once the refund of the rest is made, whether all of the \
             payment went back, and give back there what is missing",
        ),
        Money::Kept => (
            Severity::Critical,
            "a refund from Stripe's dashboard came back: make it there again, because oracle refunds issue gives back \
             all that is left of the payment",
        ),
        Money::Disputed { .. } => (
            Severity::Critical,
            "a refund from Stripe's dashboard came back, and the customer's bank has the money: make it there again if \
             the dispute is won",
        ),
    }
}

/// The alert about a change that left the sale in this state.
fn alert(
    session: &CheckoutSession,
    change: PaymentChange,
    sale: &Sale,
    report: &PaymentReport,
    now: Timestamp,
) -> Option<Alert> {
    let (money, payment) = (sale.money(), sale.payment());
    let is_by_hand =
        matches!(money, Money::Refunded { .. }) && !payment.returned(session.amount_total).whole && !payment.is_taken();
    let (severity, operation, detail) = match change {
        PaymentChange::Refunded
        | PaymentChange::PartlyRefunded
        | PaymentChange::InquiryAnswered
        | PaymentChange::DisputeAnswered => return None,
        PaymentChange::RefundFailed => {
            let (severity, detail) = bounce(sale, payment.returned(session.amount_total).whole);
            (severity, "REFUND", detail)
        }
        // A refund bounced before the dispute, or during it, and nothing goes on by itself.
        PaymentChange::DisputeWon if matches!(money, Money::RefundFailed { .. }) => {
            (Severity::Critical, "REFUND", Sale::REFUND_CAME_BACK)
        }
        PaymentChange::DisputeWon if is_by_hand => (Severity::Critical, "REFUND", SEND_IT),
        PaymentChange::InquiryOpened => {
            (Severity::Critical, "INQUIRY", "the customer's bank asks about the payment: answer it, the sale goes on")
        }
        PaymentChange::InquiryClosed => (Severity::Warn, "INQUIRY", "the bank's inquiry ended without a dispute"),
        PaymentChange::DeadlineChanged => (Severity::Warn, "DISPUTE", "Stripe set another deadline"),
        PaymentChange::DisputeOpened => {
            (Severity::Critical, "DISPUTE", "the customer's bank disputes the payment: answer it")
        }
        PaymentChange::DisputeLost => (Severity::Critical, "DISPUTE", "the dispute was lost: the money is gone"),
        PaymentChange::DisputePrevented => {
            (Severity::Warn, "DISPUTE", "a dispute was prevented: the money went back to the customer")
        }
        PaymentChange::DisputeWon => (Severity::Warn, "DISPUTE", "the dispute was won: what was stopped goes on"),
    };
    let detail = match report {
        PaymentReport::Dispute { id, status, respond_by: Some(by), .. } if status.awaits_answer() => {
            format!("{detail} until {by} ({id})")
        }
        _ => report.id().map_or_else(|| detail.to_owned(), |id| format!("{detail} ({id})")),
    };
    Some(Alert::event("ORACLE-PAYMENT", severity, now, operation, &session.id, &detail))
}

#[cfg(test)]
mod tests;
