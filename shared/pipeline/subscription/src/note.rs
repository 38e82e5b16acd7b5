//! One report about a subscriber: what it changes, who is alerted.

use audit::{Body, Change, Record, SubscriberJournal};
use domain::{
    Alert, StepError, Timestamp,
    alert::Severity,
    chat::{BillingChange, BillingReport, Subscriber, SubscriberId},
    message::ToldBy,
    money::{DisputeStatus, PaymentId, PaymentReport},
    ports::SubscriptionLedger,
};

/// What Stripe told of a subscriber.
#[derive(Clone, Debug)]
pub struct Reported {
    /// Who.
    pub subscriber: SubscriberId,
    /// What.
    pub report: BillingReport,
    /// How it came to us.
    pub told_by: ToldBy,
    /// When it did.
    pub received_at: Timestamp,
}

/// Keeps a report, once however often it comes and in whatever order. Somebody whom nobody has seen yet gets their record
/// here.
///
/// # Errors
/// [`StepError`]: the queue must deliver the report again.
pub async fn note(journal: SubscriberJournal<'_>, told: &Reported) -> Result<Option<BillingChange>, StepError> {
    let subscriber = journal.load(&told.subscriber).await?;
    let committed = journal.commit(subscriber, |subscriber, now| change(subscriber, told, now)).await?;
    tracing::info!(subscriber = told.subscriber.prefix(), change = ?committed.answer(), "subscription reported");
    let (_, noted) = committed.settle().await;
    Ok(noted)
}

fn change(subscriber: &mut Subscriber, told: &Reported, now: Timestamp) -> Change<Option<BillingChange>> {
    let Some(noted) = subscriber.billing_mut().note(&told.report) else { return Change::nothing(None) };
    if noted == BillingChange::Detail && !is_dispute(&told.report) {
        return Change::save(Some(noted));
    }
    let access = subscriber.access(now);
    let body = Body::Subscription {
        object: told.report.id().clone(),
        change: noted,
        plan: access.plan,
        paid_until: access.paid_until.map(Timestamp::to_iso),
        told_by: told.told_by,
    };
    let record = Record { timestamp: now, triggered_at: told.received_at, body };
    let alerts = alerts(subscriber, told, noted, now);
    let change = Change::recorded(vec![record], Some(noted));
    alerts.into_iter().fold(change, Change::alerting)
}

const fn is_dispute(report: &BillingReport) -> bool {
    matches!(report, BillingReport::Payment { report: PaymentReport::Dispute { .. }, .. })
}

fn alerts(subscriber: &Subscriber, told: &Reported, noted: BillingChange, now: Timestamp) -> Vec<Alert> {
    let about = |severity, operation, detail: &str| {
        Alert::about("ORACLE-SUBSCRIPTION", severity, now, operation, told.subscriber.prefix(), detail)
    };
    let object = told.report.id();
    let mut alerts = Vec::new();
    match noted {
        BillingChange::MoneyGone => alerts.push(about(
            Severity::Critical,
            "MONEY_GONE",
            &format!("the money of {object} is gone, and the access with it: cancel the subscription at Stripe"),
        )),
        BillingChange::MoneyBack => alerts.push(about(
            Severity::Warn,
            "MONEY_BACK",
            &format!("the money of {object} came back, and the access with it"),
        )),
        _ => {}
    }
    if let BillingReport::Payment { report: PaymentReport::Dispute { id, status, respond_by, .. }, .. } = &told.report
        && status.awaits_answer()
    {
        let by = respond_by.map_or_else(String::new, |by| format!(" until {by}"));
        let what = if *status == DisputeStatus::WarningNeedsResponse { "asks about" } else { "disputes" };
        let detail = format!("the customer's bank {what} {object}: answer it{by} ({id})");
        alerts.push(about(Severity::Critical, "DISPUTE", &detail));
    }
    let begins = matches!(noted, BillingChange::Opened | BillingChange::Resumed | BillingChange::StatusChanged);
    if begins && subscriber.billing().going_on().count() > 1 {
        let detail = format!("pays for two subscriptions at once: cancel one and give its money back ({object})");
        alerts.push(about(Severity::Critical, "TWO_SUBSCRIPTIONS", &detail));
    }
    if told.told_by == ToldBy::Reconciliation {
        let detail = format!("an event of {object} never arrived: kept now, by the daily comparison");
        alerts.push(about(Severity::Warn, "EVENT_MISSED", &detail));
    }
    alerts
}

/// Keeps what became of a payment that no sale has. `false` where no subscription has it either.
///
/// # Errors
/// [`StepError`]: the queue must deliver the report again.
pub async fn note_payment(
    journal: SubscriberJournal<'_>,
    ledger: &dyn SubscriptionLedger,
    payment: &PaymentId,
    report: &PaymentReport,
    received_at: Timestamp,
) -> Result<bool, StepError> {
    let Some((subscriber, invoice)) = ledger.invoice_of(payment, received_at).await? else { return Ok(false) };
    let BillingReport::InvoicePaid { id, bill, .. } = &invoice else { return Ok(false) };
    let of_payment = BillingReport::Payment {
        invoice: id.clone(),
        payment: payment.clone(),
        charged: Some(bill.amount),
        report: report.clone(),
    };
    // The invoice first: its own event may be the one that is late.
    for report in [invoice, of_payment] {
        let told = Reported { subscriber: subscriber.clone(), report, told_by: ToldBy::Event, received_at };
        note(journal, &told).await?;
    }
    Ok(true)
}
