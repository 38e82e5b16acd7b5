//! The delivery of one mail: what email-sender does first and email-retry does again.
//!
//! claim → address from Stripe → render → gate 2 → draft → record the draft → send it → record that it was sent.
//! Only a recorded draft is ever sent, and the mailbox sends a draft once; so a worker may die anywhere. What
//! fails is tried again on the schedule of Email Retry, INV-02, and then becomes a dead letter.

mod deliver;
mod failure;
pub mod render;
mod wiring;

pub use deliver::{Attempt, DeliverError, MailOrder, Ports, Settings, deliver};
pub use wiring::Postman;
