//! Records one report of Stripe about a subscriber, and raises its alerts.

use audit::{Body, Change, Record, SubscriberJournal};
use domain::{
    Alert, StepError, Timestamp,
    alert::Severity,
    chat::{BillingChange, BillingReport, Subscriber, SubscriberId},
    message::ReportedBy,
    money::{DisputeStatus, PaymentId, PaymentReport},
    ports::SubscriptionLedger,
};

/// A report of Stripe about a subscriber.
#[derive(Clone, Debug)]
pub struct Reported {
    /// The subscriber.
    pub subscriber: SubscriberId,
    /// The content of the report.
    pub report: BillingReport,
    /// Its source.
    pub reported_by: ReportedBy,
    /// Its time of arrival.
    pub received_at: Timestamp,
}

/// Stores a report. Repeated reports and reports in any order lead to the same record. The first report of a subscriber
/// creates the record.
///
/// # Errors
/// [`StepError`]: the queue must deliver the report again.
pub async fn record_report(
    journal: SubscriberJournal<'_>,
    reported: &Reported,
) -> Result<Option<BillingChange>, StepError> {
    let subscriber = journal.load(&reported.subscriber).await?;
    let committed = journal.commit(subscriber, |subscriber, now| change(subscriber, reported, now)).await?;
    let (_, noted) = committed.settle().await;
    tracing::info!(subscriber = reported.subscriber.prefix(), change = ?noted, "subscription reported");
    Ok(noted)
}

fn change(subscriber: &mut Subscriber, reported: &Reported, now: Timestamp) -> Change<Option<BillingChange>> {
    let Some(noted) = subscriber.billing_mut().record_report(&reported.report) else { return Change::nothing(None) };
    if noted == BillingChange::Detail && !is_dispute(&reported.report) {
        let reminder = is_reminded(subscriber, reported).then(|| two_subscriptions(reported, now));
        return Change::save(Some(noted)).alerting_all(reminder);
    }
    let access = subscriber.access(now);
    let body = Body::Subscription {
        object: reported.report.id().clone(),
        change: noted,
        plan: access.plan,
        paid_until: access.paid_until.map(Timestamp::to_iso),
        reported_by: reported.reported_by,
    };
    let record = Record::new(now, reported.received_at, body);
    let alerts = alerts(subscriber, reported, noted, now);
    Change::recorded(vec![record], Some(noted)).alerting_all(alerts)
}

const fn is_dispute(report: &BillingReport) -> bool {
    matches!(report, BillingReport::Payment { report: PaymentReport::Dispute { .. }, .. })
}

/// Whether the daily comparison repeats the alert about two subscriptions, which is on no list: once for each
/// subscriber, with the last of their subscriptions.
fn is_reminded(subscriber: &Subscriber, reported: &Reported) -> bool {
    let BillingReport::Subscription { id, .. } = &reported.report else { return false };
    let going_on: Vec<_> = subscriber.billing().going_on().map(|(id, _)| id).collect();
    reported.reported_by == ReportedBy::Reconciliation && going_on.len() > 1 && going_on.last() == Some(&id)
}

fn two_subscriptions(reported: &Reported, now: Timestamp) -> Alert {
    let object = reported.report.id();
    let detail = format!("pays for two subscriptions at once: cancel one and give its money back ({object})");
    let prefix = reported.subscriber.prefix();
    Alert::about("ORACLE-SUBSCRIPTION", Severity::Critical, now, "TWO_SUBSCRIPTIONS", prefix, &detail)
}

fn alerts(subscriber: &Subscriber, reported: &Reported, noted: BillingChange, now: Timestamp) -> Vec<Alert> {
    let about = |severity, operation, detail: &str| {
        Alert::about("ORACLE-SUBSCRIPTION", severity, now, operation, reported.subscriber.prefix(), detail)
    };
    let object = reported.report.id();
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
    if let BillingReport::Payment { report: PaymentReport::Dispute { id, status, respond_by, .. }, .. } =
        &reported.report
        && status.awaits_answer()
    {
        let by = respond_by.map_or_else(String::new, |by| format!(" until {by}"));
        let what = if *status == DisputeStatus::WarningNeedsResponse { "asks about" } else { "disputes" };
        let detail = format!("the customer's bank {what} {object}: answer it{by} ({id})");
        alerts.push(about(Severity::Critical, "DISPUTE", &detail));
    }
    let begins = matches!(noted, BillingChange::Opened | BillingChange::Resumed | BillingChange::StatusChanged);
    if begins && subscriber.billing().going_on().count() > 1 {
        alerts.push(two_subscriptions(reported, now));
    }
    if reported.reported_by == ReportedBy::Reconciliation {
        let detail = format!("an event of {object} never arrived: kept now, by the daily comparison");
        alerts.push(about(Severity::Warn, "EVENT_MISSED", &detail));
    }
    alerts
}

/// Stores a refund or a dispute of a payment that belongs to no sale. Returns `false` if it belongs to no subscription
/// either.
///
/// # Errors
/// [`StepError`]: the queue must deliver the report again.
pub async fn record_payment(
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
    // The invoice comes first, because its own event may arrive later than this one.
    for report in [invoice, of_payment] {
        let reported = Reported { subscriber: subscriber.clone(), report, reported_by: ReportedBy::Event, received_at };
        record_report(journal, &reported).await?;
    }
    Ok(true)
}
