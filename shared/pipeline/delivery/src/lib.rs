//! The delivery of one mail: what email-sender does first and email-retry does again.
//!
//! claim → address from Stripe → render → gate 2 → draft → record the draft → send it → record that it was sent.
//! Only a recorded draft is ever sent, and the mailbox sends a draft once; so a worker may die anywhere. What
//! fails is tried again on the schedule of Email Retry, INV-02, and then becomes a dead letter.

mod clients;
mod deliver;
mod failure;
mod handle;
pub mod render;

pub use clients::Clients;
pub use deliver::Settings;
pub use handle::{Ports, retry, send};
