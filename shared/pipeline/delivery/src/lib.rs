//! Delivers one mail: email-sender makes the first attempt, email-retry the further ones.
//!
//! claim → address from Stripe → render → gate 2 → draft → record the draft → send it → record that it was sent. Only
//! recorded drafts are sent, and the mailbox sends a draft once, so a worker may crash at any point. A failed attempt
//! is retried on the schedule of Email Retry, INV-02, and finally becomes a dead letter.

mod circuit;
mod clients;
mod deliver;
mod failure;
mod handle;
pub mod render;
mod settings;

pub use clients::Clients;
pub use handle::{Ports, retry, send};
pub use settings::Settings;
