//! What was decided, done.

use audit::{Change, Context, Journal};
use domain::{
    Alert, CheckoutSession, Sale, SessionId, StepError, Timestamp,
    alert::Severity,
    money::Money,
    ports::{Ledger, PaymentError, Payments, RefundStatus},
    sale::{Charge, Event, RefundAnswer},
};

/// What a refund needs from outside.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Ports<'a> {
    pub journal: Journal<'a>,
    pub payments: &'a dyn Payments,
    pub ledger: &'a dyn Ledger,
}

/// How a refund stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The money is on its way to the customer, or there.
    Refunded,
    /// Stripe works on it; ask again later.
    Pending,
    /// Stripe says no, with this code: a human decides, and it is asked again later.
    Failed(String),
    /// No refund of this sale was authorised, or its money is disputed.
    NotAuthorised,
}

/// After so many answers short of a confirmation operators hear of it.
const PATIENT_ANSWERS: u32 = 3;

/// Asks Stripe for an authorised refund and saves the answer. Whoever calls it again asks for the same refund.
///
/// # Errors
/// [`StepError`]: call it again.
pub async fn carry_out(ports: Ports<'_>, session: &SessionId) -> Result<Outcome, StepError> {
    let journal = ports.journal;
    let Some(sale) = journal.store.load(session).await? else { return Ok(Outcome::NotAuthorised) };
    if !matches!(sale.value.money(), Money::RefundAuthorised { .. }) {
        let outcome = stands(&sale.value);
        journal.flush(sale).await;
        return Ok(outcome);
    }
    let checkout = ports.payments.session(session).await?;
    let asked = ask(ports.ledger, &checkout).await?;
    let noted = journal.commit(sale, |sale, now| note(sale, &checkout, &asked, now)).await?;
    Ok(noted.settle().await.1)
}

/// What the sale itself says of a refund that is not under way.
const fn stands(sale: &Sale) -> Outcome {
    if matches!(sale.money(), Money::Refunded { .. }) { Outcome::Refunded } else { Outcome::NotAuthorised }
}

/// Stripe's answer; no answer is an error, a refusal is none.
async fn ask(ledger: &dyn Ledger, checkout: &CheckoutSession) -> Result<Outcome, PaymentError> {
    let Some(payment) = &checkout.payment else { return Ok(Outcome::Failed("no_payment".to_owned())) };
    match ledger.refund(payment, &format!("refund-{}", checkout.id.as_str())).await {
        Ok(RefundStatus::Succeeded) => Ok(Outcome::Refunded),
        Ok(RefundStatus::Pending) => Ok(Outcome::Pending),
        Ok(RefundStatus::Failed) => Ok(Outcome::Failed("refund_failed".to_owned())),
        Err(PaymentError::Refused(code)) => Ok(Outcome::Failed(code)),
        Err(PaymentError::NotFound) => Ok(Outcome::Failed("payment_unknown".to_owned())),
        Err(error @ PaymentError::Unavailable(_)) => Err(error),
    }
}

/// Notes the answer, unless Stripe's own event was faster.
fn note(sale: &mut Sale, checkout: &CheckoutSession, asked: &Outcome, now: Timestamp) -> Change<Outcome> {
    let answer = match asked {
        Outcome::Refunded => RefundAnswer::Confirmed,
        Outcome::Pending | Outcome::NotAuthorised => RefundAnswer::Pending,
        Outcome::Failed(code) => RefundAnswer::Failed(code),
    };
    let noted = sale.refund_answered(answer, Charge::of(checkout), now);
    let Ok(event @ Event::RefundAnswered { answers, .. }) = noted else { return Change::nothing(stands(sale)) };
    let change = Change::of(&event, &Context::at(now), asked.clone());
    let alert = |severity, detail: &str| Alert::event("ORACLE-REFUND", severity, now, "REFUND", &checkout.id, detail);
    match answer {
        RefundAnswer::Failed(code) => {
            let detail = format!("the refund failed ({code}): give the money back by hand, or ask again");
            change.alerting(alert(Severity::Critical, &detail))
        }
        RefundAnswer::Pending if answers >= PATIENT_ANSWERS => {
            change.alerting(alert(Severity::Error, "Stripe has not confirmed the refund yet"))
        }
        RefundAnswer::Pending | RefundAnswer::Confirmed => change,
    }
}
