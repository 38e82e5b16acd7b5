//! The payment-events function: refunds and disputes that Stripe reports, and everything it tells of subscriptions.
//!
//! Money that went back, or that the customer's bank has taken, stops everything that is still to be made or sent
//! for it, by any person and any way.

mod apply;
mod handle;

pub use apply::Ports;
pub use handle::handle;
