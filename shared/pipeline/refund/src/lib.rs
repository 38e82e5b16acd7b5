//! Refunds. First a refund is decided, and the decision is recorded with the sale. Then Stripe is asked for it,
//! repeatedly if needed, with one idempotency key per attempt, after reading the existing refunds. After a crash the
//! deadlines function finds the decision and carries it out. The money goes back only once: Stripe recognises the key,
//! and a refunded payment has nothing left to refund.

mod carry_out;
mod decide;

pub use carry_out::{ASKED_AGAIN, ISSUE_AGAIN, Outcome, Ports, carry_out};
pub use decide::{Decision, decide};

#[cfg(test)]
mod tests;
