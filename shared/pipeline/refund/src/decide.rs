//! Records the decision to refund a sale.

use audit::{Change, Context};
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

/// Decides who refunds a sale, and stops all other automatic work on it; the caller commits it. `session` is Stripe's
/// current state of the session. [`crate::carry_out`] comes next.
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
