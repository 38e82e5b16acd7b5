//! The e-mail function: delivers cached verdicts by mail, each at most once.
//!
//! claim → address from Stripe → render → gate 2 → draft → record the draft → send it → record that it was sent.
//! Only a recorded draft is ever sent, and the mailbox sends a draft once; so a worker may die anywhere.

mod deliver;
mod function;
pub mod render;

pub use deliver::{DeliverError, MailOrder, Ports, Settings, deliver};
pub use function::Function;
