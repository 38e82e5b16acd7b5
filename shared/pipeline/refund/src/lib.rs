//! Refunds. First somebody decides, and that goes on record with the sale; then Stripe is asked, again and again if
//! need be, under one key for each attempt, after a look at the refunds that exist. A process that dies anywhere in
//! between is followed by another (the deadlines function), which finds the decision and carries it out. The money goes
//! back once: Stripe knows the key, and what is left of a payment that went back is nothing.

mod authorise;
mod carry_out;

pub use authorise::{Decision, authorise, decide};
pub use carry_out::{Outcome, Ports, carry_out};

#[cfg(test)]
mod tests;
