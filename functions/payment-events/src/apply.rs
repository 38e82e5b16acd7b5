//! One change of a payment: what it means for its sale.

use audit::{Change, Context, Journal};
use domain::{
    Alert, CheckoutSession, Sale, StepError, Timestamp,
    alert::Severity,
    money::{PaymentChange, PaymentId},
    ports::Ledger,
    sale::Charge,
};

/// What the function needs from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub ledger: &'a dyn Ledger,
}

/// What Stripe reported, as the queue delivered it.
#[derive(Clone, Debug)]
pub(crate) struct Changed {
    /// The payment.
    pub payment: PaymentId,
    /// What happened to it.
    pub change: PaymentChange,
    /// When the event reached us.
    pub received_at: Timestamp,
}

/// Applies a change, once however often it is reported and in whatever order. A sale that nobody has seen yet gets
/// its record here, so that an order that comes later finds that the money is gone.
///
/// # Errors
/// [`StepError`]: the queue must deliver the change again.
pub(crate) async fn apply(ports: Ports<'_>, changed: &Changed) -> Result<(), StepError> {
    let journal = ports.journal;
    let Some(session) = ports.ledger.session_of(&changed.payment).await? else {
        tracing::info!(change = ?changed.change, "a payment that no checkout of ours made");
        return Ok(());
    };
    let sale = journal.load(&session.id, changed.received_at).await?;
    let noted = journal.commit(sale, |sale, now| note(sale, &session, changed, now)).await?;
    tracing::info!(session = session.id.prefix(), change = ?changed.change, is_new = noted.answer(), "payment changed");
    noted.settle().await;
    Ok(())
}

/// Notes a change: whether it is the first of its kind.
fn note(sale: &mut Sale, session: &CheckoutSession, changed: &Changed, now: Timestamp) -> Change<bool> {
    let change = changed.change;
    let Ok(event) = sale.payment_changed(&changed.payment, change, Charge::of(session), now) else {
        return Change::nothing(false);
    };
    let committed = Change::of(&event, &Context::new(now, changed.received_at), true);
    match alert(session, change, now) {
        Some(alert) => committed.alerting(alert),
        None => committed,
    }
}

fn alert(session: &CheckoutSession, change: PaymentChange, now: Timestamp) -> Option<Alert> {
    let (severity, detail) = match change {
        PaymentChange::Refunded | PaymentChange::PartlyRefunded => return None,
        PaymentChange::RefundFailed => {
            (Severity::Critical, "a refund did not arrive and the money came back: pay it another way")
        }
        PaymentChange::DisputeOpened => (Severity::Critical, "the customer's bank disputes the payment: answer it"),
        PaymentChange::DisputeLost => (Severity::Critical, "the dispute was lost: the money is gone"),
        PaymentChange::DisputeWon => (Severity::Warn, "the dispute was won: what was stopped goes on"),
    };
    Some(Alert::event("ORACLE-PAYMENT", severity, now, "DISPUTE", &session.id, detail))
}

#[cfg(test)]
mod tests;
