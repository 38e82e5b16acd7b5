//! Refunds. First somebody decides, and that goes on record with the sale; then Stripe is asked, again and again if
//! need be, under one key. A process that dies anywhere in between is followed by another (the deadlines function),
//! which finds the decision and carries it out. The money goes back once: Stripe knows the key, and what is left of
//! a payment that went back is nothing.

mod authorise;
mod carry_out;

pub use authorise::{Decision, authorise, confirmation, decide};
pub use carry_out::{Outcome, Ports, carry_out};

use audit::{Body, Record, RefundStep};
use domain::{CheckoutSession, Timestamp, money::Authorisation};

/// A record of a step. `decided_at` is when the refund was authorised.
fn record(
    step: RefundStep,
    authorisation: &Authorisation,
    session: &CheckoutSession,
    error: Option<&str>,
    decided_at: Timestamp,
    now: Timestamp,
) -> Record {
    let body = Body::Refund {
        step,
        by: authorisation.by().to_owned(),
        reason: authorisation.reason().to_owned(),
        amount_total: session.amount_total,
        currency: session.currency.clone(),
        error: error.map(str::to_owned),
    };
    Record { timestamp: now, triggered_at: decided_at, body }
}

#[cfg(test)]
mod tests;
