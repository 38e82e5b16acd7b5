//! One change of a payment: what it means for its sale.

use audit::{Body, Change, Journal, Record};
use domain::{
    Alert, CheckoutSession, Sale, StepError, Timestamp,
    alert::Severity,
    money::{Money, PaymentChange, PaymentId},
    ports::Ledger,
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

/// Notes a change: whether it is the first of its kind. Kinds are told apart, not events: Stripe reports each
/// several times, and a second partial refund or a second dispute of one payment changes nothing for its sale.
fn note(sale: &mut Sale, session: &CheckoutSession, changed: &Changed, now: Timestamp) -> Change<bool> {
    let change = changed.change;
    if sale.payment_changes.contains(&change) {
        return Change::nothing(false);
    }
    let body = Body::PaymentChange {
        payment: changed.payment.clone(),
        change,
        amount_total: session.amount_total,
        currency: session.currency.clone(),
    };
    let mut records = vec![Record { timestamp: now, triggered_at: changed.received_at, body }];
    if change == PaymentChange::Refunded {
        records.extend(refund::confirmation(sale, session, now));
    }
    sale.money = money_after(&sale.money, change, &sale.payment_changes, now);
    sale.payment_changes.push(change);
    let committed = Change::recorded(records, true);
    match alert(session, change, now) {
        Some(alert) => committed.alerting(alert),
        None => committed,
    }
}

/// What became of the money. Events may come in any order: the end of a dispute that comes before its beginning
/// stands, and money that went back stays away whatever becomes of a dispute.
fn money_after(money: &Money, change: PaymentChange, before: &[PaymentChange], now: Timestamp) -> Money {
    let is_decided = before.iter().any(|one| matches!(one, PaymentChange::DisputeWon | PaymentChange::DisputeLost));
    match (change, money) {
        (_, Money::Refunded { .. }) | (PaymentChange::PartlyRefunded | PaymentChange::RefundFailed, _) => money.clone(),
        (PaymentChange::Refunded, _) => Money::Refunded { at: now },
        (PaymentChange::DisputeOpened, _) if is_decided => money.clone(),
        (PaymentChange::DisputeOpened | PaymentChange::DisputeLost, _) => {
            let refund = match money {
                Money::RefundAuthorised { authorisation, .. } => Some(authorisation.clone()),
                Money::Disputed { refund, .. } => refund.clone(),
                Money::Kept | Money::Refunded { .. } => None,
            };
            Money::Disputed { at: now, refund }
        }
        (PaymentChange::DisputeWon, Money::Disputed { refund: Some(authorisation), .. }) => {
            Money::RefundAuthorised { authorisation: authorisation.clone(), at: now }
        }
        (PaymentChange::DisputeWon, Money::Disputed { .. }) => Money::Kept,
        (PaymentChange::DisputeWon, _) => money.clone(),
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
