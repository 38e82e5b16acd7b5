//! Subscriptions to the chat: sold, kept as Stripe tells of them, and compared with Stripe.

mod note;
mod sell;

pub use note::{Reported, note, note_payment};
pub use sell::{Shop, subscribe, to_portal};

#[cfg(test)]
mod tests;
