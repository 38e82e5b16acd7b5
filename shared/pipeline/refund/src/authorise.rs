//! Records the decision to refund a sale.

use audit::{Change, CommitError, Context, Journal};
use domain::{
    CheckoutSession, Sale, Timestamp,
    money::{Authorisation, Money},
    sale::Charge,
};

/// The result of a decision to refund a sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is recorded now.
    Authorised,
    /// It was decided before; the earlier authorisation applies.
    AlreadyAuthorised,
    /// The money has gone back already.
    AlreadyRefunded,
    /// The customer's bank has taken the money: Stripe refuses refunds until the dispute is decided.
    Disputed,
    /// Stripe shows no payment.
    NotPaid,
}

/// Records who decided to refund a sale, and stops all other automatic work on it. `session` is Stripe's current state
/// of the session. [`crate::carry_out`] comes next.
///
/// # Errors
/// [`CommitError`]: nothing was decided, or it was and the reply was lost; deciding again is safe.
pub async fn authorise(
    journal: Journal<'_>,
    session: &CheckoutSession,
    authorisation: &Authorisation,
    now: Timestamp,
) -> Result<Decision, CommitError> {
    let sale = journal.load(&session.id, now).await?;
    let decided = journal.commit(sale, |sale, _| decide(sale, session, authorisation, now)).await?;
    Ok(decided.settle().await.1)
}

/// The same decision without a commit, for a caller that commits it with other changes.
pub fn decide(
    sale: &mut Sale,
    session: &CheckoutSession,
    authorisation: &Authorisation,
    now: Timestamp,
) -> Change<Decision> {
    match sale.money() {
        Money::RefundAuthorised { .. } => return Change::nothing(Decision::AlreadyAuthorised),
        Money::Refunded { .. } => return Change::nothing(Decision::AlreadyRefunded),
        Money::Kept if !session.is_paid() => return Change::nothing(Decision::NotPaid),
        Money::Kept | Money::RefundFailed { .. } | Money::Disputed { .. } => {}
    }
    match sale.refund_authorised(authorisation, Charge::of(session), now) {
        Ok(event) => Change::of(&event, &Context::at(now), Decision::Authorised),
        Err(_) => Change::nothing(Decision::Disputed),
    }
}
