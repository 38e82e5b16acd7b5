//! The verdict function: turns paid orders into cached verdicts and ordered mails.
//!
//! claim → confirm the payment → model → crosscheck → gate 1 → cache with its audit records → archive and mail.

mod fulfil;
mod handle;
mod settings;

pub use fulfil::{Ports, Settings};
pub use handle::handle;
