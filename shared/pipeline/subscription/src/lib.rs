//! Subscriptions to the chat: sells them, records Stripe's reports about them, and compares them with Stripe.

mod report;
mod sell;

pub use report::{Reported, record_payment, record_report};
pub use sell::{SellingPorts, customer, portal, subscribe};

#[cfg(test)]
mod tests;
