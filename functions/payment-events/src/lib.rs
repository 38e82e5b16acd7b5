//! The payment-events function: applies the refunds, disputes and subscription changes that Stripe reports.
//!
//! Once money went back, or the customer's bank has taken it, nothing more is made or sent for it, by a worker or an
//! operator.

mod apply;
mod handle;

pub use apply::Ports;
pub use handle::handle;
