//! Announces one silent drop: records it, alerts operators, and mails the customer, once each.

use audit::{AuditKey, AuditKeys, Change, Context, Journal};
use domain::{
    Alert, CheckoutSession, Sale, SessionId, StepError, Timestamp, Unusable,
    alert::{Severity, SilentDrop},
    mail::Letter,
    message::Message,
    ports::{Payments, Queue, SecretSource, Versioned},
    query,
    sale::{Charge, Fulfilment},
};
use runtime::Handled;

/// The ports that the function uses.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub payments: &'a dyn Payments,
    pub mails: &'a dyn Queue,
    pub audit_keys: &'a dyn SecretSource,
}

/// One notice, as the queue delivered it.
#[derive(Clone, Debug)]
pub(crate) struct Notice {
    /// The sale.
    pub session_id: SessionId,
    /// When the triggering event reached us.
    pub received_at: Timestamp,
}

/// Announces a silent drop. Its mail is ordered last: if the mail is ordered, the announcement is complete, and a
/// repeated notice does nothing (Silent Drop, invariant 2). If a worker crashes, the next one starts over.
///
/// # Errors
/// [`StepError`]: the queue must deliver the notice again.
pub(crate) async fn announce(ports: Ports<'_>, notice: &Notice) -> Result<Handled, StepError> {
    let journal = ports.journal;
    let sale = journal.load(&notice.session_id, notice.received_at).await?;
    if matches!(sale.value.fulfilment(), Fulfilment::Generating { .. }) && sale.value.is_money_kept() {
        // The worker that sent this notice has not saved the sale yet. After a refund, no worker ends a dead one's claim.
        return Ok(Handled::Later);
    }
    if !sale.value.is_drop_open() {
        journal.flush(sale).await;
        return Ok(Handled::Done);
    }
    let (audit_key, session) = match ask(ports, notice).await {
        Ok(asked) => asked,
        Err(error) => {
            tracing::warn!(%error, "the alert has no details");
            alert_paid_event(journal, sale, notice).await?;
            return Err(error);
        }
    };
    // A session that was not paid (Silent Drop, invariant 1), or that is usable, is not a silent drop.
    let Some(unusable) = session.submission().err().filter(|_| sale.value.is_covered_by(&session)) else {
        alert_paid_event(journal, sale, notice).await?;
        // The signed event said otherwise. In doubt, a customer who may have paid is not dropped: the notice is
        // delivered again, and ends in the dead-letter queue, behind an alarm, if Stripe's answer stays the same.
        let detail = "a notice about a session that is not paid, or is usable after all";
        let now = journal.clock.now();
        let alert = Alert::event("SILENT-DROP", Severity::Error, now, "NOTICE", &notice.session_id, detail);
        journal.alerts.raise(alert).await;
        return Ok(Handled::Later);
    };
    let email_tag = session.email.as_ref().map(|address| audit_key.email_tag(address));
    let record = |sale: &mut Sale, now| record_drop(sale, &session, unusable, email_tag.as_deref(), notice, now);
    let (sale, open) = journal.commit(sale, record).await?.settle().await;
    if !open {
        return Ok(Handled::Done);
    }
    let mail = Message::mail(notice.session_id.clone(), journal.clock.now(), Letter::SilentDrop);
    ports.mails.send(&mail).await?;
    let ordered = |sale: &mut Sale, _| Change::saved(sale.notice_ordered());
    journal.commit(sale, ordered).await?.settle().await;
    Ok(Handled::Done)
}

/// What the alert with the details needs: the audit key, and Stripe's answer.
async fn ask(ports: Ports<'_>, notice: &Notice) -> Result<(AuditKey, CheckoutSession), StepError> {
    let audit_key = AuditKeys::current_of(ports.audit_keys).await?;
    Ok((audit_key, ports.payments.session(&notice.session_id).await?))
}

/// Alerts operators once that, according to the signed event, a customer paid and cannot be served, where the alert with
/// the details cannot be raised (Silent Drop, invariant 3 and verification criterion 3). From here on the deadlines
/// function follows the sale up.
async fn alert_paid_event(journal: Journal<'_>, sale: Versioned<Sale>, notice: &Notice) -> Result<(), StepError> {
    let alert = |sale: &mut Sale, now| match sale.drop_alerted() {
        Ok(()) => {
            let detail = "paid without a usable tier or question, says Stripe's event";
            let alert = Alert::event("SILENT-DROP", Severity::Critical, now, "NOTICE", &notice.session_id, detail);
            Change::save(()).alerting(alert)
        }
        Err(_) => Change::nothing(()),
    };
    journal.commit(sale, alert).await?.settle().await;
    Ok(())
}

/// Records the drop once, with its amount (Silent Drop, invariant 7), and the paid event (Audit Trail, invariant 2)
/// unless it was recorded when the state was set.
fn record_drop(
    sale: &mut Sale,
    session: &CheckoutSession,
    unusable: Unusable,
    email_tag: Option<&str>,
    notice: &Notice,
    now: Timestamp,
) -> Change<bool> {
    // True also if the drop is recorded already: its mail may not be ordered yet.
    let open = sale.is_drop_open();
    let Ok(event) = sale.record_drop(unusable, session.tier(), email_tag, Charge::of(session), now) else {
        return Change::nothing(open);
    };
    let context = Context::new(now, notice.received_at);
    Change::of(&event, &context, true).alerting(drop_alert(session, email_tag, now))
}

fn drop_alert(session: &CheckoutSession, email_tag: Option<&str>, now: Timestamp) -> Alert {
    let question = session.idea.clone().or_else(|| query::from_metadata(&session.metadata)).unwrap_or_default();
    let drop = SilentDrop {
        tier: session.metadata.get("tier").map_or("", String::as_str),
        query_characters: question.trim().chars().count(),
        email_tag,
        amount_total: session.amount_total,
        currency: session.currency.as_deref(),
    };
    Alert::silent_drop(&session.id, &drop, now)
}

#[cfg(test)]
mod tests;
