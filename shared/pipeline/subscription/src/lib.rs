//! Subscriptions to the chat: sells them, records Stripe's reports about them, and compares them with Stripe.

mod note;
mod sell;

pub use note::{Reported, note, note_payment};
pub use sell::{Shop, subscribe, to_portal};

#[cfg(test)]
mod tests;
