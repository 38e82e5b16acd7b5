//! The webhook function: turns Stripe's events into orders, notices and payment reports.
//!
//! It answers 2xx only once the queue has the message; until then Stripe keeps the event and delivers it again.

mod receive;

pub use receive::{Ports, handle};
