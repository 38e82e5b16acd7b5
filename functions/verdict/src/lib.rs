//! The verdict function: paid orders in, cached verdicts and ordered mails out.
//!
//! claim → confirm the payment → model → crosscheck → gate 1 → cache with its audit records → archive → mail.

mod fulfil;
mod handle;
mod settings;

pub use fulfil::Settings;
pub use generation::Policy;
pub use handle::{Ports, handle};
