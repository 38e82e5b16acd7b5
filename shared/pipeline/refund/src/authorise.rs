//! The decision that money goes back.

use audit::{Change, CommitError, Context, Journal};
use domain::{
    CheckoutSession, Sale, Timestamp,
    money::{Authorisation, Money},
    sale::Charge,
};

/// What came of the wish to refund a sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is on record now.
    Authorised,
    /// Somebody had decided it before; theirs stands.
    AlreadyAuthorised,
    /// The money is back already.
    AlreadyRefunded,
    /// The customer's bank has taken the money: Stripe refuses refunds until that is decided.
    Disputed,
    /// Stripe says that nothing was paid.
    NotPaid,
}

/// Records who decided that the money of a sale goes back, and stops everything else that machines would do about
/// it. `session` is what Stripe says of the sale now. [`crate::carry_out`] comes next.
///
/// # Errors
/// [`CommitError`]: nothing was decided, or it was and the reply got lost; to decide again is safe.
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

/// The same as a plain decision, for a caller that commits more than this.
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
