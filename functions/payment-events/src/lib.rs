//! The payment-events function: refunds and disputes that Stripe reports.
//!
//! Money that went back, or that the customer's bank has taken, stops everything that is still to be made or sent
//! for it, whoever gave it back and wherever.

mod apply;
mod function;

pub use apply::{ApplyError, Changed, Ports, apply};
pub use function::Function;
