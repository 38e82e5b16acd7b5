//! The verdict function: paid orders in, cached verdicts and ordered mails out.
//!
//! claim → confirm the payment → model → crosscheck → gate 1 → cache with its audit records → archive → mail.

mod asking;
mod fulfil;
mod gauge;
mod generate;
mod guard;
mod handle;
mod settings;

pub use asking::Policy;
pub use fulfil::Settings;
pub use handle::{Ports, handle};
