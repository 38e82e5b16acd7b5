//! The webhook function: Stripe's events in, orders and notices out.
//!
//! It answers 2xx only once the queue has the message; until then Stripe keeps the event and delivers it again.

mod receive;

pub use receive::{MAX_BODY_BYTES, Ports, handle};
